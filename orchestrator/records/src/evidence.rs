//! Evidence that a run exercised what it ranks: the load that its flows met, and each policy's own
//! mechanism at work.
//!
//! A policy whose mechanism never acted has the results of a simpler policy, and a table that ranks it
//! says nothing about the mechanism.

use lab_units::{
    Bytes, Nanos,
    show::{about_time, commas, counted},
};
use serde::{Deserialize, Serialize};

use crate::trust::bounds::LATE_SAMPLES;

/// Evidence of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Load that each datacenter's flows offered; empty without workloads.
    #[serde(default)]
    pub load: Vec<OfferedLoad>,
    /// Last start of a workload's flow ÷ duration of the workloads, the smallest over all repetitions; `None` without
    /// workloads. Flows that had not started when the run ended do not count.
    #[serde(default)]
    pub covered: Option<f64>,
    /// Flows from lists and flow files, which are not part of the load.
    #[serde(default)]
    pub listed: ListedFlows,
    /// Evidence of each policy, in the order of the scenario.
    #[serde(default)]
    pub policies: Vec<PolicyEvidence>,
}

/// Load of one sending datacenter, as a share of the workload's `load_base`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfferedLoad {
    /// The datacenter.
    pub dc: String,
    /// Load that the workloads ask for.
    pub requested: f64,
    /// Load that the workloads' flows offered: over the duration or, if the run ended before all of them had
    /// started, over the time that it covers.
    pub offered: f64,
}

/// Flows from lists and flow files, over all repetitions.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct ListedFlows {
    /// Number of flows.
    pub flows: u64,
    /// Sum of their sizes.
    pub bytes: Bytes,
}

/// Evidence of one policy, over all repetitions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyEvidence {
    /// Label of the policy.
    pub policy: String,
    /// Flows that met.
    pub met: Met,
    /// The policy's mechanism.
    pub mechanism: Mechanism,
    /// Samples of the queues, and decisions by them; none in the simulator, whose samples are never late.
    #[serde(default)]
    pub sampling: Option<Sampling>,
    /// Flow tables of the switches; none if no switch has an agent.
    pub tables: Option<FlowTables>,
    /// Failover after each cut of links, by time.
    #[serde(default)]
    pub failovers: Vec<Failover>,
    /// Finished flows without a decision of the switch that decides for them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub undecided: u64,
}

/// Flows under way at once, and the links that they filled. A flow that did not finish was under way until its
/// repetition's end, [`RepetitionEnds`](crate::RepetitionEnds).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Met {
    /// Mean number of flows under way, from the first start to the last end.
    pub mean_concurrency: f64,
    /// Largest number of flows under way.
    pub peak_concurrency: u64,
    /// Flows that started and whose path is known.
    pub flows: u64,
    /// Flows on known paths that shared a link direction with another flow while both were under
    /// way.
    pub overlapping: u64,
    /// Busiest direction of a link while flows start, [`ArrivalUse`](crate::ArrivalUse); `None` without a
    /// sample.
    pub busiest: Option<BusyLink>,
}

/// Queue samples at all switches, and the age of the samples on which decisions were based.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    /// Samples.
    pub samples: u64,
    /// Samples that began later than the next one was due.
    pub late_samples: u64,
    /// Decisions by C_cong; 0 under policies that read no queues.
    pub decisions: u64,
    /// Those of them whose sample was older than one sampling interval.
    pub stale: u64,
    /// Longest time by which a decision's sample was older than that.
    pub overdue_ns: Nanos,
}

