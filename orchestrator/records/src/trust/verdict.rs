//! Verdict on a run: valid, doubtful or invalid, with the figures that make it so.

use std::fmt;

use lab_units::{Clock, show::about_time};
use serde::{Deserialize, Serialize};

use super::{
    Certification, Recovery, Watch,
    bounds::{
        BUSY_SECOND, Bound, CLOCK_JUMP, DROPPED_OUTSIDE, GUEST_CPU, LATE_LAUNCHES, LATE_SAMPLES,
        LATE_WAKEUPS, SOFTIRQ, STEAL, WAITING,
    },
};
use crate::{ChangeKind, FlowCounts, RunEnd, RunInfo};

/// Verdict on a run: how far its results can be trusted, with the reasons against it.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Grade: the worst of the reasons', or valid.
    pub grade: Grade,
    /// Reasons not to trust the run.
    pub reasons: Vec<Reason>,
    /// Warnings about a ranking by the run, [`Evidence::warnings`]: limits to what it shows. The run's
    /// numbers can be trusted all the same.
    ///
    /// [`Evidence::warnings`]: crate::Evidence::warnings
    #[serde(default)]
    pub unexercised: Vec<String>,
}

/// Grade of a run, the better first.
#[derive(
    Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// Every figure is within its bound.
    #[default]
    Valid,
    /// A figure is out of its bound: read the reasons before using the results.
    Doubtful,
    /// The results are not those of the scenario.
    Invalid,
}

/// Reason not to trust a run.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Reason {
    /// Grade that the reason leaves.
    pub grade: Grade,
    /// The figure and its bound: a sentence without its full stop.
    pub text: String,
}

