//! Verdict on a run: valid, doubtful or invalid, with the figures that decide it.

use lab_units::{Clock, show::about_time};
use serde::{Deserialize, Serialize};

use super::{
    Certification, Deviation, Reason, ReasonCode, Recovery, Watch,
    bounds::{float, share},
    grade::Grade,
};
use crate::{ChangeKind, FlowCounts, RunEnd, RunInfo};

/// Verdict on a run: a grade that says how far the results can be trusted, with the reasons.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Worst grade of all reasons; `Valid` if there are no reasons.
    pub grade: Grade,
    /// Reasons not to trust the run.
    pub reasons: Vec<Reason>,
}

impl Verdict {
    /// Judges a run by its facts and flow counts; `end` is `None` if the run has not ended.
    #[must_use]
    pub fn of(info: &RunInfo, end: Option<&RunEnd>, counts: &FlowCounts) -> Self {
        let mut verdict = Self::default();
        let cut_short = if end.is_none_or(|end| end.is_interrupted) {
            Grade::Doubtful
        } else {
            Grade::Invalid
        };
        verdict.judge_flows(info, counts, end.is_some(), cut_short);
        let Some(end) = end else {
            return verdict;
        };
        for problem in &end.problems {
            let reason = Reason::fact(cut_short, ReasonCode::EngineProblem);
            verdict.add(reason.of(problem));
        }
        if let Some(links) = &end.conduct.links {
            verdict.judge_links(links);
        }
        verdict.judge_times(info, end, counts);
        if let Some(watch) = &end.conduct.watch {
            verdict.judge_watch(watch);
        }
        verdict.judge_packets(info, end);
        verdict.judge_altered(&end.conduct.altered);
        for Deviation {
            subject,
            code,
            count,
        } in &end.conduct.deviations
        {
            let reason = match code {
                // In the oldest format, a deviation is a sentence without a figure.
                ReasonCode::EngineProblem => Reason::fact(Grade::Doubtful, *code),
                code => Reason::count(*code, *count),
            };
            verdict.add(reason.of(subject));
        }
        verdict.judge_decisions(end);
        verdict.judge_changes(end);
        verdict
    }

