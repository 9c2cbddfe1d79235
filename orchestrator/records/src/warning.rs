//! Warnings about a ranking of policies: limits of the conclusions that a run supports.

use serde::Serialize;

use crate::{
    BusyLink, Changed, Evidence, HashCounts, LcmpCounts, Mechanism, OfferedLoad, PolicyEvidence,
    Sampling, SplitCounts, trust::bounds::LATE_SAMPLES,
};

/// Reason why a run supports few conclusions about its policies' ranking, although its numbers can be trusted.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Warning {
    /// The flows of a datacenter offered much less load than its workload specifies.
    LittleLoad(OfferedLoad),
    /// Flows started during only a part of the workloads' duration.
    ShortArrivals {
        /// Start of the last flow ÷ duration of the workloads.
        covered: f64,
    },
    /// No two flows of a policy were active at the same time.
    NoOverlap {
        /// Label of the policy.
        policy: String,
    },
    /// Even the busiest link of a policy was hardly used while flows started.
    LittleUse {
        /// Label of the policy.
        policy: String,
        /// The busiest link direction and its use.
        link: BusyLink,
    },
    /// Many queue samples of a policy were late.
    LateSamples {
        /// Label of the policy.
        policy: String,
        /// Numbers of samples, late samples and decisions.
        sampling: Sampling,
    },
    /// A policy's own mechanism never acted, or its hash was unfair.
    Silent {
        /// Label of the policy.
        policy: String,
        /// The mechanism that did not act, or the unfair hash.
        silence: Silence,
    },
}

/// Mechanism about which the run shows nothing, because it never acted or its hash was unfair.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "mechanism", rename_all = "kebab-case")]
pub enum Silence {
    /// C_cong changed none of LCMP's decisions.
    Congestion {
        /// Number of LCMP's decisions; 0 if no flow had several candidates.
        decisions: u64,
    },
    /// C_path changed none of LCMP's decisions.
    Path {
        /// Number of LCMP's decisions; 0 if no flow had several candidates.
        decisions: u64,
    },
    /// A hash chose the same next hop for all flows.
    OneNextHop {
        /// Number of decisions by the hash.
        decisions: u64,
    },
    /// The next hops' shares of the decisions differ significantly from their shares of the buckets.
    UnfairHash {
        /// Probability that a fair hash deviates at least as much.
        p_value: f64,
    },
    /// Flow ageing re-routed no flow.
    FlowAgeing {
        /// Number of flows with a decision.
        flows: u64,
    },
    /// Few decisions, or none, were made after the first split that changed a table.
    Splits {
        /// Number of decisions after it.
        after_first: u64,
        /// Number of decisions.
        decisions: u64,
    },
}

impl Evidence {
    /// Returns the warnings about ranking policies by this run.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        let is_short = |load: &&OfferedLoad| load.offered < MIN_OFFERED * load.requested;
        let loads = self.load.iter().filter(is_short).cloned();
        let covered = self.covered.filter(|&covered| covered < MIN_COVERED);
        // Each tested policy can cause a false alarm, so the tests of a run share the false alarm rate (Bonferroni).
        let tested = self.policies.iter().filter(|policy| policy.is_tested());
        let max_p_value =
            FALSE_ALARMS / ratio(u64::try_from(tested.count()).unwrap_or(u64::MAX), 1);
        let policies = || self.policies.iter();
        let mut warnings: Vec<Warning> = loads.map(Warning::LittleLoad).collect();
        warnings.extend(covered.map(|covered| Warning::ShortArrivals { covered }));
        warnings.extend(policies().filter_map(PolicyEvidence::idle));
        warnings.extend(policies().filter_map(PolicyEvidence::late_samples));
        warnings.extend(policies().filter_map(|policy| policy.silent(max_p_value)));
        warnings
    }
}

impl PolicyEvidence {
    /// Returns a warning if many of the policy's queue samples were late.
    fn late_samples(&self) -> Option<Warning> {
        let sampling = self.sampling?;
        let share = ratio(sampling.late_samples, sampling.samples);
        (share > LATE_SAMPLES.doubtful).then(|| Warning::LateSamples {
            policy: self.policy.clone(),
            sampling,
        })
    }

    /// Returns a warning if the policy's flows never overlapped in time, or hardly used any link.
    fn idle(&self) -> Option<Warning> {
        let policy = self.policy.clone();
        if self.met.peak_concurrency == 1 {
            return Some(Warning::NoOverlap { policy });
        }
        let link = self.met.busiest.clone()?;
        (link.utilisation < MIN_UTILISATION).then_some(Warning::LittleUse { policy, link })
    }

    /// Returns true if the policy's hash was tested for fairness.
    fn is_tested(&self) -> bool {
        matches!(&self.mechanism, Mechanism::Hash(counts) if counts.p_value.is_some())
    }

    /// Returns a warning if the policy's mechanism never acted, or if its hash was unfair: its p-value is below
    /// `max_p_value`.
    fn silent(&self, max_p_value: f64) -> Option<Warning> {
        Some(Warning::Silent {
            policy: self.policy.clone(),
            silence: self.mechanism.silence(max_p_value)?,
        })
    }
}

impl Mechanism {
    /// Returns the mechanism if it never acted or its hash was unfair; see [`PolicyEvidence::silent`].
    fn silence(&self, max_p_value: f64) -> Option<Silence> {
        match *self {
            Self::Lcmp(ref counts) => counts.silence(),
            Self::Hash(ref counts) => counts.silence(max_p_value),
            Self::FlowAgeing { flows, rerouted: 0 } => Some(Silence::FlowAgeing { flows }),
            Self::Splits(SplitCounts {
                after_first,
                decisions,
                ..
            }) => {
                let share = ratio(after_first, decisions);
                (share < MIN_AFTER_SPLIT).then_some(Silence::Splits {
                    after_first,
                    decisions,
                })
            }
            Self::FlowAgeing { .. } | Self::MinDelay { .. } | Self::Unknown { .. } => None,
        }
    }
}

