//! Survey as values and its page.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde::Serialize;

use super::{
    document,
    explanation::{Explanation, explanations},
    sample::{Sample, TrainsError},
    settings::{NetworkAxis, Setting, settings},
    terms::{Terms, terms},
    wins::{NetworkEffects, Wins},
};
use crate::{
    check::{Answer, Check, PageAnswer},
    document::Document,
    error::ReportError,
    figures::Captioned,
    sweep::{CellNumbers, CellProblem, P99, PointCells, Slice, SweepTitle},
};

/// What a sweep over networks says about each policy.
#[derive(Debug, Serialize)]
pub struct SurveyAnswer {
    #[serde(flatten)]
    pub title: SweepTitle,
    /// Label of the policy that the others are compared with.
    pub baseline: String,
    /// Number of cells in the sweep.
    pub cells: usize,
    /// Number of cells with usable results.
    pub done: usize,
    /// Why cells have no usable results, the most frequent reason first.
    pub unusable: Vec<UnusableCells>,
    /// Networks by setting.
    pub settings: Vec<SettingCount>,
    /// Number of networks in which each policy is better or worse, by setting, policy and selection of flows.
    pub wins: Vec<Wins>,
    pub explanations: Vec<Explanation>,
    /// Contributions of LCMP's costs; `None` if the sweep does not have the two LCMP policies.
    pub terms: Option<Terms>,
    /// Number of cells that were also simulated packet by packet; `None` without a sample.
    pub sampled: Option<usize>,
    /// Errors of trains, from the sample.
    pub errors: Vec<TrainsError>,
}

/// Cells that have no usable results for one reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnusableCells {
    /// Number of cells.
    pub cells: usize,
    /// Message of one cell; those of the others differ in numbers alone.
    pub reason: String,
}

/// Numbers of networks under one setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SettingCount {
    /// Values of the axes other than the network.
    pub setting: String,
    /// Networks of the sweep.
    pub points: usize,
    /// Networks with results.
    pub networks: usize,
    /// Networks in which no pair of datacenters with flows has a choice.
    pub without_choice: usize,
    /// Networks with a draw without a p99: it has too few flows, or unfinished ones.
    pub without_p99: usize,
    /// Largest number of cells of a network, which differ in the seed alone.
    pub draws: usize,
    /// Number of flows per policy.
    pub flows: u64,
    /// Number of them with a choice.
    pub flows_with_choice: u64,
}

/// Error of a sweep over a single network.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "a survey needs several networks, and this sweep has neither an axis `topology` or below it nor several scenarios"
)]
pub struct NoNetworks;

impl SurveyAnswer {
    /// Computes the survey of a sweep with the policy `asked`, or else the first one, as the baseline. `sample` are results
    /// of the same cells packet by packet, and `problems` the cells that failed or are not valid.
    ///
    /// # Errors
    /// If the sweep has a single network.
    pub fn new(
        title: SweepTitle,
        points: &[PointCells],
        asked: Option<&str>,
        sample: Option<&[CellNumbers]>,
        problems: &[CellProblem],
    ) -> Result<Self, NoNetworks> {
        let axis = NetworkAxis::of(&title).ok_or(NoNetworks)?;
        let settings = settings(&title, axis, points);
        let cells = || points.iter().flat_map(|point| &point.numbers);
        let first = || {
            let policy = cells().flat_map(|cell| &cell.policies).next();
            policy.map(|policy| policy.policy.clone())
        };
        let baseline = asked.map(str::to_owned).or_else(first).unwrap_or_default();
        let sample = sample.map(|packets| Sample::new(cells(), packets));
        let errors = |baseline: &str| sample.as_ref().map(|sample| sample.errors(baseline));
        let own_errors = errors(&baseline);
        let effects = NetworkEffects::new(&settings, &baseline);
        let policies = effects.policies();
        let slices = [Slice::All, Slice::WithChoice];
        let wins = slices.iter().flat_map(|slice| {
            let of_policy = policies
                .iter()
                .map(|policy| effects.wins(policy, *slice, own_errors.as_deref()));
            of_policy.flatten().collect::<Vec<_>>()
        });
        let explanations = policies
            .iter()
            .flat_map(|policy| explanations(&effects, policy, &baseline));
        Ok(Self {
            cells: points.iter().map(|point| point.cells).sum(),
            done: cells().count(),
            unusable: unusable(points, problems),
            settings: settings.iter().map(SettingCount::of).collect(),
            wins: wins.filter(|wins| wins.networks > 0).collect(),
            explanations: explanations.collect(),
            terms: terms(&settings, (&effects, own_errors.as_deref()), errors),
            sampled: sample.as_ref().map(|sample| sample.pairs.len()),
            errors: own_errors.unwrap_or_default(),
            title,
            baseline,
        })
    }
}

