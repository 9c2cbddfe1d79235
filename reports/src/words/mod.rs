//! Values of records in words: sentences without their full stops.
//!
//! Records hold codes and figures; all English about them is here.
//!
//! - `reason`: reasons not to trust a run
//! - `warning`: limits to what a ranking by a run shows
//! - `evidence`: policies' mechanisms at work
mod evidence;
mod reason;
mod warning;

use lab_records::RunInfo;
use lab_units::show;

pub use evidence::{failover_note, policy, tables};
pub use reason::{reason, reasons};
pub use warning::warning;

/// Returns the window of the measured flows and their number; `None` if all flows are measured.
pub fn measured(info: &RunInfo) -> Option<String> {
    let measured = info.measured.as_ref()?;
    Some(format!(
        "flows that start {}: {} of {}",
        show::window(measured.from_ns, measured.to_ns),
        show::commas(info.measured_flows()),
        show::commas(info.scheduled_flows)
    ))
}

/// Sentence on a run whose flows met no switch with two next hops.
const NO_CHOICE: &str = "no decision among several next hops";
