//! Switches with more ports than their agents have room for.

use lab_abi::rows::MAX_PORTS;
use lab_units::DcId;

use crate::model::{Dc, Node, Plan, Role};

/// DCI switch with more ports than its agent has rows for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CrowdedSwitch<'a> {
    pub dc: DcId,
    /// Name of the datacenter.
    pub name: &'a str,
    /// Number of ports: ends of links to other datacenters, to direct hosts and to spines.
    pub ports: usize,
}

impl CrowdedSwitch<'_> {
    /// Describes the ports, their bound and the remedy; `line` is ` (line N)` or empty, `others` the number of further
    /// such switches.
    #[must_use]
    pub fn describe(&self, line: &str, others: usize) -> String {
        let more = match others {
            0 => String::new(),
            1 => ", and 1 more datacenter has too many".to_owned(),
            _ => format!(", and {others} more datacenters have too many"),
        };
        format!(
            "datacenter `{}`{line} has {} ports at its switch, for links to datacenters, hosts and spines, but a switch \
             of the lab has at most {MAX_PORTS}{more} (hint: put its hosts behind `fabric:`, or simulate the scenario with \
             `lcmp-lab sim`, which has no such bound)",
            self.name, self.ports
        )
    }
}

/// Returns the DCI switches that have too many ports for an agent, in the order of their datacenters. Switches of
/// legacy datacenters have no agent, and so no bound.
pub(crate) fn crowded<'a>(dcs: &'a [Dc], nodes: &[Node]) -> Vec<CrowdedSwitch<'a>> {
    let switches = nodes
        .iter()
        .filter(|node| node.role == Role::DciSwitch && node.ports.len() > MAX_PORTS);
    let with_agent = switches.filter(|node| !dcs[node.dc.index()].legacy);
    with_agent
        .map(|node| CrowdedSwitch {
            dc: node.dc,
            name: &dcs[node.dc.index()].name,
            ports: node.ports.len(),
        })
        .collect()
}

impl Plan {
    /// Returns the DCI switches that have too many ports for the lab, in the order of their datacenters.
    #[must_use]
    pub fn crowded_switches(&self) -> Vec<CrowdedSwitch<'_>> {
        crowded(&self.dcs, &self.nodes)
    }
}
