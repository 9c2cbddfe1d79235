//! The paper's major claims, the rules for judging them, and verdicts.
//!
//! A claim is a list of comparisons between LCMP and another policy. Each comparison is a relative change, which is
//! negative if LCMP is better. A comparison supports the claim if LCMP is better by at least 5 %, or by the smallest
//! reduction that the paper's text states if that is less; if the run has repetitions, the 95 % interval of the
//! change must also be below zero. It contradicts the claim if the same holds in the opposite direction. Where the
//! text states that a value is unchanged, a comparison supports this if LCMP is not worse by 5 %. Cases and values
//! that the text does not mention are not compared, so a run with the text's numbers satisfies every claim. A claim
//! holds if all its comparisons support it, holds partly if at least half do, and does not hold otherwise. No verdict
//! is possible if more than half of the comparisons are missing, or if some are missing and all others support the
//! claim.
//!
//! A claim is judged against the policies whose values the authors published. RedTE runs with weights of our own,
//! trained by the published method, because the authors' weights are not public, and has a separate verdict.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    catalogue::{Case, Figure, LCMP, REDTE},
    measured::CaseValues,
    published::{Published, TextRow},
    variant::Source,
};

/// Claim from the paper's artifact appendix.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// Name of the claim, such as `C1`.
    pub id: &'static str,
    /// Sentence of the paper that states the claim.
    pub sentence: &'static str,
    /// Figures that the claim is based on.
    pub figures: &'static [Figure],
    /// Rule that selects and judges the comparisons.
    pub rule: ClaimRule,
}

/// Rule that selects and judges the comparisons of a claim.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ClaimRule {
    /// Compares p50 and p99 of the slowdowns separately, in every case that the paper's text mentions and against every
    /// baseline.
    Slowdowns,
    /// Compares the imbalance and the largest utilisation of the links separately, against every baseline.
    Balance,
    /// Makes one comparison for each LCMP variant without a cost term or with other weights: LCMP must be better in p50
    /// or p99 and worse in neither.
    Parts,
}

impl ClaimRule {
    /// Returns the rule as text for the report.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Slowdowns => {
                "in every case that the text mentions and against every baseline, p50 and p99 (means over 20 \
                 bins of sizes) are lower by at least 5 % or, if the text states a smaller change, by at least \
                 that change; with several repetitions, the 95 % interval must also lie below zero; a value \
                 that the text calls unchanged is not higher by 5 % or more; a value that the text does not \
                 state is not compared"
            }
            Self::Balance => {
                "against every baseline, the coefficient of variation of the utilisation of DC1's links \
                 and the utilisation of the busiest link are lower by at least 5 %"
            }
            Self::Parts => {
                "against every variant, p50 or p99 is lower by at least 5 % with the full cost and the \
                 default weights, and neither is higher by at least 5 %"
            }
        }
    }
}

/// Claims of the paper, as listed in its artifact appendix.
pub const CLAIMS: &[Claim] = &[
    Claim {
        id: "C1",
        sentence: "LCMP significantly reduces flow completion time (FCT) slowdown compared to ECMP and \
                   UCMP across different traffic loads.",
        figures: &[Figure::Fig5, Figure::Fig7, Figure::Fig8],
        rule: ClaimRule::Slowdowns,
    },
    Claim {
        id: "C2",
        sentence: "LCMP effectively balances link utilization and reduces congestion in long-haul \
                   inter-datacenter links.",
        figures: &[Figure::Fig1],
        rule: ClaimRule::Balance,
    },
    Claim {
        id: "C3",
        sentence: "LCMP is robust across different traffic patterns and workloads.",
        figures: &[Figure::Fig9],
        rule: ClaimRule::Slowdowns,
    },
    Claim {
        id: "C4",
        sentence: "LCMP works effectively with different RDMA congestion control algorithms.",
        figures: &[Figure::Fig10],
        rule: ClaimRule::Slowdowns,
    },
    Claim {
        id: "C5",
        sentence: "Each component of LCMP's distributed cost function contributes to overall performance.",
        figures: &[Figure::Fig11],
        rule: ClaimRule::Parts,
    },
    Claim {
        id: "C6",
        sentence: "LCMP maintains its performance advantages in large-scale deployments.",
        figures: &[Figure::Fig7, Figure::Fig8],
        rule: ClaimRule::Slowdowns,
    },
];

