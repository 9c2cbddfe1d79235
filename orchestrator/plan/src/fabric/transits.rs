//! Forwarding of packets that are on a tunnel, at the switches that do not choose.
//!
//! A packet needs no label. No two tunnels of a pair share a link, so source, destination and the link over which a
//! packet arrives name its tunnel, and with it the next link.
//!
//! When a reconvergence changes the tunnels, the rows of earlier tunnels stay, except where a new tunnel enters a
//! switch over the same link. So packets that were under way reach the destination on their tunnel, or on the first new
//! tunnel that they meet: a packet never leaves a tunnel for an earlier one, so that it cannot loop.

use std::collections::BTreeMap;

use lab_abi::rows::MAX_TRANSITS;
use lab_scenario::{PolicySpec, Scenario};
use lab_units::{DcId, Nanos, PortId, Semantics};

use crate::{
    error::PlanError,
    model::{Dc, Node, Plan, Port, Reconvergence, Switch},
};

/// Egress port of one switch for the packets of a pair that arrive at one port.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Transit {
    /// Datacenter of the packets' source.
    pub from: DcId,
    /// Datacenter of their destination.
    pub to: DcId,
    /// Port of the switch at which they arrive.
    pub ingress: PortId,
    /// Port of the switch through which they leave.
    pub egress: PortId,
}

/// Checks that the semantics, every switch and every policy support tunnels. A user's own eBPF program is checked when
/// it is loaded.
///
/// # Errors
/// If the candidates are tunnels and the semantics are the artifact's, a datacenter's switch has no agent, or a policy
/// in `wanted`, the labels of the policies to run, has trained weights.
pub(crate) fn check(
    scenario: &Scenario,
    dcs: &[Dc],
    wanted: Option<&[String]>,
) -> Result<(), PlanError> {
    if !scenario.candidate_set.has_tunnels() {
        return Ok(());
    }
    let refused = |why| Err(PlanError::NoTunnels { why });
    if scenario.transport.semantics == Semantics::Artifact {
        let why = "the artifact's switches choose at every hop (hint: remove `transport.semantics: artifact`)";
        return refused(why.to_owned());
    }
    if let Some(dc) = dcs.iter().find(|dc| dc.legacy) {
        return refused(format!(
            "the switch of `{}` has no agent, and its kernel routes cannot follow a tunnel (hint: remove `agent: legacy`)",
            dc.name
        ));
    }
    let is_wanted = |spec: &&PolicySpec| {
        wanted.is_none_or(|labels| labels.iter().any(|label| label == spec.label()))
    };
    let mut specs = scenario.policies.iter().filter(is_wanted);
    if let Some(spec) = specs.find(|spec| matches!(spec, PolicySpec::Trained(_))) {
        return refused(format!(
            "policy `{}` has weights for a choice at every switch (hint: leave out the policy)",
            spec.label()
        ));
    }
    Ok(())
}

/// Tables that decide the tunnels of a plan.
struct Tables<'a> {
    nodes: &'a [Node],
    ports: &'a [Port],
    switches: &'a [Switch],
}

impl Tables<'_> {
    /// Visits the transit rows; see [`Plan::each_transit`].
    fn each_transit(&self, change: Option<&Reconvergence>, mut visit: impl FnMut(DcId, Transit)) {
        let mut add = |(from, to), tunnels: &[Vec<PortId>]| {
            for hops in tunnels.iter().flat_map(|ports| ports.windows(2)) {
                let [sent, egress] = [hops[0], hops[1]];
                let transit = Transit {
                    from,
                    to,
                    ingress: sent.peer(),
                    egress,
                };
                let at = self.nodes[self.ports[egress.index()].node.index()].dc;
                visit(at, transit);
            }
        };
        let Some(change) = change else {
            for (from, switch) in (0u32..).map(DcId).zip(self.switches) {
                for row in &switch.destinations {
                    add((from, row.dc), &row.tunnels);
                }
            }
            return;
        };
        for row in &change.rows {
            let to = self.switches[row.switch].destinations[row.destination].dc;
            if let Some(from) = DcId::from_index(row.switch) {
                add((from, to), &row.tunnels);
            }
        }
    }

    /// Returns the sorted transit rows of each datacenter's switch after all `changes`.
    fn after(&self, changes: &[Reconvergence]) -> Vec<Vec<Transit>> {
        let mut switches = vec![BTreeMap::new(); self.switches.len()];
        for change in std::iter::once(None).chain(changes.iter().map(Some)) {
            self.each_transit(change, |dc, row| {
                switches[dc.index()].insert((row.from, row.to, row.ingress), row);
            });
        }
        let rows = switches.into_iter().map(BTreeMap::into_values);
        rows.map(Iterator::collect).collect()
    }
}

