//! Values of a run that assertions and gates use.

use std::collections::BTreeMap;

use lab_records::{DcPath, FlowCounts, FlowFields, RecordsError, RunInfo};
use lab_reports::facts::RunFacts;

/// Flows of a run, grouped by policy.
#[derive(Clone, Debug)]
pub struct Samples {
    /// Description of the run.
    pub info: RunInfo,
    /// Reasons to distrust the run.
    pub doubts: Vec<String>,
    /// Policies in the order of the scenario.
    pub policies: Vec<PolicySamples>,
}

/// Flows of one policy.
#[derive(Clone, Debug, Default)]
pub struct PolicySamples {
    /// Label of the policy.
    pub policy: String,
    /// Number of flows by outcome.
    pub counts: FlowCounts,
    /// Sorted slowdowns of finished flows per repetition.
    pub repetitions: BTreeMap<u32, Vec<f64>>,
    /// Paths of the flows' data, by the datacenters of sender and receiver; `None` for a flow whose path is unknown.
    pub paths: BTreeMap<(String, String), Vec<Option<DcPath>>>,
}

impl Samples {
    /// Reads the flows of `run`.
    ///
    /// # Errors
    /// If the flows cannot be read.
    pub fn read(run: &RunFacts) -> Result<Self, RecordsError> {
        let info = run.info().clone();
        let mut policies: Vec<PolicySamples> = info
            .policies
            .iter()
            .map(|label| PolicySamples {
                policy: label.clone(),
                ..PolicySamples::default()
            })
            .collect();
        run.visit_measured(|policy, fields| policies[policy].add(fields))?;
        let repetitions = policies
            .iter_mut()
            .flat_map(|it| it.repetitions.values_mut());
        repetitions.for_each(|slowdowns| slowdowns.sort_by(f64::total_cmp));
        Ok(Self {
            info,
            doubts: run.doubts(),
            policies,
        })
    }

    /// Returns the flows of the policy with this label; `None` if the run has no such policy.
    #[must_use]
    pub fn policy(&self, label: &str) -> Option<&PolicySamples> {
        self.policies.iter().find(|it| it.policy == label)
    }
}

impl PolicySamples {
    fn add(&mut self, flow: FlowFields<'_>) {
        self.counts.add(flow);
        if let Some(slowdown) = flow.slowdown {
            let repetition = self.repetitions.entry(flow.repetition).or_default();
            repetition.push(slowdown);
        }
        let ends = (flow.src_dc.to_owned(), flow.dst_dc.to_owned());
        let path = flow.path.map(|path| DcPath::new([path]));
        self.paths.entry(ends).or_default().push(path);
    }
}
