//! End times of a run's repetitions, and use of links while flows start.

use lab_records::{ArrivalUse, DirectionUse, FlowFields, LinkRow, RepetitionEnds, RunInfo};
use lab_units::{Bytes, Nanos};

use crate::{error::ReportError, facts::RunFacts};

/// End of each repetition, and use of links, under each policy.
#[derive(Clone, Debug, Default)]
pub struct Extent(Vec<PolicyExtent>);

#[derive(Clone, Debug, Default)]
struct PolicyExtent {
    ends: RepetitionEnds,
    arrivals: ArrivalUse,
}

impl Extent {
    /// Returns an empty extent for `policies` policies.
    pub fn new(policies: usize) -> Self {
        Self(vec![PolicyExtent::default(); policies])
    }

    /// Updates the repetition ends and the arrival times of a policy with one of its flows.
    pub fn flow(&mut self, policy: usize, flow: FlowFields<'_>) {
        self.0[policy].ends.flow(flow);
        self.0[policy].arrivals.flow(flow);
    }

    /// Reads the links' counters over time.
    pub fn read_counters(&mut self, run: &RunFacts) -> Result<(), ReportError> {
        let policies = &run.info().policies;
        run.visit_batches::<LinkRow, ReportError>(&COLUMNS, |batch| {
            let [labels, links, from, to] =
                ["policy", "link", "from_dc", "to_dc"].map(|it| batch.texts(it));
            let [repetitions, times, bytes] =
                ["repetition", "time_ns", "tx_bytes"].map(|it| batch.integers(it));
            let number = |values: &[Option<u64>], row: usize| values[row].unwrap_or(0);
            for row in 0..batch.len() {
                let policy = policies.iter().position(|it| labels.at(row) == Some(it));
                let Some(policy) = policy.map(|policy| &mut self.0[policy]) else {
                    continue;
                };
                let repetition = u32::try_from(number(repetitions, row)).unwrap_or(u32::MAX);
                let time = Nanos::new(number(times, row));
                let direction = [links, from, to].map(|it| it.at(row).unwrap_or_default());
                policy.ends.at(repetition, time);
                let bytes = Bytes::new(number(bytes, row));
                policy.arrivals.counter(repetition, direction, time, bytes);
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Returns the time at which a repetition ended under a policy.
    pub fn end(&self, policy: usize, repetition: u32) -> Nanos {
        self.0[policy].ends.of(repetition)
    }

    /// Returns the latest end of any repetition under any policy.
    pub fn last_end(&self) -> Nanos {
        let ends = self.0.iter().map(|policy| policy.ends.last());
        ends.max().unwrap_or_default()
    }

    /// Returns the utilisation of each link direction under a policy while flows start; `info` has the rates of links.
    pub fn uses(&self, policy: usize, info: &RunInfo) -> Vec<DirectionUse> {
        self.0[policy].arrivals.uses(info)
    }
}

/// Names of the columns that are read from `links.csv`.
const COLUMNS: [&str; 7] = [
    "policy",
    "repetition",
    "time_ns",
    "link",
    "from_dc",
    "to_dc",
    "tx_bytes",
];
