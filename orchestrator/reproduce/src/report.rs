//! Published, simulated and emulated values side by side, with verdicts on the claims.

use std::collections::BTreeMap;

use lab_reports::Series;
use serde::Serialize;

use crate::{
    catalogue::{Case, Figure, LCMP},
    claim::{Against, CLAIMS, Claim, Judged, MIN_CHANGE},
    measured::{Bin, CaseValues, Measured, Played},
    published::{Contradiction, Published, Quantity, StatementRow, TextRow},
    variant::Source,
};

/// Options that the report was made with.
#[derive(Clone, Debug, Serialize)]
pub struct Settings {
    /// Command line, without paths of this machine.
    pub command: String,
    /// Commit that lcmp-lab was built from; the suffix `+changes` marks a build whose tracked files differed from the
    /// commit.
    pub commit: String,
    /// Figures that the user requested.
    pub figures: Vec<Figure>,
    /// True if missing runs were made with a tenth of the duration.
    pub is_quick: bool,
    /// True if missing simulations were made in trains of packets.
    pub is_in_trains: bool,
}

impl Settings {
    /// Returns the sources of the report, in the order of the columns.
    pub fn sources(&self) -> impl Iterator<Item = Source> {
        let is_asked = |source: &Source| self.is_in_trains || *source != Source::Trains;
        Source::ALL.into_iter().filter(is_asked)
    }
}

/// Runs of a case, one per source.
#[derive(Clone, Debug)]
pub struct CaseRuns {
    pub case: &'static Case,
    /// Values by source, or the reason why a source has no values.
    pub runs: BTreeMap<Source, Result<Measured, String>>,
}

/// Report on the requested figures.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub settings: Settings,
    /// Claims that are based on at least one requested figure.
    pub claims: Vec<ClaimReport>,
    pub cases: Vec<CaseReport>,
    /// Changes that the paper's text states, with the changes found in runs.
    pub text: Vec<TextReport>,
    /// Values that the paper's text states, with the values found in runs.
    pub statements: Vec<StatementReport>,
    /// Correlations between the lab and the simulator, as in figure 6.
    pub fidelity: Vec<FidelityReport>,
    /// Statements of the paper that its data contradict.
    pub contradictions: Vec<Contradiction>,
}

/// Claim of the paper with its verdicts.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimReport {
    pub id: &'static str,
    /// Sentence of the paper that states the claim.
    pub sentence: &'static str,
    /// Rule by which the claim is judged, as text.
    pub rule: &'static str,
    /// Figures that the claim is based on: first those requested, then those not requested.
    pub figures: [Vec<Figure>; 2],
    pub verdicts: BTreeMap<Source, Judged>,
    /// Verdicts against RedTE.
    pub redte: BTreeMap<Source, Judged>,
}

/// Case of a figure with its values from all sources.
#[derive(Clone, Debug, Serialize)]
pub struct CaseReport {
    pub figure: Figure,
    /// Name of the case within the figure.
    pub case: &'static str,
    /// Name of the scenario.
    pub scenario: &'static str,
    /// Values of the case, one cell for each policy and quantity.
    pub cells: Vec<Cell>,
    pub runs: BTreeMap<Source, Measured>,
    /// Reasons why sources have no values.
    pub without: BTreeMap<Source, String>,
}

/// One value of a policy, from each source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// Label that the policy has under the authors' semantics.
    pub policy: String,
    /// Name of the value: `p50`, `p99`, or the name of a link, for its utilisation.
    pub name: String,
    pub values: BTreeMap<Source, f64>,
    /// Relative difference of the simulated from the published value; `None` if either value is missing.
    pub difference: Option<f64>,
    /// Cause of a difference over 5 %, or `not known`; `None` if the difference is smaller or a value is missing.
    pub cause: Option<String>,
}

/// Changes from a policy to LCMP that the paper's text states, in percent, with the changes found in runs.
#[derive(Clone, Debug, Serialize)]
pub struct TextReport {
    /// Changes stated by the paper's text.
    pub stated: TextRow,
    /// Smallest and largest change over the figure's cases, by source: p50 in the median bin, then P99 in the worst
    /// bin.
    pub found: BTreeMap<Source, [[f64; 2]; 2]>,
}

/// Value that the paper's text states, with the values found in the published data and in runs.
#[derive(Clone, Debug, Serialize)]
pub struct StatementReport {
    /// Value stated by the paper's text.
    pub stated: StatementRow,
    /// Lowest and highest value found, by source.
    pub found: BTreeMap<Source, [f64; 2]>,
}

