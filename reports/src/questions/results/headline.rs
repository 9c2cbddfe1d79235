//! Headline of a run: the policy with the lowest p99, its changes against the first policy, and its rank among all
//! policies.

use lab_records::{Grade, Reason};

use crate::{
    stats::{self, Estimate, Interval, Meaning, Statistic},
    summary::PolicySummary,
    text, words,
};

/// Inputs that the headline is computed from.
pub struct Headline<'a> {
    /// Verdict on the run: valid, doubtful or invalid.
    pub verdict: Grade,
    /// Reasons to distrust the run.
    pub reasons: &'a [Reason],
    /// Number of warnings that limit how far this run can rank policies.
    pub warnings: usize,
    /// Policies of the run; changes are computed against the first.
    pub policies: &'a [PolicySummary],
    /// Sorted slowdowns of each policy's finished flows, by policy and repetition.
    pub slowdowns: &'a [Vec<Vec<f64>>],
    /// True if the run has one draw of arrivals, or repeats the same flows, so that it predicts no other draw.
    pub is_one_draw: bool,
}

/// Ranking of the policies by one slowdown percentile.
struct Ranking {
    name: &'static str,
    /// Indices of the policies, from the lowest value to the highest.
    order: Vec<usize>,
    /// Indices of the other policies whose percentile is not shown to be above the lowest policy's.
    level: Vec<usize>,
}

