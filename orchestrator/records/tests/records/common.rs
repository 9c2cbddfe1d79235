//! A run to write and read.

pub use lab_records::sample::{end, flow, info, now};
use lab_records::{FlowRow, FlowStatus};

/// A flow that was given up.
pub fn unfinished(policy: &str) -> FlowRow {
    FlowRow {
        fct_ns: None,
        slowdown: None,
        emu_fct_ns: None,
        emu_fct_resolution_ns: None,
        path: None,
        status: FlowStatus::TimedOut,
        reason: "not ended after 60 s, said \"a, b\"\nand more".into(),
        ..flow(policy)
    }
}