/// Verdict on a claim.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimVerdict {
    /// All comparisons support the claim.
    Holds,
    /// At least half of the comparisons support the claim.
    HoldsPartly,
    /// Fewer than half of the comparisons support the claim.
    DoesNotHold,
    /// Too many comparisons are missing.
    CannotTell,
}

impl ClaimVerdict {
    /// Returns the verdict as text, such as `holds partly`.
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

/// Verdict on a claim by the values of one source (published, simulated, emulated or fair), with reasons.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    pub verdict: ClaimVerdict,
    /// Number of comparisons that support the claim.
    pub shown: usize,
    /// Names of comparisons that neither support nor contradict the claim.
    pub undecided: Vec<String>,
    /// Names of comparisons that contradict the claim.
    pub contrary: Vec<String>,
    /// Names of comparisons that lack a value.
    pub missing: Vec<String>,
    /// True if a run was shortened to a tenth of the duration, so that the verdict is weak.
    pub is_weak: bool,
    /// Names of the cases whose runs are doubtful.
    pub doubtful: Vec<String>,
}

/// Group of policies that LCMP is compared with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Against {
    /// The policies whose values the authors published.
    Published,
    /// RedTE, which runs with weights of our own.
    Redte,
}

/// Comparison of LCMP with another policy.
#[derive(Clone, Debug, PartialEq)]
struct BaselineComparison {
    /// Name of the comparison, such as `fig5 30 % p50 against ecmp`.
    name: String,
    /// Relative changes from the other policy to LCMP, negative if LCMP is better; `None` if a value is missing. The
    /// comparison supports the claim if at least one change does and none contradicts it.
    changes: Vec<Option<RelativeChange>>,
    wanted: RequiredChange,
}

/// Change under LCMP that counts as support of a claim.
#[derive(Clone, Copy, Debug, PartialEq)]
enum RequiredChange {
    /// LCMP's value must be lower by at least this share, such as 0.05.
    Lower(f64),
    /// LCMP's value must not be higher by [`MIN_CHANGE`] or more.
    NotHigher,
}

impl RequiredChange {
    /// Returns the changes required for p50 and p99, given the row of changes that the paper's text states for the
    /// policy; `None` for a percentile that the row does not mention. Without a row, p50 and p99 must both fall by
    /// [`MIN_CHANGE`].
    fn by_text(stated: Option<&TextRow>) -> [Option<Self>; 2] {
        let Some(row) = stated else {
            return [Some(Self::Lower(MIN_CHANGE)); 2];
        };
        let ends = [(row.p50_least, row.p50_most), (row.p99_least, row.p99_most)];
        ends.map(|(least, most)| match (least, most) {
            (None, None) => None,
            (None, Some(_)) => Some(Self::Lower(MIN_CHANGE)),
            (Some(0.0), _) => Some(Self::NotHigher),
            (Some(least), _) => Some(Self::Lower(MIN_CHANGE.min(least.abs() / 100.0))),
        })
    }
}

/// Relative change, such as −0.05, and its 95 % interval if the run has repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RelativeChange {
    value: f64,
    interval: Option<[f64; 2]>,
}

/// Relation of a comparison to a claim.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Support {
    Shown,
    Undecided,
    Contrary,
    Missing,
}

impl RelativeChange {
    fn support(self, wanted: RequiredChange) -> Support {
        let [low, high] = self.interval.unwrap_or([self.value; 2]);
        match wanted {
            RequiredChange::Lower(share) if self.value <= -share && high < 0.0 => Support::Shown,
            RequiredChange::Lower(share) if self.value >= share && low > 0.0 => Support::Contrary,
            RequiredChange::Lower(_) => Support::Undecided,
            RequiredChange::NotHigher if self.value < MIN_CHANGE => Support::Shown,
            RequiredChange::NotHigher if low > 0.0 => Support::Contrary,
            RequiredChange::NotHigher => Support::Undecided,
        }
    }
}

impl BaselineComparison {
    fn support(&self) -> Support {
        let each = self.changes.iter();
        let support = |change: RelativeChange| change.support(self.wanted);
        let each: Vec<Support> = each
            .map(|change| change.map_or(Support::Missing, support))
            .collect();
        // The first of these kinds that any change has is the comparison's.
        let ranked = [Support::Missing, Support::Contrary, Support::Shown];
        ranked
            .into_iter()
            .find(|support| each.contains(support))
            .unwrap_or(Support::Undecided)
    }