/// Correlation of a percentile between the lab and the simulator, over the size bins.
#[derive(Clone, Debug, Serialize)]
pub struct FidelityReport {
    /// Name of the percentile, `p50` or `p99`.
    pub percentile: String,
    /// Published Pearson coefficient.
    pub published: f64,
    /// Coefficient between the lab and the simulator; `None` without a run in the lab, and if the coefficient cannot be
    /// decided.
    pub found: Option<f64>,
    /// Reason why the coefficient cannot be decided; `None` if it is known, or if no lab run exists and none was
    /// requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undecided: Option<String>,
}

impl Report {
    /// Creates the report and judges the claims; `fidelity` has the Pearson coefficients for p50 and p99, or the reason
    /// why they cannot be decided; `None` if no lab run exists and none was requested.
    #[must_use]
    pub fn new(
        settings: Settings,
        published: &Published,
        runs: Vec<CaseRuns>,
        fidelity: Option<Result<[f64; 2], String>>,
    ) -> Self {
        let has = |figure: &str| settings.figures.iter().any(|it| it.name() == figure);
        let claims = CLAIMS
            .iter()
            .filter(|claim| {
                claim
                    .figures
                    .iter()
                    .any(|figure| settings.figures.contains(figure))
            })
            .map(|claim| claim_report(claim, &settings, published, &runs));
        let text = published.text.iter().filter(|row| has(&row.figure));
        let (coefficients, undecided) = match fidelity {
            None => (None, None),
            Some(Ok(both)) => (Some(both), None),
            Some(Err(reason)) => (None, Some(reason)),
        };
        let rows = published.fidelity.iter().filter(|_| has("fig6"));
        let statements = published.statements.iter().filter(|row| has(&row.figure));
        Self {
            claims: claims.collect(),
            text: text.map(|row| text_report(row, &runs)).collect(),
            statements: statements
                .map(|row| statement_report(row, published, &runs))
                .collect(),
            fidelity: rows
                .map(|row| FidelityReport {
                    percentile: row.percentile.clone(),
                    published: row.pearson,
                    found: coefficients.map(|it| it[usize::from(row.percentile == "p99")]),
                    undecided: undecided.clone(),
                })
                .collect(),
            contradictions: (published.contradictions.iter())
                .filter(|row| row.figure == "all" || has(&row.figure))
                .cloned()
                .collect(),
            cases: (runs.into_iter())
                .map(|runs| case_report(runs, published))
                .collect(),
            settings,
        }
    }

    /// Returns the published p50 and p99, and those found in runs, for the figure `reproduction`.
    #[must_use]
    pub fn series(&self) -> Vec<Series> {
        let mut all: BTreeMap<(Source, String, String), Vec<(f64, f64)>> = BTreeMap::new();
        for cell in self.cases.iter().flat_map(|case| &case.cells) {
            let Some(published) = cell.values.get(&Source::Published) else {
                continue;
            };
            for source in [Source::Simulated, Source::Trains, Source::Emulated] {
                if let Some(found) = cell.values.get(&source)
                    && ["p50", "p99"].contains(&&*cell.name)
                {
                    let key = (source, cell.name.clone(), cell.policy.clone());
                    all.entry(key).or_default().push((*published, *found));
                }
            }
        }
        all.into_iter()
            .map(|((source, name, policy), values)| Series {
                panel: format!("{name}, {}", source.name()),
                policy,
                values,
            })
            .collect()
    }
}

fn claim_report(
    claim: &Claim,
    settings: &Settings,
    published: &Published,
    runs: &[CaseRuns],
) -> ClaimReport {
    let own = || {
        runs.iter()
            .filter(|it| claim.figures.contains(&it.case.figure))
    };
    let judge = |against: Against, source: Source| {
        let values: Vec<Option<CaseValues>> = match source {
            Source::Published => own()
                .map(|it| CaseValues::published(it.case, published))
                .collect(),
            _ => own()
                .map(|it| Some(it.measured(source)?.values.clone()))
                .collect(),
        };
        let cases: Vec<_> = own()
            .map(|it| it.case)
            .zip(values.iter().map(Option::as_ref))
            .collect();
        let judged = claim.judge(source, against, &cases, published)?;
        let is_short = |it: &CaseRuns| it.measured(source).is_some_and(|it| it.played.is_short);
        let is_doubtful =
            |it: &&CaseRuns| it.measured(source).is_some_and(|it| !it.doubts.is_empty());
        let doubtful = own().filter(is_doubtful).map(|it| it.case.title());
        let judged = Judged {
            is_weak: own().any(is_short),
            doubtful: doubtful.collect(),
            ..judged
        };
        Some((source, judged))
    };
    let verdicts = |against: Against| {
        settings
            .sources()
            .filter_map(|source| judge(against, source))
            .collect()
    };
    let is_asked = |figure: &&Figure| settings.figures.contains(figure);
    let (asked, others) = claim.figures.iter().partition::<Vec<Figure>, _>(is_asked);
    ClaimReport {
        id: claim.id,
        sentence: claim.sentence,
        rule: claim.rule.words(),
        figures: [asked, others],
        verdicts: verdicts(Against::Published),
        redte: verdicts(Against::Redte),
    }
}

