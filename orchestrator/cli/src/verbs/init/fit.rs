//! Choice of a new scenario's values, by the plans of drafts.

use std::{path::Path, time::Duration};

use lab_plan::{Capacity, Engine, Place, Plan, PlanOptions, Scope, estimate_at};
use lab_units::{Nanos, Ratio};

use super::{draft::NewScenario, network::InitNetwork};
use crate::{
    failure::Failure,
    load::{self, Loaded},
    verbs::sim::Budget,
};

/// New scenario with facts from its plan.
pub struct Fitted {
    pub draft: NewScenario,
    /// Number of flows per policy.
    pub flows: usize,
    /// Codes of the warnings about a run by the draft's engine.
    pub warnings: Vec<String>,
    /// Codes of further warnings, which concern labs alone, or the reason why no lab can run the scenario.
    pub lab_warnings: Result<Vec<String>, String>,
}

/// Chooses the values of a scenario on `network` with the load `load` for a run by `engine`. The scenario is written into
/// `folder`.
/// Fails if the network cannot be planned, with exit code 2.
pub fn fit(
    network: InitNetwork,
    load: Ratio,
    engine: Engine,
    folder: &Path,
) -> Result<Fitted, Failure> {
    let policies = if network.has_one_rate {
        vec!["ecmp", "lcmp"]
    } else {
        vec!["ecmp", "wcmp", "lcmp"]
    };
    let mut draft = NewScenario {
        network,
        engine,
        load,
        is_downhill: false,
        duration: DURATIONS_MS.map(Nanos::from_millis)[0],
        policies,
    };
    let of_engine = |draft: &NewScenario| planned(draft, engine, folder);
    // Candidates do not depend on the engine, and the simulator has no limits on what it can carry.
    let by_hops = planned(&draft, Engine::Sim, folder);
    // With fewest hops, a switch may also have more candidates than it can choose among.
    draft.is_downhill = by_hops.as_ref().map_or(true, Planned::has_little_choice);
    lengthen(&mut draft, &of_engine)?;
    let mut found = of_engine(&draft)?;
    if found.warns("same-policies") {
        draft.policies.retain(|policy| *policy != "wcmp");
        found = of_engine(&draft)?;
    }
    let warnings = found.codes();
    let in_lab = planned(&draft, Engine::Kernel, folder);
    Ok(Fitted {
        draft,
        flows: found.plan.flows.len(),
        lab_warnings: in_lab
            .map(|in_lab| {
                let codes = in_lab.codes().into_iter();
                codes.filter(|it| !warnings.contains(it)).collect()
            })
            .map_err(|failure| failure.message),
        warnings,
    })
}

/// Lengthens the time in which flows arrive, as long as the run stays below its limits of time and flows.
fn lengthen(
    draft: &mut NewScenario,
    planned: &impl Fn(&NewScenario) -> Result<Planned, Failure>,
) -> Result<(), Failure> {
    for millis in DURATIONS_MS {
        let shorter = draft.duration;
        draft.duration = Nanos::from_millis(millis);
        if !planned(draft).is_ok_and(|of| of.is_short()) {
            draft.duration = shorter;
            break;
        }
    }
    // If no duration can be planned, this returns the error of the shortest one.
    planned(draft).map(drop)
}

/// Plan of a draft, with its scope.
struct Planned {
    engine: Engine,
    plan: Plan,
    scope: Scope,
}

/// Plans a draft as a scenario in `folder`.
fn planned(draft: &NewScenario, engine: Engine, folder: &Path) -> Result<Planned, Failure> {
    let name = "the new scenario";
    let bytes = draft.text().into_bytes();
    let loaded: Loaded = load::loaded(name, bytes, |named| folder.join(named))?;
    let options = PlanOptions {
        engine,
        ..PlanOptions::default()
    };
    let plan = load::resolve(&loaded, Path::new(name), &options)?;
    let scope = lab_plan::scope(&plan, &loaded.scenario, &loaded.text).map_err(Failure::usage)?;
    Ok(Planned {
        engine,
        plan,
        scope,
    })
}

impl Planned {
    fn codes(&self) -> Vec<String> {
        let warnings = self.plan.warnings.iter();
        warnings.map(|warning| warning.code.clone()).collect()
    }

    fn warns(&self, code: &str) -> bool {
        self.plan
            .warnings
            .iter()
            .any(|warning| warning.code == code)
    }

    /// Returns true if fewer than half of the flows have a choice of paths.
    fn has_little_choice(&self) -> bool {
        let choice = self.scope.choice;
        choice.flows_with_choice * 2 < choice.flows
    }

    /// Returns true if the run is short enough: at most about a minute in the simulator, or at most a few minutes of flows
    /// in a lab. The rest of a lab's time depends on the network, not on the duration of the flows.
    fn is_short(&self) -> bool {
        match self.engine {
            Engine::Sim => {
                let budget = Budget::of(&self.plan, None, 1);
                self.plan.flows.len() <= MAX_FLOWS
                    && budget.is_ok_and(|budget| budget.time() <= MAX_SIMULATED)
            }
            Engine::Kernel => {
                let capacity = Capacity::default_of(Place::GuestVirtual);
                estimate_at(&self.plan, &capacity).wall_ns <= MAX_LAB
            }
        }
    }
}

/// Times in which flows arrive, in ms, from the shortest.
const DURATIONS_MS: [u64; 10] = [5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000];

/// Maximum estimated time of a simulation; starting, records and report take about as long again.
const MAX_SIMULATED: Duration = Duration::from_secs(30);

/// Maximum number of flows of a simulation, because every flow also takes time in the report.
const MAX_FLOWS: usize = 20_000;

/// Maximum estimated time that the flows of all policies take in a lab.
const MAX_LAB: Nanos = Nanos::from_millis(240_000);