impl LcmpCounts {
    fn silence(&self) -> Option<Silence> {
        let is_silent = |changed: Option<Changed>| {
            changed.is_some_and(|changed| changed.kept == 0 && changed.order == 0)
        };
        let decisions = self.decisions;
        if is_silent(self.congestion) {
            Some(Silence::Congestion { decisions })
        } else {
            is_silent(self.path).then_some(Silence::Path { decisions })
        }
    }
}

impl HashCounts {
    fn silence(&self, max_p_value: f64) -> Option<Silence> {
        let decisions = self.decisions;
        if decisions > 1 && self.next_hops > 1 && self.used < 2 {
            return Some(Silence::OneNextHop { decisions });
        }
        let p_value = self.p_value.filter(|&p_value| p_value < max_p_value)?;
        Some(Silence::UnfairHash { p_value })
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the thresholds have fewer digits than a float has"
)]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// Minimum offered ÷ requested load for which a run represents the requested load.
const MIN_OFFERED: f64 = 0.8;

/// Minimum share of the workloads' duration in which flows must start.
const MIN_COVERED: f64 = 0.9;

/// Utilisation of the busiest link below which flows hardly share links.
const MIN_UTILISATION: f64 = 0.05;

/// Share of the decisions after the first split that changed a table, below which splits decide little.
const MIN_AFTER_SPLIT: f64 = 0.05;

/// Share of runs with fair hashes in which a warning wrongly calls a hash unfair.
const FALSE_ALARMS: f64 = 0.001;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ListedFlows, Met, PathDifference};

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

    fn policy(policy: &str, mechanism: Mechanism) -> PolicyEvidence {
        PolicyEvidence {
            policy: policy.to_owned(),
            met: Met {
                peak_concurrency: 9,
                ..Met::default()
            },
            mechanism,
            sampling: None,
            tables: None,
            failovers: Vec::new(),
            outages: Vec::new(),
            crashes: Vec::new(),
            unfinished: None,
            undecided: 0,
        }
    }

    #[test]
    fn a_hash_of_too_few_decisions_is_not_tested() {
        for (p_value, untested) in [(None, 42), (Some(1.0), 2)] {
            let counts = HashCounts {
                decisions: 42,
                next_hops: 4,
                used: 4,
                largest_difference: 0.021,
                p_value,
                untested,
                ..HashCounts::default()
            };
            assert_eq!(counts.silence(0.001), None);
        }
    }

    #[test]
    fn a_run_without_a_choice_says_nothing_about_lcmp_and_a_hash_is_not_blamed() {
        let lcmp = LcmpCounts {
            path: Some(Changed::default()),
            congestion: Some(Changed::default()),
            ..LcmpCounts::default()
        };
        assert_eq!(lcmp.silence(), Some(Silence::Congestion { decisions: 0 }));
        assert_eq!(HashCounts::default().silence(0.001), None);
    }

    #[test]
    fn mechanisms_that_acted_are_not_silent() {
        let acted = Changed {
            kept: 0,
            order: 12,
            next_hop: 5,
        };
        for mechanism in [
            lcmp(acted),
            hash(12, 0.412),
            Mechanism::FlowAgeing {
                flows: 2_000,
                rerouted: 1,
            },
            Mechanism::MinDelay {
                decisions: 44,
                least_delay: 44,
            },
            Mechanism::Splits(SplitCounts {
                installed: 48,
                changed: 47,
                decisions: 2_000,
                after_first: 100,
            }),
            Mechanism::Unknown { decisions: 7 },
        ] {
            assert_eq!(mechanism.silence(0.001), None);
        }
    }

    #[test]
    fn splits_before_which_nearly_all_flows_were_decided_are_silent() {
        for after_first in [0, 99] {
            let splits = Mechanism::Splits(SplitCounts {
                installed: 48,
                changed: 47,
                decisions: 2_000,
                after_first,
            });
            let silence = Silence::Splits {
                after_first,
                decisions: 2_000,
            };
            assert_eq!(splits.silence(0.001), Some(silence));
        }
    }

    /// A p-value of 0.0004 causes a warning if it is the run's only test (level 0.001), but not as one of three tests.
    #[test]
    fn the_tests_of_a_run_share_its_rate_of_false_alarms() {
        let evidence = |p_values: &[f64]| {
            let policy = |&p_value: &f64| policy("ecmp", hash(12, p_value));
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
    fn many_late_samples_are_a_warning() {
        let sampling = |samples| Sampling {
            samples,
            late_samples: 10,
            ..Sampling::default()
        };
        let warnings = |samples| {
            let mut policy = policy("lcmp", Mechanism::Unknown { decisions: 9 });
            policy.sampling = Some(sampling(samples));
            let evidence = Evidence {
                policies: vec![policy],
                ..Evidence::default()
            };
            evidence.warnings()
        };
        assert_eq!(warnings(1_000), [], "1 % is not much");
        let late = Warning::LateSamples {
            policy: "lcmp".to_owned(),
            sampling: sampling(999),
        };
        assert_eq!(warnings(999), [late]);
    }

    #[test]
    fn a_mechanism_that_never_acted_is_a_warning() {
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
            outages: Vec::new(),
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
        let policies: Vec<String> = evidence
            .warnings()
            .iter()
            .map(|it| format!("{it:?}"))
            .collect();
        insta::assert_snapshot!(policies.join("\n"));
        assert_eq!(Evidence::default().warnings(), []);
    }
}