    fn words(&self) -> String {
        let change = |change: &RelativeChange| signed_percent(change.value);
        let changes: Vec<String> = self.changes.iter().flatten().map(change).collect();
        format!("{} {}", self.name, changes.join(" / "))
            .trim_end()
            .to_owned()
    }
}

impl Claim {
    /// Judges the claim by the values of `source`; `cases` lists each case with its values, `None` if the source has no
    /// values for it. Returns `None` if the claim is not compared with the policies of `against`.
    #[must_use]
    pub fn judge(
        &self,
        source: Source,
        against: Against,
        cases: &[(&Case, Option<&CaseValues>)],
        published: &Published,
    ) -> Option<Judged> {
        let comparisons: Vec<_> = cases
            .iter()
            .flat_map(|(case, values)| {
                let empty = CaseValues::default();
                let values = values.unwrap_or(&empty);
                compared(source, against, case)
                    .flat_map(move |base| {
                        let label = source.label(base);
                        let stated = published.stated(case, base);
                        match self.rule {
                            ClaimRule::Slowdowns if !published.is_in_text(case) => Vec::new(),
                            ClaimRule::Slowdowns => slowdowns(case, values, label, stated),
                            ClaimRule::Parts => vec![part(case, values, label)],
                            ClaimRule::Balance => balances(case, values, label),
                        }
                    })
                    .collect::<Vec<_>>()
            })
            .collect();
        (!comparisons.is_empty()).then(|| judge(&comparisons))
    }
}

/// Returns the policies of `against` that LCMP is compared with in a case, by their labels under the authors'
/// semantics.
fn compared(source: Source, against: Against, case: &Case) -> impl Iterator<Item = &'static str> {
    let bases = case.against.iter().copied();
    bases.filter(move |base| match against {
        Against::Published => *base != REDTE,
        Against::Redte => *base == REDTE && source != Source::Published,
    })
}

fn name(case: &Case, what: &str, label: &str) -> String {
    format!("{}{what} against {label}", case.title())
}

/// Compares LCMP's p50 and p99 with those of the policy `label`, where the paper's text states a change.
fn slowdowns(
    case: &Case,
    values: &CaseValues,
    label: &str,
    stated: Option<&TextRow>,
) -> Vec<BaselineComparison> {
    let found = slowdown_changes(values, label);
    let each = [" p50", " p99"]
        .into_iter()
        .zip(found)
        .zip(RequiredChange::by_text(stated))
        .filter_map(|((what, change), wanted)| {
            Some(BaselineComparison {
                name: name(case, what, label),
                changes: vec![change],
                wanted: wanted?,
            })
        });
    each.collect()
}

/// Compares LCMP's p50 and p99 with those of its variant `label`, such as one without a cost term.
fn part(case: &Case, values: &CaseValues, label: &str) -> BaselineComparison {
    BaselineComparison {
        name: name(case, "", label),
        changes: slowdown_changes(values, label).to_vec(),
        wanted: RequiredChange::Lower(MIN_CHANGE),
    }
}

/// Compares LCMP's link imbalance and busiest link with those of the policy `label`.
fn balances(case: &Case, values: &CaseValues, label: &str) -> Vec<BaselineComparison> {
    let found = balance_changes(values, label);
    [" imbalance", " busiest link"]
        .into_iter()
        .zip(found)
        .map(|(what, change)| BaselineComparison {
            name: name(case, what, label),
            changes: vec![change],
            wanted: RequiredChange::Lower(MIN_CHANGE),
        })
        .collect()
}

fn judge(comparisons: &[BaselineComparison]) -> Judged {
    let named = |wanted: Support| -> Vec<String> {
        let found = comparisons.iter().filter(|it| it.support() == wanted);
        found.map(BaselineComparison::words).collect()
    };
    let shown = named(Support::Shown).len();
    let [undecided, contrary, missing] =
        [Support::Undecided, Support::Contrary, Support::Missing].map(named);
    let made = comparisons.len() - missing.len();
    let verdict = match () {
        () if made * 2 < comparisons.len() || made == 0 => ClaimVerdict::CannotTell,
        () if shown == made && !missing.is_empty() => ClaimVerdict::CannotTell,
        () if shown == made => ClaimVerdict::Holds,
        () if shown * 2 >= made => ClaimVerdict::HoldsPartly,
        () => ClaimVerdict::DoesNotHold,
    };
    Judged {
        verdict,
        shown,
        undecided,
        contrary,
        missing,
        is_weak: false,
        doubtful: Vec::new(),
    }
}