/// Flow tables of all DCI switches with an agent, summed over switches and repetitions.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct FlowTables {
    /// Packets forwarded by their flow's entry.
    pub hits: u64,
    /// Decisions that the switches counted.
    pub decisions: u64,
    /// Counted decisions without a row in `decisions.csv`; 0 in the simulator, which loses no rows.
    pub unrecorded: u64,
    /// Largest decision rate of one switch between two rows, per second of paper time.
    pub peak_decisions_per_s: u64,
    /// Decisions because a flow's port was dead.
    pub failovers: u64,
    /// Decisions by a fallback rule, stale ones included.
    pub fallbacks: u64,
    /// Decisions without fresh tables or signals.
    pub stale: u64,
    /// Largest number of flows in one switch's table.
    pub peak_flows: u64,
    /// Flows evicted from a full table.
    pub evicted: u64,
    /// Idle flows removed by flow-cache garbage collection.
    pub expired: u64,
    /// Restarts of killed agents.
    pub restarts: u64,
}

/// Flows that left a dead port after links were cut, over all repetitions. Times count from the cut.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Failover {
    /// Links that were cut at one time.
    pub links: Vec<String>,
    /// Time of the cut, from the repetition's start.
    pub at_ns: Nanos,
    /// Decisions for packets whose flow was pinned to a dead port.
    pub decisions: u64,
    /// First and last of them; none without decisions.
    pub span: Option<FailoverSpan>,
}

/// Times from a cut to the first and to the last decision because of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct FailoverSpan {
    /// First decision.
    pub first_ns: Nanos,
    /// Last decision.
    pub last_ns: Nanos,
    /// Both as measured in the lab; none in the simulator, whose switches notice a cut at once.
    pub lab_ns: Option<(Nanos, Nanos)>,
}

/// A direction of a link and its use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BusyLink {
    /// Datacenter that sends in this direction.
    pub from_dc: String,
    /// Datacenter that receives in this direction.
    pub to_dc: String,
    /// Bytes carried ÷ bytes that fit, mean over the repetitions.
    pub utilisation: f64,
}

/// Counts of what makes a policy differ from a simpler one. Decisions are those for the first packet of
/// a flow's data where there was a choice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// LCMP: its two costs against decisions without them.
    Lcmp(LcmpCounts),
    /// Hash over buckets: shares of the next hops.
    Hash(HashCounts),
    /// UCMP with flow ageing.
    FlowAgeing {
        /// Flows that were decided.
        flows: u64,
        /// Those of them that flow ageing re-routed.
        rerouted: u64,
    },
    /// Minimum delay: UCMP without flow ageing.
    MinDelay {
        /// Decisions.
        decisions: u64,
        /// Decisions for the candidate of least delay.
        least_delay: u64,
    },
    /// Traffic engineering.
    Splits(SplitCounts),
    /// A policy that the program knows nothing of.
    Unknown {
        /// Decisions.
        decisions: u64,
    },
}

/// Decisions of LCMP, made again without one of its costs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LcmpCounts {
    /// Decisions by LCMP's own rules.
    pub decisions: u64,
    /// Decisions that the records do not explain, as after a change of parameters; in no other count.
    pub unexplained: u64,
    /// Decisions that C_path changed, against `alpha` = 0; none if `alpha` is 0.
    pub path: Option<Changed>,
    /// Decisions that C_cong changed, against `beta` = 0; none if `beta` is 0.
    pub congestion: Option<Changed>,
    /// Flows on another path than under the policy of the run whose `beta` is 0; none without one.
    pub against_rm_beta: Option<PathDifference>,
}

/// Number of decisions that differ from the same decision without one cost.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Changed {
    /// Another set of candidates was kept.
    pub kept: u64,
    /// The kept candidates are others, or in another order, by which the hash indexes them.
    pub order: u64,
    /// Another next hop was chosen.
    pub next_hop: u64,
}

/// Flows on different paths under two policies.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct PathDifference {
    /// Label of the other policy.
    pub policy: String,
    /// Flows whose paths under both are known.
    pub flows: u64,
    /// Those of them whose paths differ.
    pub differ: u64,
}