impl Headline<'_> {
    /// Returns the headline in a few sentences.
    ///
    /// For a run that is not valid, the headline begins with the verdict and ranks no policy. If flows are too few for
    /// a percentile, the headline states the number needed. With one draw of arrivals, values only hold for this draw,
    /// and no policy is called better or worse. With several draws, a policy is called best only if, for every other
    /// policy, the confidence interval of the change shows that the other policy is worse.
    pub fn words(&self) -> String {
        if self.verdict != Grade::Valid {
            return self.not_valid();
        }
        let valid = self.valid();
        let p99 = self.ranking("p99");
        let p50 = self.ranking("p50");
        let rankings: Vec<&Ranking> = [&p99, &p50].into_iter().flatten().collect();
        let Some(first) = rankings.first() else {
            return format!("No statement: {}. {valid}", self.too_few());
        };
        if self.policies.len() == 1 {
            let values = rankings
                .iter()
                .map(|it| {
                    let value = self.value(0, it.name).unwrap_or_default();
                    format!("{} {}", it.name, text::slowdown(value))
                })
                .collect::<Vec<_>>()
                .join(", ");
            let draw = if self.is_one_draw {
                " in this draw"
            } else {
                ""
            };
            let label = &self.policies[0].policy;
            return format!("{label} is the only policy, with slowdown {values}{draw}. {valid}");
        }
        let best = first.order[0];
        let mut parts = Vec::new();
        if best > 0 {
            parts.push(self.against_first(best, &rankings));
        } else {
            parts.push(format!(
                "{}: no other policy has a lower {}",
                self.policies[0].policy, first.name
            ));
        }
        parts.push(self.places(best, &rankings));
        let mut sentences = vec![parts.join("; ") + "."];
        sentences.extend(self.next(first));
        if rankings.len() < 2 {
            sentences.push(format!("No statement on the p99: {}.", self.too_few()));
        }
        sentences.push(valid);
        let draw = if self.is_one_draw {
            "In this draw, "
        } else {
            ""
        };
        format!("{draw}{}", sentences.join(" "))
    }

    /// Returns the sentence on a valid run, with the number of warnings.
    fn valid(&self) -> String {
        match self.warnings {
            0 => "Valid.".to_owned(),
            1 => "Valid, with 1 warning about the ranking.".to_owned(),
            count => format!("Valid, with {count} warnings about the ranking."),
        }
    }

    fn not_valid(&self) -> String {
        let grade = match self.verdict {
            Grade::Invalid => "Invalid",
            Grade::Doubtful | Grade::Valid => "Doubtful",
        };
        let reason = match self.reasons {
            [] => String::new(),
            [only] => format!(": {}", words::reason(only)),
            [first, others @ ..] => format!(
                ": {}; and {}",
                words::reason(first),
                text::count(others.len(), "more reason")
            ),
        };
        format!("{grade} run, which ranks no policy{reason}.")
    }

    /// Describes the change of a policy's percentiles against the first policy.
    fn against_first(&self, policy: usize, rankings: &[&Ranking]) -> String {
        let base = &self.policies[0].policy;
        let mut parts = Vec::new();
        for ranking in rankings {
            let Some(change) = self.change([0, policy], ranking.name) else {
                continue;
            };
            let whose = if parts.is_empty() {
                format!("{base}'s")
            } else {
                String::new()
            };
            parts.push(in_words(ranking.name, change, &whose));
        }
        format!("{}: {}", self.policies[policy].policy, parts.join(", "))
    }

    /// Describes the rank of a policy among all policies, by each percentile.
    fn places(&self, policy: usize, rankings: &[&Ranking]) -> String {
        let best = if self.is_one_draw { "lowest" } else { "best" };
        let count = self.policies.len();
        let is_alone = |it: &&&Ranking| it.order[0] == policy && it.level.is_empty();
        if rankings.len() == 2 && rankings.iter().filter(is_alone).count() == 2 {
            return format!("{best} of {count} on both percentiles");
        }
        let place = |it: &&Ranking| {
            let name = it.name;
            let lowest = it.order[0];
            let level = [lowest].into_iter().chain(it.level.iter().copied());
            let others: Vec<usize> = level.clone().filter(|&other| other != policy).collect();
            match (level.clone().any(|one| one == policy), others.as_slice()) {
                (true, []) => format!("{best} of {count} on {name}"),
                (true, others) => format!("on {name} level with {}", self.labels(others)),
                (false, _) => format!("on {name} {} is {best}", self.policies[lowest].policy),
            }
        };
        let places: Vec<String> = rankings.iter().map(place).collect();
        places.join(", ")
    }

    /// Returns the sentence on the policies after the lowest; `None` if there are only two policies, or if the
    /// second-lowest policy is not shown to be above the lowest.
    fn next(&self, ranking: &Ranking) -> Option<String> {
        let next = *ranking.order.get(1).filter(|_| ranking.order.len() > 2)?;
        if ranking.level.contains(&next) {
            return None;
        }
        let others = ranking.order[2..].iter().copied();
        let level = others.filter(|&other| !self.is_above([next, other], ranking.name));
        let level: Vec<usize> = [next].into_iter().chain(level).collect();
        let labels = self.labels(&level);
        Some(match level.len() {
            1 => format!("{labels} is second by {}.", ranking.name),
            _ => format!(
                "Next by {} are {labels}, level with each other.",
                ranking.name
            ),
        })
    }

    /// Ranks the policies by a percentile; `None` if a policy has too few flows for it.
    fn ranking(&self, name: &'static str) -> Option<Ranking> {
        let value = |policy: usize| Some((self.value(policy, name)?, policy));
        let mut values: Vec<(f64, usize)> =
            (0..self.policies.len()).map(value).collect::<Option<_>>()?;
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let order: Vec<usize> = values.into_iter().map(|(_, policy)| policy).collect();
        let (&lowest, others) = order.split_first()?;
        let is_level = |other: &usize| !self.is_above([lowest, *other], name);
        Some(Ranking {
            name,
            level: others.iter().copied().filter(is_level).collect(),
            order,
        })
    }

    fn value(&self, policy: usize, name: &str) -> Option<f64> {
        let slowdown = self.policies[policy].slowdown?;
        let estimate = if name == "p99" {
            slowdown.p99
        } else {
            slowdown.p50
        };
        estimate.map(|it| it.value)
    }

    fn change(&self, [base, other]: [usize; 2], name: &str) -> Option<Estimate> {
        let change = stats::change(&self.slowdowns[base], &self.slowdowns[other]);
        if name == "p99" {
            change.p99
        } else {
            change.p50
        }
    }

    /// Returns true if the second policy of the pair is shown to be above the first. With several draws, the confidence
    /// interval of the change decides; with one draw, at least 1 % is needed, because smaller differences count as
    /// none.
    fn is_above(&self, pair: [usize; 2], name: &str) -> bool {
        let change = self.change(pair, name);
        change.is_some_and(|it| match it.meaning() {
            Some(meaning) => meaning == Meaning::Worse,
            None => it.value >= stats::SAME,
        })
    }

    fn labels(&self, policies: &[usize]) -> String {
        let labels: Vec<&str> = policies
            .iter()
            .map(|&it| &*self.policies[it].policy)
            .collect();
        match labels.as_slice() {
            [others @ .., last] if !others.is_empty() => {
                format!("{} and {last}", others.join(", "))
            }
            labels => labels.concat(),
        }
    }

    fn too_few(&self) -> String {
        let counts = self
            .slowdowns
            .iter()
            .map(|of| of.iter().map(Vec::len).sum::<usize>());
        let fewest = counts.min().unwrap_or(0);
        let [p50, p99] =
            [Statistic::P50, Statistic::P99].map(|it| text::number(it.min_values() as u64));
        let verb = if fewest == 1 { "is" } else { "are" };
        format!(
            "{} {verb} too few: a p50 needs {p50} and a p99 {p99}",
            text::count(fewest, "flow")
        )
    }
}

