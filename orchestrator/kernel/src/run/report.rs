//! How a run went.

use std::collections::BTreeMap;

use lab_abi::wire::Stats;
use lab_records::GuestCpu;
use lab_units::{DcId, Nanos};

/// How a run went, beside its rows.
#[derive(Clone, Debug, Default)]
pub struct RunReport {
    /// Flows let go later than [`super::LATE_LAUNCH`].
    pub late_launches: u64,
    /// Times this kernel waited for its host while flows ran.
    pub host_waits: u64,
    /// CPU time while flows ran; nothing outside a guest.
    pub guest_cpu: Option<GuestCpu>,
    /// Counters of the switches. Each agent counts from its start, so they are those of the last
    /// repetition that was run.
    pub switches: BTreeMap<DcId, Stats>,
    /// How often the agent of each switch was killed and started again, over all repetitions.
    pub restarts: BTreeMap<DcId, u32>,
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

    /// What a reader of the results should know of the guest and the switches.
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
                "{}: its agent was killed and started again {times} times; meanwhile flows went on by \
                 the tables as they were",
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
                    "flows were hashed over all ways: their tables or signals were too old",
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
    fn a_clean_run_has_nothing_to_warn_of() {
        let mut report = RunReport::default();
        report.switches.insert(DcId(0), Stats::default());
        assert!(report.warnings(|dc| dc.to_string()).is_empty());
    }

    #[test]
    fn a_switch_that_lost_something_is_named() {
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