impl CaseRuns {
    fn measured(&self, source: Source) -> Option<&Measured> {
        self.runs.get(&source)?.as_ref().ok()
    }
}

fn case_report(runs: CaseRuns, published: &Published) -> CaseReport {
    let case = runs.case;
    let stated = CaseValues::published(case, published).unwrap_or_default();
    let values = |source: Source| match source {
        Source::Published => Some(&stated),
        _ => runs.measured(source).map(|measured| &measured.values),
    };
    let links: Vec<&String> = stated
        .utilisation
        .get(LCMP)
        .into_iter()
        .flat_map(BTreeMap::keys)
        .collect();
    let simulated = runs.measured(Source::Simulated).map(|it| it.played);
    let mut cells = Vec::new();
    for policy in [LCMP].into_iter().chain(case.against.iter().copied()) {
        let names = ["p50", "p99"]
            .into_iter()
            .chain(links.iter().map(|link| link.as_str()));
        for name in names {
            let found: BTreeMap<Source, f64> = Source::ALL
                .into_iter()
                .filter_map(|source| {
                    Some((source, value(values(source)?, source.label(policy), name)?))
                })
                .collect();
            let difference = difference(&found);
            let is_far = difference.is_some_and(|it| it.abs() > MIN_CHANGE);
            let cause = |played: Played| {
                if played.is_short {
                    Some("a tenth of the duration")
                } else {
                    published.cause(case.figure.name(), case.name, policy, played.is_drawn)
                }
            };
            let known = simulated.and_then(cause);
            cells.push(Cell {
                policy: policy.to_owned(),
                name: name.to_owned(),
                values: found,
                difference,
                cause: is_far.then(|| known.unwrap_or("not known").to_owned()),
            });
        }
    }
    cells.retain(|cell| !cell.values.is_empty());
    let mut ended = BTreeMap::new();
    let mut without = BTreeMap::new();
    for (source, run) in runs.runs {
        match run {
            Ok(measured) => drop(ended.insert(source, measured)),
            Err(reason) => drop(without.insert(source, reason)),
        }
    }
    CaseReport {
        figure: case.figure,
        case: case.name,
        scenario: case.scenario,
        cells,
        runs: ended,
        without,
    }
}

fn value(values: &CaseValues, policy: &str, name: &str) -> Option<f64> {
    let slowdowns = values.slowdowns.get(policy);
    match name {
        "p50" => Some(slowdowns?.p50.mean),
        "p99" => Some(slowdowns?.p99?.mean),
        link => values.utilisation.get(policy)?.get(link).copied(),
    }
}

/// Returns the relative difference of the simulated from the published value. Two values below a thousandth, such as
/// the utilisations of an idle link, count as equal.
fn difference(values: &BTreeMap<Source, f64>) -> Option<f64> {
    let published = values.get(&Source::Published)?;
    let simulated = values.get(&Source::Simulated)?;
    if published.max(*simulated) < 1e-3 {
        Some(0.0)
    } else {
        Some(simulated / published - 1.0)
    }
}

fn text_report(row: &TextRow, runs: &[CaseRuns]) -> TextReport {
    let own = || runs.iter().filter(|it| row.is_about(it.case));
    let found = Source::ALL.into_iter().filter_map(|source| {
        let all: Vec<[f64; 2]> = own()
            .filter_map(|it| {
                it.measured(source)?
                    .values
                    .reductions
                    .get(source.label(&row.base))
            })
            .map(|it| [it.median_bin_p50, it.worst_bin_p99])
            .collect();
        let ends = |at: usize| {
            let each = all.iter().map(|both| both[at] * 100.0);
            [
                each.clone().fold(f64::NEG_INFINITY, f64::max),
                each.fold(f64::INFINITY, f64::min),
            ]
        };
        (!all.is_empty()).then(|| (source, [ends(0), ends(1)]))
    });
    TextReport {
        stated: row.clone(),
        found: found.collect(),
    }
}