/// Describes a change, such as `p99 61 % below ecmp's [58, 63]`.
fn in_words(name: &str, change: Estimate, whose: &str) -> String {
    let whose = if whose.is_empty() {
        String::new()
    } else {
        format!(" {whose}")
    };
    let signed = text::change(change.value);
    let size = signed.trim_start_matches(['−', '+', '±']);
    let direction = if change.value < 0.0 { "below" } else { "above" };
    let Some(interval) = change.interval else {
        return if change.value.abs() < stats::SAME {
            format!("{name} within 1 % of{}", or_its(&whose))
        } else {
            format!("{name} {size} {direction}{whose}")
        };
    };
    match change.meaning() {
        Some(Meaning::Same) => format!("{name} within 1 % of{}", or_its(&whose)),
        Some(Meaning::Better | Meaning::Worse) => {
            format!("{name} {size} {direction}{whose} {}", bounds(interval))
        }
        Some(Meaning::Unknown) | None => format!(
            "{name} not shown to differ from{} {}",
            or_its(&whose),
            text::change_interval(interval)
        ),
    }
}

fn or_its(whose: &str) -> &str {
    if whose.is_empty() { " its" } else { whose }
}

/// Formats an interval that does not contain zero, without signs and with the smaller change first, such as `[58, 63]`.
fn bounds(Interval { low, high }: Interval) -> String {
    let (low, high) = if high < 0.0 {
        (-high, -low)
    } else {
        (low, high)
    };
    let text = text::change_interval(Interval { low, high });
    text.replace(['+', '±'], "")
}

#[cfg(test)]
mod tests {
    use lab_records::ReasonCode;

    use super::*;
    use crate::stats::change;

    /// Returns one repetition of 1,000 flows for each pair of p50 and p99.
    fn draws(pairs: &[(f64, f64)]) -> Vec<Vec<f64>> {
        let draw = |&(p50, p99): &(f64, f64)| {
            let mut flows = vec![p50; 900];
            flows.extend(vec![p99; 100]);
            flows
        };
        pairs.iter().map(draw).collect()
    }

    fn asked(verdict: Grade, policies: &[(&str, Vec<Vec<f64>>)]) -> String {
        let slowdowns: Vec<_> = policies.iter().map(|(_, of)| of.clone()).collect();
        let summaries: Vec<PolicySummary> = policies
            .iter()
            .map(|(label, of)| PolicySummary {
                policy: (*label).to_owned(),
                departures: Vec::new(),
                flows: 0,
                finished: 0,
                unfinished: 0,
                below_one: 0,
                slowdown: stats::slowdowns(of, &[]),
                change: Some(change(&slowdowns[0], of)),
            })
            .collect();
        let reasons = [(ReasonCode::UnfinishedFlows, 3), (ReasonCode::LateFlows, 1)];
        Headline {
            verdict,
            reasons: &reasons.map(|(code, count)| Reason::part(code, count, 1_000).graded(verdict)),
            warnings: 0,
            policies: &summaries,
            slowdowns: &slowdowns,
            is_one_draw: slowdowns[0].len() < 2,
        }
        .words()
    }

    /// Returns the headline of a valid run, given p50 and p99 in each repetition of each policy.
    fn ranked(policies: &[(&str, &[(f64, f64)])]) -> String {
        let policies: Vec<_> = policies
            .iter()
            .map(|(label, of)| (*label, draws(of)))
            .collect();
        asked(Grade::Valid, &policies)
    }

