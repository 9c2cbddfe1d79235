//! Load that the started flows of workloads offered.

use std::collections::BTreeMap;

use lab_plan::model::{Plan, SenderLoad};
use lab_records::{FlowRow, ListedFlows, OfferedLoad, RepetitionEnds};
use lab_units::{Bytes, DcId, Nanos};

use super::share::ratio;

/// Started workload flows under one policy, by repetition.
#[derive(Default)]
pub(super) struct Load {
    repetitions: BTreeMap<u32, Started>,
}

/// Started workload flows of one repetition. Sizes and times are from the plan, at the paper's scale (before scaling
/// for emulation).
#[derive(Default)]
struct Started {
    /// Bytes of these flows, by sending datacenter.
    bytes: BTreeMap<DcId, Bytes>,
    /// Start of the last of these flows.
    last_start: Nanos,
    /// True if the run ended before all workload flows had started.
    is_cut: bool,
}

/// Offered load of a run, by datacenter, and the share of the workloads' duration that flow starts cover.
pub(super) struct Offered {
    pub senders: Vec<OfferedLoad>,
    pub covered: Option<f64>,
    pub listed: ListedFlows,
}

impl Load {
    /// Adds a flow, if it belongs to a workload.
    pub fn add(&mut self, plan: &Plan, row: &FlowRow) {
        let Some(flow) = plan.flows.get(row.flow_id.index()) else {
            return;
        };
        let repetition = self.repetitions.entry(row.repetition).or_default();
        if flow.is_listed {
            return;
        }
        if !row.fields().has_started() {
            repetition.is_cut = true;
            return;
        }
        let dc = plan.nodes[flow.src.index()].dc;
        let bytes = repetition.bytes.entry(dc).or_insert(Bytes::ZERO);
        *bytes = bytes.saturating_add(flow.paper_size_bytes);
        repetition.last_start = flow.paper_start_ns.max(repetition.last_start);
    }
}

impl Started {
    /// Returns the time span over which the repetition's flows offer their load; the workloads last `duration`, and the
    /// repetition ends at `end`.
    fn time(&self, duration: Nanos, end: Nanos) -> Nanos {
        if self.is_cut {
            duration.min(end)
        } else {
            duration
        }
    }
}

/// Returns the offered load of all policies: bytes ÷ time, both summed over policies and repetitions. Each policy comes
/// with the ends of its repetitions.
pub(super) fn offered<'a>(
    plan: &Plan,
    policies: impl Iterator<Item = (&'a Load, &'a RepetitionEnds)> + Clone,
) -> Offered {
    let duration = plan.load.paper_duration_ns;
    let repetitions = policies.flat_map(|(load, ends)| {
        load.repetitions
            .iter()
            .map(|(&repetition, started)| (started, ends.of(repetition)))
    });
    let time: u128 = repetitions
        .clone()
        .map(|(started, end)| u128::from(started.time(duration, end).get()))
        .sum();
    let sent = |dc: DcId| {
        let bytes = repetitions.clone().filter_map(|(it, _)| it.bytes.get(&dc));
        bytes.map(|bytes| u128::from(bytes.get())).sum::<u128>()
    };
    let offered_load = |sender: &SenderLoad| {
        let offered = sent(sender.dc) * 8_000_000_000 / time.max(1);
        let share = |bps: u64| ratio(bps, sender.capacity_bps);
        OfferedLoad {
            dc: plan.dcs[sender.dc.index()].name.clone(),
            requested: share(sender.requested_bps),
            offered: share(u64::try_from(offered).unwrap_or(u64::MAX)),
        }
    };
    let senders = plan.load.senders.iter().map(offered_load).collect();
    let last_start = repetitions.map(|(started, _)| started.last_start).min();
    let has_load = duration > Nanos::ZERO && plan.load.kept > 0;
    Offered {
        senders,
        covered: last_start
            .filter(|_| has_load)
            .map(|last| ratio(last.get(), duration.get())),
        listed: ListedFlows {
            flows: plan.load.listed.flows,
            bytes: plan.load.listed.paper_bytes,
        },
    }
}