/// The next hops' shares against their buckets' shares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HashCounts {
    /// Decisions, before the first fault if the plan has one: after it a next hop may be dead.
    pub decisions: u64,
    /// True if the plan has a fault.
    #[serde(default)]
    pub has_fault: bool,
    /// Next hops with buckets, summed over switches and destinations that have a choice.
    pub next_hops: u64,
    /// Those of them that were chosen.
    pub used: u64,
    /// Largest difference between a next hop's share and its buckets' share, among its
    /// destination's decisions.
    pub largest_difference: f64,
    /// Probability that a fair hash gives a larger chi-square; `None` without a choice, or if all decisions are
    /// untested.
    pub p_value: Option<f64>,
    /// Decisions that the chi-square leaves out, because five are not expected of each of two next hops or
    /// pools.
    #[serde(default)]
    pub untested: u64,
}

/// Splits of traffic engineering.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct SplitCounts {
    /// Controller intervals at whose end a split was installed.
    pub installed: u64,
    /// Those of them that changed a table.
    pub changed: u64,
    /// Decisions.
    pub decisions: u64,
    /// Decisions after the first split of their repetition that changed a table.
    pub after_first: u64,
}

impl Evidence {
    /// Returns warnings about a ranking by this run: limits to what it shows, each a sentence without its full
    /// stop.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let short = |load: &&OfferedLoad| load.offered < MIN_OFFERED * load.requested;
        for load in self.load.iter().filter(short) {
            warnings.push(format!(
                "load: `{}` offers {} where the workload asks for {}",
                load.dc,
                percent(load.offered),
                percent(load.requested)
            ));
        }
        if let Some(covered) = self.covered.filter(|&covered| covered < MIN_COVERED) {
            warnings.push(format!(
                "load: flows start in the first {} of the duration",
                percent(covered)
            ));
        }
        warnings.extend(self.policies.iter().filter_map(PolicyEvidence::idle));
        warnings.extend(
            self.policies
                .iter()
                .filter_map(PolicyEvidence::late_samples),
        );
        // Each tested policy may raise a false alarm, so all share one run's rate of false alarms (Bonferroni).
        let tested = self.policies.iter().filter(|policy| policy.is_tested());
        let max_p_value =
            FALSE_ALARMS / ratio(u64::try_from(tested.count()).unwrap_or(u64::MAX), 1);
        let silent = self.policies.iter();
        warnings.extend(silent.filter_map(|policy| policy.silent(max_p_value)));
        warnings
    }

    /// Returns the reason why a failover has a lab time beside the paper's time, if one has.
    #[must_use]
    pub fn failover_note(&self) -> Option<&'static str> {
        let failovers = self.policies.iter().flat_map(|policy| &policy.failovers);
        let mut spans = failovers.filter_map(|failover| failover.span);
        spans.any(|span| span.lab_ns.is_some()).then_some(
            "Failover: cutting a link and noticing it take the kernel time that no scale factor \
             stretches, so paper time, which is lab time divided by the factor of times, makes this \
             part of a failover look shorter; the wait for a flow's next packet is scaled.",
        )
    }
}

impl PolicyEvidence {
    /// Returns the mechanism's and the samples' counts in a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let mechanism = self.mechanism.sentence();
        let sampling = self.sampling.iter().map(Sampling::sentence);
        let failovers = self.failovers.iter().map(Failover::sentence);
        let parts = [mechanism].into_iter().chain(sampling).chain(failovers);
        parts.collect::<Vec<_>>().join("; ")
    }

    /// Returns the sentence that samples came late, if many did.
    fn late_samples(&self) -> Option<String> {
        let Sampling {
            samples,
            late_samples,
            ..
        } = self.sampling?;
        let share = ratio(late_samples, samples);
        (share > LATE_SAMPLES.doubtful).then(|| {
            format!(
                "{}: {} of {} samples of queues ({}) were late by an interval or more: the CPU was too \
                 slow for them",
                self.policy,
                commas(late_samples),
                commas(samples),
                percent(share)
            )
        })
    }

    /// Returns the sentence that the policy's flows hardly met, if they did not.
    fn idle(&self) -> Option<String> {
        let Met {
            peak_concurrency,
            busiest,
            ..
        } = &self.met;
        let policy = &self.policy;
        if *peak_concurrency == 1 {
            return Some(format!("{policy}: no two flows were under way at once"));
        }
        let busiest = busiest.as_ref()?;
        (busiest.utilisation < MIN_UTILISATION).then(|| {
            format!(
                "{policy}: the busiest link, {} to {}, was used to {} while flows started",
                busiest.from_dc,
                busiest.to_dc,
                percent(busiest.utilisation)
            )
        })
    }

    /// True if the spread of the policy's hash was tested.
    fn is_tested(&self) -> bool {
        matches!(&self.mechanism, Mechanism::Hash(counts) if counts.p_value.is_some())
    }

    /// Returns a sentence if the policy's mechanism never acted; a hash counts as not spreading if its p is
    /// under `max_p_value`.
    fn silent(&self, max_p_value: f64) -> Option<String> {
        let silence = self.mechanism.silence(max_p_value)?;
        Some(format!("{}: {silence}", self.policy))
    }
}