    /// The ratios of the p99 are 19/50, 20/50 and 21/50, with a mean of −60 %. Their logarithms are −0.968, −0.916 and
    /// −0.868, so s = 0.0500, and the half width is 4.303 · 0.0500 / √3 = 0.1244. The pooled p99 is the 2,970th of
    /// 3,000 values, of which 100 are 21, so its change is 21/50, or −58 %. The bounds are 0.42 · e^−0.1244 − 1 =
    /// −0.629 and 0.42 · e^0.1244 − 1 = −0.524.
    #[test]
    fn several_draws_say_by_how_much_and_the_place() {
        let found = ranked(&[
            ("ecmp", &[(10.0, 50.0), (10.0, 50.0), (10.0, 50.0)]),
            ("rm-beta", &[(5.0, 25.0), (5.0, 25.0), (5.0, 25.0)]),
            ("lcmp", &[(4.0, 19.0), (4.0, 20.0), (4.0, 21.0)]),
        ]);
        assert_eq!(
            found,
            "lcmp: p99 58 % below ecmp's [52, 63], p50 60 % below [60, 60]; best of 3 on both percentiles. \
             rm-beta is second by p99. Valid."
        );
    }

    #[test]
    fn a_policy_that_is_not_shown_to_be_worse_is_level() {
        let found = ranked(&[
            ("ecmp", &[(10.0, 50.0), (10.0, 50.0), (10.0, 50.0)]),
            ("rm-beta", &[(4.0, 19.0), (4.0, 21.0), (4.0, 22.0)]),
            ("lcmp", &[(4.0, 20.0), (4.0, 20.0), (4.0, 20.0)]),
        ]);
        assert_eq!(
            found,
            "lcmp: p99 60 % below ecmp's [60, 60], p50 60 % below [60, 60]; on p99 level with rm-beta, on p50 \
             level with rm-beta. Valid."
        );
    }

    #[test]
    fn one_draw_has_no_interval_and_nothing_better() {
        let found = ranked(&[
            ("ecmp", &[(10.0, 50.0)]),
            ("wcmp", &[(20.0, 50.2)]),
            ("lcmp", &[(4.0, 20.0)]),
        ]);
        assert_eq!(
            found,
            "In this draw, lcmp: p99 60 % below ecmp's, p50 60 % below; lowest of 3 on both percentiles. Next by p99 \
             are ecmp and wcmp, level with each other. Valid."
        );
        assert!(!found.contains("better") && !found.contains("best"));
    }

    #[test]
    fn a_first_policy_that_nothing_is_below_is_the_answer() {
        let found = ranked(&[("ecmp", &[(4.0, 20.0)]), ("lcmp", &[(3.0, 30.0)])]);
        assert_eq!(
            found,
            "In this draw, ecmp: no other policy has a lower p99; lowest of 2 on p99, on p50 lcmp is lowest. Valid."
        );
    }

    #[test]
    fn warnings_are_counted() {
        let summary = |warnings| {
            Headline {
                verdict: Grade::Valid,
                reasons: &[],
                warnings,
                policies: &[],
                slowdowns: &[],
                is_one_draw: true,
            }
            .valid()
        };
        assert_eq!(summary(0), "Valid.");
        assert_eq!(summary(1), "Valid, with 1 warning about the ranking.");
        assert_eq!(summary(3), "Valid, with 3 warnings about the ranking.");
    }

    #[test]
    fn few_flows_make_no_statement_and_a_run_that_is_not_valid_says_so_first() {
        let few = vec![vec![1.0; 12]];
        assert_eq!(
            asked(Grade::Valid, &[("ecmp", few.clone()), ("lcmp", few)]),
            "No statement: 12 flows are too few: a p50 needs 20 and a p99 1,000. Valid."
        );
        let some = vec![vec![2.0; 44]];
        assert_eq!(
            asked(
                Grade::Valid,
                &[("ecmp", some.clone()), ("lcmp", vec![vec![1.0; 44]])]
            ),
            "In this draw, lcmp: p50 50 % below ecmp's; lowest of 2 on p50. No statement on the p99: 44 flows \
             are too few: a p50 needs 20 and a p99 1,000. Valid."
        );
        let found = asked(Grade::Doubtful, &[("ecmp", some)]);
        assert_eq!(
            found,
            "Doubtful run, which ranks no policy: 3 of 1,000 flows did not finish; and 1 more reason."
        );
    }
}
