//! The paper's major claims, the rules by which they are judged, and verdicts.
//!
//! A claim is a list of comparisons of LCMP with another policy; a comparison is a relative change, below
//! zero if LCMP does better. It shows the claim if LCMP is better by at least 5 % and, where flows are
//! at hand, the 95 % interval of the change lies below zero. It is contrary if the same holds the other way
//! round. A claim holds if all its comparisons show it, holds partly if at least half do, and does not hold
//! otherwise; it cannot be told if more than half are missing, or if all others show it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    catalogue::{Case, Figure, LCMP},
    measured::Values,
    variant::Source,
};

/// A claim of the paper's artifact appendix.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// Name: `C1`.
    pub id: &'static str,
    /// Sentence of the paper.
    pub sentence: &'static str,
    /// Figures that it stands on.
    pub figures: &'static [Figure],
    /// Comparisons by which it is judged.
    pub rule: Rule,
}

/// Comparisons of a claim.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rule {
    /// p50 and p99 of slowdowns, each a comparison, in every case and against every baseline.
    Slowdowns,
    /// Imbalance and largest utilisation of the links, each a comparison, against every baseline.
    Balance,
    /// Each variant without a part or with other weights is a comparison: p50 or p99 is better with LCMP's
    /// own, and neither is worse.
    Parts,
}

impl Rule {
    /// Returns the rule in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Slowdowns => {
                "in every case and against every baseline, p50 and p99 (means over 20 bins of sizes) are \
                 lower by at least 5 %, and the 95 % interval of the change lies below zero"
            }
            Self::Balance => {
                "against every baseline, the coefficient of variation of the utilisation of DC1's links \
                 and that of the busiest are lower by at least 5 %"
            }
            Self::Parts => {
                "against every variant, p50 or p99 is lower by at least 5 % with the full cost and the \
                 default weights, and neither is higher by as much"
            }
        }
    }
}

/// The paper's claims, as in its artifact appendix.
pub const CLAIMS: &[Claim] = &[
    Claim {
        id: "C1",
        sentence: "LCMP significantly reduces flow completion time (FCT) slowdown compared to ECMP and \
                   UCMP across different traffic loads.",
        figures: &[Figure::Fig5, Figure::Fig7, Figure::Fig8],
        rule: Rule::Slowdowns,
    },
    Claim {
        id: "C2",
        sentence: "LCMP effectively balances link utilization and reduces congestion in long-haul \
                   inter-datacenter links.",
        figures: &[Figure::Fig1],
        rule: Rule::Balance,
    },
    Claim {
        id: "C3",
        sentence: "LCMP is robust across different traffic patterns and workloads.",
        figures: &[Figure::Fig9],
        rule: Rule::Slowdowns,
    },
    Claim {
        id: "C4",
        sentence: "LCMP works effectively with different RDMA congestion control algorithms.",
        figures: &[Figure::Fig10],
        rule: Rule::Slowdowns,
    },
    Claim {
        id: "C5",
        sentence: "Each component of LCMP's distributed cost function contributes to overall performance.",
        figures: &[Figure::Fig11],
        rule: Rule::Parts,
    },
    Claim {
        id: "C6",
        sentence: "LCMP maintains its performance advantages in large-scale deployments.",
        figures: &[Figure::Fig7, Figure::Fig8],
        rule: Rule::Slowdowns,
    },
];

/// Verdict on a claim.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All comparisons show it.
    Holds,
    /// At least half of the comparisons show it.
    HoldsPartly,
    /// Less than half of the comparisons show it.
    DoesNotHold,
    /// Too few comparisons could be made.
    CannotTell,
}

impl Verdict {
    /// Returns the words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::HoldsPartly => "holds partly",
            Self::DoesNotHold => "does not hold",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// A claim judged by one source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// Comparisons that show the claim.
    pub shown: usize,
    /// Comparisons that show neither.
    pub undecided: Vec<String>,
    /// Comparisons that show the contrary.
    pub contrary: Vec<String>,
    /// Comparisons that could not be made.
    pub missing: Vec<String>,
    /// True if a run was short, so that the verdict is weak.
    pub is_weak: bool,
}