impl Sampling {
    fn sentence(&self) -> String {
        let late = commas(self.late_samples);
        let samples = commas(self.samples);
        let mut sentence = format!("{late} of {samples} samples of queues late");
        if self.decisions > 0 {
            let stale = commas(self.stale);
            let decisions = commas(self.decisions);
            sentence +=
                &format!(", {stale} of {decisions} decisions by one older than its interval");
        }
        if self.stale > 0 {
            sentence += &format!(", by {} at most", about_time(self.overdue_ns));
        }
        sentence
    }
}

impl FlowTables {
    /// Returns the counts in a sentence without its full stop; events that never happened are left out.
    #[must_use]
    pub fn sentence(&self) -> String {
        let mut sentence = format!(
            "flow tables: {} forwarded by their flow's entry, {} (at most {}/s at a switch), at most {} in a table",
            counted(self.hits, "packet"),
            counted(self.decisions, "decision"),
            commas(self.peak_decisions_per_s),
            counted(self.peak_flows, "flow")
        );
        for (count, noun, what) in [
            (self.evicted, "flow", " evicted"),
            (self.expired, "idle flow", " removed"),
            (self.failovers, "failover", ""),
            (self.fallbacks, "decision", " by a fallback rule"),
            (self.stale, "decision", " on stale tables or signals"),
            (self.restarts, "restart", " of agents"),
            (self.unrecorded, "decision", " without a row"),
        ] {
            if count > 0 {
                sentence += &format!(", {}{what}", counted(count, noun));
            }
        }
        sentence
    }
}

impl Failover {
    fn sentence(&self) -> String {
        let cut = format!(
            "cut of {} at {}",
            self.links.join(" and "),
            about_time(self.at_ns)
        );
        let Some(span) = self.span else {
            return format!("{cut}: no flow left a dead port");
        };
        let failovers = counted(self.decisions, "failover");
        let paper = between(span.first_ns, span.last_ns);
        match span.lab_ns {
            None => format!("{cut}: {failovers}, after {paper}"),
            Some((first, last)) => format!(
                "{cut}: {failovers}, after {} of lab time, {paper} of paper time",
                between(first, last)
            ),
        }
    }
}

/// Returns the words for a range of times.
fn between(first: Nanos, last: Nanos) -> String {
    if first == last {
        about_time(first)
    } else {
        format!("{} to {}", about_time(first), about_time(last))
    }
}

impl Mechanism {
    fn sentence(&self) -> String {
        match self {
            Self::Lcmp(counts) => counts.sentence(),
            Self::Hash(counts) => counts.sentence(),
            Self::FlowAgeing { flows, rerouted } => format!(
                "flow ageing re-routed {} of {} flows",
                commas(*rerouted),
                commas(*flows)
            ),
            Self::MinDelay {
                decisions,
                least_delay,
            } => format!(
                "{} of {} decisions for the next hop of least delay",
                commas(*least_delay),
                commas(*decisions)
            ),
            Self::Splits(counts) => format!(
                "{} splits installed, {} of them changed a table; {} of {} decisions after the first \
                 such",
                commas(counts.installed),
                commas(counts.changed),
                commas(counts.after_first),
                commas(counts.decisions)
            ),
            Self::Unknown { decisions } => format!("{} decisions", commas(*decisions)),
        }
    }