fn statement_report(
    row: &StatementRow,
    published: &Published,
    runs: &[CaseRuns],
) -> StatementReport {
    let is_own = |it: &&CaseRuns| it.case.figure.name() == row.figure && it.case.name == row.case;
    let own = runs.iter().find(is_own);
    let found = Source::ALL.into_iter().filter_map(|source| {
        let case = own?;
        let found = match source {
            Source::Published => {
                let values = CaseValues::published(case.case, published)?;
                stated_value(row, source, &values)?
            }
            _ => stated_value(row, source, &case.measured(source)?.values)?,
        };
        Some((source, found))
    });
    StatementReport {
        stated: row.clone(),
        found: found.collect(),
    }
}

/// Returns the lowest and highest value of the row's quantity.
fn stated_value(row: &StatementRow, source: Source, values: &CaseValues) -> Option<[f64; 2]> {
    let label = source.label(&row.policy);
    let slowdowns = |label: &str| values.slowdowns.get(label);
    let bin = |label: &str| {
        let size: u64 = row.at.parse().ok()?;
        bin_of(values.bins.get(label)?, size)
    };
    let rise = |of: fn(&Bin) -> f64| Some((of(bin(label)?) / of(bin(LCMP)?) - 1.0) * 100.0);
    let one = |value: f64| [value; 2];
    match (row.quantity, row.at.is_empty()) {
        (Quantity::P50, true) => slowdowns(label)?.p50.ends,
        (Quantity::P99, true) => slowdowns(label)?.p99?.ends,
        (Quantity::P50, false) => Some(one(bin(label)?.p50)),
        (Quantity::P99, false) => Some(one(bin(label)?.p99)),
        (Quantity::P50Rise, _) => rise(|bin| bin.p50).map(one),
        (Quantity::P99Rise, _) => rise(|bin| bin.p99).map(one),
        (Quantity::Utilisation, _) => {
            let links = values.utilisation.get(label)?;
            links.get(&row.at).copied().map(one)
        }
        (Quantity::Pairs, _) => Some(one(count(values.network?.pairs))),
        (Quantity::MultiPathPairs, _) => Some(one(count(values.network?.multi_path_pairs))),
        (Quantity::DelayRatio, _) => Some(one(values.network?.delay_ratio)),
    }
}

/// Returns the bin that contains flows of `size` bytes; the last bin if all flows are smaller.
fn bin_of(bins: &[Bin], size: u64) -> Option<&Bin> {
    bins.iter()
        .find(|bin| size <= bin.largest)
        .or_else(|| bins.last())
}

#[expect(clippy::cast_precision_loss, reason = "pairs of datacenters are few")]
const fn count(value: usize) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_the_bin_that_ends_at_or_above_it() {
        let bins = [3_438, 20_000, 29_000_000].map(|largest| Bin {
            largest,
            p50: 1.0,
            p99: 1.0,
        });
        let of = |size| bin_of(&bins, size).map(|bin| bin.largest);
        assert_eq!(of(3_438), Some(3_438));
        assert_eq!(of(3_439), Some(20_000));
        assert_eq!(of(29_700_000), Some(29_000_000));
        assert_eq!(bin_of(&[], 1), None);
    }

    /// The text says "The median for a 3,438 B flow rises from 6.8 to 26.0", a factor of 3.82.
    #[test]
    fn a_rise_is_from_lcmp_in_the_bin_of_the_size() {
        let bins = |p50| {
            let bin = |largest, p50| Bin {
                largest,
                p50,
                p99: 50.0,
            };
            vec![bin(3_438, p50), bin(30_000_000, 1.0)]
        };
        let values = CaseValues {
            bins: [(LCMP, 6.8), ("rm-alpha", 26.0)]
                .map(|(policy, p50)| (policy.to_owned(), bins(p50)))
                .into(),
            ..CaseValues::default()
        };
        let row = |quantity, at: &str| StatementRow {
            figure: "fig11".into(),
            case: "ablation".into(),
            policy: "rm-alpha".into(),
            quantity,
            at: at.into(),
            low: Some(280.0),
            high: Some(280.0),
            source: String::new(),
        };
        let of = |quantity, at| stated_value(&row(quantity, at), Source::Simulated, &values);
        assert_eq!(of(Quantity::P50, "3438"), Some([26.0; 2]));
        let [low, high] = of(Quantity::P50Rise, "3438").unwrap();
        assert_eq!(low, high);
        assert!((low - 282.35).abs() < 0.01, "{low}");
        assert_eq!(of(Quantity::P99, ""), None);
        assert_eq!(of(Quantity::Pairs, ""), None);
    }
}