/// Switch with more transit rows than an agent has room for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FullSwitch<'a> {
    /// Name of the datacenter.
    pub name: &'a str,
    /// Number of transit rows after the last reconvergence.
    pub rows: usize,
}

impl FullSwitch<'_> {
    /// Describes the rows, their bound and the remedy.
    #[must_use]
    pub fn describe(&self) -> String {
        format!(
            "the switch of `{}` is on so many tunnels that it needs {} transit rows, but a switch of the lab has room for \
             {MAX_TRANSITS} (hint: lower `routing.tunnels.k`, or simulate the scenario with `lcmp-lab sim`, which has no \
             such bound)",
            self.name, self.rows
        )
    }
}

/// Returns the switch with the most transit rows if an agent has no room for them. `changes` are the reconvergences.
pub(crate) fn fullest<'a>(
    (dcs, nodes, ports): (&'a [Dc], &[Node], &[Port]),
    switches: &[Switch],
    changes: &[Reconvergence],
) -> Option<FullSwitch<'a>> {
    let tables = Tables {
        nodes,
        ports,
        switches,
    };
    let all = tables.after(changes);
    let counts = all.iter().map(Vec::len);
    let (dc, rows) = dcs.iter().zip(counts).max_by_key(|(_, rows)| *rows)?;
    let max = usize::try_from(MAX_TRANSITS).unwrap_or(usize::MAX);
    (rows > max).then_some(FullSwitch {
        name: &dc.name,
        rows,
    })
}

impl Plan {
    /// Visits the transit rows of all switches at the start, or those that `change` adds, each with its switch's
    /// datacenter. An added row replaces that of the same pair and ingress port, if there is one.
    pub fn each_transit(&self, change: Option<&Reconvergence>, visit: impl FnMut(DcId, Transit)) {
        self.tables().each_transit(change, visit);
    }

    fn tables(&self) -> Tables<'_> {
        Tables {
            nodes: &self.nodes,
            ports: &self.ports,
            switches: &self.switches,
        }
    }

    /// Returns the switch with the most transit rows if the lab has no room for them.
    #[must_use]
    pub fn full_switch(&self) -> Option<FullSwitch<'_>> {
        let network = (&self.dcs[..], &self.nodes[..], &self.ports[..]);
        fullest(network, &self.switches, &self.reconvergences)
    }

    /// Returns the transit rows of the switch of `at`, sorted, after the first `count` reconvergences; empty without
    /// tunnels.
    #[must_use]
    pub fn transits(&self, at: DcId, count: usize) -> Vec<Transit> {
        let changes = self.reconvergences.get(..count);
        let mut all = self.tables().after(changes.unwrap_or(&self.reconvergences));
        all.swap_remove(at.index())
    }

    /// Returns the egress port of packets from `from` to `to` at a switch on their tunnel, to which the previous switch
    /// has sent them through `sent`, at the emulated time `at`, relative to the repetition's start; `None` if their
    /// link is on no tunnel.
    #[must_use]
    pub fn transit_port(&self, [from, to]: [DcId; 2], sent: PortId, at: Nanos) -> Option<PortId> {
        let (first, destination) = self.first_row(from, to)?;
        let next = |tunnels: &Vec<Vec<PortId>>| {
            let mut hops = tunnels.iter().flat_map(|ports| ports.windows(2));
            hops.find_map(|hops| (hops[0] == sent).then_some(hops[1]))
        };
        let mut changed = self.changed_rows(from, destination, at);
        changed
            .find_map(|row| next(&row.tunnels))
            .or_else(|| next(&first.tunnels))
    }
}