    /// Returns a sentence if the mechanism never acted; see [`PolicyEvidence::silent`].
    fn silence(&self, max_p_value: f64) -> Option<String> {
        match self {
            Self::Lcmp(counts) => counts.silence(),
            Self::Hash(counts) => counts.silence(max_p_value),
            Self::FlowAgeing { flows, rerouted: 0 } => Some(format!(
                "flow ageing re-routed 0 of {} flows: this run says nothing about more than minimum \
                 delay",
                commas(*flows)
            )),
            Self::Splits(SplitCounts {
                after_first: 0,
                decisions,
                ..
            }) => Some(format!(
                "0 of {} decisions came after a split that changed a table: this run says nothing about \
                 traffic engineering",
                commas(*decisions)
            )),
            Self::FlowAgeing { .. }
            | Self::Splits(_)
            | Self::MinDelay { .. }
            | Self::Unknown { .. } => None,
        }
    }
}

impl LcmpCounts {
    fn sentence(&self) -> String {
        if self.decisions == 0 {
            return NO_CHOICE.to_owned();
        }
        let mut parts = Vec::new();
        for (cost, changed) in [("C_cong", self.congestion), ("C_path", self.path)] {
            let Some(changed) = changed else { continue };
            parts.push(format!(
                "{cost} changed the kept set of {}, the order of {}, the next hop of {}",
                commas(changed.kept),
                commas(changed.order),
                commas(changed.next_hop)
            ));
        }
        let mut sentence = format!(
            "of {} decisions {}",
            commas(self.decisions),
            parts.join("; ")
        );
        if let Some(against) = &self.against_rm_beta {
            sentence += &format!(
                "; {} of {} flows on another path than under {}",
                commas(against.differ),
                commas(against.flows),
                against.policy
            );
        }
        if self.unexplained > 0 {
            sentence += &format!("; {} not explained", commas(self.unexplained));
        }
        sentence
    }

    fn silence(&self) -> Option<String> {
        let costs = [
            (
                "C_cong",
                "congestion awareness",
                "a higher `load` or a longer `duration` makes queues, a shorter `sample_interval` sees them sooner",
                self.congestion,
            ),
            (
                "C_path",
                "path quality",
                "candidates whose delays or rates differ more, or another `max_delay`, which separates them",
                self.path,
            ),
        ];
        let is_silent = |changed: Option<Changed>| {
            changed.is_some_and(|changed| changed.kept == 0 && changed.order == 0)
        };
        let mut silent = costs
            .into_iter()
            .filter(|&(.., changed)| is_silent(changed));
        let (cost, about, hint, _) = silent.next()?;
        if self.decisions == 0 {
            return Some(format!("{NO_CHOICE}: this run says nothing about {about}"));
        }
        Some(format!(
            "{cost} changed 0 of {} decisions: this run says nothing about {about} (hint: {hint})",
            commas(self.decisions)
        ))
    }
}

impl HashCounts {
    fn sentence(&self) -> String {
        if self.decisions == 0 && !self.has_fault {
            return NO_CHOICE.to_owned();
        }
        let mut sentence = format!(
            "{} decisions{} over {} of {} next hops",
            commas(self.decisions),
            if self.has_fault {
                " before the first fault"
            } else {
                ""
            },
            commas(self.used),
            commas(self.next_hops)
        );
        if let Some(p_value) = self.p_value {
            let p_value = match p_value {
                ..0.01 => format!("{p_value:.1e}"),
                _ => format!("{p_value:.2}"),
            };
            let tested = match self.untested {
                0 => String::new(),
                untested => {
                    let tested = self.decisions.saturating_sub(untested);
                    format!(" of {} decisions", commas(tested))
                }
            };
            sentence += &format!(
                ", shares at most {} from their buckets' (chi-square{tested}: p {p_value})",
                percent(self.largest_difference)
            );
        } else if self.untested > 0 {
            sentence += ", too few decisions to test the spread";
        }
        sentence
    }

