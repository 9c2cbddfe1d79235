//! Table of a plan's flows, grouped by pair of datacenters.

use std::collections::BTreeMap;

use lab_units::show::{about_bytes, about_rate, about_time, commas, paragraph, sides, table};
use lab_units::{Bytes, DcId, Nanos, NodeId};

use super::name::dc_name;
use crate::{
    model::{Concurrency, Flow, Plan},
    rdma,
};

/// Renders the flows by pair of datacenters at the paper's scale, then their load and the QP settings.
pub(super) fn section(plan: &Plan) -> String {
    let mut pairs: BTreeMap<(DcId, DcId), Vec<&Flow>> = BTreeMap::new();
    let dc = |node: NodeId| plan.nodes[node.index()].dc;
    for flow in &plan.flows {
        let pair = (dc(flow.src), dc(flow.dst));
        pairs.entry(pair).or_default().push(flow);
    }
    let heads = [
        "from",
        "to",
        "flows",
        "bytes",
        "smallest",
        "median",
        "largest",
        "last start",
    ];
    let mut rows = vec![heads.map(str::to_owned)];
    let shown = pairs.iter().take(MAX_PAIRS);
    rows.extend(shown.map(|((from, to), flows)| pair_row(plan, *from, *to, flows)));
    let mut text = format!("Flows (paper units)\n{}", table(2, sides(2), &rows));
    if pairs.len() > MAX_PAIRS {
        text.push_str(&format!(
            "  … and {} more pairs of datacenters\n",
            pairs.len() - MAX_PAIRS
        ));
    }
    text.push_str(&load(plan));
    let rdma = &plan.rdma;
    let facts = format!(
        "{} of {} B packets, traffic class 0x{:02x}; QPs time out after {}; an unfinished flow is aborted after {}",
        rdma.tool,
        rdma.path_mtu,
        rdma.traffic_class,
        about_time(rdma::timeout(rdma.qp_timeout)),
        about_time(rdma.flow_deadline_ns),
    );
    text.push_str(&paragraph("  ", &facts));
    text
}

/// Renders the load of each sending datacenter, requested and offered, the share of arrivals that became flows, and the
/// flows' concurrency.
fn load(plan: &Plan) -> String {
    let load = &plan.load;
    let mut facts: Vec<String> = load
        .senders
        .iter()
        .take(MAX_PAIRS)
        .map(|sender| {
            format!(
                "{} {} % of {} requested, {} % offered",
                dc_name(plan, sender.dc),
                sender.requested_percent(),
                about_rate(sender.capacity_bps),
                sender.offered_percent(),
            )
        })
        .collect();
    if !facts.is_empty() {
        facts.push(format!(
            "{} of {} arrivals became flows",
            commas(load.kept),
            commas(load.arrivals)
        ));
        facts.push(format!(
            "the last of these starts at {} of {}",
            about_time(load.paper_last_start_ns),
            about_time(load.paper_duration_ns)
        ));
        facts.extend(load.network.iter().map(ToString::to_string));
        if load.listed.flows > 0 {
            facts.push(format!(
                "listed flows in addition: {}, {}",
                commas(load.listed.flows),
                about_bytes(load.listed.paper_bytes)
            ));
        }
    }
    let Concurrency {
        mean_hundredths: mean,
        peak,
    } = load.ideal_concurrency;
    facts.push(format!(
        "at ideal FCTs, {}.{:02} flows at once on average, {peak} at most",
        mean / 100,
        mean % 100
    ));
    paragraph("  load: ", &facts.join("; "))
}

fn pair_row(plan: &Plan, from: DcId, to: DcId, flows: &[&Flow]) -> [String; 8] {
    let mut sizes: Vec<Bytes> = flows.iter().map(|flow| flow.paper_size_bytes).collect();
    sizes.sort_unstable();
    let at = |index: usize| about_bytes(sizes[index]);
    let last = flows.iter().map(|flow| flow.paper_start_ns).max();
    [
        dc_name(plan, from).to_owned(),
        dc_name(plan, to).to_owned(),
        flows.len().to_string(),
        about_bytes(sizes.iter().copied().sum()),
        at(0),
        at((sizes.len() - 1) / 2),
        at(sizes.len() - 1),
        about_time(last.unwrap_or(Nanos::ZERO)),
    ]
}

/// Maximum number of datacenter pairs in the table; with many datacenters, all pairs would hide the rest of the text.
const MAX_PAIRS: usize = 40;
