//! Warnings about the number of candidates: most flows have a single path, or a switch has more next hops than it takes.

use std::cmp::Reverse;

use lab_units::{CandidateSet, DcId, show::commas};

use super::inspection::{Inspection, warning};
use crate::{model::Warning, scope::choice};

/// Returns a warning if most flows, but not all, have only a single path. If no flow has a choice, the run's evidence
/// reports that no policy decided anything; if only some flows have a choice, their decisions would hide the problem.
pub(super) fn missing(inspection: &Inspection<'_>) -> Option<Warning> {
    let reconvergences = inspection.reconvergences;
    let count = choice::count(inspection.routing(), reconvergences, &inspection.pairs);
    let flows = count.flows;
    let without = flows - count.flows_with_choice;
    (without < flows && without * 2 > flows).then(|| {
        let set = inspection.paths.set();
        let more = match set {
            CandidateSet::FewestHops => {
                "; if a link makes one path shorter than the others, no other path is a candidate"
            }
            CandidateSet::DownhillDelay { .. } | CandidateSet::Tunnels { .. } => "",
        };
        let text = format!(
            "{} of {} flows have only one candidate at every switch, so all policies send them along the same path \
             (hint: {}, and `lcmp-lab plan` lists them{more})",
            commas(without as u64),
            commas(flows as u64),
            set.rule(),
        );
        warning("one-path", text)
    })
}

/// Returns a warning if `routing.max` leaves out next hops that the candidate set would otherwise have.
pub(super) fn left_out(inspection: &Inspection<'_>) -> Option<Warning> {
    let CandidateSet::DownhillDelay { max, .. } = inspection.paths.set() else {
        return None;
    };
    let switches = (0u32..).map(DcId).zip(inspection.switches);
    let rows: Vec<(DcId, DcId, usize)> = switches
        .flat_map(|(from, switch)| switch.destinations.iter().map(move |row| (from, row.dc)))
        .map(|(from, to)| (from, to, inspection.paths.left_out(from, to)))
        .collect();
    let cut = rows.iter().filter(|(.., left_out)| *left_out > 0);
    let &(from, to, most) = cut
        .clone()
        .min_by_key(|(.., left_out)| Reverse(*left_out))?;
    let name = |dc: DcId| &inspection.network.dcs[dc.index()].name;
    let text = format!(
        "for {} of {} pairs of switch and destination there are more than {max} candidates (`routing.max`), of which the \
         {max} with the least delay are kept: {} from `{}` to `{}`, the most (hint: a smaller `routing.stretch` excludes \
         the longest paths)",
        commas(cut.count() as u64),
        commas(rows.len() as u64),
        most + usize::from(max),
        name(from),
        name(to),
    );
    Some(warning("candidates-left-out", text))
}
