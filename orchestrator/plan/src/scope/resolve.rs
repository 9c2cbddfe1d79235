//! Scope of a plan: all facts together, with lines of the scenario.

use lab_scenario::{PolicySpec, Scenario};
use lab_units::Nanos;
use serde::Serialize;

use super::{
    alike::{self, AlikePolicies, Decisions},
    choice::{self, ChoiceCount},
    outage::{self, Outage},
    routing::Routing,
    single_cut::{self, SingleCuts},
    spread::{self, LoadedLink},
    tightest_cut::{self, LoadedCut},
    timeline::Timeline,
};
use crate::{
    agent_crashes::MissedChanges,
    demands,
    error::PlanError,
    model::{AgentCrashPlan, NetworkLoad, Plan},
    network::Network,
    paper_units::PaperUnits,
    random_faults::{self, DrawnFaults},
    round_trip,
};

/// Facts that limit what the results of a run can show.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Scope {
    pub choice: ChoiceCount,
    /// Groups of policies that cannot differ.
    pub alike: Vec<AlikePolicies>,
    /// Key of the scenario that sets the rate of the sampled traffic, for hints.
    #[serde(skip)]
    pub load_key: &'static str,
    /// Links whose utilisation is a workload's load, in the order of `traffic`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loads: Vec<NetworkLoad>,
    /// Busiest direction of a link if every switch splits the workloads' demands evenly over its candidates; `None`
    /// without workloads.
    pub busiest: Option<LoadedLink>,
    /// Cut with the highest utilisation that no policy can avoid; `None` without workloads.
    pub tightest: Option<LoadedCut>,
    pub single_cuts: SingleCuts,
    pub outages: Vec<Outage>,
    /// Time in which flows are under way; `None` without flows.
    pub traffic: Option<TrafficTime>,
    /// Times of the scenario's faults, in paper time, in order.
    pub fault_times_ns: Vec<Nanos>,
    /// Cuts that the scenario's random faults have drawn, in the order of `faults`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drawn_faults: Vec<DrawnFaults>,
    /// Crashes of switches' agents, by time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub crashes: Vec<CrashEffect>,
}

/// Crash of a switch's agent, and the policies whose decisions it cannot change.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct CrashEffect {
    /// Name of the datacenter.
    pub dc: String,
    /// Time of the crash, in paper time.
    pub from_ns: Nanos,
    /// Start of the next agent, in paper time; `None` if there is none.
    pub to_ns: Option<Nanos>,
    /// Labels of the policies under which the switch decides as if it had its agent.
    pub idle_under: Vec<String>,
}

/// Time in which a plan's flows are under way, in paper time from the start of each repetition.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct TrafficTime {
    /// Start of the first flow.
    pub from_ns: Nanos,
    /// End of the last flow if each flow ran alone.
    pub ideal_end_ns: Nanos,
}

/// Derives the scope of `plan`, which was resolved from the scenario `written` with the text `source`.
///
/// # Errors
/// If the workloads' names are inconsistent: see [`PlanError`]. A resolved scenario's names are not.
pub fn scope(plan: &Plan, written: &Scenario, source: &str) -> Result<Scope, PlanError> {
    let starts = plan.flows.iter().map(|flow| flow.paper_start_ns);
    let drawn = random_faults::draw(written, plan.seed, plan.load.paper_duration_ns, starts)?;
    let scenario = drawn.scenario.as_ref();
    let network = Network::of(plan);
    let routing = Routing {
        network: &network,
        switches: &plan.switches,
    };
    let demands = demands::of_scenario(scenario, &network, &plan.switches)?;
    let demands = demands::of_hosts(&demands, &plan.load.thinned);
    let pairs = choice::pairs(&network, &plan.flows);
    let both_ways = choice::both_ways(&pairs);
    let lines = lab_scenario::item_lines(source, "topology.links");
    let decisions = Decisions {
        routing,
        policies: &plan.policies,
        faults: &plan.faults,
        reconvergences: &plan.reconvergences,
        scale: &plan.scale,
        semantics: scenario.transport.semantics,
    };
    let timeline = Timeline {
        network: &network,
        switches: &plan.switches,
        faults: &plan.faults,
        reconvergences: &plan.reconvergences,
        crashes: &plan.agent_crashes,
    };
    let fault_lines = lab_scenario::item_lines(source, "faults");
    let drawn_faults = drawn.counts.iter().map(|counts| DrawnFaults {
        line: fault_lines.get(counts.entry).copied(),
        ..*counts
    });
    let entries = (scenario.faults).chunk_by(|a, b| (a.entry, a.at) == (b.entry, b.at));
    let mut fault_times_ns: Vec<Nanos> = entries.map(|faults| faults[0].at).collect();
    fault_times_ns.sort_unstable();
    Ok(Scope {
        choice: choice::count(routing, &plan.reconvergences, &pairs),
        alike: alike::groups(decisions, &both_ways, policy_line(scenario, source)),
        load_key: plan.load.key(scenario),
        loads: plan.load.network.clone(),
        busiest: spread::busiest(routing, &demands, &lines),
        tightest: tightest_cut::tightest(routing, &demands, &lines),
        single_cuts: single_cut::of_each_link(routing, &both_ways, &lines),
        outages: outage::of_faults(timeline, &both_ways, (&scenario.faults, &fault_lines)),
        traffic: traffic(plan),
        fault_times_ns,
        drawn_faults: drawn_faults.collect(),
        crashes: crashes(plan, &network),
    })
}

fn crashes(plan: &Plan, network: &Network) -> Vec<CrashEffect> {
    let missed = MissedChanges {
        network,
        switches: &plan.switches,
        policies: &plan.policies,
        faults: &plan.faults,
        reconvergences: &plan.reconvergences,
        max_table_age_ns: plan.max_table_age_ns,
    };
    let effect = |crash: &AgentCrashPlan| {
        let policies = plan.policies.iter().enumerate();
        let idle = policies.filter(|(index, _)| !missed.matter(crash, *index));
        CrashEffect {
            dc: plan.dcs[crash.dc.index()].name.clone(),
            from_ns: crash.paper_at_ns,
            to_ns: crash.restart.map(|restart| restart.paper_at_ns),
            idle_under: idle.map(|(_, run)| run.label.clone()).collect(),
        }
    };
    plan.agent_crashes.iter().map(effect).collect()
}

/// Returns a function from a policy's label to its line in the scenario.
pub(crate) fn policy_line(scenario: &Scenario, source: &str) -> impl Fn(&str) -> Option<usize> {
    let lines = lab_scenario::item_lines(source, "policies");
    move |label| {
        let mut policies = scenario.policies.iter().map(PolicySpec::label);
        let index = policies.position(|found| found == label)?;
        lines.get(index).copied()
    }
}

fn traffic(plan: &Plan) -> Option<TrafficTime> {
    let from_ns = plan.flows.iter().map(|flow| flow.paper_start_ns).min()?;
    let end = round_trip::ideal_end(&plan.flows);
    Some(TrafficTime {
        from_ns,
        ideal_end_ns: PaperUnits::new(&plan.scale).time(end),
    })
}
