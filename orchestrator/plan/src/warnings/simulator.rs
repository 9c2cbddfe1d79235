//! Warning about settings that the simulator ignores.

use lab_scenario::defaults;

use super::inspection::{Inspection, line_of, warning};
use crate::model::Warning;

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