    fn silence(&self, max_p_value: f64) -> Option<String> {
        if self.decisions > 1 && self.next_hops > 1 && self.used < 2 {
            return Some(format!(
                "all {} decisions took one next hop: this run says nothing about a spread",
                commas(self.decisions)
            ));
        }
        let p_value = self.p_value.filter(|&p_value| p_value < max_p_value)?;
        Some(format!(
            "shares of next hops differ from their buckets' by more than chance (p {p_value:.1e}): the \
             hash does not spread these flows"
        ))
    }
}

const fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn ratio(part: u64, whole: u64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a share is shown with fewer digits than a float has"
    )]
    let ratio = part as f64 / whole.max(1) as f64;
    ratio
}

/// Returns a share in percent, with a decimal below ten.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 9.95 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

/// Sentence of a run whose flows met no switch with two next hops.
const NO_CHOICE: &str = "no decision among several next hops";

/// Offered ÷ requested load under which a run says little about the load.
const MIN_OFFERED: f64 = 0.8;

/// Share of the duration that starts have to cover.
const MIN_COVERED: f64 = 0.9;

/// Use of the busiest link under which flows hardly meet.
const MIN_UTILISATION: f64 = 0.05;

/// Share of runs with fair hashes for which a warning says that the hash does not spread.
const FALSE_ALARMS: f64 = 0.001;

#[cfg(test)]
mod tests {
    use super::*;

    fn lcmp(congestion: Changed) -> Mechanism {
        Mechanism::Lcmp(LcmpCounts {
            decisions: 44,
            path: Some(Changed {
                kept: 44,
                order: 44,
                next_hop: 30,
            }),
            congestion: Some(congestion),
            against_rm_beta: Some(PathDifference {
                policy: "rm-beta".to_owned(),
                flows: 44,
                differ: congestion.next_hop,
            }),
            ..LcmpCounts::default()
        })
    }

    fn hash(used: u64, p_value: f64) -> Mechanism {
        Mechanism::Hash(HashCounts {
            has_fault: false,
            decisions: 2_000,
            next_hops: 12,
            used,
            largest_difference: 0.021,
            p_value: Some(p_value),
            untested: 0,
        })
    }

    #[test]
    fn sentences_of_mechanisms() {
        let acted = Changed {
            kept: 3,
            order: 12,
            next_hop: 5,
        };
        let mechanisms = [
            lcmp(acted),
            hash(12, 0.412),
            Mechanism::FlowAgeing {
                flows: 2_000,
                rerouted: 1_234,
            },
            Mechanism::MinDelay {
                decisions: 44,
                least_delay: 44,
            },
            Mechanism::Splits(SplitCounts {
                installed: 48,
                changed: 47,
                decisions: 2_000,
                after_first: 1_600,
            }),
            Mechanism::Unknown { decisions: 7 },
        ];
        assert!(
            mechanisms
                .iter()
                .all(|mechanism| mechanism.silence(0.001).is_none())
        );
        let sentences: Vec<_> = mechanisms.iter().map(Mechanism::sentence).collect();
        insta::assert_snapshot!(sentences.join("\n"));
    }

    #[test]
    fn a_hash_of_too_few_decisions_is_not_tested() {
        let counts = |p_value, untested| {
            let mechanism = Mechanism::Hash(HashCounts {
                decisions: 42,
                next_hops: 4,
                used: 4,
                largest_difference: 0.021,
                p_value,
                untested,
                ..HashCounts::default()
            });
            assert_eq!(mechanism.silence(0.001), None);
            mechanism.sentence()
        };
        insta::assert_snapshot!(counts(None, 42), @"42 decisions over 4 of 4 next hops, too few decisions to test the spread");
        insta::assert_snapshot!(counts(Some(1.0), 2), @"42 decisions over 4 of 4 next hops, shares at most 2.1 % from their buckets' (chi-square of 40 decisions: p 1.00)");
    }

