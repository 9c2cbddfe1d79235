//! Sentences, without their full stops, on a run's evidence.

use lab_records::{
    CrashCounts, Evidence, Failover, FlowTables, HashCounts, LcmpCounts, Mechanism, PolicyEvidence,
    Sampling,
};
use lab_units::{
    Nanos,
    show::{about_time, commas, counted, window},
};

use super::NO_CHOICE;
use crate::text::about_percentage_points;

/// Describes the counts that show a policy at work: its mechanism and queue samples.
pub fn policy(evidence: &PolicyEvidence) -> String {
    let mut parts = vec![mechanism(&evidence.mechanism)];
    parts.extend(evidence.sampling.iter().map(sampling));
    parts.join("; ")
}

/// Describes the unfinished flows that may have lost packets because their pair of datacenters had no next hop, one
/// sentence for each policy with such flows.
pub fn unfinished(evidence: &Evidence) -> Vec<String> {
    let policies = evidence.policies.iter();
    let sentence = |policy: &PolicyEvidence| {
        let unfinished = policy.unfinished?;
        let outages = evidence.outages.iter().zip(&policy.outages);
        let mut hit = outages.filter(|(_, flows)| flows.unfinished > 0);
        let (first, _) = hit.next()?;
        let span = window(first.from_ns, first.to_ns);
        let times = match hit.count() {
            0 => span,
            more => format!("in {} time spans, the first {span}", more + 1),
        };
        Some(format!(
            "{}: {} did not finish, {} of them between {} of datacenters that had no next hop, for data or \
             acknowledgements, {times}",
            policy.policy,
            counted(unfinished.flows, "flow"),
            commas(unfinished.stranded),
            counted(unfinished.pairs, "pair"),
        ))
    };
    policies.filter_map(sentence).collect()
}

/// Returns a note on why failovers show lab time next to paper time (lab time ÷ time factor); `None` if no failover has
/// a lab time.
pub fn failover_note(evidence: &Evidence) -> Option<&'static str> {
    let failovers = evidence
        .policies
        .iter()
        .flat_map(|policy| &policy.failovers);
    let mut spans = failovers.filter_map(|failover| failover.span);
    spans.any(|span| span.lab_ns.is_some()).then_some(
        "Failover: the kernel needs the same time to cut a link and to detect the cut at every scale. \
         Paper time (lab time divided by the time factor) therefore understates this part of a \
         failover; the wait for a flow's next packet is scaled.",
    )
}

fn sampling(counts: &Sampling) -> String {
    let late = commas(counts.late_samples);
    let samples = counted(counts.samples, "sample");
    let mut sentence = format!("{late} of {samples} of queue lengths taken late");
    if counts.decisions > 0 {
        let stale = commas(counts.stale);
        let decisions = counted(counts.decisions, "decision");
        sentence += &format!(", {stale} of {decisions} used a sample older than its interval");
    }
    if counts.stale > 0 {
        sentence += &format!(", by {} at most", about_time(counts.overdue_ns));
    }
    sentence
}

/// Describes the counts of the flow tables; events that never happened are left out.
pub fn tables(counts: &FlowTables) -> String {
    let mut sentence = format!(
        "flow tables: {} forwarded by their flow's entry, {} (at most {}/s at a switch), at most {} in a table",
        counted(counts.hits, "packet"),
        counted(counts.decisions, "decision"),
        commas(counts.peak_decisions_per_s),
        counted(counts.peak_flows, "flow")
    );
    for (count, noun, what) in [
        (counts.evicted, "flow", " evicted"),
        (counts.expired, "idle flow", " removed"),
        (counts.failovers, "failover", ""),
        (counts.fallbacks, "decision", " by a fallback rule"),
        (
            counts.stale,
            "decision",
            " with stale tables or queue samples",
        ),
        (counts.restarts, "restart", " of agents"),
        (counts.unrecorded, "decision", " without a row"),
    ] {
        if count > 0 {
            sentence += &format!(", {}{what}", counted(count, noun));
        }
    }
    sentence
}

