//! Load of a plan: the rate that workloads and demand matrices request, and the rate that their flows offer, in paper
//! units.
//!
//! A run is representative of a load only if its flows offer that load over the whole duration.

use std::collections::{BTreeMap, btree_map::Entry};

use lab_scenario::Scenario;
use lab_units::{Bytes, DcId, Nanos, NodeId};

use crate::{
    demands::Demands,
    model::{Concurrency, Flow, ListedFlows, LoadPlan, SenderLoad, load::saturating},
    network::Network,
    schedule::Drafted,
};

/// Computes the requested and the offered load of `scenario`'s workloads, given their `demands` and flows. Leaves the
/// result's concurrency at zero; the caller fills it in once flows have ideal FCTs.
pub(crate) fn of_drafts(
    scenario: &Scenario,
    repetitions: u32,
    network: &Network,
    demands: &Demands,
    drafted: &Drafted,
) -> LoadPlan {
    let mut duration = Nanos::ZERO;
    let mut asked: BTreeMap<DcId, Asked> = BTreeMap::new();
    for index in 0..scenario.traffic.len() {
        let Some(&span) = drafted.spans.get(&index) else {
            continue;
        };
        duration = duration.max(span);
        let mut capacities: BTreeMap<DcId, u64> = BTreeMap::new();
        for demand in demands.get(&index).into_iter().flat_map(|it| &it.hosts) {
            let dc = network.node(demand.host).dc;
            if !demand.is_of_pair {
                *capacities.entry(dc).or_default() += demand.full_bps / demand.sharers;
            } else if let Entry::Vacant(entry) = capacities.entry(dc) {
                // A matrix has rates instead of a load, so its load is a share of the NICs, as by default.
                let hosts = network.dcs[dc.index()].hosts.iter();
                let ports = hosts.flat_map(|&host| network.node(host).ports.iter().copied());
                entry.insert(network.rate_of(ports));
            }
            let bits = u128::from(demand.mean_bps()) * u128::from(span.get());
            asked.entry(dc).or_default().bit_nanos += bits;
        }
        for (dc, capacity) in capacities {
            let asked = asked.entry(dc).or_default();
            asked.capacity_bps = asked.capacity_bps.max(capacity);
        }
    }
    let offered = offered(network, drafted);
    let repetitions = u128::from(repetitions.max(1));
    let time = u128::from(duration.get().max(1));
    let senders = asked.into_iter().map(|(dc, asked)| {
        let bytes = offered.get(&dc).copied().unwrap_or(Bytes::ZERO);
        let bit_nanos = u128::from(bytes.get()) * 8_000_000_000 / repetitions;
        SenderLoad {
            dc,
            capacity_bps: asked.capacity_bps,
            requested_bps: saturating(asked.bit_nanos / time),
            offered_bps: saturating(bit_nanos / time),
        }
    });
    LoadPlan {
        paper_duration_ns: duration,
        paper_last_start_ns: last_start(drafted),
        arrivals: drafted.arrivals.iter().map(|it| it.all).sum(),
        kept: drafted.arrivals.iter().map(|it| it.kept).sum(),
        thinned: (drafted.arrivals.iter().copied())
            .filter(|it| it.kept < it.all)
            .collect(),
        senders: senders.collect(),
        listed: listed(drafted),
        network: demands
            .values()
            .filter_map(|it| it.network.clone())
            .collect(),
        ideal_concurrency: Concurrency::default(),
    }
}

/// Returns the concurrency of `flows` if each takes its ideal FCT.
pub(crate) fn ideal_concurrency(flows: &[Flow]) -> Concurrency {
    Concurrency::of(flows.iter().map(|flow| {
        let end = flow.start_ns.saturating_add(flow.ideal_fct_ns);
        (flow.repetition, flow.start_ns, end)
    }))
}

/// Load that one datacenter's workloads request.
#[derive(Default)]
struct Asked {
    capacity_bps: u64,
    bit_nanos: u128,
}

/// Returns the bytes of workload flows that each datacenter sends, over all repetitions.
fn offered(network: &Network, drafted: &Drafted) -> BTreeMap<DcId, Bytes> {
    let dc = |host: NodeId| network.node(host).dc;
    let mut bytes: BTreeMap<DcId, Bytes> = BTreeMap::new();
    for (_, draft) in drafted.flows.iter().filter(|(_, draft)| !draft.is_listed) {
        let sum = bytes.entry(dc(draft.src)).or_insert(Bytes::ZERO);
        *sum = sum.saturating_add(draft.size);
    }
    bytes
}

/// Returns the minimum, over all repetitions, of the repetition's last workload-flow start.
fn last_start(drafted: &Drafted) -> Nanos {
    let mut last: BTreeMap<u32, Nanos> = BTreeMap::new();
    for (repetition, draft) in drafted.flows.iter().filter(|(_, draft)| !draft.is_listed) {
        let start = last.entry(*repetition).or_insert(Nanos::ZERO);
        *start = draft.start.max(*start);
    }
    last.into_values().min().unwrap_or(Nanos::ZERO)
}

fn listed(drafted: &Drafted) -> ListedFlows {
    let mut listed = ListedFlows::default();
    for (_, draft) in drafted.flows.iter().filter(|(_, draft)| draft.is_listed) {
        listed.flows += 1;
        listed.paper_bytes = listed.paper_bytes.saturating_add(draft.size);
    }
    listed
}
