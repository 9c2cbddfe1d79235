//! Warnings about faults before and after all traffic, and about faults that leave flows without a path.

use std::collections::{BTreeMap, BTreeSet};

use lab_scenario::{Fault, FaultSpec};
use lab_units::{
    DcId, LinkId, Nanos,
    show::{about_time, counted, window},
};

use super::inspection::{Inspection, line_of, warning};
use crate::{
    model::Warning,
    paper_units::PaperUnits,
    round_trip,
    scope::{choice, timeline::Timeline},
};

/// Returns a warning about cuts that are repaired before the first flow starts.
pub(super) fn early(inspection: &Inspection<'_>) -> Option<Warning> {
    let first = inspection
        .flows
        .iter()
        .map(|flow| flow.paper_start_ns)
        .min()?;
    let faults = &inspection.scenario.faults;
    let is_repaired = |cut: &Fault| {
        faults.iter().any(|repair| {
            repair.change == FaultSpec::Up
                && repair.key() == cut.key()
                && repair.at > cut.at
                && repair.at <= first
        })
    };
    let cuts = faults
        .iter()
        .filter(|fault| fault.change == FaultSpec::Down && !is_random(inspection, fault));
    let (repaired, lasting): (Vec<&Fault>, Vec<&Fault>) = cuts.partition(|cut| is_repaired(cut));
    let mut early: Vec<usize> = repaired.iter().map(|fault| fault.entry).collect();
    early.dedup();
    early.retain(|entry| lasting.iter().all(|fault| fault.entry != *entry));
    let (subject, verb) = match early.len() {
        0 => return None,
        1 => ("the cut", "affects"),
        _ => ("the cuts", "affect"),
    };
    let text = format!(
        "{subject} {} {verb} no flow: the link is repaired before the first flow starts at {} (hint: set `at` later)",
        named(inspection, &early),
        about_time(first),
    );
    Some(warning("early-fault", text))
}

/// Returns a warning if `routing.reconverge` is set but no fault cuts or repairs a link.
pub(super) fn without_reconvergence(inspection: &Inspection<'_>) -> Option<Warning> {
    inspection.scenario.reconverge_after?;
    inspection.reconvergences.is_empty().then(|| {
        let text = format!(
            "`routing.reconverge`{} has no effect: no fault cuts or repairs a link (hint: add one to `faults`; random ones are drawn up to the last start of a flow)",
            line_of(inspection, "routing.reconverge"),
        );
        warning("no-reconvergence", text)
    })
}

/// Returns a warning about faults after the last flow would have ended if each flow ran alone. Repairs are not
/// included, because flows that an earlier cut delays may still need them.
pub(super) fn late(inspection: &Inspection<'_>) -> Option<Warning> {
    if inspection.flows.is_empty() {
        return None;
    }
    let end = PaperUnits::new(inspection.scale).time(round_trip::ideal_end(inspection.flows));
    let faults = inspection.scenario.faults.iter();
    let late: Vec<&Fault> = faults
        .filter(|fault| fault.at > end && fault.change != FaultSpec::Up)
        .filter(|fault| !is_random(inspection, fault))
        .collect();
    let first = late.iter().map(|fault| fault.at).min()?;
    let mut late: Vec<usize> = late.iter().map(|fault| fault.entry).collect();
    late.dedup();
    let (when, verb) = match late.len() {
        1 => (format!("at {first}"), "affects"),
        _ => (format!("from {first} on"), "affect"),
    };
    let text = format!(
        "{} {when} {verb} only flows that queues or earlier faults delay: if each flow ran alone, all would have ended by {} \
         (hint: set `at` earlier, or lengthen the traffic)",
        named(inspection, &late),
        about_time(end),
    );
    Some(warning("late-fault", text))
}