/// Describes the decisions of a policy while a switch had no agent, and the agent's work that was left undone.
pub fn without_agent(policy: &str, counts: &CrashCounts) -> String {
    let mut sentence = format!("{policy} {}", counted(counts.decisions, "decision"));
    if counts.stale > 0 {
        sentence += &format!(" ({} by hash, with stale tables)", commas(counts.stale));
    }
    match counts.missed {
        0 => sentence,
        1 => sentence + ", 1 sample or split missed",
        missed => sentence + &format!(", {} samples or splits missed", commas(missed)),
    }
}

/// Describes the failovers of a policy after a cut: their number and the times from the cut to the first and the last.
pub fn failovers(policy: &str, failover: &Failover) -> String {
    let Some(span) = failover.span else {
        return format!("{policy} none");
    };
    let count = commas(failover.decisions);
    let paper = between(span.first_ns, span.last_ns);
    match span.lab_ns {
        None => format!("{policy} {count}, after {paper}"),
        Some((first, last)) => format!(
            "{policy} {count}, after {} of lab time, {paper} of paper time",
            between(first, last)
        ),
    }
}

/// Formats a range of times, or one time if both ends read alike.
fn between(first: Nanos, last: Nanos) -> String {
    let [first, last] = [first, last].map(about_time);
    if first == last {
        first
    } else {
        format!("{first} to {last}")
    }
}

fn mechanism(mechanism: &Mechanism) -> String {
    match mechanism {
        Mechanism::Lcmp(counts) => lcmp(counts),
        Mechanism::Hash(counts) => hash(counts),
        Mechanism::FlowAgeing { flows, rerouted } => format!(
            "flow ageing re-routed {} of {}",
            commas(*rerouted),
            counted(*flows, "flow")
        ),
        Mechanism::MinDelay {
            decisions,
            least_delay,
        } => format!(
            "{} of {} chose the next hop of least delay",
            commas(*least_delay),
            counted(*decisions, "decision")
        ),
        Mechanism::Splits(counts) => format!(
            "{} installed, {} of them changed a table; {} of {} after the first change",
            counted(counts.installed, "split"),
            commas(counts.changed),
            commas(counts.after_first),
            counted(counts.decisions, "decision")
        ),
        Mechanism::Unknown { decisions } => counted(*decisions, "decision"),
    }
}

fn lcmp(counts: &LcmpCounts) -> String {
    if counts.decisions == 0 {
        return NO_CHOICE.to_owned();
    }
    let mut parts = Vec::new();
    for (cost, changed) in [("C_cong", counts.congestion), ("C_path", counts.path)] {
        let Some(changed) = changed else { continue };
        parts.push(format!(
            "{cost} changed the kept set of {}, the order of {}, the next hop of {}",
            commas(changed.kept),
            commas(changed.order),
            commas(changed.next_hop)
        ));
    }
    let mut sentence = format!(
        "of {} {}",
        counted(counts.decisions, "decision"),
        parts.join("; ")
    );
    if let Some(against) = &counts.against_rm_beta {
        sentence += &format!(
            "; {} of {} on another path than under {}",
            commas(against.differ),
            counted(against.flows, "flow"),
            against.policy
        );
    }
    if counts.unexplained > 0 {
        sentence += &format!(
            "; {} not explained by the records",
            counted(counts.unexplained, "decision")
        );
    }
    sentence
}