/// A comparison of LCMP with another policy.
#[derive(Clone, Debug, PartialEq)]
struct Comparison {
    /// Name: `fig5 30 % p50 against ecmp`.
    name: String,
    /// Changes, below zero if LCMP does better, each with its interval; a comparison with several shows the
    /// claim if one does and none is contrary. None if it could not be made.
    changes: Vec<Option<Change>>,
}

/// A relative change and, where it is known, its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Change {
    value: f64,
    interval: Option<[f64; 2]>,
}

/// What a comparison says about a claim.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Support {
    Shown,
    Undecided,
    Contrary,
    Missing,
}

impl Change {
    fn support(self) -> Support {
        let [low, high] = self.interval.unwrap_or([self.value; 2]);
        match () {
            () if self.value <= -MIN_CHANGE && high < 0.0 => Support::Shown,
            () if self.value >= MIN_CHANGE && low > 0.0 => Support::Contrary,
            () => Support::Undecided,
        }
    }
}

impl Comparison {
    fn support(&self) -> Support {
        let each = self.changes.iter();
        let each = each.map(|change| change.map_or(Support::Missing, Change::support));
        let each: Vec<Support> = each.collect();
        // The first that is found counts.
        let ranked = [Support::Missing, Support::Contrary, Support::Shown];
        let found = ranked.into_iter().find(|support| each.contains(support));
        found.unwrap_or(Support::Undecided)
    }

    fn words(&self) -> String {
        let change = |change: &Change| signed_percent(change.value);
        let changes: Vec<String> = self.changes.iter().flatten().map(change).collect();
        format!("{} {}", self.name, changes.join(" / "))
            .trim_end()
            .to_owned()
    }
}

impl Claim {
    /// Judges the claim by the values that `source` has of its cases; none for a case without values.
    #[must_use]
    pub fn judge(&self, source: Source, cases: &[(&Case, Option<&Values>)]) -> Judged {
        let comparisons = cases.iter().flat_map(|(case, values)| {
            let empty = Values::default();
            self.comparisons(source, case, values.unwrap_or(&empty))
        });
        judge(&comparisons.collect::<Vec<_>>())
    }

    fn comparisons(&self, source: Source, case: &Case, values: &Values) -> Vec<Comparison> {
        let of = |base: &str, what: &str| format!("{}{what} against {base}", case.title());
        let against = source.baselines(case.against);
        let each = against.iter().flat_map(|base| match self.rule {
            Rule::Slowdowns => {
                let [p50, p99] = slowdown_changes(values, base);
                vec![
                    Comparison {
                        name: of(base, " p50"),
                        changes: vec![p50],
                    },
                    Comparison {
                        name: of(base, " p99"),
                        changes: vec![p99],
                    },
                ]
            }
            Rule::Parts => vec![Comparison {
                name: of(base, ""),
                changes: slowdown_changes(values, base).to_vec(),
            }],
            Rule::Balance => {
                let [imbalance, busiest] = balance_changes(values, base);
                vec![
                    Comparison {
                        name: of(base, " imbalance"),
                        changes: vec![imbalance],
                    },
                    Comparison {
                        name: of(base, " busiest link"),
                        changes: vec![busiest],
                    },
                ]
            }
        });
        each.collect()
    }
}

fn judge(comparisons: &[Comparison]) -> Judged {
    let named = |wanted: Support| -> Vec<String> {
        let found = comparisons.iter().filter(|it| it.support() == wanted);
        found.map(Comparison::words).collect()
    };
    let shown = named(Support::Shown).len();
    let [undecided, contrary, missing] =
        [Support::Undecided, Support::Contrary, Support::Missing].map(named);
    let made = comparisons.len() - missing.len();
    let verdict = match () {
        () if made * 2 < comparisons.len() || made == 0 => Verdict::CannotTell,
        () if shown == made && !missing.is_empty() => Verdict::CannotTell,
        () if shown == made => Verdict::Holds,
        () if shown * 2 >= made => Verdict::HoldsPartly,
        () => Verdict::DoesNotHold,
    };
    Judged {
        verdict,
        shown,
        undecided,
        contrary,
        missing,
        is_weak: false,
    }
}