/// Returns a warning for each time span in which no path is up between some datacenters with flows.
pub(super) fn cut_off(inspection: &Inspection<'_>) -> Vec<Warning> {
    let sources = choice::by_destination(choice::both_ways(&inspection.pairs));
    let mut in_time: Vec<&Fault> = inspection.scenario.faults.iter().collect();
    in_time.sort_by_key(|fault| fault.at);
    let mut in_time = in_time.into_iter().peekable();
    let mut down: BTreeMap<LinkId, usize> = BTreeMap::new();
    let mut open: BTreeMap<DcPair, (Nanos, Vec<usize>)> = BTreeMap::new();
    let mut spans: BTreeMap<FaultSpan, Vec<DcPair>> = BTreeMap::new();
    // Which paths are up does not depend on agents.
    let timeline = Timeline {
        crashes: &[],
        ..inspection.timeline()
    };
    timeline.walk(|at, dead, routing| {
        while let Some(fault) = in_time.next_if(|fault| fault.at == at) {
            let Some(link) = inspection.network.link_of(fault) else {
                continue;
            };
            match fault.change {
                FaultSpec::Down => down.insert(link, fault.entry),
                FaultSpec::Up => down.remove(&link),
                FaultSpec::Set { .. } => None,
            };
        }
        let mut separate: BTreeSet<DcPair> = BTreeSet::new();
        for (&to, sources) in &sources {
            let is_cut = |link| dead.links.contains(&link);
            let connected = routing.connected(to, &routing.farthest_first(to), is_cut);
            let cut_off = sources.iter().filter(|from| !connected[from.index()]);
            separate.extend(cut_off.map(|&from| (from.min(to), from.max(to))));
        }
        for &pair in &separate {
            open.entry(pair).or_insert_with(|| {
                let causes: BTreeSet<usize> = down.values().copied().collect();
                (at, causes.into_iter().collect())
            });
        }
        for (pair, (since, causes)) in open.extract_if(.., |pair, _| !separate.contains(pair)) {
            let span = (since, Some(at), causes);
            spans.entry(span).or_default().push(pair);
        }
    });
    for (pair, (since, causes)) in open {
        spans.entry((since, None, causes)).or_default().push(pair);
    }
    let has_traffic = inspection.has_traffic();
    spans
        .into_iter()
        .filter(|((since, until, _), _)| has_traffic(*since, *until))
        .map(|(span, pairs)| warning("cut-off", sentence(inspection, &span, &pairs)))
        .collect()
}

/// Returns true if the fault was drawn by `random`; its entry has no `at` that the user could change.
fn is_random(inspection: &Inspection<'_>, fault: &Fault) -> bool {
    let mut random = inspection.scenario.random_faults.iter();
    random.any(|random| random.entry == fault.entry)
}

/// Pair of datacenters, the one with the lower id first.
type DcPair = (DcId, DcId);

/// Time span between faults: start, end (`None` if it never ends), and the indices of the faults that begin it.
type FaultSpan = (Nanos, Option<Nanos>, Vec<usize>);

fn sentence(
    inspection: &Inspection<'_>,
    (since, until, causes): &FaultSpan,
    pairs: &[DcPair],
) -> String {
    let name = |dc: &DcId| inspection.network.dcs[dc.index()].name.as_str();
    let shown: Vec<String> = pairs
        .iter()
        .take(NAMED)
        .map(|(a, b)| format!("`{}` and `{}`", name(a), name(b)))
        .collect();
    let more = match pairs.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {}", counted(more as u64, "other pair")),
    };
    let outcome = match until {
        Some(_) if inspection.reconvergences.is_empty() => "flows wait for the repair",
        Some(_) => "flows wait until then",
        None => "flows do not finish",
    };
    format!(
        "{} no path is up between {}{more}, cut by {}: {outcome} (hint: leave one path up, or repair a link by `up: \
         true`)",
        window(*since, *until),
        shown.join(", "),
        named(inspection, causes),
    )
}

/// Returns the faults with their indices and lines in the scenario, such as `faults[0]` (line 12).
pub(super) fn named(inspection: &Inspection<'_>, faults: &[usize]) -> String {
    let lines = lab_scenario::item_lines(inspection.source, "faults");
    let place = |index: &usize| match lines.get(*index) {
        Some(line) => format!("`faults[{index}]` (line {line})"),
        None => format!("`faults[{index}]`"),
    };
    let shown: Vec<String> = faults.iter().take(NAMED).map(place).collect();
    match faults.len().saturating_sub(NAMED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Maximum number of pairs, and of faults, that a warning names.
const NAMED: usize = 3;
