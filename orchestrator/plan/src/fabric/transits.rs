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

impl Transit {
    /// Returns the row's key, unique within a switch: the pair and the ingress port.
    const fn key(&self) -> ([DcId; 2], PortId) {
        ([self.from, self.to], self.ingress)
    }
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

/// Transit rows of all switches during a run.
///
/// Rows of later tunnels are installed from the start, unless they would replace an earlier row. Until its tunnel is in
/// use, such a row matches no packet, so that a reconvergence only has to replace rows.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TransitTables {
    /// Sorted rows from the start, by datacenter.
    pub start: Vec<Vec<Transit>>,
    /// Rows that replace earlier ones, with their switches' datacenters, for each reconvergence in order.
    pub replaced: Vec<Vec<(DcId, Transit)>>,
}

impl TransitTables {
    /// Derives the tables. `switches` hold the tunnels at the start, and `changes` the later ones.
    fn of(
        (nodes, ports): (&[Node], &[Port]),
        switches: &[Switch],
        changes: &[Reconvergence],
    ) -> Self {
        let mut tables = vec![BTreeMap::new(); switches.len()];
        let numbered = (0u32..).map(DcId).zip(switches);
        let at_start = numbered.flat_map(|(from, switch)| {
            let rows = switch.destinations.iter();
            rows.map(move |row| ([from, row.dc], &row.tunnels))
        });
        for (pair, tunnels) in at_start {
            for (at, row) in transits((nodes, ports), pair, tunnels) {
                tables[at.index()].insert(row.key(), row);
            }
        }
        let mut start = tables.clone();
        let mut replaced = Vec::new();
        for change in changes {
            let mut others = Vec::new();
            for new in &change.rows {
                let to = switches[new.switch].destinations[new.destination].dc;
                let Some(from) = DcId::from_index(new.switch) else {
                    continue;
                };
                for (at, row) in transits((nodes, ports), [from, to], &new.tunnels) {
                    match tables[at.index()].insert(row.key(), row) {
                        None => {
                            start[at.index()].insert(row.key(), row);
                        }
                        Some(before) if before != row => others.push((at, row)),
                        Some(_) => {}
                    }
                }
            }
            replaced.push(others);
        }
        let sorted = start.into_iter().map(BTreeMap::into_values);
        Self {
            start: sorted.map(Iterator::collect).collect(),
            replaced,
        }
    }
}

/// Returns the rows along `tunnels` between two datacenters, with their switches' datacenters.
fn transits(
    (nodes, ports): (&[Node], &[Port]),
    [from, to]: [DcId; 2],
    tunnels: &[Vec<PortId>],
) -> impl Iterator<Item = (DcId, Transit)> {
    let hops = tunnels.iter().flat_map(|ports| ports.windows(2));
    hops.map(move |hops| {
        let [sent, egress] = [hops[0], hops[1]];
        let row = Transit {
            from,
            to,
            ingress: sent.peer(),
            egress,
        };
        (nodes[ports[egress.index()].node.index()].dc, row)
    })
}

/// Switch with more transit rows than an agent has room for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FullSwitch<'a> {
    /// Name of the datacenter.
    pub name: &'a str,
    /// Number of transit rows.
    pub rows: usize,
}

impl FullSwitch<'_> {
    /// Describes the rows, their bound and the remedy.
    #[must_use]
    pub fn describe(&self) -> String {
        format!(
            "the switch of `{}` needs {} transit rows for the tunnels through it, including those after reconvergences, \
             but a switch of the lab has room for {MAX_TRANSITS} (hint: lower `routing.tunnels.k`, or simulate the \
             scenario with `lcmp-lab sim`, which has no such bound)",
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
    let all = TransitTables::of((nodes, ports), switches, changes).start;
    let counts = all.iter().map(Vec::len);
    let (dc, rows) = dcs.iter().zip(counts).max_by_key(|(_, rows)| *rows)?;
    let max = usize::try_from(MAX_TRANSITS).unwrap_or(usize::MAX);
    (rows > max).then_some(FullSwitch {
        name: &dc.name,
        rows,
    })
}

impl Plan {
    /// Returns the transit rows of all switches; `None` without tunnels.
    #[must_use]
    pub fn transit_tables(&self) -> Option<TransitTables> {
        let network = (&self.nodes[..], &self.ports[..]);
        let tables = || TransitTables::of(network, &self.switches, &self.reconvergences);
        self.candidate_set.has_tunnels().then(tables)
    }

    /// Returns the switch with the most transit rows if the lab has no room for them.
    #[must_use]
    pub fn full_switch(&self) -> Option<FullSwitch<'_>> {
        let network = (&self.dcs[..], &self.nodes[..], &self.ports[..]);
        fullest(network, &self.switches, &self.reconvergences)
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
