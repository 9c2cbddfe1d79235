//! Numbers of flows, memory and time of a run in the lab and in the simulator, estimated before it.

use lab_plan::{Engine, Plan, PlanOptions};
use lab_units::{Bytes, Nanos};
use serde::Serialize;

use crate::{
    args::{ScenarioArgs, TrainsArg},
    failure::Failure,
    load::{self, Loaded},
    progress::nanos,
    verbs::{
        sim::{Budget, train_length},
        up::duration::{DurationEstimate, Experience},
    },
};

/// Estimates for `lcmp-lab up` and `lcmp-lab sim`.
#[derive(Serialize)]
pub struct Engines {
    /// Estimate for the lab; `None` if no scale makes the scenario fit into one.
    pub lab: Option<EngineEstimate>,
    /// Reason why no lab can run the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lab_refusal: Option<String>,
    /// Estimate for the simulator, unscaled; `None` if it refuses the scenario.
    pub sim: Option<EngineEstimate>,
    /// Reason why the simulator refuses the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sim_refusal: Option<String>,
}

/// Estimate of a run of all policies.
#[derive(Serialize)]
pub struct EngineEstimate {
    /// Number of measured flows of each policy, in all repetitions.
    pub measured: usize,
    pub repetitions: u32,
    /// Memory for the guest's kernel and processes, or for the simulator's packets and flows.
    pub memory_bytes: Bytes,
    /// Memory that `up` gives a guest for this; `None` for the simulator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guest_memory_bytes: Option<Bytes>,
    /// Wall-clock time for all policies and repetitions: of `up` by its default costs, or simulated on one thread.
    pub wall_ns: Nanos,
    /// Facts on `sim --trains`; `None` for the lab.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trains: Option<TrainsEstimate>,
}

/// Facts on `sim --trains`.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TrainsEstimate {
    /// Trains can simulate the scenario.
    Length {
        /// Default length in packets.
        packets: u32,
        /// Wall-clock time for all policies and repetitions on one thread.
        wall_ns: Nanos,
    },
    /// Reason why trains cannot simulate the scenario.
    Refusal(String),
}

impl Engines {
    /// Estimates the runs of `loaded` after trainings of about `training`. `plan` is its plan for the lab; if
    /// `lab_refusal` says why there is none, it is the plan for the simulator.
    pub fn of(
        plan: &Plan,
        lab_refusal: Option<String>,
        loaded: &Loaded,
        arguments: &ScenarioArgs,
        training: Option<Nanos>,
    ) -> Result<Self, Failure> {
        let lab = match lab_refusal {
            Some(_) => None,
            None => Some(in_lab(plan, arguments, training)?),
        };
        let options = load::options(&arguments.overrides, Engine::Sim)?;
        let (sim, sim_refusal) = match simulated(loaded, arguments, &options) {
            Ok(estimate) => (Some(estimate), None),
            Err(failure) => (None, Some(failure.message)),
        };
        Ok(Self {
            lab,
            lab_refusal,
            sim,
            sim_refusal,
        })
    }
}

fn in_lab(
    plan: &Plan,
    arguments: &ScenarioArgs,
    training: Option<Nanos>,
) -> Result<EngineEstimate, Failure> {
    let options = load::options(&arguments.overrides, Engine::Kernel)?;
    let place = options.capacity.place;
    Ok(EngineEstimate {
        measured: measured(plan),
        repetitions: plan.repetitions,
        memory_bytes: plan.estimate.memory_bytes,
        guest_memory_bytes: Some(lab_guest::memory_for(plan.estimate.memory_bytes)),
        wall_ns: DurationEstimate::new(plan, place, &Experience::default(), training).total(),
        trains: None,
    })
}

fn simulated(
    loaded: &Loaded,
    arguments: &ScenarioArgs,
    options: &PlanOptions,
) -> Result<EngineEstimate, Failure> {
    let plan = load::resolve(loaded, &arguments.scenario, options)?;
    let budget = Budget::of(&plan, None, 1)?;
    Ok(EngineEstimate {
        measured: measured(&plan),
        repetitions: plan.repetitions,
        memory_bytes: budget.memory(),
        guest_memory_bytes: None,
        wall_ns: nanos(budget.time()),
        trains: Some(in_trains(&plan)?),
    })
}

fn in_trains(plan: &Plan) -> Result<TrainsEstimate, Failure> {
    match train_length::of(TrainsArg::Default, plan) {
        Ok(packets) => Ok(TrainsEstimate::Length {
            packets,
            wall_ns: nanos(Budget::of(plan, None, packets)?.time()),
        }),
        Err(refused) => Ok(TrainsEstimate::Refusal(refused.message)),
    }
}

/// Returns the number of flows in the plan's window of measured flows.
fn measured(plan: &Plan) -> usize {
    match plan.measure.measured {
        Some(window) => window
            .ids(&plan.flows)
            .iter()
            .map(ExactSizeIterator::len)
            .sum(),
        None => plan.flows.len(),
    }
}
