//! Sentences, without their full stops, for reasons to distrust a run.

use lab_records::{Reason, ReasonCode, Verdict};
use lab_units::{
    Nanos,
    show::{about_time, commas, counted},
};

use crate::text::{exact_percent, small_percent};

/// Returns a sentence for each reason of a verdict.
pub fn reasons(verdict: &Verdict) -> Vec<String> {
    verdict.reasons.iter().map(reason).collect()
}

/// Returns the sentence for a reason.
pub fn reason(reason: &Reason) -> String {
    let subject = reason.subject.as_deref().unwrap_or_default();
    let value = reason.value.unwrap_or_default();
    let count = reason.whole();
    let of = |noun: &str| {
        let whole = counted(reason.of.unwrap_or(0), noun);
        format!("{} of {whole}", commas(count))
    };
    let at = |noun: &str, what: &str| format!("{subject}: {} {what}", counted(count, noun));
    let bound = || exact_percent(reason.bound.unwrap_or_default());
    let busiest = |what: &str| {
        let share = exact_percent(value);
        let bound = bound();
        format!("{share} {what} in the worst second while flows ran, bound {bound}")
    };
    match reason.code {
        ReasonCode::DidNotEnd => {
            "the run did not end: it was interrupted, or is still running".to_owned()
        }
        ReasonCode::NoFlows => "no flows were measured, so nothing was compared".to_owned(),
        ReasonCode::UnfinishedFlows => format!("{} did not finish", of("flow")),
        ReasonCode::UnrecordedFlows => format!("{} recorded", of("scheduled flow")),
        ReasonCode::ImpossibleSlowdowns => format!(
            "{} impossibly fast (the ideal FCT or the measurement is wrong)",
            of("flow")
        ),
        ReasonCode::EngineProblem => subject.to_owned(),
        ReasonCode::UncertifiedLinks => format!(
            "links not certified: {} measured out of bounds; {subject}",
            of("link direction")
        ),
        ReasonCode::LateFlows => {
            let bound = small_percent(reason.bound.unwrap_or_default());
            format!("{} launched late, bound {bound}", of("flow"))
        }
        ReasonCode::LateSamples => {
            format!(
                "{} of queue lengths taken late, bound {}",
                of("sample"),
                bound()
            )
        }
        ReasonCode::BusyGuest => format!(
            "the guest's CPU was busy for {} of the flows' time, bound {}",
            exact_percent(value),
            bound()
        ),
        ReasonCode::HostWaits => format!(
            "the guest waited for the host {} while flows ran, so that its clock may have jumped",
            counted(count, "time")
        ),
        ReasonCode::LateWakeups => format!(
            "{} of the watchdog late (by {subject} at most), bound {}",
            of("wake-up"),
            bound()
        ),
        ReasonCode::ClockJump => format!(
            "the wall clock jumped by {} while flows ran",
            about_time(Nanos::new(count))
        ),
        ReasonCode::BusyCpus => busiest("of all CPUs' time was in use"),
        ReasonCode::StolenCpus => busiest("of the CPUs' time went to other machines"),
        ReasonCode::Softirqs => busiest("of one CPU's time went to softirqs"),
        ReasonCode::WaitingTasks => format!(
            "on average {value:.1} tasks per CPU waited while flows ran, bound {}",
            reason.bound.unwrap_or_default()
        ),
        ReasonCode::DroppedOutside => {
            format!("{} dropped outside the emulated queues", of("packet"))
        }
        ReasonCode::DroppedUnasked => format!(
            "{} dropped on links for which the scenario asks for no loss",
            of("packet")
        ),
        ReasonCode::UnexplainedRetries => format!(
            "senders went back to an earlier packet {}, and no emulated loss explains it",
            counted(count, "time")
        ),
        ReasonCode::AlteredLab if reason.value.is_some() => {
            format!(
                "interfaces or queues changed while flows ran: {} more",
                commas(count)
            )
        }
        ReasonCode::AlteredLab => format!("interface or queue changed while flows ran: {subject}"),
        ReasonCode::UnpinnedDecisions => at(
            "decision",
            "that created no flow-table entry: the table was full",
        ),
        ReasonCode::StaleDecisions => at(
            "decision",
            "by hash over all live next hops: tables or queue samples were stale",
        ),
        ReasonCode::LostDecisionRecords => at("decision record", "lost: the ring buffer was full"),
        ReasonCode::LostMessages => at(
            "message",
            "from the agent lost: more than 16 MiB of messages waited to be read (hint: set longer \
             intervals under `measure`)",
        ),
        ReasonCode::IncompleteReports => format!(
            "{subject}: the agent ended before it sent its last reports: counters and decisions are missing"
        ),
        ReasonCode::UnpausableSenders => at(
            "packet",
            "from senders that PFC should have paused but could not: they are not hosts",
        ),
        ReasonCode::DroppedDespitePfc => at(
            "packet",
            "dropped despite PFC: a switch's shared buffer had no room",
        ),
        ReasonCode::DroppedFromTrains => at(
            "packet",
            "dropped by queues: in trains, other packets are lost, and QPs recover differently (hint: leave out `--trains`)",
        ),
        ReasonCode::UnpacedPackets => at("packet", "not paced: too many QPs"),
        ReasonCode::DroppedByPacer => at("packet", "dropped by the pacer"),
        ReasonCode::ReorderedByPacer => at("packet", "left the pacer out of order"),
        ReasonCode::UnsentCnps => at("CNP", "that could not be sent"),
        ReasonCode::UnrecordedPauses => at("pause", "not recorded"),
        ReasonCode::UndecidedFlows => at(
            "flow",
            "finished without a recorded decision by the source's switch",
        ),
        ReasonCode::UnrecordedDecisions => format!(
            "{subject}: {} without a row in the records, bound {} (hint: agents lose reports that are not read in time; use \
             a less busy machine, or longer intervals under `measure`)",
            of("decision"),
            reason.bound.unwrap_or_default()
        ),
        ReasonCode::ExecCommands => {
            format!(
                "{} of `exec` ran beside the flows",
                counted(count, "command")
            )
        }
        ReasonCode::TunedParameters => format!(
            "{} of parameters by `tune` while flows ran",
            counted(count, "change")
        ),
        ReasonCode::AgentRestarts => format!(
            "{} of killed agents while flows ran",
            counted(count, "restart")
        ),
        ReasonCode::TruncatedTables => format!(
            "{} with a truncated last row, which is left out",
            counted(count, "table")
        ),
    }
}

#[cfg(test)]
mod tests {
    use lab_records::Grade;

    use super::*;

    #[test]
    fn a_count_of_one_is_singular() {
        for (reason, sentence) in [
            (
                Reason::part(ReasonCode::LateFlows, 1, 1),
                "1 of 1 flow launched late, bound 0.1 %",
            ),
            (
                Reason::part(ReasonCode::LateFlows, 3, 1_200),
                "3 of 1,200 flows launched late, bound 0.1 %",
            ),
            (
                Reason::count(ReasonCode::ExecCommands, 1),
                "1 command of `exec` ran beside the flows",
            ),
            (
                Reason::count(ReasonCode::ExecCommands, 2),
                "2 commands of `exec` ran beside the flows",
            ),
            (
                Reason::count(ReasonCode::UndecidedFlows, 1).of("lcmp"),
                "lcmp: 1 flow finished without a recorded decision by the source's switch",
            ),
        ] {
            assert_eq!(super::reason(&reason), sentence);
        }
    }

    #[test]
    fn a_fact_has_the_engines_words() {
        let words = "the agent of dc1 failed";
        let reason = Reason::fact(Grade::Invalid, ReasonCode::EngineProblem).of(words);
        assert_eq!(super::reason(&reason), words);
    }
}
