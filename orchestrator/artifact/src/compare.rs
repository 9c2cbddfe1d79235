//! Comparison of a simulation with the artifact's output, flow by flow and link by link.

use std::{collections::BTreeMap, fmt, net::Ipv4Addr};

use lab_policy::FlowTuple;
use lab_units::{BitsPerSec, Bytes, Nanos};

use crate::fct::{FctRow, UtilisationRow};

/// Flow of a simulation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SimulatedFlow {
    /// Addresses and ports of the flow, as computed by [`crate::ids::NodeIds::flow_tuples`].
    pub flow: FlowTuple,
    /// Size of the flow.
    pub size: Bytes,
    /// Start time of the flow on the simulation's clock; the artifact's clock is two seconds ahead.
    pub start: Nanos,
    /// FCT of the flow; `None` if it did not finish.
    pub fct: Option<Nanos>,
    /// FCT of the flow in an otherwise empty network.
    pub standalone: Nanos,
}

/// Result of comparing the published output with a simulation of the same flows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agreement {
    /// Number of flows in the published output.
    pub published: usize,
    /// Number of published flows that finished in both runs.
    pub compared: usize,
    /// Number of published flows that the simulation lacks or has with another size.
    pub unknown: usize,
    /// Number of flows that finished in the published run but not in the simulation.
    pub unfinished: usize,
    /// Number of flows with equal standalone FCTs.
    pub same_standalone: usize,
    /// Number of flows with equal FCTs.
    pub same_fct: usize,
    /// Number of flows whose FCTs differ by more than 1/[`OTHER_PATH`] of the standalone FCT, which means that they
    /// took another path.
    pub other_path: usize,
    /// Relative FCT difference of each compared flow, |ΔFCT| / FCT, in increasing order.
    differences: Vec<f64>,
    /// Flows with the largest relative FCT differences, in decreasing order of the difference.
    pub worst: Vec<FctDifference>,
}

/// Difference between a flow's published and simulated FCT.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FctDifference {
    /// Addresses and ports of the flow.
    pub flow: FlowTuple,
    /// Size of the flow.
    pub size: Bytes,
    /// Published FCT of the flow.
    pub published: Nanos,
    /// Simulated FCT of the flow.
    pub simulated: Nanos,
}

impl FctDifference {
    /// Returns the difference between the two FCTs relative to the published FCT, |ΔFCT| / FCT.
    #[must_use]
    pub fn relative(&self) -> f64 {
        float(self.published.get().abs_diff(self.simulated.get()))
            / float(self.published.get().max(1))
    }
}

impl Agreement {
    /// Compares `simulated` with `published`; flows are matched by addresses and ports.
    #[must_use]
    pub fn of(published: &[FctRow], simulated: &[SimulatedFlow]) -> Self {
        let ours: BTreeMap<_, _> = simulated
            .iter()
            .map(|flow| (key(flow.flow), flow))
            .collect();
        let mut agreement = Self {
            published: published.len(),
            ..Self::default()
        };
        for row in published {
            let known = ours.get(&key(row.flow));
            match known.filter(|flow| flow.size == row.size) {
                Some(flow) => agreement.add(row, flow),
                None => agreement.unknown += 1,
            }
        }
        agreement.differences.sort_by(f64::total_cmp);
        let worst = &mut agreement.worst;
        worst.sort_by(|a, b| b.relative().total_cmp(&a.relative()));
        worst.truncate(WORST);
        agreement
    }

    fn add(&mut self, row: &FctRow, flow: &SimulatedFlow) {
        self.same_standalone += usize::from(flow.standalone == row.standalone);
        let Some(simulated) = flow.fct else {
            self.unfinished += 1;
            return;
        };
        let difference = FctDifference {
            flow: row.flow,
            size: row.size,
            published: row.fct,
            simulated,
        };
        self.compared += 1;
        self.same_fct += usize::from(simulated == row.fct);
        let apart = simulated.get().abs_diff(row.fct.get());
        self.other_path += usize::from(apart > row.standalone.get() / OTHER_PATH);
        self.differences.push(difference.relative());
        self.worst.push(difference);
    }

    /// Returns the relative FCT difference that `percent` of the flows do not exceed; `None` if no flow was compared.
    #[must_use]
    pub fn percentile(&self, percent: usize) -> Option<f64> {
        let place = (self.differences.len() * percent).div_ceil(100).max(1) - 1;
        self.differences.get(place).copied()
    }
}

/// Published and simulated average utilisation of a link, in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkAgreement {
    /// DCI switches at the link's ends, by the artifact's node numbers.
    pub between: [u32; 2],
    /// Published average utilisation, in percent.
    pub published: f64,
    /// Simulated average utilisation, in percent.
    pub simulated: f64,
}

