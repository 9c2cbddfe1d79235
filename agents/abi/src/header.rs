//! Printer of `abi.h`: the rows and constants as C declarations.

use alloc::{format, string::String};
use core::fmt::Write as _;

use crate::{
    Rule, Trigger,
    dcqcn::{
        CNP_QP, CongestionPoint, DcqcnParams, HostCounters, HostParams, LAW_CNP, LAW_MARKED,
        LAW_QUEUED, LAW_SENT, LAW_START, LAW_TIMER, LawStep, MAX_HYPER_STAGES, MAX_RAISES,
        MarkedQp, ONE_Q30, PacedQp, QpKey, REACTION_ALPHA, REACTION_CUT, ReactionPoint,
    },
    layout::{FieldLayout, RowLayout},
    lcmp::{FLOW_TABLE_HEADROOM, MAX_FLOW_TABLE_ENTRIES},
    pfc::{
        CALENDAR_SLOTS, CalendarSlot, IngressPort, MAC_CONTROL, NicRow, PAUSE_RING_BYTES,
        PFC_OPCODE, PFC_PRIORITY, PauseRecord, RESERVE_BYTES, RESUME_OFFSET_BYTES, SharedBuffer,
    },
    rows::{
        CANDIDATE_ALIVE, CANDIDATE_KEPT, CandidateRow, Counters, DecisionRecord, DestinationRow,
        FlowEntry, FlowKey, KEEP_FLOOR, KEEP_FLOOR_OR_ALL, KEEP_HALF, KEEP_HALF_STRICT, LAB_NET,
        MAX_CANDIDATES, MAX_DESTINATIONS, MAX_PORTS, MAX_SIZE_THRESHOLDS, MAX_TRANSITS,
        MECHANISM_BUCKETS, MECHANISM_LCMP, NO_QP, PORT_ALIVE, PortQueueRow, PortRow, PrefixKey,
        RING_BYTES, RING_WAKE_BYTES, RING_WAKE_STEP, ROCE_PORT, SLOT_BITS, ScoredCandidate,
        SizeThresholdRow, SwitchParams, SwitchTable, TransitKey, WAIT_UNIT_BITS,
    },
};

/// Layouts of the map rows and ring buffer records that `abi.h` declares; each follows the layouts that its fields
/// contain.
const ROWS: [RowLayout; 28] = [
    FlowKey::ROW,
    FlowEntry::ROW,
    PrefixKey::ROW,
    TransitKey::ROW,
    CongestionPoint::ROW,
    PortQueueRow::ROW,
    CandidateRow::ROW,
    SizeThresholdRow::ROW,
    DestinationRow::ROW,
    PortRow::ROW,
    SwitchParams::ROW,
    SwitchTable::ROW,
    Counters::ROW,
    ScoredCandidate::ROW,
    DecisionRecord::ROW,
    DcqcnParams::ROW,
    ReactionPoint::ROW,
    LawStep::ROW,
    HostParams::ROW,
    QpKey::ROW,
    PacedQp::ROW,
    MarkedQp::ROW,
    HostCounters::ROW,
    IngressPort::ROW,
    SharedBuffer::ROW,
    CalendarSlot::ROW,
    NicRow::ROW,
    PauseRecord::ROW,
];

