//! Progress and report of a run.

use std::collections::BTreeMap;

use lab_abi::wire::Stats;
use lab_records::{GuestCpu, LabWork, LiveChange};
use lab_units::{DcId, Nanos};

/// Event of a run under way, for its display.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RunEvent {
    /// A phase begins, and the one before ends.
    Phase {
        /// Name of the phase.
        name: String,
        /// Number of its steps.
        steps: u64,
    },
    /// A step of the phase is done.
    Step {
        /// Description of the step.
        text: String,
    },
    /// The phase of the flows has ended; until the next phase there is none.
    FlowsEnd,
}

/// Report of a run, beside its rows.
#[derive(Clone, Debug, Default)]
pub struct RunReport {
    /// Number of flows that started later than planned by over a hundredth of their round trip.
    pub late_launches: u64,
    /// Number of times this kernel waited for its host while flows ran.
    pub host_waits: u64,
    /// CPU time while flows ran; none outside a guest.
    pub guest_cpu: Option<GuestCpu>,
    /// Packets and time while flows ran.
    pub work: LabWork,
    /// Counters of the switches. Each agent counts from its start, so they are those of the last
    /// repetition that was run.
    pub switches: BTreeMap<DcId, Stats>,
    /// Number of restarts of each switch's agent after it was killed, over all repetitions.
    pub restarts: BTreeMap<DcId, u32>,
    /// Changes by users, and restarts of agents, in order.
    pub changes: Vec<LiveChange>,
}

impl RunReport {
    /// Adds the CPU time between two readings.
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

    /// Returns the warnings about the guest and the switches that a reader of the results needs.
    #[must_use]
    pub fn warnings(&self, name: impl Fn(DcId) -> String) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.host_waits > 0 {
            warnings.push(format!(
                "the guest waited for the host {} times while flows ran: on a virtual clock their \
                 times may differ from run to run",
                self.host_waits
            ));
        }
        for (dc, times) in &self.restarts {
            warnings.push(format!(
                "{}: the agent was killed and restarted {times} times; meanwhile its flows kept their \
                 paths",
                name(*dc)
            ));
        }
        for (dc, stats) in &self.switches {
            let counts = [
                (
                    stats.not_pinned,
                    "flows were not pinned: the flow table was full",
                ),
                (
                    stats.stale,
                    "flows were hashed over all next hops: their tables or signals were too old",
                ),
                (stats.evicted, "flows were evicted from the flow table"),
                (
                    stats.records_lost,
                    "decisions were not recorded: the ring buffer was full",
                ),
                (
                    stats.no_destination,
                    "packets were dropped: no live candidate",
                ),
            ];
            for (count, text) in counts.into_iter().filter(|(count, _)| *count > 0) {
                warnings.push(format!("{}: {count} {text}", name(*dc)));
            }
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_clean_run_has_no_warnings() {
        let mut report = RunReport::default();
        report.switches.insert(DcId(0), Stats::default());
        assert!(report.warnings(|dc| dc.to_string()).is_empty());
    }

    #[test]
    fn losses_are_counted_by_switch() {
        let lossy = Stats {
            not_pinned: 3,
            no_destination: 7,
            ..Stats::default()
        };
        let report = RunReport {
            host_waits: 2,
            switches: BTreeMap::from([(DcId(0), Stats::default()), (DcId(1), lossy)]),
            ..RunReport::default()
        };
        insta::assert_snapshot!(
            report.warnings(|dc| format!("dc{}", dc.0 + 1)).join("\n"),
            @r"
        the guest waited for the host 2 times while flows ran: on a virtual clock their times may differ from run to run
        dc2: 3 flows were not pinned: the flow table was full
        dc2: 7 packets were dropped: no live candidate
        "
        );
    }
}
