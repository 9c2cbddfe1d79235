//! Pairs of datacenters that the cut of one inter-DC link strands.
//!
//! A DCI switch knows only whether its own ports have carrier, and there is no routing protocol. So if the cut leaves a
//! switch without a live candidate, packets that reach this switch are lost, even if other paths remain.

use std::collections::BTreeSet;

use fixedbitset::FixedBitSet;
use lab_units::{DcId, LinkId};
use serde::Serialize;

use super::{choice, routing::Routing};
use crate::model::{LinkKind, Role};

/// Effect of cutting each inter-DC link alone, on the pairs of datacenters between which data or ACKs flow.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct SingleCuts {
    /// Number of ordered pairs.
    pub pairs: usize,
    /// Number of inter-DC links.
    pub links: usize,
    /// Links whose cut strands or separates pairs: most stranded pairs first, then most separated pairs, then by id.
    pub harmful: Vec<HarmfulCut>,
}

/// Effect of cutting one inter-DC link.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct HarmfulCut {
    pub link: String,
    /// Line of the link in the scenario, from 1.
    pub line: Option<usize>,
    /// Number of ordered pairs whose traffic can reach a switch that has no live candidate left, although other links
    /// still connect the two datacenters.
    pub stranded: usize,
    /// Number of ordered pairs that no links connect any more.
    pub separated: usize,
}

/// Computes the effect of every cut on `pairs`. `lines` are the lines of the scenario's inter-DC links.
pub(crate) fn of_each_link(
    routing: Routing<'_>,
    pairs: &BTreeSet<(DcId, DcId)>,
    lines: &[usize],
) -> SingleCuts {
    let numbered = (0u32..).map(LinkId).zip(&routing.network.links);
    let links: Vec<LinkId> = numbered
        .filter(|(_, link)| link.kind == LinkKind::InterDc)
        .map(|(id, _)| id)
        .collect();
    let parts: Vec<Vec<usize>> = links.iter().map(|link| parts(routing, *link)).collect();
    let mut effects = vec![Effect::default(); links.len()];
    for (to, sources) in choice::by_destination(pairs.iter().copied()) {
        let harmful = without_a_next_hop(routing, to, links.len());
        for from in sources {
            for link in harmful[from.index()].ones() {
                let parts = &parts[link];
                let effect = &mut effects[link];
                if parts[from.index()] == parts[to.index()] {
                    effect.stranded += 1;
                } else {
                    effect.separated += 1;
                }
            }
        }
    }
    let cut = |(link, effect): (&LinkId, Effect)| HarmfulCut {
        link: routing.network.link(*link).name.clone(),
        line: lines.get(link.index()).copied(),
        stranded: effect.stranded,
        separated: effect.separated,
    };
    let mut harmful: Vec<HarmfulCut> = links
        .iter()
        .zip(effects)
        .filter(|(_, effect)| effect.stranded + effect.separated > 0)
        .map(cut)
        .collect();
    harmful.sort_by_key(|cut| std::cmp::Reverse((cut.stranded, cut.separated)));
    SingleCuts {
        pairs: pairs.len(),
        links: links.len(),
        harmful,
    }
}

/// Numbers of ordered pairs that a cut strands and separates.
#[derive(Clone, Copy, Default)]
struct Effect {
    stranded: usize,
    separated: usize,
}

/// Returns for each datacenter the inter-DC links whose cut leaves a switch without a live candidate that the
/// datacenter's traffic to `to` can reach. `links` is the number of inter-DC links, which have the lowest ids.
fn without_a_next_hop(routing: Routing<'_>, to: DcId, links: usize) -> Vec<FixedBitSet> {
    let mut harmful = vec![FixedBitSet::with_capacity(links); routing.switches.len()];
    for (dc, row) in routing.farthest_first(to).into_iter().rev() {
        let mut own = FixedBitSet::with_capacity(links);
        // A path never returns to a link, so the cut of a candidate's link does no harm behind it.
        for candidate in &row.candidates {
            match row.rest_of_tunnel(candidate.port) {
                Some(behind) => own.extend(behind.iter().map(|port| port.link().index())),
                None => own.union_with(&harmful[candidate.next_dc.index()]),
            }
        }
        let mut all = row.candidates.iter().map(|it| it.port.link());
        if let Some(first) = all.next()
            && all.all(|link| link == first)
        {
            own.insert(first.index());
        }
        harmful[dc.index()] = own;
    }
    harmful
}

/// Returns the number of the connected part in which each datacenter is after the cut of `link`.
fn parts(routing: Routing<'_>, link: LinkId) -> Vec<usize> {
    let network = routing.network;
    let mut parts = vec![usize::MAX; network.dcs.len()];
    for start in 0..parts.len() {
        if parts[start] != usize::MAX {
            continue;
        }
        parts[start] = start;
        let mut open = vec![start];
        while let Some(at) = open.pop() {
            let ports = network.ports_to(network.dcs[at].dci, Role::DciSwitch);
            for port in ports.filter(|port| port.link() != link) {
                let next = network.neighbour(port).dc.index();
                if parts[next] == usize::MAX {
                    parts[next] = start;
                    open.push(next);
                }
            }
        }
    }
    parts
}
