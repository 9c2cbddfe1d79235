//! Origin of a run: the program and command that made it, what it was asked to play, what was taken
//! for granted, and what was changed while it ran.

use std::fmt;

use lab_units::{Nanos, Ratio};
use serde::{Deserialize, Serialize};

use crate::{Departure, SimRequest, UtcTime};

/// Origin of a run, known before its first flow. Empty in records of an earlier lcmp-lab.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Command line, the program first.
    pub command: Vec<String>,
    /// Commit that lcmp-lab was built from, with `+changes` if files differed from it; `unknown` if it
    /// was built outside a repository.
    pub tool_commit: String,
    /// The sources of flows, a sentence without its full stop for each.
    pub traffic: Vec<String>,
    /// Every policy with all its parameters, in the order of the scenario.
    pub policies: Vec<PolicySettings>,
    /// Constants that were fitted to published results or are not in the paper, a sentence without its
    /// full stop for each.
    pub assumed: Vec<String>,
    /// Options on the command line; none in an earlier lcmp-lab's records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
}

/// What the command line asked for beyond the scenario, the seed, the policies and the scale, which
/// [`RunInfo`](crate::RunInfo) has: what a second run needs to be the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Load of the workloads that list loads; none if it is the scenario's.
    pub load: Option<Ratio>,
    /// Options of the simulation; a run of the kernel engine is scaled, and has no others.
    #[serde(flatten)]
    pub options: SimRequest,
}

/// A policy with all its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicySettings {
    /// Label of the policy.
    pub policy: String,
    /// Its parameters as in `plan.json`; times in them are emulated.
    pub parameters: serde_json::Value,
    /// Parameters of the policy in paper units; empty for a policy without parameters and in earlier versions' records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<ParameterValue>,
    /// Parameters that are not the publication's; empty in records of an earlier lcmp-lab.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub departures: Vec<Departure>,
}

/// Value of a parameter, with its unit.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct ParameterValue {
    /// Name of the parameter in scenarios.
    pub parameter: String,
    /// Value in paper units.
    pub value: String,
    /// Value that the engine used, if the scale changes it.
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

/// A change that was made to a run while its flows ran, besides the scenario's faults.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct LiveChange {
    /// Kind of the change.
    pub kind: ChangeKind,
    /// Label of the policy that ran; none if only the time of day is known.
    pub policy: Option<String>,
    /// Repetition that ran, from 0; none likewise.
    pub repetition: Option<u32>,
    /// Time from the repetition's start, in paper time; none likewise.
    pub time_ns: Option<Nanos>,
    /// Time of day; none if the run's clock is not the host's.
    pub at: Option<UtcTime>,
    /// The change: `dc1: alpha=1 beta=3`.
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
    /// The agent of a switch was killed, and restarted.
    AgentRestart,
}