/// Returns the text of `agents/ebpf/abi.h`.
#[must_use]
pub fn abi_h() -> String {
    let mut text = String::from(PREAMBLE);
    let constants = [
        ("MAX_CANDIDATES", format!("{MAX_CANDIDATES}")),
        ("MAX_SIZE_THRESHOLDS", format!("{MAX_SIZE_THRESHOLDS}")),
        ("MAX_PORTS", format!("{MAX_PORTS}")),
        ("MAX_DESTINATIONS", format!("{MAX_DESTINATIONS}")),
        ("MAX_TRANSITS", format!("{MAX_TRANSITS}")),
        (
            "MAX_FLOW_TABLE_ROWS",
            format!("{}", MAX_FLOW_TABLE_ENTRIES + FLOW_TABLE_HEADROOM),
        ),
        ("RING_BYTES", format!("{RING_BYTES}")),
        ("RING_WAKE_BYTES", format!("{RING_WAKE_BYTES}")),
        ("RING_WAKE_STEP", format!("{RING_WAKE_STEP}")),
        ("PORT_ALIVE", format!("{PORT_ALIVE:#x}ULL")),
        ("MECHANISM_BUCKETS", format!("{MECHANISM_BUCKETS}")),
        ("MECHANISM_LCMP", format!("{MECHANISM_LCMP}")),
        ("KEEP_HALF", format!("{KEEP_HALF}")),
        ("KEEP_HALF_STRICT", format!("{KEEP_HALF_STRICT}")),
        ("KEEP_FLOOR", format!("{KEEP_FLOOR}")),
        ("KEEP_FLOOR_OR_ALL", format!("{KEEP_FLOOR_OR_ALL}")),
        ("CANDIDATE_ALIVE", format!("{CANDIDATE_ALIVE}")),
        ("CANDIDATE_KEPT", format!("{CANDIDATE_KEPT}")),
        ("NO_QP", format!("{NO_QP:#x}U")),
        ("WAIT_UNIT_BITS", format!("{WAIT_UNIT_BITS}")),
        ("ROCE_PORT", format!("{ROCE_PORT}")),
        ("LAB_NET", format!("{LAB_NET}")),
        ("SLOT_BITS", format!("{SLOT_BITS:#010x}U")),
        ("ONE_Q30", format!("{ONE_Q30:#x}ULL")),
        ("MAX_HYPER_STAGES", format!("{MAX_HYPER_STAGES}")),
        ("MAX_RAISES", format!("{MAX_RAISES}")),
        ("REACTION_ALPHA", format!("{REACTION_ALPHA}")),
        ("REACTION_CUT", format!("{REACTION_CUT}")),
        ("CNP_QP", format!("{CNP_QP:#x}U")),
        ("LAW_START", format!("{LAW_START}")),
        ("LAW_TIMER", format!("{LAW_TIMER}")),
        ("LAW_SENT", format!("{LAW_SENT}")),
        ("LAW_CNP", format!("{LAW_CNP}")),
        ("LAW_MARKED", format!("{LAW_MARKED}")),
        ("LAW_QUEUED", format!("{LAW_QUEUED}")),
        ("CALENDAR_SLOTS", format!("{CALENDAR_SLOTS}")),
        ("RESERVE_BYTES", format!("{RESERVE_BYTES}ULL")),
        ("RESUME_OFFSET_BYTES", format!("{RESUME_OFFSET_BYTES}ULL")),
        ("PFC_PRIORITY", format!("{PFC_PRIORITY}")),
        ("MAC_CONTROL", format!("{MAC_CONTROL:#06x}")),
        ("PFC_OPCODE", format!("{PFC_OPCODE:#06x}")),
        ("PAUSE_RING_BYTES", format!("{PAUSE_RING_BYTES}")),
    ];
    for (name, value) in constants {
        define(&mut text, name, &value, "");
    }
    for &(doc, name, value) in Trigger::CONSTANTS.iter().chain(Rule::CONSTANTS) {
        define(&mut text, name, &format!("{value}"), doc.trim());
    }
    for row in ROWS {
        write_row(&mut text, &row);
    }
    text.push_str("\n#endif\n");
    text
}

fn define(text: &mut String, name: &str, value: &str, doc: &str) {
    let comment = if doc.is_empty() {
        String::new()
    } else {
        format!(" // {doc}")
    };
    // Writing to a `String` cannot fail.
    let _ = writeln!(text, "#define {name} {value}{comment}");
}

fn write_row(text: &mut String, row: &RowLayout) {
    let name = row.name;
    text.push('\n');
    comment(text, "", row.doc);
    let _ = writeln!(text, "struct {name} {{");
    for field in row.fields {
        comment(text, "\t", field.doc);
        let FieldLayout { base, name, .. } = field;
        let brackets = field.len.map(|len| format!("[{len}]")).unwrap_or_default();
        let _ = writeln!(text, "\t{base} {name}{brackets};");
    }
    let _ = writeln!(text, "}};");
    let size = row.size;
    let _ = writeln!(
        text,
        "_Static_assert(sizeof(struct {name}) == {size}, \"{name}\");"
    );
    for FieldLayout {
        name: field,
        offset,
        ..
    } in row.fields
    {
        let _ = writeln!(
            text,
            "_Static_assert(__builtin_offsetof(struct {name}, {field}) == {offset}, \"{name}.{field}\");"
        );
    }
}

fn comment(text: &mut String, indent: &str, lines: &[&str]) {
    for line in lines {
        let _ = writeln!(text, "{indent}//{line}");
    }
}

const PREAMBLE: &str = "\
// Generated from the crate lab-abi; do not edit.
// After a change of its rows: UPDATE_ABI_H=1 cargo test -p lab-abi --test abi_h
#ifndef LAB_ABI_H
#define LAB_ABI_H

#include <linux/types.h>

";
