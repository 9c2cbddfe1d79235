//! Flows that differ most between two runs, with facts that may explain why.

use std::collections::BTreeMap;

use lab_records::{DcNames, DcPath, RunInfo};
use serde::Serialize;

use super::{
    agreement::difference,
    flows::{Flows, Recorded},
    sentence,
    side::{Bottleneck, FlowSide, Placed},
    tables,
};
use crate::{error::ReportError, facts::RunFacts, route::leads};

/// Flow whose FCT differs much between two runs; values are at the paper's scale (before scaling for emulation).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorstFlow {
    /// Label of the policy.
    pub policy: String,
    /// Index of the repetition.
    pub repetition: u64,
    /// Number of the flow.
    pub flow_id: u64,
    /// Name of the sending host, such as `dc1/h1`.
    pub src_host: String,
    /// Name of the receiving host.
    pub dst_host: String,
    /// Flow size, bytes.
    pub size_bytes: u64,
    /// Second run's FCT minus the first's, divided by the first's.
    pub fct_difference: f64,
    /// Facts of the flow in each run.
    pub runs: [FlowSide; 2],
    /// Facts as one sentence.
    pub explanation: String,
}

/// Returns the compared flows with the largest |ΔFCT| / FCT, at most [`WORST`], with facts from both runs; `names` are
/// the names of the runs in texts.
pub fn worst(
    flows: &Flows,
    runs: [&RunFacts; 2],
    names: [&str; 2],
) -> Result<Vec<WorstFlow>, ReportError> {
    let mut found: Vec<(f64, [&Recorded; 2])> = flows
        .pairs()
        .filter_map(|pair| Some((difference(pair)?, pair)))
        .collect();
    // A stable sort keeps flows with equal differences in order of policy, repetition and number.
    found.sort_by(|(one, _), (other, _)| other.abs().total_cmp(&one.abs()));
    found.truncate(WORST);
    let mut sides = [Vec::new(), Vec::new()];
    for (index, sides) in sides.iter_mut().enumerate() {
        let info = runs[index].info();
        let placed = found
            .iter()
            .map(|&(_, pair)| place(flows, info, pair[index]));
        *sides = facts(flows, index, runs[index], &placed.collect::<Vec<_>>())?;
    }
    let [first, second] = sides;
    let rows = found.into_iter().zip(first.into_iter().zip(second)).map(
        |((difference, pair), (first, second))| {
            row(flows, difference, pair[0], [first, second], names)
        },
    );
    Ok(rows.collect())
}

fn row(
    flows: &Flows,
    fct_difference: f64,
    flow: &Recorded,
    runs: [FlowSide; 2],
    names: [&str; 2],
) -> WorstFlow {
    let [src_host, dst_host] = flow.hosts.map(|host| flows.names.text(host).to_owned());
    WorstFlow {
        policy: flows.policies[flow.key.policy].clone(),
        repetition: flow.key.repetition,
        flow_id: flow.key.id,
        src_host,
        dst_host,
        size_bytes: flow.size,
        explanation: sentence::explain(fct_difference, &runs, names),
        fct_difference,
        runs,
    }
}

fn place<'a>(flows: &'a Flows, info: &RunInfo, flow: &'a Recorded) -> Placed<'a> {
    let dcs = info.dc_names();
    let path = flow.path.map(|path| flows.names.text(path));
    Placed {
        policy: &flows.policies[flow.key.policy],
        flow,
        hops: path.map_or_else(Vec::new, |path| links(path, &dcs)),
    }
}

/// Returns the links on the path with the text `path`, each as its datacenter and its next hop; empty if the text is not a
/// path over `dcs`.
fn links(path: &str, dcs: &DcNames) -> Vec<[String; 2]> {
    let steps = DcPath::new([path]).steps(dcs).unwrap_or_default();
    let pairs = steps.windows(2);
    pairs
        .map(|pair| {
            let [(from, _), (to, twin)] = [pair[0], pair[1]];
            let [from, to] = [from, to].map(|dc| dcs.name(dc));
            [from.to_owned(), format!("{to}{twin}")]
        })
        .collect()
}

/// Returns the facts of the flows in `placed` in one run.
fn facts(
    flows: &Flows,
    index: usize,
    run: &RunFacts,
    placed: &[Placed<'_>],
) -> Result<Vec<FlowSide>, ReportError> {
    let mut queues = tables::queues(run, placed)?;
    let drops = tables::drops(run, placed)?;
    let retransmissions = tables::retransmissions(run, placed)?;
    let path = |number: Option<u32>| Some(flows.names.text(number?).to_owned());
    let side = |(at, placed): (usize, &Placed<'_>)| FlowSide {
        start_ns: placed.flow.start,
        fct_ns: placed.flow.fct.unwrap_or_default(),
        slowdown: placed.flow.slowdown,
        path: path(placed.flow.path),
        ack_path: path(placed.flow.ack_path),
        lateness_ns: placed.flow.lateness,
        bottleneck: bottleneck(flows, index, run.info(), placed),
        queues: std::mem::take(&mut queues[at]),
        drops: drops[at],
        retransmissions: retransmissions[at],
    };
    Ok(placed.iter().enumerate().map(side).collect())
}

fn bottleneck(
    flows: &Flows,
    index: usize,
    info: &RunInfo,
    placed: &Placed<'_>,
) -> Option<Bottleneck> {
    let rate = |hop: &[String; 2]| {
        let mut links = info.links.iter();
        let link = links.find(|link| leads(link, hop.each_ref().map(String::as_str)));
        link.map(|link| link.rate_bps.get())
    };
    let hop = placed
        .hops
        .iter()
        .min_by_key(|hop| rate(hop).unwrap_or(u64::MAX))?;
    Some(Bottleneck {
        from_dc: hop[0].clone(),
        to_dc: hop[1].clone(),
        rate_bps: rate(hop)?,
        other_flows: others(flows, index, info, placed.flow, hop),
    })
}

/// Counts the other flows of the run whose data crossed the link `hop`, given by its datacenter and its next hop, while
/// `flow` ran.
fn others(flows: &Flows, index: usize, info: &RunInfo, flow: &Recorded, hop: &[String; 2]) -> u64 {
    let dcs = info.dc_names();
    let mut crosses: BTreeMap<u32, bool> = BTreeMap::new();
    let mut count = 0;
    for other in &flows.runs[index] {
        let is_same_time = other.key.policy == flow.key.policy
            && other.key.repetition == flow.key.repetition
            && other.lateness.is_some()
            && other.start < flow.end()
            && other.end() > flow.start;
        let Some(path) = other.path.filter(|_| is_same_time && other.key != flow.key) else {
            continue;
        };
        let crosses = crosses
            .entry(path)
            .or_insert_with(|| links(flows.names.text(path), &dcs).contains(hop));
        count += u64::from(*crosses);
    }
    count
}

/// Maximum number of flows that are explained.
pub const WORST: usize = 10;
