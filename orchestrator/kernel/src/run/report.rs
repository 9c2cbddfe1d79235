//! Progress and report of a run.

use std::collections::{BTreeMap, BTreeSet};

use lab_abi::wire::Stats;
use lab_records::{
    Conduct, Evidence, GuestCpu, LabWork, LiveChange, ReasonCode, Recovery, Retransmissions,
    RunEnd, UtcTime,
};
use lab_units::{DcId, Nanos, show::counted};

use super::input::HostCounts;
use crate::lab::Losses;

/// Progress event of a run, for the progress display.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RunEvent {
    /// A phase has begun, and the previous phase has ended.
    Phase {
        /// Name of the phase, as shown to the user.
        name: String,
        /// Number of steps that the phase has.
        steps: u64,
    },
    /// A step of the current phase is complete.
    Step {
        /// Description of the completed step.
        text: String,
    },
    /// The flows' phase has ended; no phase is active until the next one begins.
    FlowsEnd,
}

/// Figures and warnings about a run that its rows do not contain.
#[derive(Clone, Debug, Default)]
pub struct RunReport {
    /// Number of flows whose start was later than planned by more than a hundredth of their round-trip time.
    pub late_launches: u64,
    /// Figures about the lab and its machine while flows ran, by which the run is judged; figures of single links are
    /// not included.
    pub conduct: Conduct,
    /// Retransmissions by policy; empty if SoftRoCE does not count them.
    pub retransmissions: BTreeMap<String, Retransmissions>,
    /// CPU time that the guest used while flows ran; `None` outside a guest.
    pub guest_cpu: Option<GuestCpu>,
    /// Number of packets and elapsed time while flows ran.
    pub work: LabWork,
    /// Latest counters of each switch in the current repetition.
    pub(super) switches: BTreeMap<DcId, Stats>,
    /// Warnings about the switches, addressed to readers of the results.
    pub warnings: Vec<String>,
    /// Number of times that each switch's agent was restarted after it was killed, over all repetitions.
    pub restarts: BTreeMap<DcId, u32>,
    /// Changes that users made, and restarts of agents, in order of time.
    pub changes: Vec<LiveChange>,
}

impl RunReport {
    /// Returns the record of the run's end. Phases and problems are left empty, because the report does not contain
    /// them.
    #[must_use]
    pub fn end(self, ended_at: UtcTime, evidence: Evidence) -> RunEnd {
        RunEnd {
            ended_at,
            phases: Vec::new(),
            guest_cpu: self.guest_cpu,
            lab: Some(self.work),
            sim: None,
            late_launches: self.late_launches,
            conduct: self.conduct,
            retransmissions: self.retransmissions,
            warnings: self.warnings,
            problems: Vec::new(),
            is_interrupted: false,
            evidence,
            changes: self.changes,
        }
    }

    /// Adds the CPU time that was used between two readings.
    pub(super) fn add_cpu(&mut self, before: Option<GuestCpu>, after: Option<GuestCpu>) {
        let (Some(before), Some(after)) = (before, after) else {
            return;
        };
        let sum = self.guest_cpu.get_or_insert(GuestCpu {
            busy_ns: Nanos::ZERO,
            available_ns: Nanos::ZERO,
        });
        let more = |sum: Nanos, before: Nanos, after: Nanos| {
            sum.saturating_add(after.saturating_sub(before))
        };
        sum.busy_ns = more(sum.busy_ns, before.busy_ns, after.busy_ns);
        sum.available_ns = more(sum.available_ns, before.available_ns, after.available_ns);
    }