impl Judged {
    /// Returns the reason for the verdict as text.
    #[must_use]
    pub fn reason(&self) -> String {
        let all = self.shown + self.undecided.len() + self.contrary.len() + self.missing.len();
        if self.missing.len() == all {
            return format!("none of the {all} comparisons has values");
        }
        let mut text = format!("{} of {all} comparisons support the claim", self.shown);
        for (heading, names) in [
            ("contrary", &self.contrary),
            ("undecided", &self.undecided),
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
        if !self.doubtful.is_empty() {
            text += &format!("; doubtful runs: {}", self.doubtful.join(", "));
        }
        text
    }
}

/// Returns the relative changes from the policy `base` to LCMP in p50 and p99.
fn slowdown_changes(values: &CaseValues, base: &str) -> [Option<RelativeChange>; 2] {
    let of = |policy: &str| {
        let slowdowns = values.slowdowns.get(policy)?;
        Some([Some(slowdowns.p50.mean), slowdowns.p99.map(|p99| p99.mean)])
    };
    let (Some(lcmp), Some(other)) = (of(LCMP), of(base)) else {
        return [None; 2];
    };
    let intervals = values.intervals.get(base);
    [0, 1].map(|at| {
        Some(RelativeChange {
            value: lcmp[at]? / other[at]? - 1.0,
            interval: intervals.and_then(|both| both[at]),
        })
    })
}

/// Returns the relative changes from the policy `base` to LCMP in link imbalance and in the busiest link's utilisation.
fn balance_changes(values: &CaseValues, base: &str) -> [Option<RelativeChange>; 2] {
    let of = |policy: &str| balance(values.utilisation.get(policy)?);
    let (Some(lcmp), Some(other)) = (of(LCMP), of(base)) else {
        return [None; 2];
    };
    [0, 1].map(|at| {
        Some(RelativeChange {
            value: lcmp[at] / other[at] - 1.0,
            interval: None,
        })
    })
}

/// Returns the coefficient of variation of the links' utilisation, and the largest utilisation; `None` if all links
/// are idle.
#[expect(clippy::cast_precision_loss, reason = "a datacenter has few links")]
fn balance(links: &BTreeMap<String, f64>) -> Option<[f64; 2]> {
    let count = links.len() as f64;
    let mean = links.values().sum::<f64>() / count;
    let variance = links.values().map(|it| (it - mean).powi(2)).sum::<f64>() / count;
    let largest = links.values().copied().fold(0.0, f64::max);
    (largest > 0.0).then(|| [variance.sqrt() / mean, largest])
}

/// Formats a relative change in percent, with a sign and one decimal place.
#[must_use]
pub fn signed_percent(change: f64) -> String {
    let percent = format!("{:.1}", change.abs() * 100.0);
    match (&*percent, change < 0.0) {
        ("0.0", _) => "0 %".to_owned(),
        (percent, true) => format!("−{percent} %"),
        (percent, false) => format!("+{percent} %"),
    }
}

/// Smallest relative change, 5 %, that supports or contradicts a claim.
pub const MIN_CHANGE: f64 = 0.05;

/// Maximum number of comparisons that a reason lists per kind, such as `contrary`.
const MAX_NAMED: usize = 4;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        CASES,
        measured::{Slowdowns, Spread},
        published::tests::of_repository,
    };

    fn published_verdict(id: &str) -> Judged {
        let published = of_repository();
        let claim = CLAIMS.iter().find(|claim| claim.id == id).unwrap();
        let cases = CASES
            .iter()
            .filter(|case| claim.figures.contains(&case.figure));
        let values: Vec<_> = cases
            .map(|case| (case, CaseValues::published(case, &published)))
            .collect();
        let cases: Vec<_> = values
            .iter()
            .map(|(case, values)| (*case, values.as_ref()))
            .collect();
        claim
            .judge(Source::Published, Against::Published, &cases, &published)
            .unwrap()
    }

    /// Verdicts by the published tables alone; for the large networks, these contradict the paper's text.
    #[test]
    fn verdicts_of_the_published_data() {
        let verdicts = CLAIMS
            .iter()
            .map(|claim| (claim.id, published_verdict(claim.id).verdict));
        let expected = [
            ("C1", ClaimVerdict::HoldsPartly),
            ("C2", ClaimVerdict::HoldsPartly),
            // The outputs for Hadoop were not published.
            ("C3", ClaimVerdict::CannotTell),
            ("C4", ClaimVerdict::Holds),
            ("C5", ClaimVerdict::Holds),
            ("C6", ClaimVerdict::HoldsPartly),
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

    /// Returns values in which LCMP's p50 and p99 differ from those of each other policy as the text states: by the
    /// smallest change of a stated range if `end` is 0, by the largest if it is 1. If the text gives no number, as for
    /// medians that are slightly lower, the change is +4 %.
    fn as_stated(case: &Case, published: &Published, source: Source, end: usize) -> CaseValues {
        let slowdowns = |p50, p99| {
            let spread = |mean| Spread { mean, ends: None };
            let p50 = spread(p50);
            let p99 = Some(spread(p99));
            Slowdowns { p50, p99 }
        };
        let mut values = CaseValues::default();
        let lcmp = slowdowns(10.0, 10.0);
        values.slowdowns.insert(LCMP.to_owned(), lcmp);
        for row in published.text.iter().filter(|row| row.is_about(case)) {
            let ends = [[row.p50_least, row.p50_most], [row.p99_least, row.p99_most]];
            let of = |at: usize| {
                let stated = ends[at][end].or(ends[at][1]).unwrap_or(4.0);
                10.0 / (1.0 + stated / 100.0)
            };
            let label = source.label(&row.base).to_owned();
            values.slowdowns.insert(label, slowdowns(of(0), of(1)));
        }
        values
    }

    #[test]
    fn a_run_that_gave_the_papers_own_numbers_holds() {
        let published = of_repository();
        let is_by_text = |claim: &&Claim| claim.rule == ClaimRule::Slowdowns;
        for claim in CLAIMS.iter().filter(is_by_text) {
            for (source, end) in [(Source::Simulated, 0), (Source::Fair, 1)] {
                let own = |case: &&Case| claim.figures.contains(&case.figure);
                let values: Vec<_> = CASES
                    .iter()
                    .filter(own)
                    .map(|case| (case, as_stated(case, &published, source, end)))
                    .collect();
                let cases: Vec<_> = values.iter().map(|(case, it)| (*case, Some(it))).collect();
                let judge = |against| claim.judge(source, against, &cases, &published);
                let judged = [Against::Published, Against::Redte].map(judge);
                assert_eq!(judged[1].is_some(), ["C1", "C6"].contains(&claim.id));
                for judged in judged.into_iter().flatten() {
                    let id = claim.id;
                    assert_eq!(judged.verdict, ClaimVerdict::Holds, "{id}: {judged:?}");
                }
            }
        }
        assert_eq!(published_verdict("C5").verdict, ClaimVerdict::Holds);
    }

    /// For the 13-DC network, the text gives no number against UCMP's medians and calls the medians unchanged against
    /// ECMP.
    #[test]
    fn what_the_text_does_not_claim_is_not_compared() {
        let published = of_repository();
        let case = CASES
            .iter()
            .find(|case| case.title() == "fig7 50 %")
            .unwrap();
        let values = CaseValues::published(case, &published).unwrap();
        let stated = |base| published.stated(case, base);
        let of = |base| slowdowns(case, &values, base, stated(base));
        let names = |all: Vec<BaselineComparison>| {
            all.iter()
                .map(BaselineComparison::words)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            names(of("ucmp-artifact")),
            ["fig7 50 % p99 against ucmp-artifact +11.0 %"]
        );
        let against_ecmp = of("ecmp");
        let support: Vec<_> = against_ecmp
            .iter()
            .map(BaselineComparison::support)
            .collect();
        assert_eq!(support, [Support::Shown; 2]);
        assert_eq!(
            names(against_ecmp),
            [
                "fig7 50 % p50 against ecmp −1.8 %",
                "fig7 50 % p99 against ecmp −9.1 %"
            ]
        );
    }

    #[test]
    fn redte_has_no_part_in_a_claims_own_verdict() {
        let case = CASES
            .iter()
            .find(|case| case.title() == "fig5 30 %")
            .unwrap();
        let of = |source, against| compared(source, against, case).collect::<Vec<_>>();
        let published = of(Source::Simulated, Against::Published);
        assert_eq!(published, ["ecmp", "ucmp-artifact"]);
        assert_eq!(of(Source::Simulated, Against::Redte), [REDTE]);
        assert!(of(Source::Published, Against::Redte).is_empty());
    }

    fn comparison(changes: &[Option<f64>]) -> BaselineComparison {
        let change = |value: &Option<f64>| {
            value.map(|value| RelativeChange {
                value,
                interval: None,
            })
        };
        BaselineComparison {
            name: String::new(),
            changes: changes.iter().map(change).collect(),
            wanted: RequiredChange::Lower(MIN_CHANGE),
        }
    }

    #[test]
    fn a_change_counts_from_five_percent_and_with_its_interval() {
        let support = |value, interval| {
            let change = RelativeChange { value, interval };
            change.support(RequiredChange::Lower(MIN_CHANGE))
        };
        assert_eq!(support(-0.05, None), Support::Shown);
        assert_eq!(support(-0.049, None), Support::Undecided);
        assert_eq!(support(0.05, None), Support::Contrary);
        assert_eq!(support(-0.3, Some([-0.5, -0.01])), Support::Shown);
        assert_eq!(support(-0.3, Some([-0.5, 0.01])), Support::Undecided);
        assert_eq!(support(0.3, Some([-0.1, 0.5])), Support::Undecided);
    }

    #[test]
    fn two_percent_count_where_the_text_states_two_percent() {
        let support = |value, wanted| {
            RelativeChange {
                value,
                interval: None,
            }
            .support(wanted)
        };
        assert_eq!(support(-0.021, RequiredChange::Lower(0.02)), Support::Shown);
        assert_eq!(
            support(-0.019, RequiredChange::Lower(0.02)),
            Support::Undecided
        );
        assert_eq!(
            support(0.021, RequiredChange::Lower(0.02)),
            Support::Contrary
        );
        assert_eq!(support(0.049, RequiredChange::NotHigher), Support::Shown);
        assert_eq!(support(0.05, RequiredChange::NotHigher), Support::Contrary);
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
        assert_eq!(judge(&[]).verdict, ClaimVerdict::CannotTell);
        let shown = Some(-0.2);
        let not = Some(0.0);
        let none = None;
        let verdict = |changes: &[Option<f64>]| {
            judge(
                &changes
                    .iter()
                    .map(|it| comparison(&[*it]))
                    .collect::<Vec<_>>(),
            )
            .verdict
        };
        assert_eq!(verdict(&[shown, none]), ClaimVerdict::CannotTell);
        assert_eq!(verdict(&[shown, not, none]), ClaimVerdict::HoldsPartly);
        assert_eq!(verdict(&[not, none, none]), ClaimVerdict::CannotTell);
        assert_eq!(verdict(&[shown, not, not]), ClaimVerdict::DoesNotHold);
    }

    #[test]
    fn even_links_are_balanced_and_idle_ones_say_nothing() {
        let links = |percent: &[f64]| {
            percent
                .iter()
                .enumerate()
                .map(|(link, percent)| (link.to_string(), *percent))
                .collect()
        };
        assert_eq!(balance(&links(&[10.0, 10.0])), Some([0.0, 10.0]));
        assert_eq!(balance(&links(&[20.0, 0.0])), Some([1.0, 20.0]));
        assert_eq!(balance(&links(&[0.0, 0.0])), None);
    }

    proptest! {
        /// Adding a comparison that does not support a claim never improves the verdict.
        #[test]
        fn a_comparison_that_fails_never_helps(
            changes in prop::collection::vec(-0.5f64..0.5, 1..20),
            worse in -0.049f64..0.5,
        ) {
            let rank = |verdict| match verdict {
                ClaimVerdict::Holds => 2,
                ClaimVerdict::HoldsPartly => 1,
                ClaimVerdict::DoesNotHold | ClaimVerdict::CannotTell => 0,
            };
            let mut all: Vec<_> = changes.iter().map(|it| comparison(&[Some(*it)])).collect();
            let before = judge(&all);
            all.push(comparison(&[Some(worse)]));
            let after = judge(&all);
            prop_assert!(rank(after.verdict) <= rank(before.verdict));
            prop_assert_eq!(after.shown, before.shown);
            prop_assert_ne!(after.verdict, ClaimVerdict::Holds);
        }
    }
}