/// Counts the `problems` of cells that have no results at any of `points`, by their messages without numbers.
fn unusable(points: &[PointCells], problems: &[CellProblem]) -> Vec<UnusableCells> {
    let cells = points.iter().flat_map(|point| &point.numbers);
    let usable: BTreeSet<&str> = cells.map(|cell| &*cell.cell).collect();
    let mut counts: BTreeMap<String, UnusableCells> = BTreeMap::new();
    for problem in problems.iter().filter(|it| !usable.contains(&*it.cell)) {
        let kind = problem
            .problem
            .replace(|c: char| c.is_ascii_digit() || c == ',', "");
        let count = counts.entry(kind).or_insert_with(|| UnusableCells {
            cells: 0,
            reason: problem.problem.clone(),
        });
        count.cells += 1;
    }
    let mut counts: Vec<UnusableCells> = counts.into_values().collect();
    counts.sort_by_key(|it| Reverse(it.cells));
    counts
}

impl SettingCount {
    fn of(setting: &Setting<'_>) -> Self {
        let mut count = Self {
            setting: setting.name.clone(),
            points: setting.points.len(),
            networks: 0,
            without_choice: 0,
            without_p99: 0,
            draws: 0,
            flows: 0,
            flows_with_choice: 0,
        };
        for point in &setting.points {
            if point.numbers.is_empty() {
                continue;
            }
            count.networks += 1;
            count.draws = count.draws.max(point.numbers.len());
            let has_choice = point
                .numbers
                .iter()
                .any(|it| it.network.pairs_with_choice > 0);
            count.without_choice += usize::from(!has_choice);
            let draws = || point.numbers.iter().flat_map(|cell| &cell.policies);
            let lacks = draws().any(|it| it.all.iter().any(|draw| P99.of(draw).is_none()));
            count.without_p99 += usize::from(lacks);
            for cell in &point.numbers {
                count.flows += cell.flows;
                // Without a number, all flows have a choice or none has.
                let has_choice = cell.network.pairs_with_choice > 0;
                let all_or_none = if has_choice { cell.flows } else { 0 };
                count.flows_with_choice += cell.flows_with_choice.unwrap_or(all_or_none);
            }
        }
        count
    }
}

impl Answer for SurveyAnswer {
    const STATES_CHECKS: bool = false;

    fn values(&self) -> impl Serialize {
        self
    }

    fn checks(&self) -> Vec<Check> {
        let waiting = self.cells - self.done;
        let missing = (waiting > 0).then(|| {
            let reason = format!("{waiting} of {} cells have no usable results", self.cells);
            Check::inconclusive("missing-cells", reason)
        });
        let draws = self.settings.iter().map(|it| it.draws).max();
        let one_draw = (draws == Some(1)).then(|| {
            let reason =
                "each network has a single draw, which tells nothing (hint: several seeds)";
            Check::inconclusive("one-draw", reason.to_owned())
        });
        let few = self.sampled.filter(|&it| it < MIN_SAMPLE).map(|sampled| {
            let reason = format!(
                "the sample has {sampled} cells of the sweep, with equal plans; {MIN_SAMPLE} are needed"
            );
            Check::inconclusive("small-sample", reason)
        });
        let checks = [missing, one_draw, few];
        checks.into_iter().flatten().collect()
    }

    fn text(&self) -> String {
        document::document(self).terminal()
    }
}

/// Number of cells from which a sample gives the error of trains.
const MIN_SAMPLE: usize = 10;

impl PageAnswer for SurveyAnswer {
    const FOLDER: &'static str = "survey";

    fn figures(&self, _: &Path) -> Result<Vec<Captioned>, ReportError> {
        Ok(Vec::new())
    }

    fn document<'a>(&'a self, _: &'a [Captioned]) -> Document<'a> {
        document::document(self)
    }
}