    /// p 0.0004 is an alarm if it is the run's only test (level 0.001), but not as one of three tests.
    #[test]
    fn the_tests_of_a_run_share_its_rate_of_false_alarms() {
        let evidence = |p_values: &[f64]| {
            let policy = |&p_value: &f64| PolicyEvidence {
                policy: "ecmp".to_owned(),
                met: Met::default(),
                mechanism: hash(12, p_value),
                sampling: None,
                tables: None,
                failovers: Vec::new(),
                undecided: 0,
            };
            Evidence {
                policies: p_values.iter().map(policy).collect(),
                ..Evidence::default()
            }
        };
        assert_eq!(evidence(&[0.0004]).warnings().len(), 1);
        assert_eq!(evidence(&[0.0004, 0.5, 0.9]).warnings().len(), 0);
        assert_eq!(evidence(&[0.0003, 0.5, 0.9]).warnings().len(), 1);
    }

    #[test]
    fn a_run_without_a_choice_is_said_to_be_one() {
        let lcmp = Mechanism::Lcmp(LcmpCounts {
            path: Some(Changed::default()),
            congestion: Some(Changed::default()),
            ..LcmpCounts::default()
        });
        let hash = Mechanism::Hash(HashCounts::default());
        let choice = "no decision among several next hops";
        assert_eq!([&lcmp, &hash].map(Mechanism::sentence), [choice; 2]);
        insta::assert_snapshot!(lcmp.silence(0.001).unwrap(), @"no decision among several next hops: this run says nothing about congestion awareness");
        assert_eq!(hash.silence(0.001), None);
    }

    #[test]
    fn many_late_samples_are_a_warning() {
        let policy = |samples, stale| PolicyEvidence {
            policy: "lcmp".to_owned(),
            met: Met {
                peak_concurrency: 9,
                ..Met::default()
            },
            mechanism: Mechanism::Unknown { decisions: 9 },
            sampling: Some(Sampling {
                samples,
                late_samples: 10,
                decisions: 2_000,
                stale,
                overdue_ns: Nanos::new(13_400),
            }),
            tables: None,
            failovers: Vec::new(),
            undecided: 0,
        };
        let warnings = |samples, stale| {
            let evidence = Evidence {
                policies: vec![policy(samples, stale)],
                ..Evidence::default()
            };
            evidence.warnings()
        };
        assert_eq!(warnings(1_000, 20), [""; 0], "1 % is not much");
        insta::assert_snapshot!(warnings(999, 20).join("\n"), @"lcmp: 10 of 999 samples of queues (1.0 %) were late by an interval or more: the CPU was too slow for them");
        insta::assert_snapshot!(policy(1_000, 20).sentence(), @"9 decisions; 10 of 1,000 samples of queues late, 20 of 2,000 decisions by one older than its interval, by 13.4 µs at most");
        let buckets = Sampling {
            decisions: 0,
            stale: 0,
            ..policy(1_000, 0).sampling.expect("given")
        };
        insta::assert_snapshot!(buckets.sentence(), @"10 of 1,000 samples of queues late");
    }

    #[test]
    fn the_sentence_of_flow_tables_leaves_out_events_that_never_happened() {
        let quiet = FlowTables {
            hits: 12_345,
            decisions: 67,
            peak_decisions_per_s: 400,
            peak_flows: 40,
            ..FlowTables::default()
        };
        insta::assert_snapshot!(quiet.sentence(), @"flow tables: 12,345 packets forwarded by their flow's entry, 67 decisions (at most 400/s at a switch), at most 40 flows in a table");
        let busy = FlowTables {
            unrecorded: 7,
            failovers: 1,
            fallbacks: 2,
            stale: 3,
            evicted: 4,
            expired: 5,
            restarts: 6,
            ..quiet
        };
        insta::assert_snapshot!(busy.sentence(), @"flow tables: 12,345 packets forwarded by their flow's entry, 67 decisions (at most 400/s at a switch), at most 40 flows in a table, 4 flows evicted, 5 idle flows removed, 1 failover, 2 decisions by a fallback rule, 3 decisions on stale tables or signals, 6 restarts of agents, 7 decisions without a row");
    }