fn hash(counts: &HashCounts) -> String {
    if counts.decisions == 0 && !counts.has_fault {
        return NO_CHOICE.to_owned();
    }
    let mut sentence = format!(
        "{}{} over {} of {}",
        counted(counts.decisions, "decision"),
        if counts.has_fault {
            " before the first fault"
        } else {
            ""
        },
        commas(counts.used),
        counted(counts.next_hops, "next hop")
    );
    if let Some(p_value) = counts.p_value {
        let p_value = match p_value {
            ..0.01 => format!("{p_value:.1e}"),
            _ => format!("{p_value:.2}"),
        };
        let tested = match counts.untested {
            0 => String::new(),
            untested => {
                let tested = counts.decisions.saturating_sub(untested);
                format!(" of {}", counted(tested, "decision"))
            }
        };
        sentence += &format!(
            ", each next hop's share of decisions within {} of its share of buckets (chi-square{tested}: \
             p {p_value})",
            about_percentage_points(counts.largest_difference)
        );
    } else if counts.untested > 0 {
        sentence += ", too few decisions to test the spread";
    }
    sentence
}

#[cfg(test)]
mod tests {
    use lab_records::{
        Changed, FailoverSpan, OutageFlows, OutageInfo, PathDifference, SplitCounts,
        UnfinishedFlows,
    };
    use lab_sample as sample;

    use super::*;

