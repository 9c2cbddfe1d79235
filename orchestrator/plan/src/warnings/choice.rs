//! Warning that most flows have only a single path.

use lab_units::{DcId, show::commas};

use super::{
    cuts::candidates,
    inspection::{Inspection, warning},
};
use crate::model::Warning;

/// Returns a warning if most flows, but not all, have only a single path. If no flow has a choice, the run's evidence
/// reports that no policy decided anything; if only some flows have a choice, their decisions would hide the problem.
pub(super) fn missing(inspection: &Inspection<'_>) -> Option<Warning> {
    let flows = inspection.flows.len();
    let without: usize = inspection
        .pairs
        .iter()
        .filter(|&(&(from, to), _)| !has_choice(inspection, from, to))
        .map(|(_, flows)| flows)
        .sum();
    (without < flows && without * 2 > flows).then(|| {
        let text = format!(
            "{} of {} flows have only one candidate at every switch, so all policies send them along the same path \
             (hint: candidates are next hops on paths of the fewest links, and `lcmp-lab plan` lists them; if a link \
             makes one path shorter than the others, no other path is a candidate)",
            commas(without as u64),
            commas(flows as u64),
        );
        warning("one-path", text)
    })
}

/// Returns true if a switch on the path has more than one candidate.
fn has_choice(inspection: &Inspection<'_>, from: DcId, to: DcId) -> bool {
    let mut at = from;
    while at != to {
        match candidates(inspection, at, to) {
            [only] => at = only.next_dc,
            [] => return false,
            _ => return true,
        }
    }
    false
}