impl Grade {
    /// Returns the word for the grade.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Doubtful => "doubtful",
            Self::Invalid => "invalid",
        }
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Verdict {
    /// Returns the verdict on a run by its facts and flow counts; `end` is `None` if the run did not end.
    #[must_use]
    pub fn of(info: &RunInfo, end: Option<&RunEnd>, counts: &FlowCounts) -> Self {
        let mut verdict = Self::default();
        let cut_short = match end.is_none_or(|end| end.is_interrupted) {
            true => Grade::Doubtful,
            false => Grade::Invalid,
        };
        verdict.judge_flows(info, counts, end.is_some(), cut_short);
        let Some(end) = end else {
            return verdict;
        };
        for problem in &end.problems {
            verdict.add(cut_short, problem.clone());
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
        for count in &end.conduct.switches {
            verdict.add(Grade::Doubtful, count.clone());
        }
        for policy in end.evidence.policies.iter().filter(|it| it.undecided > 0) {
            let text = format!(
                "{}: flows finished without a decision of their source's switch: {}",
                policy.policy, policy.undecided
            );
            verdict.add(Grade::Doubtful, text);
        }
        verdict.judge_unrecorded(end);
        verdict.judge_changes(end);
        verdict.unexercised = end.evidence.warnings();
        verdict
    }

    /// True if every figure is within its bound.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.grade == Grade::Valid
    }

    /// Returns the reasons as sentences without their full stops.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        self.reasons.iter().map(ToString::to_string).collect()
    }

    /// Adds a reason not to trust the run.
    pub fn add(&mut self, grade: Grade, text: String) {
        self.grade = self.grade.max(grade);
        self.reasons.push(Reason { grade, text });
    }

    /// Adds the reason `text` if `value` is out of `bound`, with the bound.
    fn hold(&mut self, value: f64, bound: Bound, text: impl FnOnce() -> String) {
        if let Some(grade) = bound.grade(value) {
            self.add(grade, text());
        }
    }

    /// Judges the flows; the grade of those that are missing is `cut_short`.
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
        } = counts;
        if !has_ended {
            let text = "the run did not end: it was interrupted, or is still going on";
            self.add(cut_short, text.to_owned());
        }
        // A policy may lose flows: that is its result, but the others' are no longer comparable.
        if *unfinished > 0 {
            let text = format!("flows not finished: {unfinished} of {flows}");
            self.add(Grade::Doubtful, text);
        }
        if *flows != scheduled {
            let text = format!("flows recorded: {flows} of {scheduled} scheduled");
            self.add(cut_short, text);
        }
        if *below_one > 0 {
            let text = format!(
                "slowdowns under 1: {below_one} of {finished} (none can be: the ideal FCT or the \
                 measurement is wrong)"
            );
            self.add(Grade::Invalid, text);
        }
    }

    fn judge_links(&mut self, links: &Certification) {
        let Some(first) = &links.first else {
            return;
        };
        let grade = match links.is_another_network {
            true => Grade::Invalid,
            false => Grade::Doubtful,
        };
        let text = format!(
            "uncertified: {} of {} directions of links are out of their bounds; {first}",
            links.out_of_bounds, links.directions
        );
        self.add(grade, text);
    }

    fn judge_times(&mut self, info: &RunInfo, end: &RunEnd, counts: &FlowCounts) {
        let late = end.late_launches;
        self.hold(share(late, counts.flows), LATE_LAUNCHES, || {
            format!("flows launched late: {late} of {}", counts.flows)
        });
        let sampling = || end.evidence.policies.iter().filter_map(|it| it.sampling);
        let late: u64 = sampling().map(|it| it.late_samples).sum();
        let samples: u64 = sampling().map(|it| it.samples).sum();
        self.hold(share(late, samples), LATE_SAMPLES, || {
            format!(
                "samples of queues late: {late} of {samples}, bound {}",
                percent(LATE_SAMPLES.doubtful)
            )
        });
        if let Some(cpu) = end.guest_cpu.filter(|_| info.clock == Clock::Virtual) {
            let busy = share(cpu.busy_ns.get(), cpu.available_ns.get());
            self.hold(busy, GUEST_CPU, || {
                format!(
                    "the guest's CPU was busy for {} of the flows' time, bound {}",
                    percent(busy),
                    percent(GUEST_CPU.doubtful)
                )
            });
        }
        let waits = end.conduct.host_waits;
        if waits > 0 {
            let text = format!(
                "the guest waited for the host {waits} times while flows ran, so that its clock may \
                 have jumped"
            );
            self.add(Grade::Doubtful, text);
        }
    }

    fn judge_watch(&mut self, watch: &Watch) {
        let Watch {
            wakeups,
            late_wakeups,
            latest_ns,
            clock_jumps_ns,
            cpu,
        } = watch;
        self.hold(share(*late_wakeups, *wakeups), LATE_WAKEUPS, || {
            format!(
                "wake-ups of the watchdog late: {late_wakeups} of {wakeups}, bound {}, by {} at most",
                percent(LATE_WAKEUPS.doubtful),
                about_time(*latest_ns)
            )
        });
        self.hold(float(clock_jumps_ns.get()), CLOCK_JUMP, || {
            format!(
                "the wall clock jumped by {} while flows ran",
                about_time(*clock_jumps_ns)
            )
        });
        let Some(cpu) = cpu else {
            return;
        };
        for (value, bound, what) in [
            (cpu.busy, BUSY_SECOND, "of all CPUs' time was in use"),
            (cpu.steal, STEAL, "of the CPUs' time went to other machines"),
            (cpu.softirq, SOFTIRQ, "of one CPU's time went to softirqs"),
        ] {
            self.hold(value, bound, || {
                format!(
                    "{} {what} in a second while flows ran, bound {}",
                    percent(value),
                    percent(bound.doubtful)
                )
            });
        }
        self.hold(cpu.waiting, WAITING, || {
            format!(
                "{:.1} tasks a CPU waited for it while flows ran, bound {}",
                cpu.waiting, WAITING.doubtful
            )
        });
    }

    fn judge_packets(&mut self, info: &RunInfo, end: &RunEnd) {
        let dropped = end.conduct.dropped_outside;
        let sent = end.lab.map_or(0, |lab| lab.packet_hops);
        self.hold(share(dropped, sent), DROPPED_OUTSIDE, || {
            format!("packets dropped outside the emulated queues: {dropped} of {sent}")
        });
        let unasked = end.conduct.dropped_unasked;
        self.hold(share(unasked, sent), DROPPED_OUTSIDE, || {
            format!(
                "packets dropped on links for which the scenario asks for no loss: {unasked} of {sent}"
            )
        });
        if let Some(Recovery {
            retries,
            emulated_drops: 0,
            reroutes: 0,
        }) = end.conduct.recovery
            && retries > 0
            && info.faults.is_empty()
        {
            let text = format!(
                "senders went back to an earlier packet {retries} times, and no emulated loss explains it"
            );
            self.add(Grade::Doubtful, text);
        }
    }

    /// Judges interfaces and queues that differed from the plan after flows: it is unknown which packets were affected.
    fn judge_altered(&mut self, altered: &[String]) {
        for found in altered.iter().take(MAX_ALTERED) {
            let text = format!("changed while flows ran: {found}");
            self.add(Grade::Invalid, text);
        }
        if altered.len() > MAX_ALTERED {
            let more = altered.len() - MAX_ALTERED;
            self.add(
                Grade::Invalid,
                format!("changed while flows ran: {more} more"),
            );
        }
    }

    /// Judges decisions that switches counted but that have no row: flow completion times are right, but paths, shares
    /// of next hops and counts of decisions do not cover all flows.
    fn judge_unrecorded(&mut self, end: &RunEnd) {
        for policy in &end.evidence.policies {
            let Some(tables) = policy.tables.filter(|tables| tables.unrecorded > 0) else {
                continue;
            };
            let text = format!(
                "{}: decisions without a row: {} of {}, bound 0 (hint: agents lose reports that are not read in \
                 time; run it on a less busy machine, or with longer intervals under `measure`)",
                policy.policy, tables.unrecorded, tables.decisions
            );
            self.add(Grade::Doubtful, text);
        }
    }

    fn judge_changes(&mut self, end: &RunEnd) {
        let count = |kind| end.changes.iter().filter(|it| it.kind == kind).count();
        for (count, what) in [
            (
                count(ChangeKind::Exec),
                "commands of `exec` ran beside the flows",
            ),
            (
                count(ChangeKind::Tune),
                "changes of parameters by `tune` while flows ran",
            ),
            (
                count(ChangeKind::AgentRestart),
                "agents were killed and restarted while flows ran",
            ),
        ] {
            if count > 0 {
                self.add(Grade::Doubtful, format!("{what}: {count}"));
            }
        }
    }
}

/// Maximum number of changed interfaces and queues that a verdict names.
const MAX_ALTERED: usize = 5;

impl Bound {
    /// Returns the grade that `value` leaves; none within the bound.
    fn grade(self, value: f64) -> Option<Grade> {
        if value > self.invalid {
            Some(Grade::Invalid)
        } else {
            (value > self.doubtful).then_some(Grade::Doubtful)
        }
    }
}

/// Returns `part` of `whole`; all of it if there is a part of nothing.
fn share(part: u64, whole: u64) -> f64 {
    match (part, whole) {
        (0, _) => 0.0,
        (_, 0) => 1.0,
        _ => float(part) / float(whole),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a share needs no more digits than a float has"
)]
const fn float(count: u64) -> f64 {
    count as f64
}

fn percent(share: f64) -> String {
    format!("{:.3} %", share * 100.0).replace(".000 %", " %")
}