    /// Adds the packet losses and retransmissions counted between two readings under `policy`; `reroutes` is the number
    /// of decisions in that time that re-routed flows.
    pub(super) fn add_losses(
        &mut self,
        policy: &str,
        (before, after): (Losses, Losses),
        reroutes: u64,
    ) {
        self.conduct.dropped_outside += after.outside.saturating_sub(before.outside);
        self.conduct.dropped_unasked += after.unasked.saturating_sub(before.unasked);
        let Some(found) = after.retransmissions_since(&before) else {
            return;
        };
        *self.retransmissions.entry(policy.to_owned()).or_default() += found;
        let recovery = self.conduct.recovery.get_or_insert(Recovery::default());
        recovery.retries += found.go_backs;
        recovery.emulated_drops += after.emulated.saturating_sub(before.emulated);
        recovery.reroutes += reroutes;
    }

    /// Adds the differences between the lab's kernel objects and the plan that were found after the repetition called
    /// `title`. A difference that persists is reported only once.
    pub(super) fn add_altered(&mut self, title: &str, differences: &[String]) {
        let altered = &mut self.conduct.altered;
        for difference in differences {
            let is_known = |known: &String| known.ends_with(difference);
            if !altered.iter().any(is_known) {
                altered.push(format!("{title}: {difference}"));
            }
        }
    }

    /// Returns the number of decisions that re-routed flows, summed over the switches' latest counters.
    pub(super) fn reroutes(&self) -> u64 {
        self.switches
            .values()
            .map(|stats| stats.counters.failovers + stats.counters.aged)
            .sum()
    }

    /// Adds the counts of the host programs in the repetition called `title`. Packets sent without pacing, dropped or
    /// reordered by the pacer, unsent CNPs and unrecorded pauses are reasons to doubt the run.
    pub(super) fn add_hosts(&mut self, title: &str, hosts: &HostCounts) {
        let counts = hosts.counters;
        let counts = [
            (ReasonCode::UnpacedPackets, counts.unpaced),
            (ReasonCode::DroppedByPacer, counts.dropped),
            (ReasonCode::ReorderedByPacer, hosts.out_of_order),
            (ReasonCode::UnsentCnps, counts.lost_cnps),
            (ReasonCode::UnrecordedPauses, counts.lost_pauses),
        ];
        self.conduct
            .add_deviations(&format!("{title}: hosts"), &counts);
    }

    /// Excludes the stale decisions of `dc`'s switch from the reasons to doubt the run: as planned, the switch has no
    /// agent for longer than its tables are valid.
    pub(super) fn accept_stale(&mut self, dc: DcId) {
        if let Some(stats) = self.switches.get_mut(&dc) {
            stats.counters.stale = 0;
        }
    }

    /// Adds a reason to doubt the run for each switch whose agent ended in the repetition called `title` before it had
    /// sent all its reports.
    pub(super) fn add_incomplete(&mut self, title: &str, switches: impl Iterator<Item = String>) {
        for switch in switches {
            let subject = format!("{title}: {switch}");
            self.conduct
                .add_deviations(&subject, &[(ReasonCode::IncompleteReports, 1)]);
        }
    }

    /// Adds a warning that names the switches that learned of cuts late in the repetition called `title`.
    pub(super) fn add_late_cuts(&mut self, title: &str, switches: impl Iterator<Item = String>) {
        let names: Vec<String> = switches.map(|name| format!("`{name}`")).collect();
        if names.is_empty() {
            return;
        }
        self.warnings.push(format!(
            "{title}: the kernel does not mark dead ports of {} by itself, so failover there began up to some milliseconds \
             after a cut, when the agent was told of it (hint: a kernel with BTF and tracing does so for 76 switches)",
            names.join(", ")
        ));
    }