impl LinkAgreement {
    /// Compares the averages in `column` of the published rows with the values that `simulated` returns for each link.
    pub fn of(
        published: &[UtilisationRow],
        column: usize,
        simulated: impl Fn([u32; 2]) -> Option<f64>,
    ) -> Vec<Self> {
        published
            .iter()
            .filter_map(|row| {
                Some(Self {
                    between: row.between,
                    published: *row.percent.get(column)?,
                    simulated: simulated(row.between)?,
                })
            })
            .collect()
    }

    /// Returns the difference between the two averages relative to the published one; 0 if they are equal.
    #[must_use]
    pub fn relative(&self) -> f64 {
        match (self.simulated - self.published).abs() {
            0.0 => 0.0,
            apart => apart / self.published,
        }
    }
}

impl fmt::Display for LinkAgreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = self.between;
        let ours = self.simulated;
        let theirs = self.published;
        write!(f, "  {a}-{b}  {ours:6.2} %, published {theirs:6.2} %")
    }
}

/// Returns a link's average utilisation in percent, computed as in the artifact's script.
///
/// `samples` are pairs in order of time, one per millisecond from 0 on: the time, and the bytes sent so far in both
/// directions. The script keeps the last sample of each 10 ms and averages the steps between the kept samples, so the
/// first 10 ms do not count. Samples after `cut`, the time at which this policy's last flow finished, do not count
/// either. The average is nevertheless taken over `span`, which ends when the last flow of the slowest policy finished.
/// The script divides the sum of both directions by the rate of one direction (see [`plotted_rate`]), and uses 2^30 bit
/// for one Gbit, which is 7.4 % too much.
#[must_use]
pub fn average_utilisation(
    samples: &[(Nanos, Bytes)],
    rate: BitsPerSec,
    cut: Nanos,
    span: Nanos,
) -> f64 {
    let until = |end: Nanos| {
        let count = samples.partition_point(|(time, _)| *time < end);
        let last = count.checked_sub(1).map(|at| samples[at].1);
        last.unwrap_or(Bytes::ZERO).get()
    };
    let first = until(UTILISATION_STEP);
    let bytes = until(cut.saturating_add(Nanos::new(1))).saturating_sub(first);
    let steps = span.get() / UTILISATION_STEP.get();
    let seconds = float(steps.max(1) * UTILISATION_STEP.get()) / 1e9;
    let rate = float(plotted_rate(rate).get()) / 1e9 * BINARY_GIGABIT;
    100.0 * 8.0 * float(bytes) / (seconds * rate)
}

/// Returns the rate to which the published averages relate a link's bytes. Two links of the published topology have 25
/// Gbit/s where the paper has 40 Gbit/s. Under every policy, the published averages of these links are 25/40 of the
/// utilisation at their own rate. The rate of 40 Gbit/s is inferred from that, because the script's own table of rates
/// was not published.
fn plotted_rate(rate: BitsPerSec) -> BitsPerSec {
    match rate.get() {
        25_000_000_000 => BitsPerSec::new(40_000_000_000).unwrap_or(rate),
        _ => rate,
    }
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "  {} of {} published flows compared; {} unfinished in the simulation, {} unknown to it",
            self.compared, self.published, self.unfinished, self.unknown
        )?;
        writeln!(
            f,
            "  flows with the same standalone FCT: {}, with the same FCT: {}, on another path: {}",
            self.same_standalone, self.same_fct, self.other_path
        )?;
        let row = [50, 90, 99, 100].map(|percent| {
            let value = self.percentile(percent).unwrap_or(f64::NAN);
            format!("p{percent} {value:.1e}")
        });
        writeln!(f, "  |ΔFCT| / FCT: {}", row.join(", "))?;
        for flow in &self.worst {
            let src = flow.flow.src;
            let dst = flow.flow.dst;
            let sport = flow.flow.sport;
            let size = flow.size.get();
            let ours = flow.simulated.get();
            let theirs = flow.published.get();
            writeln!(
                f,
                "    {src} → {dst} :{sport}  {size} B  {ours} ns, published {theirs} ns"
            )?;
        }
        Ok(())
    }
}

/// Returns the key of a flow: its addresses and ports.
fn key(flow: FlowTuple) -> ([Ipv4Addr; 2], [u16; 2]) {
    ([flow.src, flow.dst], [flow.sport, flow.dport])
}

#[expect(
    clippy::cast_precision_loss,
    reason = "nanoseconds and bytes of a run are far below 2^53"
)]
const fn float(value: u64) -> f64 {
    value as f64
}

