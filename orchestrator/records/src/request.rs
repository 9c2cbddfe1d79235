//! Requests for runs: a scenario with overrides and options.
//!
//! A suite makes a request for each of its runs, and a repetition of an earlier run is a request as well. Records do
//! not contain requests: [`RunRequest::again`] derives one from the facts of a run, however the run was started.

use std::path::PathBuf;

use lab_units::{Clock, Engine, Ratio};
use serde::{Deserialize, Serialize};

use crate::{EngineInfo, Location, RunInfo, SimRequest};

/// Request to run a scenario on an engine.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// Path of the scenario file, or name of a built-in scenario.
    pub scenario: PathBuf,
    /// Values that replace the scenario's.
    #[serde(default)]
    pub overrides: Overrides,
    /// Engine, with its options.
    pub engine: EngineRequest,
    /// Location of a lab; `None` selects this machine's kernel if it can run the lab, else a guest.
    #[serde(default, rename = "place", skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// Clock of a lab's guest; `None` selects the virtual clock under software emulation, else the real clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<Clock>,
}

/// Values that replace the scenario's. `None` and an empty list leave the scenario's value.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Overrides {
    /// Seed of all random numbers.
    pub seed: Option<u64>,
    /// Number of repetitions.
    pub repetitions: Option<u32>,
    /// Labels of the policies to run; empty for all policies of the scenario.
    pub policies: Vec<String>,
    /// Load for the workloads with a sweep or, without a sweep, for all workloads.
    pub load: Option<Ratio>,
    /// Scale factors of rates and of times.
    pub scale: Option<(Ratio, Ratio)>,
    /// Capacity for which the scale is chosen automatically, in the form of `--scale-for`.
    pub scale_for: Option<String>,
}

/// Engine of a run, with its options.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineRequest {
    /// The Linux kernel.
    Kernel,
    /// The simulator.
    Sim(SimRequest),
}

impl From<Engine> for EngineRequest {
    fn from(engine: Engine) -> Self {
        match engine {
            Engine::Kernel => Self::Kernel,
            Engine::Sim => Self::Sim(SimRequest::default()),
        }
    }
}

impl RunRequest {
    /// Returns the request for a run of `scenario` by `engine`, without overrides, at the default location.
    #[must_use]
    pub fn new(scenario: PathBuf, engine: Engine) -> Self {
        Self {
            scenario,
            overrides: Overrides::default(),
            engine: engine.into(),
            location: None,
            clock: None,
        }
    }

    /// Returns the request that repeats the run described by `info`, with the scenario at `scenario`; `scale_for` gives
    /// the capacity for an automatic scale. Returns `None` if an earlier version made the run and did not record its
    /// options.
    #[must_use]
    pub fn again(info: &RunInfo, scenario: PathBuf, scale_for: Option<String>) -> Option<Self> {
        let asked = info.provenance.asked.clone()?;
        let is_in_guest = info.location == Location::Guest;
        let is_pinned = asked.options.is_scaled && scale_for.is_none();
        let (engine, location) = match info.engine {
            EngineInfo::Kernel => (EngineRequest::Kernel, Some(info.location)),
            EngineInfo::Sim(_) => (EngineRequest::Sim(asked.options), None),
        };
        Some(Self {
            scenario,
            overrides: Overrides {
                seed: Some(info.seed),
                repetitions: Some(info.repetitions),
                policies: info.policies.clone(),
                load: asked.load,
                scale: is_pinned.then_some((info.scale.rate, info.scale.time)),
                scale_for,
            },
            engine,
            location,
            clock: is_in_guest.then_some(info.clock),
        })
    }
}
