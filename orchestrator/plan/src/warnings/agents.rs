//! Warnings about crashes of switches' agents that change nothing.

use lab_scenario::AgentCrash;
use lab_units::{Nanos, show::about_time};

use super::{
    faults::named,
    inspection::{Inspection, warning},
};
use crate::{agent_crashes::MissedChanges, model::Warning, paper_units::PaperUnits, round_trip};

/// Returns warnings about crashes outside the time of the traffic: agents that are back before the first flow starts,
/// and crashes after the last flow would have ended if each flow ran alone.
pub(super) fn without_traffic(inspection: &Inspection<'_>) -> Vec<Warning> {
    let starts = inspection.flows.iter().map(|flow| flow.paper_start_ns);
    let Some(first) = starts.min() else {
        return Vec::new();
    };
    let end = PaperUnits::new(inspection.scale).time(round_trip::ideal_end(inspection.flows));
    let early = |crash: &AgentCrash| crash.restart.is_some_and(|restart| restart <= first);
    let of_early = of_crashes(inspection, early).map(|crashes| {
        let text = format!(
            "{crashes} no flow: the agent is back before the first flow starts at {} (hint: set `at` later)",
            about_time(first),
        );
        warning("early-fault", text)
    });
    let of_late = of_crashes(inspection, |crash| crash.at > end).map(|crashes| {
        let text = format!(
            "{crashes} only flows that queues or earlier faults delay: if each flow ran alone, all would have ended by {} \
             (hint: set `at` earlier, or lengthen the traffic)",
            about_time(end),
        );
        warning("late-fault", text)
    });
    of_early.into_iter().chain(of_late).collect()
}

/// Returns a warning about crashes that can change no decision under any of the policies.
pub(super) fn idle(inspection: &Inspection<'_>) -> Option<Warning> {
    let missed = MissedChanges {
        network: inspection.network,
        switches: inspection.switches,
        policies: inspection.policies,
        faults: inspection.faults,
        reconvergences: inspection.reconvergences,
        max_table_age_ns: inspection.max_table_age_ns,
    };
    let is_idle = |crash: &AgentCrash| {
        let mut planned = inspection.agent_crashes.iter();
        let found = planned.find(|it| {
            inspection.network.dcs[it.dc.index()].name == crash.dc && it.paper_at_ns == crash.at
        });
        let mut policies = 0..inspection.policies.len();
        found.is_some_and(|it| !policies.any(|policy| missed.matter(it, policy)))
    };
    let crashes = of_crashes(inspection, is_idle)?;
    let labels: Vec<&str> = inspection
        .policies
        .iter()
        .map(|run| run.label.as_str())
        .collect();
    let text = format!(
        "{crashes} no decision: under `{}` the switch has one candidate for each destination, or decides by tables that do \
         not change meanwhile (hint: crash the agent of a switch with a choice under a policy whose agent samples queues or \
         changes splits, such as `lcmp` or `te-100ms`, or let a repair of one of the switch's links or a reconvergence \
         happen before the restart)",
        labels.join("`, `"),
    );
    Some(warning("idle-agent-crash", text))
}

/// Returns the subject and verb of a sentence about the crashes for which `is_meant` is true; `None` if there are none.
fn of_crashes(
    inspection: &Inspection<'_>,
    is_meant: impl Fn(&AgentCrash) -> bool,
) -> Option<String> {
    let crashes = inspection.scenario.agent_crashes.iter();
    let mut meant: Vec<(Nanos, usize)> = crashes
        .filter(|crash| is_meant(crash))
        .map(|crash| (crash.at, crash.entry))
        .collect();
    meant.sort_unstable();
    let entries: Vec<usize> = meant.into_iter().map(|(_, entry)| entry).collect();
    let (subject, verb) = match entries.len() {
        0 => return None,
        1 => ("the crash of an agent", "affects"),
        _ => ("the crashes of agents", "affect"),
    };
    Some(format!(
        "{subject} in {} {verb}",
        named(inspection, &entries)
    ))
}
