//! A simulation beside the artifact's output, flow by flow and link by link.

use std::{collections::BTreeMap, fmt, net::Ipv4Addr};

use lab_policy::FlowTuple;
use lab_units::{BitsPerSec, Bytes, Nanos};

use crate::fct::{FctRow, UtilisationRow};

/// A flow of a simulation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SimulatedFlow {
    /// Addresses and ports, as [`crate::ids::NodeIds::flow_tuples`] gives them.
    pub flow: FlowTuple,
    /// Bytes moved.
    pub size: Bytes,
    /// Start time; the artifact's clock is two seconds ahead.
    pub start: Nanos,
    /// Its FCT; none if it did not finish.
    pub fct: Option<Nanos>,
    /// Its FCT alone.
    pub standalone: Nanos,
}

/// Agreement between two runs of the same flows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agreement {
    /// Flows of the output.
    pub published: usize,
    /// Of these, flows that finished in both.
    pub compared: usize,
    /// Flows of the output that the simulation does not know, or knows with another size.
    pub unknown: usize,
    /// Flows that finished there and not in the simulation.
    pub unfinished: usize,
    /// Flows whose standalone FCT is the same.
    pub same_standalone: usize,
    /// Flows whose FCT is the same.
    pub same_fct: usize,
    /// Flows whose FCT differs by more than [`OTHER_PATH`] of a standalone FCT: they took another
    /// path.
    pub other_path: usize,
    /// |ΔFCT| / FCT by flow, in increasing order.
    differences: Vec<f64>,
    /// The flows that differ most, most first.
    pub worst: Vec<Difference>,
}

/// A flow in both runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Difference {
    /// Which flow.
    pub flow: FlowTuple,
    /// Bytes moved.
    pub size: Bytes,
    /// Its published FCT.
    pub published: Nanos,
    /// Its simulated FCT.
    pub simulated: Nanos,
}

impl Difference {
    /// |ΔFCT| / FCT.
    #[must_use]
    pub fn relative(&self) -> f64 {
        float(self.published.get().abs_diff(self.simulated.get()))
            / float(self.published.get().max(1))
    }
}

impl Agreement {
    /// Compares `simulated` with `published`, by address and port.
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
        let difference = Difference {
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

    /// The difference that `percent` of the flows are not above; none when nothing was compared.
    #[must_use]
    pub fn percentile(&self, percent: usize) -> Option<f64> {
        let place = (self.differences.len() * percent).div_ceil(100).max(1) - 1;
        self.differences.get(place).copied()
    }
}

/// The averages of a link in two runs, in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkAgreement {
    /// The DCI switches it is between, in the artifact's numbers.
    pub between: [u32; 2],
    /// As published.
    pub published: f64,
    /// As simulated.
    pub simulated: f64,
}

impl LinkAgreement {
    /// Compares `column` of the published averages with each link's value in `simulated`.
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

    /// |Δ| as a share of the published average; 0 if the link should be idle and is.
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

/// A link's average utilisation in percent, as the artifact's script has it.
///
/// `samples` are one for each millisecond, from 0 on, in order: time, and the bytes of both
/// directions so far. The script keeps the last one of each 10 ms and averages the steps between
/// them, so that the first 10 ms do not count; nothing counts after `cut`, when this policy's last
/// flow finished, but the average is over `span`, until the last flow of the slowest policy did. It
/// relates both directions to one direction's rate, see [`plotted_rate`], and takes a Gbit for 2^30
/// bit, 7.4 % more than there are.
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

/// The rate that the published averages relate a link's bytes to. Two links of the published topology
/// have 25 Gbit/s where the paper has 40, and their averages are 25/40 of what they carried, in every
/// policy's run: inferred from that, as the script's own table of rates is not published.
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
            "  {} of {} flows compared; {} unfinished, {} unknown",
            self.compared, self.published, self.unfinished, self.unknown
        )?;
        writeln!(
            f,
            "  standalone FCT: {} the same; FCT: {} the same, {} by another path",
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

/// Key of a flow: addresses and ports.
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

/// Number of flows shown.
const WORST: usize = 5;

/// Reciprocal of the FCT difference, as a share of the standalone FCT, that shows another path: on the
/// 8-DC network, one-way delays differ by at least 10 ms and a standalone FCT is about 20 ms.
const OTHER_PATH: u64 = 8;

/// Step of the authors' script for utilisations; their averages leave out the first.
pub const UTILISATION_STEP: Nanos = Nanos::from_millis(10);

/// Bits of a Gbit in the script.
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
        // 500 ns are over an eighth of 800 ns; 20 ns are not.
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

    /// 1 MB a millisecond are 8 Gbit/s, for 30 ms; the first 9 ms and what comes after the end do
    /// not count.
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