    /// Returns true if every figure is within its bound.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.grade == Grade::Valid
    }

    /// Adds a reason not to trust the run, unless its figure is within its bound.
    pub fn add(&mut self, reason: Reason) {
        if reason.grade != Grade::Valid {
            self.grade = self.grade.max(reason.grade);
            self.reasons.push(reason);
        }
    }

    /// Judges the numbers of flows; a run that did not end or lacks flows gets the grade `cut_short`.
    fn judge_flows(
        &mut self,
        info: &RunInfo,
        counts: &FlowCounts,
        has_ended: bool,
        cut_short: Grade,
    ) {
        let scheduled = info.total_flows();
        let FlowCounts {
            flows,
            finished,
            unfinished,
            below_one,
        } = *counts;
        if !has_ended {
            self.add(Reason::fact(cut_short, ReasonCode::DidNotEnd));
        }
        // All other bounds are on shares, of which a run without flows has none.
        if info.measured_flows() == 0 {
            self.add(Reason::fact(Grade::Doubtful, ReasonCode::NoFlows));
        }
        self.add(Reason::part(ReasonCode::UnfinishedFlows, unfinished, flows));
        if flows != scheduled {
            let reason = Reason::part(ReasonCode::UnrecordedFlows, flows, scheduled);
            self.add(reason.graded(cut_short));
        }
        let impossible = Reason::part(ReasonCode::ImpossibleSlowdowns, below_one, finished);
        self.add(impossible);
    }

    fn judge_links(&mut self, links: &Certification) {
        let Some(first) = &links.first else {
            return;
        };
        let grade = if links.is_another_network {
            Grade::Invalid
        } else {
            Grade::Doubtful
        };
        let out = links.out_of_bounds;
        let all = links.directions;
        let reason = Reason::part(ReasonCode::UncertifiedLinks, out, all);
        self.add(reason.of(first).graded(grade));
    }

    fn judge_times(&mut self, info: &RunInfo, end: &RunEnd, counts: &FlowCounts) {
        let late = end.late_launches;
        self.add(Reason::part(ReasonCode::LateFlows, late, counts.flows));
        let sampling = || end.evidence.policies.iter().filter_map(|it| it.sampling);
        let late: u64 = sampling().map(|it| it.late_samples).sum();
        let samples: u64 = sampling().map(|it| it.samples).sum();
        self.add(Reason::part(ReasonCode::LateSamples, late, samples));
        if let Some(cpu) = end.guest_cpu.filter(|_| info.clock == Clock::Virtual) {
            let busy = share(float(cpu.busy_ns.get()), cpu.available_ns.get());
            self.add(Reason::figure(ReasonCode::BusyGuest, busy));
        }
        let waits = end.conduct.host_waits;
        self.add(Reason::count(ReasonCode::HostWaits, waits));
    }

    fn judge_watch(&mut self, watch: &Watch) {
        let late = Reason::part(ReasonCode::LateWakeups, watch.late_wakeups, watch.wakeups);
        self.add(late.of(about_time(watch.latest_ns)));
        let jumps = watch.clock_jumps_ns.get();
        self.add(Reason::count(ReasonCode::ClockJump, jumps));
        let Some(cpu) = watch.cpu else {
            return;
        };
        self.add(Reason::figure(ReasonCode::BusyCpus, cpu.busy));
        self.add(Reason::figure(ReasonCode::StolenCpus, cpu.steal));
        self.add(Reason::figure(ReasonCode::Softirqs, cpu.softirq));
        self.add(Reason::figure(ReasonCode::WaitingTasks, cpu.waiting));
    }

    fn judge_packets(&mut self, info: &RunInfo, end: &RunEnd) {
        let sent = end.lab.map_or(0, |lab| lab.packet_hops);
        for (code, dropped) in [
            (ReasonCode::DroppedOutside, end.conduct.dropped_outside),
            (ReasonCode::DroppedUnasked, end.conduct.dropped_unasked),
        ] {
            self.add(Reason::part(code, dropped, sent));
        }
        if let Some(Recovery {
            retries,
            emulated_drops: 0,
            reroutes: 0,
        }) = end.conduct.recovery
            && info.faults.is_empty()
        {
            self.add(Reason::count(ReasonCode::UnexplainedRetries, retries));
        }
    }

    /// Judges interfaces and queues that differed from the plan after the flows; which packets this affected is
    /// unknown.
    fn judge_altered(&mut self, altered: &[String]) {
        let altered_lab = Reason::fact(Grade::Invalid, ReasonCode::AlteredLab);
        for found in altered.iter().take(MAX_ALTERED) {
            self.add(altered_lab.clone().of(found));
        }
        if let Some(more) = altered.get(MAX_ALTERED..).filter(|more| !more.is_empty()) {
            let more = u64::try_from(more.len()).unwrap_or(u64::MAX);
            let reason = Reason::count(ReasonCode::AlteredLab, more);
            self.add(reason.graded(Grade::Invalid));
        }
    }

    /// Judges flows without a decision and decisions without a row in `decisions.csv`. FCTs are right nevertheless, but
    /// paths, next hops' shares and decision counts do not cover all flows.
    fn judge_decisions(&mut self, end: &RunEnd) {
        for policy in &end.evidence.policies {
            let undecided = Reason::count(ReasonCode::UndecidedFlows, policy.undecided);
            self.add(undecided.of(&policy.policy));
        }
        for policy in &end.evidence.policies {
            let Some(tables) = policy.tables else {
                continue;
            };
            let lost = tables.unrecorded;
            let all = tables.decisions;
            let reason = Reason::part(ReasonCode::UnrecordedDecisions, lost, all);
            self.add(reason.of(&policy.policy));
        }
    }

    fn judge_changes(&mut self, end: &RunEnd) {
        for (kind, code) in [
            (ChangeKind::Exec, ReasonCode::ExecCommands),
            (ChangeKind::Tune, ReasonCode::TunedParameters),
            (ChangeKind::AgentRestart, ReasonCode::AgentRestarts),
        ] {
            let count = end.changes.iter().filter(|it| it.kind == kind).count();
            let count = u64::try_from(count).unwrap_or(u64::MAX);
            self.add(Reason::count(code, count));
        }
    }
}

/// Maximum number of altered interfaces and queues that a verdict lists.
const MAX_ALTERED: usize = 5;
