//! Warning about pairs of datacenters without a next hop, although the candidates follow the cuts.

use lab_units::show::{commas, window};

use super::inspection::{Inspection, of_lines, warning};
use crate::{
    model::Warning,
    scope::{
        choice,
        outage::{self, Outage},
    },
};

/// Returns a warning for each time span in which pairs have no next hop although the candidates follow the cuts. Without
/// reconvergence, warnings about the cuts themselves name the pairs.
pub(super) fn until_reconvergence(inspection: &Inspection<'_>) -> Vec<Warning> {
    if inspection.reconvergences.is_empty() {
        return Vec::new();
    }
    let pairs = choice::both_ways(&inspection.pairs);
    let lines = lab_scenario::item_lines(inspection.source, "faults");
    let faults = (inspection.scenario.faults.as_slice(), lines.as_slice());
    let outages = outage::of_faults(inspection.timeline(), &pairs, faults);
    let has_traffic = inspection.has_traffic();
    let warnings = outages
        .iter()
        .filter(|outage| has_traffic(outage.from_ns, outage.to_ns))
        .map(|outage| warning("no-next-hop", sentence(outage)));
    warnings.collect()
}

fn sentence(outage: &Outage) -> String {
    let such = outage.pairs.first().map_or_else(String::new, |[from, to]| {
        let such = if outage.pairs.len() == 1 {
            ""
        } else {
            "such as "
        };
        format!(", {such}`{from}` to `{to}`,")
    });
    let (noun, verb) = match outage.pairs.len() {
        1 => ("pair", "has"),
        _ => ("pairs", "have"),
    };
    format!(
        "{} {noun}{such} {verb} no next hop {}{}: their packets are lost (hint: {})",
        commas(u64::try_from(outage.pairs.len()).unwrap_or(u64::MAX)),
        window(outage.from_ns, outage.to_ns),
        of_lines(&outage.lines),
        outage.end.hint(),
    )
}
