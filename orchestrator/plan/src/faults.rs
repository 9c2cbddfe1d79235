//! Faults: link changes while flows run.

use std::collections::BTreeMap;

use lab_parameters::{LinkConfig, ParameterSet};
use lab_scenario::{Fault, FaultSpec, Scenario};
use lab_units::{LinkId, Nanos};

use crate::{
    error::PlanError,
    model::{FaultChange, FaultPlan, PolicyRun, Reconvergence, Scale, Switch},
    network::Network,
    path_costs::PathCosts,
    paths::Paths,
    reconvergence::{self, Epoch},
};

/// A link change with its time, and the link's parameters after the change.
pub(crate) struct PlannedFault {
    fault: FaultPlan,
    /// Parameters of the link after the change, before scaling for emulation; `None` if the change cuts or repairs the
    /// link.
    paper: Option<LinkConfig>,
}

/// Returns the link changes, ordered by time, then by position in the scenario.
pub(crate) fn resolve(
    scenario: &Scenario,
    network: &Network,
    scale: &Scale,
) -> Result<Vec<PlannedFault>, PlanError> {
    let mut faults: Vec<&Fault> = scenario.faults.iter().collect();
    faults.sort_by_key(|fault| fault.at);
    // Current parameters of each changed link, in paper units. A change keeps values of earlier changes that it does
    // not set itself.
    let mut wires: BTreeMap<LinkId, LinkConfig> = BTreeMap::new();
    let mut changes = Vec::new();
    for fault in faults {
        let path = format!("faults[{}]", fault.entry);
        let link = network.link_of(fault).ok_or_else(|| PlanError::Unknown {
            path: format!("{path}.link"),
            what: "inter-DC link",
            name: fault.link_name(),
            hint: String::new(),
        })?;
        let wire = wires
            .entry(link)
            .or_insert_with(|| scenario.topology.links[link.index()].wire);
        let change = change(&path, fault.change, wire, scale)?;
        changes.push(PlannedFault {
            fault: FaultPlan {
                at_ns: scale.instant(&format!("{path}.at"), fault.at)?,
                paper_at_ns: fault.at,
                link,
                change,
                path_cost_updates: Vec::new(),
            },
            paper: matches!(change, FaultChange::Wire(_)).then_some(*wire),
        });
    }
    Ok(changes)
}

/// Returns the faults of a plan and its reconvergences: `changes`, each with the path costs that the control plane
/// distributes after the change, and `epochs`, each with the table rows that change. Of several at one instant, the
/// faults come first.
///
/// # Errors
/// If a switch has more next hops to a destination than it can choose among.
pub(crate) fn with_path_costs(
    changes: Vec<PlannedFault>,
    epochs: &[Epoch],
    (network, paths): (&Network, &Paths),
    switches: &[Switch],
    policies: &[PolicyRun],
) -> Result<(Vec<FaultPlan>, Vec<Reconvergence>), PlanError> {
    if changes.is_empty() && epochs.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let mut scores = PathCosts::new(network, paths, switches, policies);
    let mut faults = Vec::with_capacity(changes.len());
    let mut reconvergences = Vec::with_capacity(epochs.len());
    let mut reconverge = |scores: &mut PathCosts<'_>, (epoch, paths): (&Epoch, Paths)| {
        let rows = scores.reconverge(paths)?;
        reconvergences.push(Reconvergence {
            at_ns: epoch.at_ns,
            paper_at_ns: epoch.paper_at_ns,
            rows,
        });
        Ok(())
    };
    let mut epochs = reconvergence::paths(network, paths, epochs).peekable();
    for PlannedFault { mut fault, paper } in changes {
        while let Some(earlier) = epochs.next_if(|(epoch, _)| epoch.at_ns < fault.at_ns) {
            reconverge(&mut scores, earlier)?;
        }
        // A cut or repair changes no path costs, because switches detect link states themselves.
        if let Some(wire) = paper {
            fault.path_cost_updates = scores.provision(fault.link, wire.rate_bps, wire.delay_ns)?;
        }
        faults.push(fault);
    }
    epochs.try_for_each(|epoch| reconverge(&mut scores, epoch))?;
    Ok((faults, reconvergences))
}

impl PlannedFault {
    /// Returns the time of the change relative to the repetition's start, in emulated time (after scaling).
    pub const fn at(&self) -> Nanos {
        self.fault.at_ns
    }

    /// Returns the change without path costs.
    pub const fn plan(&self) -> &FaultPlan {
        &self.fault
    }

    /// Applies the change's rate and delay to the link in `network`. Returns true if the link's emulated rate or delay
    /// changes.
    pub fn apply(&self, network: &mut Network) -> bool {
        let (Some(paper), FaultChange::Wire(emu)) = (self.paper, self.fault.change) else {
            return false;
        };
        let link = &mut network.links[self.fault.link.index()];
        let before = (link.emu.rate_bps, link.emu.delay_ns);
        (link.paper.rate_bps, link.paper.delay_ns) = (paper.rate_bps, paper.delay_ns);
        (link.emu.rate_bps, link.emu.delay_ns) = (emu.rate_bps, emu.delay_ns);
        before != (emu.rate_bps, emu.delay_ns)
    }
}

fn change(
    path: &str,
    change: FaultSpec,
    wire: &mut LinkConfig,
    scale: &Scale,
) -> Result<FaultChange, PlanError> {
    match change {
        FaultSpec::Down => return Ok(FaultChange::Down),
        FaultSpec::Up => return Ok(FaultChange::Up),
        FaultSpec::Set { parameter, value } => wire.set(parameter, value),
    }
    scale.wire(path, wire).map(FaultChange::Wire)
}
