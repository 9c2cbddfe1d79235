//! Flows with a faster path than that of their ideal FCT.

use std::collections::BTreeMap;

use lab_units::Nanos;
use lab_units::show::about_time;

use super::{Inspection, warning};
use crate::{
    ideal::{self, Transfer},
    model::{FaultChange, Flow, Warning},
    paths,
};

/// Flows that would finish sooner on another candidate path than on that of minimum delay.
pub(super) fn ideal_not_least(inspection: &Inspection<'_>) -> Option<Warning> {
    let largest = largest_by_pair(inspection);
    let mut found = 0;
    let mut example = None;
    for flow in largest {
        if let Some((via, fct)) = faster_path(inspection, flow) {
            found += 1;
            example.get_or_insert((flow, via, fct));
        }
    }
    let (flow, via, fct) = example?;
    let name = |node| &inspection.network.node(node).name;
    let pairs = match found {
        1 => "one pair".to_owned(),
        several => format!("{several} pairs"),
    };
    let text = format!(
        "for {pairs} of datacenters the largest flow would end sooner on another path than on \
         that of least delay, to which its slowdown refers: {} from {} to {} by {via} in {} \
         instead of {}, a slowdown of 0.{:03}",
        flow.paper_size_bytes,
        name(flow.src),
        name(flow.dst),
        about_time(fct),
        about_time(flow.ideal_fct_ns),
        u128::from(fct.get()) * 1_000 / u128::from(flow.ideal_fct_ns.get().max(1)),
    );
    Some(warning("ideal-not-least", text))
}

/// The largest flow of each pair of datacenters that ends before a fault changes a link, by the pair.
fn largest_by_pair<'a>(inspection: &Inspection<'a>) -> Vec<&'a Flow> {
    let changes = inspection.faults.iter();
    let mut changes = changes.filter(|fault| matches!(fault.change, FaultChange::Wire(_)));
    let first = changes.next().map(|fault| fault.at_ns);
    let ends_before = |flow: &&Flow| {
        let end = flow.start_ns.saturating_add(flow.ideal_fct_ns);
        first.is_none_or(|first| end < first)
    };
    let mut largest = BTreeMap::new();
    for flow in inspection.flows.iter().filter(ends_before) {
        let dc = |node| inspection.network.node(node).dc;
        let known = largest.entry((dc(flow.src), dc(flow.dst))).or_insert(flow);
        if flow.size_bytes > known.size_bytes {
            *known = flow;
        }
    }
    largest.into_values().collect()
}

fn faster_path(inspection: &Inspection<'_>, flow: &Flow) -> Option<(String, Nanos)> {
    let network = inspection.network;
    let (from, to) = (network.node(flow.src).dc, network.node(flow.dst).dc);
    let candidates = &inspection.switches[from.index()].towards(to)?.candidates;
    let transfer = Transfer {
        tool: inspection.rdma.tool,
        path_mtu: inspection.rdma.path_mtu,
        messages: flow.messages,
        message_bytes: flow.message_bytes,
    };
    let times = candidates.iter().map(|candidate| {
        let port = Some(candidate.port);
        let ports = paths::host_path(network, inspection.paths, flow.src, flow.dst, port);
        let fct = ideal::completion(&ideal::hops(network, &ports), &transfer);
        (fct, candidate)
    });
    let (fct, candidate) = times.min_by_key(|(fct, candidate)| (*fct, candidate.port))?;
    let via = network.dcs[candidate.next_dc.index()].name.clone();
    (fct < flow.ideal_fct_ns).then_some((via, fct))
}
