//! Sentences, without their full stops, for values in records.
//!
//! Records contain codes and figures; all English text about them is in this module.
//!
//! - `reason`: reasons to distrust a run
//! - `warning`: limits to how far a run can rank policies
//! - `evidence`: evidence that policies' mechanisms were at work
mod evidence;
mod reason;
mod warning;

use lab_records::{RunInfo, SimInfo};
use lab_units::show;

pub use evidence::{failover_note, failovers, policy, tables, unfinished, without_agent};
pub use reason::{reason, reasons};
pub use warning::warnings;

/// Returns the name of a simulation's engine, with the length of its trains if packets are not simulated one by one.
pub fn simulator(sim: &SimInfo) -> String {
    match sim.trains {
        None => "simulator".to_owned(),
        Some(length) => format!(
            "simulator, trains of {} packets",
            show::commas(length.into())
        ),
    }
}

/// Describes the time window and number of the measured flows; `None` if all flows are measured.
pub fn measured(info: &RunInfo) -> Option<String> {
    let measured = info.measured.as_ref()?;
    Some(format!(
        "flows that start {}: {} of {}",
        show::window(measured.from_ns, measured.to_ns),
        show::commas(info.measured_flows()),
        show::commas(info.scheduled_flows)
    ))
}

/// Sentence on a run in which no flow passed a switch with several next hops.
const NO_CHOICE: &str = "no decision among several next hops";
