//! Values of a run that assertions and gates use.

use std::collections::BTreeMap;

use lab_records::{DcPath, FlowCounts, RecordsError, RunInfo};
use lab_reports::facts::RunFacts;
use lab_units::FlowId;

/// Flows of a run, grouped by policy.
#[derive(Clone, Debug)]
pub struct Samples {
    /// Description of the run.
    pub info: RunInfo,
    /// Reasons for which the run is not trustworthy.
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
    /// Slowdowns of finished flows per repetition, in the order of arrival.
    pub repetitions: BTreeMap<u32, Vec<f64>>,
    /// Paths of the flows' data, by the datacenters of sender and receiver; `None` if a path is unknown.
    pub paths: BTreeMap<(String, String), Vec<Option<DcPath>>>,
}

/// Properties of a flow that the samples contain.
struct FlowSample {
    /// Repetition and flow number.
    key: (u32, FlowId),
    /// Index of the policy.
    policy: usize,
    slowdown: Option<f64>,
    /// Datacenters of sender and receiver.
    ends: (String, String),
    path: Option<DcPath>,
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
        let mut flows: Vec<FlowSample> = Vec::new();
        run.visit_measured(|policy, fields| {
            policies[policy].counts.add(fields);
            flows.push(FlowSample {
                key: (fields.repetition, fields.flow_id),
                policy,
                slowdown: fields.slowdown,
                ends: (fields.src_dc.to_owned(), fields.dst_dc.to_owned()),
                path: fields.path.map(|path| DcPath::new([path])),
            });
        })?;
        flows.sort_by_key(|flow| flow.key);
        for flow in flows {
            policies[flow.policy].add(flow);
        }
        Ok(Self {
            info,
            doubts: run.doubts(),
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
    fn add(&mut self, flow: FlowSample) {
        if let Some(slowdown) = flow.slowdown {
            let repetition = self.repetitions.entry(flow.key.0).or_default();
            repetition.push(slowdown);
        }
        self.paths.entry(flow.ends).or_default().push(flow.path);
    }
}
