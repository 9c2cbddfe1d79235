//! Warnings about policies that cannot differ in the scenario.

use super::inspection::{Inspection, of_lines, warning};
use crate::{
    model::Warning,
    scope::{
        alike::{self, AlikeReason, Decisions},
        choice, resolve,
    },
};

/// Returns a warning for each group of policies that send every flow along the same path, although flows have choices. If
/// no flow has a choice, the run's evidence reports that no policy decided anything.
pub(super) fn same(inspection: &Inspection<'_>) -> Vec<Warning> {
    let decisions = Decisions {
        routing: inspection.routing(),
        policies: inspection.policies,
        faults: inspection.faults,
        reconvergences: inspection.reconvergences,
        scale: inspection.scale,
        semantics: inspection.scenario.transport.semantics,
    };
    let pairs = choice::both_ways(&inspection.pairs);
    let line = resolve::policy_line(inspection.scenario, inspection.source);
    let groups = alike::groups(decisions, &pairs, line).into_iter();
    let warnings = groups.filter_map(|group| {
        let hint = match group.reason {
            AlikeReason::NoChoice => return None,
            AlikeReason::SameParameters => "leave out all but one, or change a parameter",
            AlikeReason::SameBuckets { .. } => {
                "leave out all but one with `--policies`, or change rates or delays of links"
            }
        };
        let text = format!(
            "policies `{}`{} cannot differ: {} (hint: {hint})",
            group.policies.join("`, `"),
            of_lines(&group.lines),
            group.reason,
        );
        Some(warning("same-policies", text))
    });
    warnings.collect()
}
