//! Results of a sweep as values, and its page.

use std::path::Path;

use lab_units::show::counted;
use serde::Serialize;

use super::{
    document,
    effects::{Effect, distinct, effects},
    figures,
    numbers::{CellNumbers, Slice},
    point::{Point, PointCells},
    sensitivity::{Sensitivity, sensitivities},
};
use crate::{
    check::{Answer, Check, PageAnswer},
    document::Document,
    error::ReportError,
    figures::Captioned,
};

/// Results of a sweep, as far as its cells have ended.
#[derive(Debug, Serialize)]
pub struct SweepAnswer {
    #[serde(flatten)]
    pub title: SweepTitle,
    /// Number of cells in the grid.
    pub cells: usize,
    /// Number of cells with results.
    pub done: usize,
    /// Cells that failed, and cells whose results are not valid.
    pub problems: Vec<CellProblem>,
    /// Run directories of the cells that have one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<CellRun>,
    /// Label of the policy that the others are compared with; `None` without results.
    pub baseline: Option<String>,
    /// Points of the grid, in the order of their first cells.
    pub points: Vec<Point>,
    /// Effects at each point.
    pub effects: Vec<Effect>,
    /// Sensitivity of each policy to each axis.
    pub sensitivities: Vec<Sensitivity>,
}

/// Description of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepTitle {
    /// Name of the sweep.
    pub name: String,
    /// Version of the program that made the cells.
    pub version: String,
    /// Method of the simulations, such as `packet by packet`.
    pub method: String,
    /// Names of the axes that tell points apart.
    pub axes: Vec<String>,
    /// Number of scenarios.
    pub scenarios: usize,
}

/// Cell without results, or whose results are not valid.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellProblem {
    /// Name of the cell.
    pub cell: String,
    /// Message of the failure, or the verdict and its reasons.
    pub problem: String,
    /// True if the cell has no results.
    pub is_failed: bool,
}

/// Run directory of a cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellRun {
    /// Name of the cell.
    pub cell: String,
    /// Path of the report, or of the run directory if it has none, from the sweep's directory.
    pub path: String,
}

/// Points at which the baseline is no policy, so that nothing can be compared there, in a sentence.
pub(super) enum MissingBaseline {
    Everywhere(String),
    Somewhere(String),
}

impl SweepAnswer {
    /// Computes a sweep's results from its points. `done` of the `cells` cells have results. The baseline is the policy
    /// `asked`, or else the first one.
    #[must_use]
    pub fn new(
        title: SweepTitle,
        [cells, done]: [usize; 2],
        points: &[PointCells],
        problems: Vec<CellProblem>,
        runs: Vec<CellRun>,
        asked: Option<&str>,
    ) -> Self {
        let mut policies = points
            .iter()
            .flat_map(|point| &point.numbers)
            .flat_map(|cell| &cell.policies);
        let first = || policies.next().map(|it| it.policy.clone());
        let baseline = asked.map(str::to_owned).or_else(first);
        let numbers: Vec<Vec<&CellNumbers>> = points
            .iter()
            .map(|point| point.numbers.iter().collect())
            .collect();
        let points: Vec<Point> = points.iter().map(PointCells::point).collect();
        Self {
            sensitivities: sensitivities(&title.axes, &points),
            title,
            cells,
            done,
            problems,
            runs,
            points,
            effects: baseline
                .as_deref()
                .map_or_else(Vec::new, |label| effects(&numbers, label)),
            baseline,
        }
    }

    /// Returns the points with results at which the baseline is no policy; `None` if it is one at all of them.
    pub(super) fn missing_baseline(&self) -> Option<MissingBaseline> {
        let baseline = self.baseline.as_ref()?;
        let has_baseline = |point: &&Point| point.levels.iter().any(|it| it.policy == *baseline);
        let known: Vec<&Point> = self
            .points
            .iter()
            .filter(|it| !it.levels.is_empty())
            .collect();
        let found = known.iter().copied().filter(has_baseline).count();
        let missing = known.len() - found;
        let sentence = format!(
            "{missing} of {} do not have the baseline, `{baseline}`",
            counted(known.len() as u64, "point")
        );
        match (missing, found) {
            (0, _) => None,
            (_, 0) => Some(MissingBaseline::Everywhere(sentence)),
            _ => Some(MissingBaseline::Somewhere(sentence)),
        }
    }

    /// Returns the effects of `policy` on the p99 of the flows in `slice`.
    pub(super) fn p99(&self, policy: &str, slice: Slice) -> impl Iterator<Item = &Effect> {
        let effects = self.effects.iter();
        effects.filter(move |it| it.is_p99_of(policy, slice))
    }

    /// Returns the labels of the policies that are compared with the baseline, in the order of the scenarios.
    pub(super) fn compared(&self) -> Vec<&str> {
        distinct(self.effects.iter().map(|effect| &effect.policy))
    }
}

impl Answer for SweepAnswer {
    const STATES_CHECKS: bool = false;

    fn values(&self) -> impl Serialize {
        self
    }

    fn checks(&self) -> Vec<Check> {
        let failed: Vec<&CellProblem> = self.problems.iter().filter(|it| it.is_failed).collect();
        let failures = failed.first().map(|first| {
            let line = first.problem.lines().next().unwrap_or_default();
            let reason = format!(
                "{} of {} cells failed, the first is `{}`: {line}",
                failed.len(),
                self.cells,
                first.cell
            );
            Check::inconclusive("failed-cells", reason)
        });
        let doubted: Vec<&CellProblem> = self.problems.iter().filter(|it| !it.is_failed).collect();
        let doubts = doubted.first().map(|first| {
            let reason = format!(
                "{} of {} cells are not valid, the first is `{}`: {}",
                doubted.len(),
                self.cells,
                first.cell,
                first.problem
            );
            Check::not_clean(reason)
        });
        let waiting = self.cells - self.done - failed.len();
        let unfinished = (waiting > 0).then(|| {
            let reason = format!("{waiting} of {} cells have not ended", self.cells);
            Check::inconclusive("waiting-cells", reason)
        });
        let undecided = match self.missing_baseline() {
            Some(MissingBaseline::Everywhere(reason)) => {
                Some(Check::inconclusive("baseline", reason))
            }
            _ => None,
        };
        failures
            .into_iter()
            .chain(doubts)
            .chain(unfinished)
            .chain(undecided)
            .collect()
    }

    fn omissions(&self) -> Vec<String> {
        match self.missing_baseline() {
            Some(MissingBaseline::Somewhere(sentence)) => vec![sentence],
            _ => Vec::new(),
        }
    }

    fn text(&self) -> String {
        document::document(self, &[]).terminal()
    }
}

impl PageAnswer for SweepAnswer {
    const FOLDER: &'static str = "sweep";

    fn figures(&self, dir: &Path) -> Result<Vec<Captioned>, ReportError> {
        figures::draw(self, dir)
    }

    fn document<'a>(&'a self, figures: &'a [Captioned]) -> Document<'a> {
        document::document(self, figures)
    }
}
