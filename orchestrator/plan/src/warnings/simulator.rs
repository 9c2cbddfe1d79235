//! Warnings about what the simulator ignores or refuses.

use lab_scenario::defaults;
use lab_units::Nanos;

use super::inspection::{Inspection, line_of, warning};
use crate::model::{LinkKind, Warning};

/// Returns a warning if a link between datacenters has no delay.
pub(super) fn without_delay(inspection: &Inspection<'_>) -> Option<Warning> {
    let mut links = inspection.network.links.iter();
    let link =
        links.find(|link| link.kind == LinkKind::InterDc && link.emu.delay_ns == Nanos::ZERO)?;
    let text = format!(
        "the simulator refuses a link without delay between datacenters, `{}` (hint: at least 1 ns)",
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
            "simulated tables and samples do not expire",
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