impl SurveyAnswer {
    /// Returns the survey as Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        document::document(self).markdown("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::testing::cell;

    fn title(axes: &[&str]) -> SweepTitle {
        SweepTitle {
            name: "zoo".to_owned(),
            version: "1".to_owned(),
            method: "trains of packets".to_owned(),
            axes: axes.iter().map(|&it| it.to_owned()).collect(),
            scenarios: 1,
        }
    }

    /// Returns a point with two draws. In each, the p99 of `lcmp` is that of `ecmp` times a number in `changes`.
    fn point(values: [&str; 2], changes: [f64; 2]) -> PointCells {
        let draws = [4.0, 8.0].into_iter().zip(changes);
        PointCells {
            scenario: "base".to_owned(),
            values: values.map(str::to_owned).into(),
            cells: 2,
            numbers: draws
                .map(|(base, change)| {
                    let plan = format!("{values:?} {base}");
                    cell(&plan, &[("ecmp", base), ("lcmp", base * change)])
                })
                .collect(),
        }
    }

    /// Under the first load, lcmp is better in one network, 3 % better in the second and worse in the third. A sample in
    /// which trains show 5 % too much makes the 3 % no statement.
    #[test]
    fn networks_are_counted_by_setting_and_what_trains_cannot_show_is_no_win() {
        let exact = |change: f64| [change, change * 1.000_01];
        let points = [
            point(["A", "0.3"], exact(0.5)),
            point(["A", "0.8"], exact(0.5)),
            point(["B", "0.3"], exact(0.97)),
            point(["B", "0.8"], exact(2.0)),
            point(["C", "0.3"], exact(2.0)),
            point(["C", "0.8"], [0.5, 2.0]),
        ];
        let of = |sample: Option<&[CellNumbers]>| {
            let axes = title(&["topology", "load"]);
            let survey = SurveyAnswer::new(axes, &points, None, sample, &[]).unwrap();
            assert_eq!(survey.baseline, "ecmp");
            let counts = survey.wins.iter().map(|it| {
                let counts = [it.better, it.worse, it.same, it.within_error, it.unknown];
                (it.setting.clone(), it.networks, counts)
            });
            counts.collect::<Vec<_>>()
        };
        let row = |setting: &str, counts| (setting.to_owned(), 3, counts);
        let high = row("load 0.8", [1, 1, 0, 0, 1]);
        assert_eq!(of(None), [row("load 0.3", [2, 1, 0, 0, 0]), high.clone()]);
        let mut packets = points[0].numbers.clone();
        for policy in packets.iter_mut().map(|cell| &mut cell.policies[1]) {
            policy.all[0].p99 = policy.all[0].p99.map(|p99| p99 * 1.05);
        }
        let found = of(Some(&packets));
        assert_eq!(found, [row("load 0.3", [1, 1, 0, 1, 0]), high]);
        let other = [cell("another plan", &[("ecmp", 1.0), ("lcmp", 1.0)])];
        let unknown_error = [
            row("load 0.3", [0, 0, 0, 3, 0]),
            row("load 0.8", [0, 0, 0, 2, 1]),
        ];
        assert_eq!(of(Some(&other)), unknown_error);
    }

    #[test]
    fn a_sweep_over_one_network_is_no_survey() {
        let axes = title(&["load", "seed"]);
        assert!(SurveyAnswer::new(axes, &[], None, None, &[]).is_err());
    }

    #[test]
    fn cells_without_results_are_counted_by_reason() {
        let problem = |cell: &str, problem: &str| CellProblem {
            cell: cell.to_owned(),
            problem: problem.to_owned(),
            is_failed: true,
        };
        let mut usable = point(["A", "0.3"], [1.0, 1.0]);
        "usable".clone_into(&mut usable.numbers[0].cell);
        let problems = [
            problem("usable", "doubtful: 5 late flows"),
            problem("b", "no candidates"),
            problem("c", "invalid: 1 of 294 flows"),
            problem("d", "invalid: 2 of 90 flows"),
        ];
        let counted = unusable(&[usable], &problems);
        let found: Vec<_> = counted.iter().map(|it| (it.cells, &*it.reason)).collect();
        assert_eq!(
            found,
            [(2, "invalid: 1 of 294 flows"), (1, "no candidates")]
        );
    }
}