    #[test]
    fn a_failover_of_the_lab_has_both_times_and_the_reason() {
        let mut cut = Failover {
            links: vec!["dc1-dc2".to_owned(), "dc2-dc8".to_owned()],
            at_ns: Nanos::from_millis(60),
            ..Failover::default()
        };
        let sentence = |cut: &Failover| cut.sentence();
        insta::assert_snapshot!(sentence(&cut), @"cut of dc1-dc2 and dc2-dc8 at 60 ms: no flow left a dead port");
        let evidence = |cut: &Failover| Evidence {
            policies: vec![PolicyEvidence {
                policy: "lcmp".to_owned(),
                met: Met::default(),
                mechanism: Mechanism::Unknown { decisions: 9 },
                sampling: None,
                tables: None,
                failovers: vec![cut.clone()],
                undecided: 0,
            }],
            ..Evidence::default()
        };
        let span = FailoverSpan {
            first_ns: Nanos::new(20_000),
            last_ns: Nanos::new(600_000),
            lab_ns: None,
        };
        (cut.decisions, cut.span) = (4, Some(span));
        assert_eq!(evidence(&cut).failover_note(), None);
        insta::assert_snapshot!(sentence(&cut), @"cut of dc1-dc2 and dc2-dc8 at 60 ms: 4 failovers, after 20 µs to 600 µs");
        let one = Failover {
            decisions: 1,
            span: Some(FailoverSpan {
                last_ns: span.first_ns,
                ..span
            }),
            ..cut.clone()
        };
        assert_eq!(
            sentence(&one),
            "cut of dc1-dc2 and dc2-dc8 at 60 ms: 1 failover, after 20 µs"
        );
        let lab_ns = Some((Nanos::from_millis(1), Nanos::from_millis(30)));
        cut.span = Some(FailoverSpan { lab_ns, ..span });
        assert!(evidence(&cut).failover_note().is_some());
        insta::assert_snapshot!(evidence(&cut).policies[0].sentence(), @"9 decisions; cut of dc1-dc2 and dc2-dc8 at 60 ms: 4 failovers, after 1 ms to 30 ms of lab time, 20 µs to 600 µs of paper time");
    }

    #[test]
    fn a_mechanism_that_never_acted_is_a_warning() {
        let policy = |policy: &str, mechanism| PolicyEvidence {
            policy: policy.to_owned(),
            met: Met {
                peak_concurrency: 9,
                ..Met::default()
            },
            mechanism,
            sampling: None,
            tables: None,
            failovers: Vec::new(),
            undecided: 0,
        };
        let mut idle = policy("idle", Mechanism::Unknown { decisions: 9 });
        idle.met.busiest = Some(BusyLink {
            from_dc: "dc1".to_owned(),
            to_dc: "dc2".to_owned(),
            utilisation: 0.013,
        });
        let mut alone = policy("alone", Mechanism::Unknown { decisions: 9 });
        alone.met.peak_concurrency = 1;
        let evidence = Evidence {
            load: vec![OfferedLoad {
                dc: "dc1".to_owned(),
                requested: 0.3,
                offered: 0.02,
            }],
            covered: Some(0.088),
            listed: ListedFlows::default(),
            policies: vec![
                policy("lcmp", lcmp(Changed::default())),
                policy("ecmp", hash(1, 0.5)),
                policy("wcmp", hash(12, 1e-9)),
                policy(
                    "ucmp",
                    Mechanism::FlowAgeing {
                        flows: 44,
                        rerouted: 0,
                    },
                ),
                policy(
                    "te-100ms",
                    Mechanism::Splits(SplitCounts {
                        decisions: 44,
                        ..SplitCounts::default()
                    }),
                ),
                idle,
                alone,
            ],
        };
        insta::assert_snapshot!(evidence.warnings().join("\n"));
        assert_eq!(Evidence::default().warnings(), [""; 0]);
    }
}