    fn lcmp_counts(congestion: Changed) -> Mechanism {
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

    fn hash_counts(used: u64, p_value: f64) -> Mechanism {
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
            lcmp_counts(acted),
            hash_counts(12, 0.412),
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
        let sentences: Vec<_> = mechanisms.iter().map(mechanism).collect();
        insta::assert_snapshot!(sentences.join("\n"));
    }

    #[test]
    fn a_hash_of_too_few_decisions_has_no_chi_square() {
        let counts = |p_value, untested| {
            hash(&HashCounts {
                decisions: 42,
                next_hops: 4,
                used: 4,
                largest_difference: 0.021,
                p_value,
                untested,
                ..HashCounts::default()
            })
        };
        insta::assert_snapshot!(counts(None, 42), @"42 decisions over 4 of 4 next hops, too few decisions to test the spread");
        insta::assert_snapshot!(counts(Some(1.0), 2), @"42 decisions over 4 of 4 next hops, each next hop's share of decisions within 2.1 percentage points of its share of buckets (chi-square of 40 decisions: p 1.00)");
    }

    #[test]
    fn counts_of_one_are_singular() {
        let one = Mechanism::FlowAgeing {
            flows: 1,
            rerouted: 1,
        };
        assert_eq!(mechanism(&one), "flow ageing re-routed 1 of 1 flow");
        let one = Mechanism::Unknown { decisions: 1 };
        assert_eq!(mechanism(&one), "1 decision");
    }

    #[test]
    fn a_run_without_a_choice_is_said_to_be_one() {
        assert_eq!(lcmp(&LcmpCounts::default()), NO_CHOICE);
        assert_eq!(hash(&HashCounts::default()), NO_CHOICE);
    }

    #[test]
    fn samples_have_their_lateness_and_decisions_their_age() {
        let counts = Sampling {
            samples: 1_000,
            late_samples: 10,
            decisions: 2_000,
            stale: 20,
            overdue_ns: Nanos::new(13_400),
        };
        insta::assert_snapshot!(sampling(&counts), @"10 of 1,000 samples of queue lengths taken late, 20 of 2,000 decisions used a sample older than its interval, by 13.4 µs at most");
        let buckets = Sampling {
            decisions: 0,
            stale: 0,
            ..counts
        };
        insta::assert_snapshot!(sampling(&buckets), @"10 of 1,000 samples of queue lengths taken late");
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
        insta::assert_snapshot!(tables(&quiet), @"flow tables: 12,345 packets forwarded by their flow's entry, 67 decisions (at most 400/s at a switch), at most 40 flows in a table");
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
        insta::assert_snapshot!(tables(&busy), @"flow tables: 12,345 packets forwarded by their flow's entry, 67 decisions (at most 400/s at a switch), at most 40 flows in a table, 4 flows evicted, 5 idle flows removed, 1 failover, 2 decisions by a fallback rule, 3 decisions with stale tables or queue samples, 6 restarts of agents, 7 decisions without a row");
    }

    #[test]
    fn a_failover_of_the_lab_has_both_times_and_the_reason() {
        let mut cut = Failover {
            links: vec!["dc1-dc2".to_owned(), "dc2-dc8".to_owned()],
            at_ns: Nanos::from_millis(60),
            ..Failover::default()
        };
        let sentence = |cut: &Failover| failovers("lcmp", cut);
        assert_eq!(sentence(&cut), "lcmp none");
        let evidence = |cut: &Failover| Evidence {
            policies: vec![PolicyEvidence {
                failovers: vec![cut.clone()],
                ..sample::evidence("lcmp")
            }],
            ..Evidence::default()
        };
        let span = FailoverSpan {
            first_ns: Nanos::new(20_000),
            last_ns: Nanos::new(600_000),
            lab_ns: None,
        };
        (cut.decisions, cut.span) = (1_004, Some(span));
        assert_eq!(failover_note(&evidence(&cut)), None);
        assert_eq!(sentence(&cut), "lcmp 1,004, after 20 µs to 600 µs");
        let one = Failover {
            decisions: 1,
            span: Some(FailoverSpan {
                last_ns: span.first_ns,
                ..span
            }),
            ..cut.clone()
        };
        assert_eq!(sentence(&one), "lcmp 1, after 20 µs");
        let lab_ns = Some((Nanos::from_millis(1), Nanos::from_millis(30)));
        cut.span = Some(FailoverSpan { lab_ns, ..span });
        assert!(failover_note(&evidence(&cut)).is_some());
        assert_eq!(
            sentence(&cut),
            "lcmp 1,004, after 1 ms to 30 ms of lab time, 20 µs to 600 µs of paper time"
        );
        assert_eq!(policy(&evidence(&cut).policies[0]), "9 decisions");
    }

    /// Of the policy's outages, the second has no unfinished flow.
    #[test]
    fn unfinished_flows_are_named_with_the_pairs_and_times_without_a_next_hop() {
        let outage = |from, to: Option<u64>| OutageInfo {
            from_ns: Nanos::from_millis(from),
            to_ns: to.map(Nanos::from_millis),
            pairs: 34,
            first_pairs: Vec::new(),
        };
        let hit = |unfinished| OutageFlows {
            flows: 7_000,
            unfinished,
        };
        let sentence = |flows: [u64; 3], outages: Vec<OutageInfo>, hits: &[u64]| {
            let [flows, stranded, pairs] = flows;
            let unfinished = UnfinishedFlows {
                flows,
                stranded,
                pairs,
            };
            let evidence = Evidence {
                outages,
                policies: vec![
                    PolicyEvidence {
                        outages: hits.iter().copied().map(hit).collect(),
                        unfinished: (stranded > 0).then_some(unfinished),
                        ..sample::evidence("lcmp")
                    },
                    sample::evidence("lcmp"),
                ],
                ..Evidence::default()
            };
            super::unfinished(&evidence)
        };
        let two = || vec![outage(5, Some(55)), outage(70, Some(90))];
        assert_eq!(
            sentence([3_653, 3_500, 34], two(), &[3_500, 0]),
            [
                "lcmp: 3,653 flows did not finish, 3,500 of them between 34 pairs of datacenters that had no next hop, \
                 for data or acknowledgements, from 5 ms to 55 ms"
            ]
        );
        assert_eq!(
            sentence([1, 1, 1], vec![outage(5, None)], &[1]),
            [
                "lcmp: 1 flow did not finish, 1 of them between 1 pair of datacenters that had no next hop, for data or \
                 acknowledgements, from 5 ms on"
            ]
        );
        assert_eq!(
            sentence([9, 8, 2], two(), &[8, 1]),
            [
                "lcmp: 9 flows did not finish, 8 of them between 2 pairs of datacenters that had no next hop, for data \
                 or acknowledgements, in 2 time spans, the first from 5 ms to 55 ms"
            ]
        );
        assert_eq!(sentence([3, 0, 0], two(), &[0, 0]), [""; 0]);
    }
}
