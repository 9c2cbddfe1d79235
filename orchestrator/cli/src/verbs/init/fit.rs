//! Choice of a new scenario's values, by the plans of drafts.

use std::{path::Path, time::Duration};

use lab_plan::{Engine, Place, Plan, PlanOptions, Scope};
use lab_units::{Nanos, Ratio};

use super::{draft::NewScenario, network::InitNetwork};
use crate::{
    failure::Failure,
    load::{self, Loaded},
    verbs::{
        sim::Budget,
        up::duration::{DurationEstimate, Experience},
    },
};

/// New scenario with facts from its plan.
pub struct Fitted {
    pub draft: NewScenario,
    /// Number of flows per policy.
    pub flows: usize,
    /// Codes of the warnings about a run by the draft's engine.
    pub warnings: Vec<String>,
    /// Codes of further warnings, which concern labs alone.
    pub lab_warnings: Vec<String>,
}

/// Chooses the values of a scenario on `network` for a run by `engine`. `load` is the load of the command line; without it,
/// the load is the largest one up to the default at which no link is overloaded. The scenario is written into `folder`.
/// Fails if the network cannot be planned, with exit code 2.
pub fn fit(
    network: InitNetwork,
    load: Option<Ratio>,
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
        load: load.unwrap_or(loads()[0]),
        wanted_load: None,
        is_of_links: false,
        is_downhill: false,
        is_beyond_labs: false,
        duration: DURATIONS_MS.map(Nanos::from_millis)[0],
        policies,
    };
    let of_engine = |draft: &NewScenario| planned(draft, engine, folder);
    // Candidates and loads do not depend on the engine, and the simulator has no limits on what it can carry.
    let of_sim = |draft: &NewScenario| planned(draft, Engine::Sim, folder);
    let by_hops = of_sim(&draft);
    // With fewest hops, a switch may also have more candidates than it can choose among.
    draft.is_downhill = by_hops.as_ref().map_or(true, Planned::has_little_choice);
    let first = if draft.is_downhill {
        of_sim(&draft)?
    } else {
        by_hops?
    };
    draft.is_of_links = first.warns("overload");
    if load.is_none() {
        lower_load(&mut draft, &of_sim)?;
        leave_out_thin_links(&mut draft, &of_sim);
    }
    lengthen(&mut draft, &of_engine)?;
    let mut found = of_engine(&draft)?;
    if found.warns("same-policies") {
        draft.policies.retain(|policy| *policy != "wcmp");
        found = of_engine(&draft)?;
    }
    let warnings = found.codes();
    let mut in_lab = planned(&draft, Engine::Kernel, folder);
    if in_lab.is_err() {
        draft.is_beyond_labs = true;
        in_lab = planned(&draft, Engine::Kernel, folder);
    }
    let of_lab = in_lab?.codes();
    Ok(Fitted {
        draft,
        flows: found.plan.flows.len(),
        lab_warnings: of_lab
            .into_iter()
            .filter(|it| !warnings.contains(it))
            .collect(),
        warnings,
    })
}

/// Lowers the load until no link is overloaded, or to the lowest of [`loads`].
fn lower_load(
    draft: &mut NewScenario,
    planned: &impl Fn(&NewScenario) -> Result<Planned, Failure>,
) -> Result<(), Failure> {
    let wanted = draft.load;
    for load in loads() {
        draft.load = load;
        let plan = planned(draft)?;
        if !["overload", "cut-overload", "link-overload"]
            .iter()
            .any(|code| plan.warns(code))
        {
            break;
        }
    }
    draft.wanted_load = Some(wanted).filter(|wanted| *wanted != draft.load);
    Ok(())
}

/// Takes the hosts from datacenters with few neighbours, if the load is so low because of their links that it shows little,
/// and if the others can have a higher one.
fn leave_out_thin_links(
    draft: &mut NewScenario,
    planned: &impl Fn(&NewScenario) -> Result<Planned, Failure>,
) {
    let lower = draft.load;
    let wanted = draft.wanted_load;
    let is_low = Ratio::new(1, 20).is_some_and(|low| lower < low);
    let Some(of_hubs) = draft.network.section_of_hubs.take().filter(|_| is_low) else {
        return;
    };
    let of_all = std::mem::replace(&mut draft.network.section, of_hubs);
    draft.load = wanted.unwrap_or(lower);
    let is_found = lower_load(draft, planned).is_ok() && draft.load > lower;
    if !is_found {
        draft.network.section = of_all;
        (draft.load, draft.wanted_load) = (lower, wanted);
    }
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
    // The shortest one is an error here, if no duration can be planned.
    planned(draft).map(drop)
}

/// NewScenario's plan with its scope.
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

    /// Returns true if a run takes about a minute in the simulator, or a few minutes in a lab.
    fn is_short(&self) -> bool {
        match self.engine {
            Engine::Sim => {
                let budget = Budget::of(&self.plan, None);
                self.plan.flows.len() <= MAX_FLOWS
                    && budget.is_ok_and(|budget| budget.time() <= MAX_SIMULATED)
            }
            Engine::Kernel => {
                let experience = Experience::default();
                let time =
                    DurationEstimate::new(&self.plan, Place::GuestVirtual, &experience, None);
                time.total() <= MAX_LAB
            }
        }
    }
}

/// Loads to try, from the default down.
fn loads() -> Vec<Ratio> {
    let thousandths = [500, 400, 300, 200, 100, 50, 20, 10, 5, 2, 1];
    let loads = thousandths.into_iter();
    loads.filter_map(|share| Ratio::new(share, 1_000)).collect()
}

/// Times in which flows arrive, in ms, from the shortest.
const DURATIONS_MS: [u64; 10] = [5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000];

/// Maximum estimated time of a simulation; starting, records and report take about as long again.
const MAX_SIMULATED: Duration = Duration::from_secs(30);

/// Maximum number of flows of a simulation, because every flow also takes time in the report.
const MAX_FLOWS: usize = 20_000;

/// Maximum estimated time of a lab.
const MAX_LAB: Nanos = Nanos::from_millis(300_000);