impl Judged {
    /// Returns the reason in words.
    #[must_use]
    pub fn reason(&self) -> String {
        let all = self.shown + self.undecided.len() + self.contrary.len() + self.missing.len();
        if self.missing.len() == all {
            return format!("none of {all} comparisons could be made");
        }
        let mut text = format!("{} of {all} comparisons show it", self.shown);
        for (heading, names) in [
            ("contrary", &self.contrary),
            ("not shown", &self.undecided),
            ("missing", &self.missing),
        ] {
            if !names.is_empty() {
                let first: Vec<&str> = names.iter().take(MAX_NAMED).map(String::as_str).collect();
                text += &format!("; {heading} ({}): {}", names.len(), first.join(", "));
                if names.len() > MAX_NAMED {
                    text += ", …";
                }
            }
        }
        text
    }
}

/// Returns the changes of p50 and p99 under LCMP against `base`.
fn slowdown_changes(values: &Values, base: &str) -> [Option<Change>; 2] {
    let of = |policy: &str| {
        let slowdowns = values.slowdowns.get(policy)?;
        Some([Some(slowdowns.p50.mean), slowdowns.p99.map(|p99| p99.mean)])
    };
    let (Some(lcmp), Some(other)) = (of(LCMP), of(base)) else {
        return [None; 2];
    };
    let intervals = values.intervals.get(base);
    [0, 1].map(|at| {
        Some(Change {
            value: lcmp[at]? / other[at]? - 1.0,
            interval: intervals.map(|both| both[at]),
        })
    })
}

/// Returns the changes of the links' imbalance and of the busiest link's utilisation.
fn balance_changes(values: &Values, base: &str) -> [Option<Change>; 2] {
    let of = |policy: &str| balance(values.utilisation.get(policy)?);
    let (Some(lcmp), Some(other)) = (of(LCMP), of(base)) else {
        return [None; 2];
    };
    [0, 1].map(|at| {
        Some(Change {
            value: lcmp[at] / other[at] - 1.0,
            interval: None,
        })
    })
}

/// Returns the coefficient of variation of the links' utilisation, and the largest; none for idle links.
#[expect(clippy::cast_precision_loss, reason = "a datacenter has few links")]
fn balance(links: &BTreeMap<String, f64>) -> Option<[f64; 2]> {
    let count = links.len() as f64;
    let mean = links.values().sum::<f64>() / count;
    let variance = links.values().map(|it| (it - mean).powi(2)).sum::<f64>() / count;
    let largest = links.values().copied().fold(0.0, f64::max);
    (largest > 0.0).then(|| [variance.sqrt() / mean, largest])
}

/// Returns a change in percent, with its sign.
#[must_use]
pub fn signed_percent(change: f64) -> String {
    let percent = format!("{:.1}", change.abs() * 100.0);
    match (&*percent, change < 0.0) {
        ("0.0", _) => "0 %".to_owned(),
        (percent, true) => format!("−{percent} %"),
        (percent, false) => format!("+{percent} %"),
    }
}

/// Smallest relative change that counts.
pub const MIN_CHANGE: f64 = 0.05;