    /// Ends the repetition called `title`: derives reasons to doubt the run, and warnings, from the switches' counters.
    /// For the switches in `unreachable`, packets dropped without a live candidate cause no warning, because the rows
    /// of unfinished flows name these switches.
    pub(super) fn end_repetition(
        &mut self,
        title: &str,
        unreachable: &BTreeSet<DcId>,
        name: impl Fn(DcId) -> String,
    ) {
        for (dc, stats) in std::mem::take(&mut self.switches) {
            let deviations = [
                (ReasonCode::UnpinnedDecisions, stats.counters.not_pinned),
                (ReasonCode::StaleDecisions, stats.counters.stale),
                (ReasonCode::LostDecisionRecords, stats.counters.records_lost),
                (ReasonCode::LostMessages, stats.messages_lost),
                (ReasonCode::UnpausableSenders, stats.counters.not_paused),
                (ReasonCode::DroppedDespitePfc, stats.counters.buffer_drops),
            ];
            let no_destination = if unreachable.contains(&dc) {
                0
            } else {
                stats.counters.no_destination
            };
            let warnings = [
                (stats.evicted, "flow", "evicted from the flow table"),
                (no_destination, "packet", "dropped: no live candidate"),
                // Only a warning, because a loop also leaves flows unfinished, which is a reason to doubt the run.
                (
                    stats.counters.ttl_expired,
                    "packet",
                    "out of TTL: next hops form a loop, or a daemon on this machine sent packets",
                ),
            ];
            let place = format!("{title}: {}", name(dc));
            self.conduct.add_deviations(&place, &deviations);
            self.warnings.extend(sentences(&place, &warnings));
        }
    }
}

/// Returns a sentence for each non-zero count, beginning with `place`: the repetition and the switch. An entry of
/// `counts` consists of a count, its noun, and the rest of the sentence.
fn sentences(place: &str, counts: &[(u64, &str, &str)]) -> impl Iterator<Item = String> {
    counts
        .iter()
        .filter(|(count, ..)| *count > 0)
        .map(move |(count, noun, what)| format!("{place}: {} {what}", counted(*count, noun)))
}

#[cfg(test)]
mod tests {
    use std::slice;

    use lab_abi::rows::Counters;
    use lab_records::Deviation;

    use super::*;
    use crate::{exec::Drift, lab::RecoveryCounts, step::Namespace};

    #[test]
    fn losses_are_those_between_two_readings() {
        let mut report = RunReport::default();
        let losses = |emulated, outside, go_backs: Option<u64>| Losses {
            emulated,
            unasked: outside / 2,
            outside,
            recovery: go_backs.map(|go_backs| RecoveryCounts { go_backs, naks: 0 }),
        };
        let readings = (losses(1, 10, Some(0)), losses(3, 14, Some(5)));
        report.add_losses("lcmp", readings, 2);
        let readings = (losses(3, 14, Some(0)), losses(3, 14, Some(1)));
        report.add_losses("ecmp", readings, 0);
        assert_eq!(report.conduct.dropped_outside, 4);
        // The scenario specifies no loss, so retransmissions are unexplained.
        assert_eq!(report.conduct.dropped_unasked, 2);
        let recovery = Recovery {
            retries: 6,
            emulated_drops: 2,
            reroutes: 2,
        };
        assert_eq!(report.conduct.recovery, Some(recovery));
        let go_backs: Vec<_> = report
            .retransmissions
            .iter()
            .map(|(policy, found)| (policy.as_str(), found.go_backs))
            .collect();
        assert_eq!(go_backs, [("ecmp", 1), ("lcmp", 5)]);
        report.add_losses("lcmp", (losses(0, 0, None), losses(9, 0, None)), 0);
        assert_eq!(report.conduct.recovery, Some(recovery), "not counted");
    }

    #[test]
    fn a_difference_that_stays_is_named_once() {
        let mut report = RunReport::default();
        let difference = |object: &str| {
            let difference = Drift {
                netns: Namespace::Root,
                object: object.to_owned(),
                wanted: "limit 2".to_owned(),
                found: "limit 1".to_owned(),
            };
            difference.to_string()
        };
        let a = difference("tbf of `a`");
        let b = difference("tbf of `b`");
        report.add_altered("ecmp 0", slice::from_ref(&a));
        report.add_altered("ecmp 1", &[a, b]);
        assert_eq!(
            report.conduct.altered,
            [
                "ecmp 0: tbf of `a` in the root namespace: wanted limit 2, found limit 1",
                "ecmp 1: tbf of `b` in the root namespace: wanted limit 2, found limit 1",
            ]
        );
    }

