//! Crashes of switches' agents, and whether they can matter under a policy.
//!
//! Without its agent, a switch forwards with its last tables. Paths, candidates and ideal FCTs stay those of the plan.

use lab_scenario::Scenario;
use lab_units::{Nanos, PortId};

use crate::{
    error::PlanError,
    model::{
        AgentCrashPlan, AgentRestart, FaultChange, FaultPlan, NewRow, PolicyPlan, PolicyRun,
        Reconvergence, Scale, Switch,
    },
    network::Network,
};

/// Returns the crashes of a scenario's agents, ordered by time, then by datacenter.
///
/// # Errors
/// If a datacenter is unknown, or a time does not fit in 64 bits after scaling.
pub(crate) fn resolve(
    scenario: &Scenario,
    network: &Network,
    scale: &Scale,
) -> Result<Vec<AgentCrashPlan>, PlanError> {
    let mut crashes = Vec::new();
    for crash in &scenario.agent_crashes {
        let path = format!("faults[{}]", crash.entry);
        let dc = network.dc_named(&crash.dc);
        let dc = dc.ok_or_else(|| PlanError::Unknown {
            path: format!("{path}.agent"),
            what: "datacenter",
            name: crash.dc.clone(),
            hint: String::new(),
        })?;
        let at_path = format!("{path}.at");
        let restart = |paper_at_ns: Nanos| {
            Ok(AgentRestart {
                at_ns: scale.instant(&at_path, paper_at_ns)?,
                paper_at_ns,
            })
        };
        crashes.push(AgentCrashPlan {
            dc,
            at_ns: scale.instant(&at_path, crash.at)?,
            paper_at_ns: crash.at,
            restart: crash.restart.map(restart).transpose()?,
        });
    }
    crashes.sort_by_key(|crash| (crash.at_ns, crash.dc));
    Ok(crashes)
}

/// Changes of a plan that a switch without an agent can miss.
#[derive(Clone, Copy)]
pub(crate) struct MissedChanges<'a> {
    pub network: &'a Network,
    pub switches: &'a [Switch],
    pub policies: &'a [PolicyRun],
    pub faults: &'a [FaultPlan],
    pub reconvergences: &'a [Reconvergence],
    /// Age, in emulated time, beyond which a switch's tables count as stale.
    pub max_table_age_ns: Nanos,
}

impl MissedChanges<'_> {
    /// Returns true if the switch ever has several candidates for a destination.
    fn has_choice(self, switch: usize) -> bool {
        let mut rows = self.switches[switch].destinations.iter();
        let new_rows = self.reconvergences.iter().flat_map(|change| &change.rows);
        let mut own = new_rows.filter(|row| row.switch == switch);
        rows.any(|row| row.candidates.len() > 1) || own.any(|row| row.candidates.len() > 1)
    }

    /// Returns true if a crash can change the switch's decisions under the policy at index `policy`.
    ///
    /// It can if the agent measures for splits, here or elsewhere, or if one of these happens while the agent is down: the
    /// plan changes the switch's tables or tunnels through it, or a link of the switch is repaired. If the switch ever has
    /// several candidates, it also can if decisions depend on the agent's samples, or if the tables become stale meanwhile,
    /// so that the switch hashes over all candidates (which ECMP does anyway).
    pub fn matter(self, crash: &AgentCrashPlan, policy: usize) -> bool {
        let plan = &self.policies[policy].policy;
        let switch = crash.dc.index();
        let expires = crash.at_ns.saturating_add(self.max_table_age_ns);
        let is_stale = *plan != PolicyPlan::ECMP && crash.covers(expires);
        let matters_itself = match plan {
            PolicyPlan::Lcmp(_) => self.has_choice(switch),
            _ => plan.agent_interval().is_some() || (is_stale && self.has_choice(switch)),
        };
        if matters_itself {
            return true;
        }
        let is_here = |fault: &FaultPlan| {
            let link = &self.network.links[fault.link.index()];
            let ends = [link.a, link.b].map(|node| self.network.nodes[node.index()].dc);
            ends.contains(&crash.dc)
        };
        let of_faults = self.faults.iter().any(|fault| {
            let mut updates = fault.path_cost_updates.iter();
            crash.covers(fault.at_ns)
                && ((fault.change == FaultChange::Up && is_here(fault))
                    || updates.any(|row| (row.policy, row.switch) == (policy, switch)))
        });
        let dc_of = |port: &PortId| {
            let port = &self.network.ports[port.index()];
            self.network.nodes[port.node.index()].dc
        };
        let mut reconvergences = self.reconvergences.iter();
        of_faults
            || reconvergences.any(|change| {
                let is_changed = |row: &NewRow| {
                    let mut ports = row.tunnels.iter().flatten();
                    row.switch == switch || ports.any(|port| dc_of(port) == crash.dc)
                };
                crash.covers(change.at_ns) && change.rows.iter().any(is_changed)
            })
    }
}
