//! Provenance of a run: the program and command line that made it, its traffic and policies, its assumptions, and the
//! changes made while it ran.

use std::fmt;

use lab_units::{Nanos, Ratio};
use serde::{Deserialize, Serialize};

use crate::{Departure, SimRequest, UtcTime};

/// Provenance of a run, known before its first flow. Empty in records of an earlier lcmp-lab.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Command line, beginning with the program.
    pub command: Vec<String>,
    /// Commit that lcmp-lab was built from, with `+changes` if files differed from the commit; `unknown` if lcmp-lab
    /// was built outside a repository.
    pub tool_commit: String,
    /// Sources of flows, one sentence each, without a full stop.
    pub traffic: Vec<String>,
    /// Policies with all their parameters, in the order of the scenario.
    pub policies: Vec<PolicySettings>,
    /// Constants that were fitted to published results or are not in the paper, one sentence each, without a full stop.
    pub assumed: Vec<String>,
    /// Options on the command line; `None` in records of an earlier lcmp-lab.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
}

/// Options on the command line that [`RunInfo`](crate::RunInfo) does not have; [`RunInfo`](crate::RunInfo) has the
/// scenario, the seed, the policies and the scale. A repeat of the run needs all of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Load of the workloads that list loads; `None` for the scenario's load.
    pub load: Option<Ratio>,
    /// Options of the simulation; in a run of the kernel engine, `is_scaled` is true and the other options have their
    /// defaults.
    #[serde(flatten)]
    pub options: SimRequest,
}

/// Policy with all its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicySettings {
    /// Label of the policy.
    pub policy: String,
    /// Parameters of the policy as in `plan.json`, with emulated times.
    pub parameters: serde_json::Value,
    /// Parameters of the policy in paper units; empty for a policy without parameters and in earlier versions' records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<ParameterValue>,
    /// Parameters that differ from the publication; empty in records of an earlier lcmp-lab.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub departures: Vec<Departure>,
}

/// Parameter with its value and unit.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct ParameterValue {
    /// Name of the parameter in scenarios.
    pub parameter: String,
    /// Value in paper units.
    pub value: String,
    /// Value that the engine used; `None` if the scale does not change the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulated: Option<String>,
}

/// Formats the parameter as in `sample_interval 1 ms (10 ms emulated)`.
impl fmt::Display for ParameterValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.parameter, self.value)?;
        match &self.emulated {
            Some(emulated) => write!(f, " ({emulated} emulated)"),
            None => Ok(()),
        }
    }
}

/// Change that was made to a run while its flows ran, other than the scenario's faults.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct LiveChange {
    pub kind: ChangeKind,
    /// Label of the policy that ran; `None` if only the change's time of day is known.
    pub policy: Option<String>,
    /// Repetition that ran, from 0; `None` if only the time of day is known.
    pub repetition: Option<u32>,
    /// Time from the repetition's start, in paper time; `None` if only the time of day is known.
    pub time_ns: Option<Nanos>,
    /// Time of day; `None` if the run's clock is not the host's clock.
    pub at: Option<UtcTime>,
    /// Description of the change: `dc1: alpha=1 beta=3`.
    pub text: String,
}

/// Kind of a change.
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
