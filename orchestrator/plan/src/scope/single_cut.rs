//! Pairs of datacenters that the cut of one inter-DC link strands.
//!
//! A DCI switch knows only whether its own ports have carrier, and there is no routing protocol. So if the cut leaves a
//! switch without a live candidate, packets that reach this switch are lost, even if other paths remain.

use std::collections::{BTreeMap, BTreeSet};

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
    let mut hit: BTreeMap<LinkId, Vec<(DcId, DcId)>> = BTreeMap::new();
    for (to, sources) in choice::by_destination(pairs.iter().copied()) {
        for (link, is_stranded) in without_a_next_hop(routing, to) {
            let stranded = sources.iter().filter(|from| is_stranded[from.index()]);
            let of_link: &mut Vec<_> = hit.entry(link).or_default();
            of_link.extend(stranded.map(|from| (*from, to)));
        }
    }
    let effect = |(link, pairs): (LinkId, Vec<(DcId, DcId)>)| {
        let parts = parts(routing, link);
        let is_separated = |pair: &&(DcId, DcId)| parts[pair.0.index()] != parts[pair.1.index()];
        let separated = pairs.iter().filter(is_separated).count();
        HarmfulCut {
            link: routing.network.link(link).name.clone(),
            line: lines.get(link.index()).copied(),
            stranded: pairs.len() - separated,
            separated,
        }
    };
    let mut harmful: Vec<HarmfulCut> = hit
        .into_iter()
        .filter(|(_, pairs)| !pairs.is_empty())
        .map(effect)
        .collect();
    harmful.sort_by_key(|cut| std::cmp::Reverse((cut.stranded, cut.separated)));
    SingleCuts {
        pairs: pairs.len(),
        links: links.len(),
        harmful,
    }
}

/// Returns each link whose cut leaves a switch without a live candidate for `to`, and for each datacenter whether its
/// traffic to `to` can reach such a switch.
fn without_a_next_hop(routing: Routing<'_>, to: DcId) -> BTreeMap<LinkId, Vec<bool>> {
    let rows = routing.farthest_first(to);
    let only = rows.iter().filter_map(|(_, row)| {
        let mut links = row.candidates.iter().map(|it| it.port.link());
        let first = links.next()?;
        links.all(|link| link == first).then_some(first)
    });
    let links: BTreeSet<LinkId> = only.collect();
    let found = links
        .into_iter()
        .map(|link| (link, routing.stranded(&rows, |cut| cut == link)));
    found.collect()
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
