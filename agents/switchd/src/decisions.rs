//! Decisions, from the ring buffer to the controller's terms.

use aya::maps::{MapData, RingBuf};
use lab_abi::{
    Rule, Trigger,
    rows::{CANDIDATE_ALIVE, CANDIDATE_KEPT, DecisionRecord, NO_QP},
    wire::{CandidateReport, DecisionReport},
};
use lab_units::PortId;

use crate::install::Slots;

/// All decisions the ring buffer holds, oldest first.
pub(crate) fn drain(ring: &mut RingBuf<MapData>) -> Vec<DecisionRecord> {
    let mut records = Vec::new();
    while let Some(item) = ring.next() {
        // Of another length only if program and agent were built from different headers, which the
        // staleness test of the header excludes.
        if let Ok(record) = bytemuck::try_pod_read_unaligned(&item) {
            records.push(record);
        }
    }
    records
}

/// A decision in the plan's port ids.
pub(crate) fn report(record: &DecisionRecord, slots: &Slots) -> DecisionReport {
    let port = |slot: u32| slots.port(slot).unwrap_or(PortId(u32::MAX));
    let candidates = record
        .candidates
        .iter()
        .take(usize::from(record.count))
        .map(|row| CandidateReport {
            port: port(u32::from(row.port)),
            c_path: row.path,
            c_cong: row.congestion,
            cost: row.cost,
            is_alive: row.flags & CANDIDATE_ALIVE != 0,
            is_kept: row.flags & CANDIDATE_KEPT != 0,
        })
        .collect();
    DecisionReport {
        time_ns: record.time_ns,
        src_ip: record.flow.source(),
        dst_ip: record.flow.destination(),
        sport: record.flow.source_port(),
        dport: record.flow.destination_port(),
        proto: record.flow.proto,
        dest_qp: (record.dest_qp != NO_QP).then_some(record.dest_qp),
        hash: record.hash,
        trigger: Trigger::from_byte(record.trigger).unwrap_or(Trigger::NewFlow),
        rule: Rule::from_byte(record.rule).unwrap_or(Rule::Hash),
        candidates,
        port: port(record.port),
    }
}
