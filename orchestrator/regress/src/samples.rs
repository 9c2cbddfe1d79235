//! What assertions and gates need of a run.

use std::collections::BTreeMap;

use lab_records::{DcPath, FlowCounts, FlowRow, RecordsError, RunDir, RunInfo};

/// Flows of a run by policy.
#[derive(Clone, Debug)]
pub struct Samples {
    /// Facts of the run.
    pub info: RunInfo,
    /// Reasons not to trust the run.
    pub doubts: Vec<String>,
    /// The policies, in the order of the scenario.
    pub policies: Vec<PolicySamples>,
}

/// Flows of one policy.
#[derive(Clone, Debug, Default)]
pub struct PolicySamples {
    /// Label.
    pub policy: String,
    /// Counts by outcome.
    pub counts: FlowCounts,
    /// Slowdowns of finished flows by repetition, in the order of the flows' arrival.
    pub repetitions: BTreeMap<u32, Vec<f64>>,
    /// Paths of the flows' data by the datacenters of sender and receiver; none for an unknown path.
    pub paths: BTreeMap<(String, String), Vec<Option<DcPath>>>,
}

impl Samples {
    /// Reads the flows of `run`.
    ///
    /// # Errors
    /// If the flows cannot be read.
    pub fn read(run: &RunDir) -> Result<Self, RecordsError> {
        let info = run.info().clone();
        let labels = info.policies.iter();
        let mut policies: Vec<PolicySamples> = labels
            .map(|label| PolicySamples {
                policy: label.clone(),
                ..PolicySamples::default()
            })
            .collect();
        let mut rows: Vec<FlowRow> = run.flows()?.rows;
        rows.sort_by_key(|row| (row.repetition, row.flow_id));
        for row in rows {
            if let Some(policy) = policies.iter_mut().find(|it| it.policy == row.policy) {
                policy.add(row);
            }
        }
        let doubts = match run.outcome() {
            Some(outcome) => outcome.verdict.sentences(),
            None => vec!["the run did not end".to_owned()],
        };
        Ok(Self {
            info,
            doubts,
            policies,
        })
    }

    /// Returns the flows of a policy.
    #[must_use]
    pub fn policy(&self, label: &str) -> Option<&PolicySamples> {
        self.policies.iter().find(|it| it.policy == label)
    }
}

impl PolicySamples {
    fn add(&mut self, row: FlowRow) {
        self.counts.add(row.fields());
        if let Some(slowdown) = row.slowdown {
            let repetition = self.repetitions.entry(row.repetition).or_default();
            repetition.push(slowdown);
        }
        let ends = (row.src_dc, row.dst_dc);
        self.paths.entry(ends).or_default().push(row.path);
    }

    /// Returns the slowdowns of all repetitions, one after the other.
    #[must_use]
    pub fn slowdowns(&self) -> Vec<f64> {
        self.repetitions.values().flatten().copied().collect()
    }
}