    fn cpu(busy: u64, available: u64) -> Option<GuestCpu> {
        Some(GuestCpu {
            busy_ns: Nanos::from_millis(busy),
            available_ns: Nanos::from_millis(available),
        })
    }

    #[test]
    fn cpu_time_is_summed_over_the_spans_in_which_flows_ran() {
        let mut report = RunReport::default();
        report.add_cpu(None, None);
        assert_eq!(report.guest_cpu, None);
        report.add_cpu(cpu(100, 1_000), cpu(150, 1_200));
        report.add_cpu(cpu(400, 3_000), cpu(450, 3_100));
        assert_eq!(report.guest_cpu, cpu(100, 300));
    }

    #[test]
    fn a_repetition_without_losses_leaves_no_word() {
        let mut report = RunReport::default();
        report.switches.insert(DcId(0), Stats::default());
        report.end_repetition("lcmp", &BTreeSet::new(), |dc| dc.to_string());
        assert!(report.conduct.deviations.is_empty() && report.warnings.is_empty());
    }

    #[test]
    fn an_agent_without_its_last_reports_is_a_reason() {
        let mut report = RunReport::default();
        report.add_incomplete("lcmp #2", ["dc1".to_owned()].into_iter());
        let deviation = Deviation {
            subject: "lcmp #2: dc1".to_owned(),
            code: ReasonCode::IncompleteReports,
            count: 1,
        };
        assert_eq!(report.conduct.deviations, [deviation]);
    }

    #[test]
    fn switches_that_learn_of_cuts_late_are_named() {
        let mut report = RunReport::default();
        report.add_late_cuts("lcmp", [].into_iter());
        assert!(report.warnings.is_empty());
        let late = ["dc77".to_owned(), "dc78".to_owned()];
        report.add_late_cuts("lcmp", late.into_iter());
        let expected =
            "lcmp: the kernel does not mark dead ports of `dc77`, `dc78` by itself, so failover";
        assert!(
            report.warnings[0].starts_with(expected),
            "{:?}",
            report.warnings
        );
    }

    #[test]
    fn losses_are_counted_by_repetition_and_switch() {
        let mut report = RunReport::default();
        let lossy = Stats {
            counters: Counters {
                not_pinned: 3,
                ttl_expired: 5,
                no_destination: 7,
                ..Counters::default()
            },
            messages_lost: 1,
            ..Stats::default()
        };
        for (title, unreachable) in [("ecmp", [DcId(0)]), ("lcmp", [DcId(1)])] {
            report.switches = BTreeMap::from([(DcId(0), Stats::default()), (DcId(1), lossy)]);
            let unreachable = BTreeSet::from(unreachable);
            report.end_repetition(title, &unreachable, |dc| format!("dc{}", dc.0 + 1));
        }
        let deviations = report.conduct.deviations.iter();
        let found: Vec<_> = deviations
            .map(|it| (it.subject.as_str(), it.code, it.count))
            .collect();
        assert_eq!(
            found,
            [
                ("ecmp: dc2", ReasonCode::UnpinnedDecisions, 3),
                ("ecmp: dc2", ReasonCode::LostMessages, 1),
                ("lcmp: dc2", ReasonCode::UnpinnedDecisions, 3),
                ("lcmp: dc2", ReasonCode::LostMessages, 1),
            ]
        );
        // Under lcmp, the rows of unfinished flows name the switch, so there is no warning.
        insta::assert_snapshot!(report.warnings.join("\n"), @r"
        ecmp: dc2: 7 packets dropped: no live candidate
        ecmp: dc2: 5 packets out of TTL: next hops form a loop, or a daemon on this machine sent packets
        lcmp: dc2: 5 packets out of TTL: next hops form a loop, or a daemon on this machine sent packets
        ");
    }
}
