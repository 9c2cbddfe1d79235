//! A simulation beside the artifact's output, flow by flow and link by link.

use std::{collections::BTreeMap, fmt};

use lab_policy::FlowTuple;
use lab_units::{Bytes, Nanos};

use crate::fct::FctRow;

/// A flow of a simulation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SimulatedFlow {
    /// Addresses and ports, as [`crate::ids::NodeIds::flow_tuples`] gives them.
    pub flow: FlowTuple,
    /// Bytes moved.
    pub size: Bytes,
    /// When it began; their clock is two seconds ahead, which does not matter.
    pub start: Nanos,
    /// Its FCT; none if it did not finish.
    pub fct: Option<Nanos>,
    /// Its FCT alone.
    pub standalone: Nanos,
}

/// How two runs of the same flows agree.
#[derive(Clone, Debug, PartialEq)]
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
            compared: 0,
            unknown: 0,
            unfinished: 0,
            same_standalone: 0,
            same_fct: 0,
            other_path: 0,
            differences: Vec::with_capacity(published.len()),
            worst: Vec::with_capacity(published.len()),
        };
        for row in published {
            match ours
                .get(&key(row.flow))
                .filter(|flow| flow.size == row.size)
            {
                Some(flow) => agreement.add(row, flow),
                None => agreement.unknown += 1,
            }
        }
        agreement.differences.sort_by(f64::total_cmp);
        agreement
            .worst
            .sort_by(|a, b| b.relative().total_cmp(&a.relative()));
        agreement.worst.truncate(WORST);
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
#[derive(Clone, Debug, PartialEq)]
pub struct LinkAgreement {
    /// `dc1-dc2`.
    pub link: String,
    /// As published.
    pub published: f64,
    /// As simulated.
    pub simulated: f64,
}

/// A link's average utilisation in percent, as the artifact's script has it, from the cumulative
/// bytes of its two directions at times after the first flow may start.
///
/// `samples` are one for each millisecond: time, and bytes of both directions since the start. The
/// script takes every tenth one, relates each step to one direction's rate, in which it takes a
/// Gbit for 2^30 bit (7.4 % low), and averages over `span`: the time in which the slowest of the
/// policies it compares finishes, with nothing sent after this one did.
#[must_use]
pub fn average_utilisation(samples: &[(Nanos, Bytes)], gigabits: f64, span: Nanos) -> f64 {
    let mut last_of_step: BTreeMap<u64, (Nanos, Bytes)> = BTreeMap::new();
    for &(time, bytes) in samples {
        last_of_step.insert(time.get() / STEP.get(), (time, bytes));
    }
    let points: Vec<_> = last_of_step.into_values().collect();
    let shares = points.windows(2).map(|pair| {
        let bits = 8.0 * float(pair[1].1.get().saturating_sub(pair[0].1.get()));
        let seconds = float((pair[1].0.saturating_sub(pair[0].0)).get()) / 1e9;
        bits / (seconds * gigabits * BINARY_GIGABIT)
    });
    let steps = float((span.get() / STEP.get()).max(1));
    100.0 * shares.sum::<f64>() / steps
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
            let FlowTuple {
                src, dst, sport, ..
            } = flow.flow;
            writeln!(
                f,
                "    {src} → {dst} :{sport}  {} B  {} ns, published {} ns",
                flow.size.get(),
                flow.simulated.get(),
                flow.published.get()
            )?;
        }
        Ok(())
    }
}

/// What flows are told apart by.
fn key(flow: FlowTuple) -> (u32, u32, u16, u16) {
    (
        flow.src.to_bits(),
        flow.dst.to_bits(),
        flow.sport,
        flow.dport,
    )
}

#[expect(
    clippy::cast_precision_loss,
    reason = "nanoseconds and bytes of a run are far below 2^53"
)]
const fn float(value: u64) -> f64 {
    value as f64
}

/// Flows that are shown.
const WORST: usize = 5;

/// One flow's FCT that is an eighth of the standalone FCT off is another path's: on the 8-DC
/// network, ways differ by 10 ms one way and more, a standalone FCT is some 20 ms.
const OTHER_PATH: u64 = 8;

/// The script's step.
const STEP: Nanos = Nanos::from_millis(10);

/// What the script takes for a Gbit.
const BINARY_GIGABIT: f64 = 1_073_741_824.0;
