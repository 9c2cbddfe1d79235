//! The flow table's upkeep: who is idle goes.

use aya::maps::MapError;
use lab_abi::{
    rows::{FlowEntry, FlowKey},
    wire::FlowReport,
};
use lab_policy::flow_gc;
use lab_units::{Nanos, PortId};

use crate::{SwitchdError, install::Slots, program::FlowTable, row::Row};

/// Every flow in the table, in the order of their keys.
///
/// Flows come and go while it is read. When the kernel takes away the one the walk stands on, the
/// walk begins anew; so no more than twice the table is read, and doubles are dropped.
pub(crate) fn all(
    flows: &FlowTable,
    entries: u32,
) -> Result<Vec<(FlowKey, FlowEntry)>, SwitchdError> {
    let most = usize::try_from(entries).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    for row in flows.iter().take(most.saturating_mul(2)) {
        match row {
            Ok((Row(key), Row(entry))) => found.push((key, entry)),
            Err(MapError::KeyNotFound) => {}
            Err(source) => return Err(SwitchdError::map("read", "flows")(source)),
        }
    }
    found.sort_unstable_by_key(|(key, _)| *key);
    found.dedup_by_key(|(key, _)| *key);
    Ok(found)
}

/// Takes out the flows not seen for `idle_timeout`; returns them and the number of those that stay.
///
/// A flow that wakes up between its last look and its removal is decided again by its next packet.
pub(crate) fn expire(
    flows: &mut FlowTable,
    entries: u32,
    now: Nanos,
    idle_timeout: Nanos,
) -> Result<(Vec<(FlowKey, FlowEntry)>, usize), SwitchdError> {
    let all = all(flows, entries)?;
    let horizon = now.saturating_sub(idle_timeout);
    let is_idle = |entry: &FlowEntry| flow_gc::is_idle(Nanos::new(entry.last_seen_ns), horizon);
    let (idle, busy): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, entry)| is_idle(entry));
    for (key, _) in &idle {
        match flows.remove(&Row(*key)) {
            Ok(()) | Err(MapError::KeyNotFound) => {}
            Err(source) => return Err(SwitchdError::map("remove a flow from", "flows")(source)),
        }
    }
    Ok((idle, busy.len()))
}

/// A row of the flow table as the controller reads it.
pub(crate) fn report(key: FlowKey, entry: FlowEntry, slots: &Slots) -> FlowReport {
    FlowReport {
        src_ip: key.source(),
        dst_ip: key.destination(),
        sport: key.source_port(),
        dport: key.destination_port(),
        proto: key.proto,
        port: slots
            .port(u32::from(entry.port))
            .unwrap_or(PortId(u32::MAX)),
        packets: entry.packets,
        bytes: entry.bytes,
        decisions: entry.decisions,
        last_seen_ns: entry.last_seen_ns,
    }
}