/// Number of flows with large differences that a comparison lists.
const WORST: usize = 5;

/// Divisor of the standalone FCT: an FCT difference above the quotient indicates another path. On the 8-DC network,
/// one-way delays differ by at least 10 ms, and a standalone FCT is about 20 ms.
const OTHER_PATH: u64 = 8;

/// Length of one time step in the authors' script for utilisations; its averages leave out the first step.
pub const UTILISATION_STEP: Nanos = Nanos::from_millis(10);

/// Number of bits that the script counts as one Gbit.
const BINARY_GIGABIT: f64 = 1_073_741_824.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{PORT, address};

    fn tuple(sport: u16) -> FlowTuple {
        FlowTuple {
            src: address(0),
            dst: address(112),
            sport,
            dport: PORT,
        }
    }

    fn row(sport: u16, fct: u64) -> FctRow {
        FctRow {
            flow: tuple(sport),
            size: Bytes::new(1_000),
            start: Nanos::from_millis(2_000),
            fct: Nanos::new(fct),
            standalone: Nanos::new(800),
        }
    }

    fn simulated(sport: u16, fct: Option<u64>) -> SimulatedFlow {
        SimulatedFlow {
            flow: tuple(sport),
            size: Bytes::new(1_000),
            start: Nanos::ZERO,
            fct: fct.map(Nanos::new),
            standalone: Nanos::new(800),
        }
    }

    #[test]
    fn flows_are_compared_by_address_and_port() {
        let published = [(1, 1_000), (2, 2_000), (3, 3_000), (4, 4_000), (5, 1)]
            .map(|(sport, fct)| row(sport, fct));
        let ours = [
            (4, Some(4_000)),
            (2, Some(2_020)),
            (1, Some(1_500)),
            (3, None),
        ]
        .map(|(sport, fct)| simulated(sport, fct));
        let agreement = Agreement::of(&published, &ours);
        assert_eq!((agreement.published, agreement.compared), (5, 3));
        assert_eq!((agreement.unknown, agreement.unfinished), (1, 1));
        assert_eq!((agreement.same_standalone, agreement.same_fct), (4, 1));
        // 500 ns exceed an eighth of 800 ns; 20 ns do not.
        assert_eq!(agreement.other_path, 1);
        let percentiles = [50, 99, 100].map(|percent| agreement.percentile(percent));
        assert_eq!(percentiles, [Some(0.01), Some(0.5), Some(0.5)]);
        assert_eq!(agreement.worst[0].flow, tuple(1));
        assert!(agreement.to_string().contains("p50 1.0e-2"), "{agreement}");
    }

    #[test]
    fn a_flow_of_another_size_is_another_flow() {
        let other = SimulatedFlow {
            size: Bytes::new(1),
            ..simulated(1, Some(1_000))
        };
        let agreement = Agreement::of(&[row(1, 1_000)], &[other]);
        assert_eq!((agreement.compared, agreement.unknown), (0, 1));
        assert_eq!(agreement.percentile(50), None);
    }

    /// 1 MB per millisecond is 8 Gbit/s, for 30 ms; the first 9 ms and samples after the end do not count.
    #[test]
    fn averages_are_the_scripts() {
        let bytes = |milli: u64| Bytes::new(milli.min(30) * 1_000_000);
        let sample = |milli| (Nanos::from_millis(milli), bytes(milli));
        let samples: Vec<_> = (0..100).map(sample).collect();
        let rate = BitsPerSec::new(16_000_000_000).expect("not zero");
        let millis = Nanos::from_millis;
        let average = |cut, span| average_utilisation(&samples, rate, millis(cut), millis(span));
        let expected = 100.0 * 8.0 * 21e6 / (0.04 * 16.0 * 1_073_741_824.0);
        assert!((average(45, 45) - expected).abs() < 1e-9);
        assert!((average(19, 45) - expected * 10.0 / 21.0).abs() < 1e-9);
    }

    #[test]
    fn links_are_compared_where_both_know_them() {
        let published = [(177, 10.0), (178, 5.0)].map(|(to, percent)| UtilisationRow {
            between: [176, to],
            percent: vec![percent, 0.0],
        });
        let ours = |between| (between == [176, 177]).then_some(10.1);
        let links = LinkAgreement::of(&published, 0, ours);
        assert_eq!(links.len(), 1);
        assert!((links[0].relative() - 0.01).abs() < 1e-9);
        let idle = LinkAgreement::of(&published, 1, |_| Some(0.0));
        assert!(idle.iter().all(|link| link.relative() == 0.0));
    }
}
