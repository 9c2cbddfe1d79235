//! Provenance of a run: the program and command line that made it, its traffic and policies, assumptions, and changes
//! made while it ran.

use std::fmt;

use lab_units::{Nanos, Ratio};
use serde::{Deserialize, Serialize};

use crate::{Departure, SimRequest, UtcTime};

/// Provenance of a run that is known before its first flow starts. Empty in records of earlier versions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Command line, starting with the program's name.
    pub command: Vec<String>,
    /// Commit from which lcmp-lab was built, with `+changes` if tracked files differed from the commit; `unknown` if it
    /// was built outside a repository.
    pub tool_commit: String,
    /// Sources of flows, one sentence each, without a full stop.
    pub traffic: Vec<String>,
    /// Policies with all their parameters, in the order of the scenario.
    pub policies: Vec<PolicySettings>,
    /// Constants that were fitted to published results or are not in the paper, one sentence each, without a full stop.
    pub assumed: Vec<String>,
    /// Options given on the command line; `None` in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
    /// Settings of transport, RDMA and measurement, with the names that they have in the plan; `None` if the run kept its
    /// plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<serde_json::Value>,
}

/// Options given on the command line, except for those that [`RunInfo`](crate::RunInfo) contains: scenario, seed,
/// policies and scale. A repeat of the run needs all of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Load for the workloads with a sweep or, without a sweep, for all workloads; `None` to keep the scenario's loads.
    pub load: Option<Ratio>,
    /// Options of the simulation. In a run of the kernel engine, `is_scaled` is true and the other options have their
    /// defaults.
    #[serde(flatten)]
    pub options: SimRequest,
}

/// Policy with all its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicySettings {
    /// Label of the policy.
    pub policy: String,
    /// Parameters as in `plan.json`, with times after scaling for emulation, and trained weights replaced by their
    /// hash.
    pub parameters: serde_json::Value,
    /// Parameters at the paper's scale (before scaling for emulation); empty if the policy has no parameters, and in
    /// records of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<ParameterValue>,
    /// Parameters that differ from the publication; empty in records of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub departures: Vec<Departure>,
}

/// Parameter of a policy with its value, as text.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct ParameterValue {
    /// Name of the parameter, as in scenarios.
    pub parameter: String,
    /// Value at the paper's scale (before scaling for emulation), with its unit.
    pub value: String,
    /// Value after scaling, which the engine used; `None` if scaling does not change the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulated: Option<String>,
}

/// Formats the parameter with its values before and after scaling, such as `sample_interval 1 ms (10 ms emulated)`.
impl fmt::Display for ParameterValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.parameter, self.value)?;
        match &self.emulated {
            Some(emulated) => write!(f, " ({emulated} emulated)"),
            None => Ok(()),
        }
    }
}

/// Change made to a run while its flows ran, other than the scenario's faults.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct LiveChange {
    pub kind: ChangeKind,
    /// Label of the policy that was running; `None` if only the time of day is known.
    pub policy: Option<String>,
    /// Repetition that was running, from 0; `None` if only the time of day is known.
    pub repetition: Option<u32>,
    /// Time relative to the repetition's start, in paper time; `None` if only the time of day is known.
    pub time_ns: Option<Nanos>,
    /// Time of day of the change; `None` if the run's clock is not the host's.
    pub at: Option<UtcTime>,
    /// Description of the change, such as `dc1: alpha=1 beta=3`.
    pub text: String,
}

/// Kind of change made while flows ran.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// `lcmp-lab tune` changed parameters of a switch.
    Tune,
    /// `lcmp-lab exec` ran a command.
    Exec,
    /// The agent of a switch was killed and then restarted.
    AgentRestart,
}
