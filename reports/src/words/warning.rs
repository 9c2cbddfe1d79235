//! Sentences, without their full stops, for warnings about a ranking.

use lab_records::{BusyLink, OfferedLoad, Silence, Warning};
use lab_units::show::{commas, counted};

use super::NO_CHOICE;
use crate::text::{about_percent, to_float};

/// Returns the sentences for the warnings of a run. Of the datacenters that offer little load only the first few have a
/// sentence each, as a large network can have hundreds.
pub fn warnings(all: &[Warning]) -> Vec<String> {
    let is_little_load = |warning: &&Warning| matches!(warning, Warning::LittleLoad(_));
    let (little, others): (Vec<&Warning>, Vec<&Warning>) = all.iter().partition(is_little_load);
    let named = little.iter().take(SHOWN_LOADS);
    let mut sentences: Vec<String> = named.copied().map(warning).collect();
    match little.len().saturating_sub(SHOWN_LOADS) {
        0 => {}
        1 => sentences.push(
            "load: one more datacenter offers much less than the workload requests".to_owned(),
        ),
        more => sentences.push(format!(
            "load: {more} more datacenters offer much less than the workload requests"
        )),
    }
    sentences.extend(others.into_iter().map(warning));
    sentences
}

/// Maximum number of datacenters with a sentence of their own on little load.
const SHOWN_LOADS: usize = 8;

/// Returns the sentence for a warning.
fn warning(warning: &Warning) -> String {
    match warning {
        Warning::LittleLoad(OfferedLoad {
            dc,
            requested,
            offered,
        }) => format!(
            "load: `{dc}` offers {} of its capacity where the workload requests {}",
            about_percent(*offered),
            about_percent(*requested)
        ),
        Warning::ShortArrivals { covered } => format!(
            "load: flows start in the first {} of the duration",
            about_percent(*covered)
        ),
        Warning::NoOverlap { policy } => {
            format!("{policy}: no two flows were in flight at the same time")
        }
        Warning::LittleUse { policy, link } => {
            let BusyLink {
                from_dc,
                to_dc,
                utilisation,
            } = link;
            format!(
                "{policy}: the busiest link, {from_dc} to {to_dc}, had a utilisation of {} while flows started",
                about_percent(*utilisation)
            )
        }
        Warning::LateSamples { policy, sampling } => format!(
            "{policy}: {} of {} of queue lengths ({}) were late by an interval or more: the CPU was too slow for them",
            commas(sampling.late_samples),
            counted(sampling.samples, "sample"),
            about_percent(to_float(sampling.late_samples) / to_float(sampling.samples.max(1)))
        ),
        Warning::Silent { policy, silence } => format!("{policy}: {}", silent(*silence)),
    }
}

fn silent(silence: Silence) -> String {
    match silence {
        Silence::Congestion { decisions } => cost(
            "C_cong",
            decisions,
            "congestion awareness",
            "a higher `load` or a longer `duration` builds queues; a shorter `sample_interval` detects them sooner",
        ),
        Silence::Path { decisions } => cost(
            "C_path",
            decisions,
            "path quality",
            "use candidates whose delays or rates differ more, or a `max_delay` that gives them different scores",
        ),
        Silence::OneNextHop { decisions } => format!(
            "all {} chose the same next hop: this run does not test the spread of flows",
            counted(decisions, "decision")
        ),
        Silence::UnfairHash { p_value } => format!(
            "the next hops' shares of flows differ from their shares of buckets by more than chance (p {p_value:.1e}): \
             the hash does not spread these flows"
        ),
        Silence::FlowAgeing { flows } => format!(
            "flow ageing re-routed 0 of {}: this run tests only paths of minimum delay",
            counted(flows, "flow")
        ),
        Silence::Splits {
            after_first,
            decisions,
        } => {
            let tests = if after_first == 0 {
                "does not test"
            } else {
                "hardly tests"
            };
            format!(
                "{} of {} came after a split that changed a table: this run {tests} traffic engineering",
                commas(after_first),
                counted(decisions, "decision")
            )
        }
    }
}

fn cost(cost: &str, decisions: u64, about: &str, hint: &str) -> String {
    match decisions {
        0 => format!("{NO_CHOICE}: this run does not test {about}"),
        decisions => format!(
            "{cost} changed 0 of {}: this run does not test {about} (hint: {hint})",
            counted(decisions, "decision")
        ),
    }
}

#[cfg(test)]
mod tests {
    use lab_records::Sampling;

    use super::*;

    #[test]
    fn only_the_first_datacenters_with_little_load_are_named() {
        let little = |number: u32| {
            Warning::LittleLoad(OfferedLoad {
                dc: format!("dc{number}"),
                requested: 0.5,
                offered: 0.1,
            })
        };
        let mut all: Vec<Warning> = (1..=8).map(little).collect();
        all.push(Warning::ShortArrivals { covered: 0.5 });
        assert_eq!(warnings(&all).len(), 9);
        all.push(little(9));
        assert_eq!(warnings(&all).len(), 10);
        let said = "load: one more datacenter offers much less than the workload requests";
        assert_eq!(warnings(&all)[8], said);
        all.push(little(10));
        let said = "load: 2 more datacenters offer much less than the workload requests";
        assert_eq!(warnings(&all)[8], said);
    }

    #[test]
    fn every_warning_is_a_sentence() {
        let policy = |name: &str| name.to_owned();
        let silent = |name: &str, silence| Warning::Silent {
            policy: name.to_owned(),
            silence,
        };
        let warnings = [
            Warning::LittleLoad(OfferedLoad {
                dc: "dc1".to_owned(),
                requested: 0.3,
                offered: 0.02,
            }),
            Warning::ShortArrivals { covered: 0.088 },
            Warning::LittleUse {
                policy: policy("idle"),
                link: BusyLink {
                    from_dc: "dc1".to_owned(),
                    to_dc: "dc2".to_owned(),
                    utilisation: 0.013,
                },
            },
            Warning::NoOverlap {
                policy: policy("alone"),
            },
            Warning::LateSamples {
                policy: policy("lcmp"),
                sampling: Sampling {
                    samples: 999,
                    late_samples: 10,
                    ..Sampling::default()
                },
            },
            silent("lcmp", Silence::Congestion { decisions: 44 }),
            silent("lcmp", Silence::Congestion { decisions: 0 }),
            silent("lcmp", Silence::Path { decisions: 44 }),
            silent("ecmp", Silence::OneNextHop { decisions: 2_000 }),
            silent("wcmp", Silence::UnfairHash { p_value: 1e-9 }),
            silent("ucmp", Silence::FlowAgeing { flows: 44 }),
            silent(
                "te-100ms",
                Silence::Splits {
                    after_first: 0,
                    decisions: 44,
                },
            ),
            silent(
                "redte",
                Silence::Splits {
                    after_first: 1,
                    decisions: 1_044,
                },
            ),
        ];
        insta::assert_snapshot!(warnings.each_ref().map(warning).join("\n"));
    }
}