/// Number of comparisons that a reason names of each kind.
const MAX_NAMED: usize = 4;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{CASES, published::tests::of_repository};

    fn published_verdict(id: &str) -> Judged {
        let published = of_repository();
        let claim = CLAIMS.iter().find(|claim| claim.id == id).unwrap();
        let cases = CASES
            .iter()
            .filter(|case| claim.figures.contains(&case.figure));
        let values: Vec<_> = cases
            .map(|case| (case, Values::published(case, &published)))
            .collect();
        let cases: Vec<_> = values
            .iter()
            .map(|(case, values)| (*case, values.as_ref()))
            .collect();
        claim.judge(Source::Published, &cases)
    }

    /// The published tables alone: large networks are at odds with the text.
    #[test]
    fn verdicts_of_the_published_data() {
        let verdicts = CLAIMS
            .iter()
            .map(|claim| (claim.id, published_verdict(claim.id).verdict));
        let expected = [
            ("C1", Verdict::HoldsPartly),
            ("C2", Verdict::HoldsPartly),
            // Hadoop's outputs were not published, and WebSearch's medians are equal.
            ("C3", Verdict::HoldsPartly),
            ("C4", Verdict::Holds),
            ("C5", Verdict::Holds),
            ("C6", Verdict::DoesNotHold),
        ];
        assert_eq!(verdicts.collect::<Vec<_>>(), expected);
        let contrary = published_verdict("C6").contrary;
        let expected = "fig8 50 % p99 against ucmp-artifact +150.2 %";
        assert!(contrary.contains(&expected.to_owned()), "{contrary:?}");
        let contrary = published_verdict("C2").contrary;
        assert_eq!(
            contrary,
            ["fig1 30 % busiest link against ucmp-artifact +16.2 %"]
        );
    }

    fn comparison(changes: &[Option<f64>]) -> Comparison {
        let change = |value: &Option<f64>| {
            value.map(|value| Change {
                value,
                interval: None,
            })
        };
        Comparison {
            name: String::new(),
            changes: changes.iter().map(change).collect(),
        }
    }

    #[test]
    fn a_change_counts_from_five_percent_and_with_its_interval() {
        let support = |value, interval| Change { value, interval }.support();
        assert_eq!(support(-0.05, None), Support::Shown);
        assert_eq!(support(-0.049, None), Support::Undecided);
        assert_eq!(support(0.05, None), Support::Contrary);
        assert_eq!(support(-0.3, Some([-0.5, -0.01])), Support::Shown);
        assert_eq!(support(-0.3, Some([-0.5, 0.01])), Support::Undecided);
        assert_eq!(support(0.3, Some([-0.1, 0.5])), Support::Undecided);
    }

    #[test]
    fn a_part_counts_if_one_percentile_is_better_and_none_worse() {
        let support = |p50, p99| comparison(&[Some(p50), Some(p99)]).support();
        assert_eq!(support(-0.2, 0.0), Support::Shown);
        assert_eq!(support(-0.2, 0.2), Support::Contrary);
        assert_eq!(support(0.01, 0.0), Support::Undecided);
        assert_eq!(comparison(&[Some(-0.2), None]).support(), Support::Missing);
    }

    #[test]
    fn nothing_and_too_little_cannot_tell() {
        assert_eq!(judge(&[]).verdict, Verdict::CannotTell);
        let (shown, not, none) = (Some(-0.2), Some(0.0), None);
        let verdict = |changes: &[Option<f64>]| {
            judge(
                &changes
                    .iter()
                    .map(|it| comparison(&[*it]))
                    .collect::<Vec<_>>(),
            )
            .verdict
        };
        assert_eq!(verdict(&[shown, none]), Verdict::CannotTell);
        assert_eq!(verdict(&[shown, not, none]), Verdict::HoldsPartly);
        assert_eq!(verdict(&[not, none, none]), Verdict::CannotTell);
        assert_eq!(verdict(&[shown, not, not]), Verdict::DoesNotHold);
    }

    #[test]
    fn even_links_are_balanced_and_idle_ones_say_nothing() {
        let links = |percent: &[f64]| {
            let named = percent.iter().enumerate();
            named
                .map(|(link, percent)| (link.to_string(), *percent))
                .collect()
        };
        assert_eq!(balance(&links(&[10.0, 10.0])), Some([0.0, 10.0]));
        assert_eq!(balance(&links(&[20.0, 0.0])), Some([1.0, 20.0]));
        assert_eq!(balance(&links(&[0.0, 0.0])), None);
    }

    proptest! {
        /// A claim never gets a better verdict by a comparison that does not show it.
        #[test]
        fn a_comparison_that_fails_never_helps(
            changes in prop::collection::vec(-0.5f64..0.5, 1..20),
            worse in -0.049f64..0.5,
        ) {
            let rank = |verdict| match verdict {
                Verdict::Holds => 2,
                Verdict::HoldsPartly => 1,
                Verdict::DoesNotHold | Verdict::CannotTell => 0,
            };
            let mut all: Vec<_> = changes.iter().map(|it| comparison(&[Some(*it)])).collect();
            let before = judge(&all);
            all.push(comparison(&[Some(worse)]));
            let after = judge(&all);
            prop_assert!(rank(after.verdict) <= rank(before.verdict));
            prop_assert_eq!(after.shown, before.shown);
            prop_assert_ne!(after.verdict, Verdict::Holds);
        }
    }
}
