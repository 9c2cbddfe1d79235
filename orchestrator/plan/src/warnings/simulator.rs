//! Warnings about what the simulator ignores or refuses.

use lab_scenario::defaults;
use lab_units::Nanos;

use super::inspection::{Inspection, line_of, warning};
use crate::model::{FaultChange, LinkKind, Warning};

/// Returns a warning if a link between datacenters has no delay, at the start or after a fault.
pub(super) fn without_delay(inspection: &Inspection<'_>) -> Option<Warning> {
    let links = &inspection.network.links;
    let mut at_start = links.iter().filter(|link| link.emu.delay_ns == Nanos::ZERO);
    let by_fault = inspection
        .faults
        .iter()
        .find_map(|fault| match fault.change {
            FaultChange::Wire(wire) if wire.delay_ns == Nanos::ZERO => {
                Some(inspection.network.link(fault.link))
            }
            _ => None,
        });
    let found = at_start.find(|link| link.kind == LinkKind::InterDc);
    let link = found.or(by_fault)?;
    let text = format!(
        "the simulator refuses `{}`, a link between datacenters without delay (hint: a delay of at least 1 ns)",
        link.name
    );
    Some(warning("simulator-no-delay", text))
}

/// Returns a warning about settings that the simulator ignores.
pub(super) fn not_simulated(inspection: &Inspection<'_>) -> Option<Warning> {
    let scenario = inspection.scenario;
    let ignored = [
        (
            "generator.traffic_class",
            "simulated switches mark packets of every class",
            scenario.generator.traffic_class != defaults::GENERATOR.traffic_class,
        ),
        (
            "max_table_age",
            "simulated tables and samples do not expire unless an agent crashes",
            scenario.max_table_age != defaults::MAX_TABLE_AGE && scenario.agent_crashes.is_empty(),
        ),
    ];
    let asked: Vec<String> = ignored
        .iter()
        .filter(|(.., is_asked)| *is_asked)
        .map(|(path, why, _)| format!("`{path}`{}, as {why}", line_of(inspection, path)))
        .collect();
    (!asked.is_empty()).then(|| {
        let text = format!(
            "the simulator ignores {} (hint: the lab, `lcmp-lab up`, supports them)",
            asked.join(", and ")
        );
        warning("simulator-ignored", text)
    })
}
