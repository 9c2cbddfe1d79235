//! Link changes while flows run.

use std::collections::BTreeMap;

use lab_scenario::{Fault, FaultSpec, Scenario, Wire};
use lab_units::LinkId;

use crate::{
    error::PlanError,
    model::{FaultChange, FaultPlan, PolicyRun, Scale, Switch},
    network::Network,
    path_costs::PathCosts,
};

/// Returns link changes by time, then position in the scenario; a fault of a pair of datacenters with
/// several links changes all of them.
pub(crate) fn resolve(
    scenario: &Scenario,
    network: &Network,
    switches: &[Switch],
    policies: &[PolicyRun],
    scale: &Scale,
) -> Result<Vec<FaultPlan>, PlanError> {
    let mut faults: Vec<(usize, &Fault)> = scenario.faults.iter().enumerate().collect();
    faults.sort_by_key(|(index, fault)| (fault.at, *index));
    // State of each link so far, in paper units: a change keeps those before it.
    let mut wires: BTreeMap<LinkId, Wire> = BTreeMap::new();
    let mut scores = PathCosts::new(network, switches, policies);
    let mut plan = Vec::new();
    for (index, fault) in faults {
        let path = format!("faults[{index}]");
        for link in links(network, &path, fault)? {
            let wire = wires
                .entry(link)
                .or_insert_with(|| scenario.topology.links[link.index()].wire);
            let change = change(&path, fault.change, wire, scale)?;
            let path_cost_updates = match change {
                // Path costs do not depend on liveness, which switches see themselves.
                FaultChange::Down | FaultChange::Up => Vec::new(),
                FaultChange::Wire(_) => scores.provision(link, wire.rate, wire.delay)?,
            };
            plan.push(FaultPlan {
                at_ns: scale.instant(&format!("{path}.at"), fault.at)?,
                paper_at_ns: fault.at,
                link,
                change,
                path_cost_updates,
            });
        }
    }
    Ok(plan)
}

fn change(
    path: &str,
    change: FaultSpec,
    wire: &mut Wire,
    scale: &Scale,
) -> Result<FaultChange, PlanError> {
    match change {
        FaultSpec::Down => return Ok(FaultChange::Down),
        FaultSpec::Up => return Ok(FaultChange::Up),
        FaultSpec::Rate(rate) => wire.rate = rate,
        FaultSpec::Delay(delay) => wire.delay = delay,
        FaultSpec::Loss(loss) => wire.loss = loss,
    }
    scale.wire(path, wire).map(FaultChange::Wire)
}

fn links(network: &Network, path: &str, fault: &Fault) -> Result<Vec<LinkId>, PlanError> {
    let unknown = |what, name: String| PlanError::Unknown {
        path: format!("{path}.link"),
        what,
        name,
        hint: String::new(),
    };
    let dc = |name: &String| {
        let known = network.dc_named(name);
        known.ok_or_else(|| unknown("datacenter", name.clone()))
    };
    let [a, b] = &fault.link;
    let links: Vec<_> = network.links_between(dc(a)?, dc(b)?).collect();
    if links.is_empty() {
        return Err(unknown("inter-DC link", format!("{a}-{b}")));
    }
    Ok(links)
}
