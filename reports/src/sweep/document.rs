//! Document of a sweep.

use std::collections::BTreeMap;

use lab_units::show::counted;
use maud::html;

use super::{
    answer::{CellProblem, CellRun, SweepAnswer},
    effects::{Effect, EffectOutcome, FALSE_DISCOVERIES, distinct},
    numbers::Slice,
    point::Point,
};
use crate::{
    check::PageAnswer,
    document::{Block, Cell, Column, Document, Medium, Section, Table},
    figures::Captioned,
    stats::{UncertaintyMethod, median},
    text,
};

/// Returns the document of a sweep, with its `figures`.
pub fn document<'a>(sweep: &'a SweepAnswer, figures: &'a [Captioned]) -> Document<'a> {
    let title = &sweep.title;
    let mut opening = vec![
        Block::Lead(lead(sweep)),
        Block::Note(Medium::Any, format!("Simulator, {}.", title.method)),
    ];
    opening.extend(sweep.doubts().map(Block::Banner));
    let mut sections = Vec::new();
    if let Some(baseline) = sweep
        .baseline
        .as_ref()
        .filter(|_| !sweep.effects.is_empty())
    {
        let outcomes = vec![
            Block::Table(Medium::Any, outcomes(sweep)),
            Block::Note(Medium::Any, multiplicity(sweep)),
        ];
        let title = format!("p99 of slowdowns against {baseline}, in points of the grid");
        sections.push(Section::new(title, outcomes));
    }
    if !figures.is_empty() {
        sections.push(Section::of_page("Figures", vec![Block::Figures(figures)]));
    }
    let medium = if sweep.points.len() > MAX_ROWS {
        Medium::Page
    } else {
        Medium::Any
    };
    let points = vec![
        Block::Table(medium, points(sweep)),
        Block::Note(medium, points_note(sweep)),
    ];
    sections.push(Section::new("Points", points));
    if !sweep.sensitivities.is_empty() {
        let blocks = vec![
            Block::Table(Medium::Any, sensitivity(sweep)),
            Block::Note(Medium::Any, SENSITIVITY.to_owned()),
        ];
        sections.push(Section::new("What moves the p99", blocks));
    }
    if !sweep.problems.is_empty() {
        let table = Block::Table(Medium::Page, problems(&sweep.problems));
        sections.push(Section::of_page("Cells to look at", vec![table]));
    }
    if !sweep.runs.is_empty() {
        sections.push(Section::of_page(
            "Runs of the cells",
            vec![runs(&sweep.runs)],
        ));
    }
    Document {
        title: format!("{}: sweep", title.name),
        version: title.version.clone(),
        origin: "from the results of the sweep's cells, which are beside this page.",
        opening,
        sections,
    }
}

/// Returns links to the runs of cells.
fn runs(runs: &[CellRun]) -> Block<'static> {
    Block::Html(html! {
        ul {
            @for run in runs {
                li { a href=(run.path) { (run.cell) } }
            }
        }
    })
}

/// Maximum number of points that a terminal shows.
const MAX_ROWS: usize = 40;

const POINTS: &str = "A change is the geometric mean, over the draws (seeds and repetitions), of the policy's p99 ÷ the \
     baseline's p99 for the same flows. A dash: a draw has too few flows for a p99, or did not finish them";

/// Explains the table of points, with the methods of its intervals.
fn points_note(sweep: &SweepAnswer) -> String {
    let uses = |method| sweep.effects.iter().any(|it| it.method == Some(method));
    let hierarchical = uses(UncertaintyMethod::Hierarchical);
    let student = uses(UncertaintyMethod::Student);
    let brackets = match [hierarchical, student] {
        [false, false] => "",
        [true, false] => {
            " Brackets are 95 % intervals, from the differences between the draws and between ten windows of time in each."
        }
        [false, true] => " Brackets are Student's 95 % intervals over the draws.",
        [true, true] => {
            " Brackets are 95 % intervals, from the differences between the draws and between ten windows of time in \
             each, or Student's over the draws where there are more than four or a window is unknown."
        }
    };
    let missing = match sweep.missing_baseline() {
        Some(_) => ", or the point does not have the baseline.",
        None => ".",
    };
    format!("{POINTS}{missing}{brackets}")
}

const SENSITIVITY: &str = "Points that differ in one axis alone: the largest p99 ÷ the smallest, as the median over all groups of \
     such points.";

fn lead(sweep: &SweepAnswer) -> String {
    let failed = sweep.problems.iter().filter(|it| it.is_failed).count();
    let mut text = format!(
        "{} of {} have results, at {}",
        text::number(sweep.done as u64),
        counted(sweep.cells as u64, "cell"),
        counted(sweep.points.len() as u64, "point"),
    );
    if failed > 0 {
        text += &format!("; {} failed", text::number(failed as u64));
    }
    text + "."
}

/// States how many effects were tested, and how many of those called better or worse may be wrong.
fn multiplicity(sweep: &SweepAnswer) -> String {
    let tested = sweep
        .effects
        .iter()
        .filter(|it| it.p_value.is_some())
        .count();
    format!(
        "{} on p50 and p99 were tested together: by the procedure of Benjamini and Hochberg, at most {:.0} % of those \
         called better or worse are expected to be wrong. Same: the interval lies within 1 % of zero.",
        counted(tested as u64, "effect"),
        FALSE_DISCOVERIES * 100.0,
    )
}

/// Returns the table of the numbers of points at which each policy is better, the same, worse, or cannot be told.
fn outcomes(sweep: &SweepAnswer) -> Table {
    let mut table = Table::new(
        ["policy", "flows"]
            .map(Column::names)
            .into_iter()
            .chain(OUTCOMES.map(|(_, name)| Column::numbers(name)))
            .chain([Column::numbers("median change")]),
    );
    for policy in sweep.compared() {
        for slice in [Slice::All, Slice::WithChoice] {
            let effects: Vec<&Effect> = sweep.p99(policy, slice).collect();
            if effects.is_empty() {
                continue;
            }
            let count = |outcome| effects.iter().filter(|it| it.outcome == outcome).count();
            let changes: Vec<f64> = effects
                .iter()
                .filter_map(|it| Some(it.change?.value))
                .collect();
            let median = median(changes);
            let counts = OUTCOMES.map(|(outcome, _)| text::number(count(outcome) as u64).into());
            table.push(
                [Cell::from(policy), slice.name().into()]
                    .into_iter()
                    .chain(counts)
                    .chain([Cell::of(median.map(text::change))]),
            );
        }
    }
    table
}

const OUTCOMES: [(EffectOutcome, &str); 4] = [
    (EffectOutcome::Better, "better"),
    (EffectOutcome::Same, "same"),
    (EffectOutcome::Worse, "worse"),
    (EffectOutcome::Unknown, "cannot tell"),
];

/// Returns the table of all points: what each is, and the change of every policy's p99.
fn points(sweep: &SweepAnswer) -> Table {
    let title = &sweep.title;
    let has_scenarios = title.scenarios > 1 || title.axes.is_empty();
    let compared = sweep.compared();
    let mut columns = Vec::new();
    if has_scenarios {
        columns.push(Column::names("scenario"));
    }
    columns.extend(title.axes.iter().map(Column::names));
    columns.extend(["cells", "flows"].map(Column::numbers));
    columns.push(Column::numbers(match &sweep.baseline {
        Some(baseline) => format!("{baseline} p99"),
        None => "p99".to_owned(),
    }));
    columns.extend(compared.iter().copied().map(Column::numbers));
    let effects: Vec<BTreeMap<usize, &Effect>> = compared
        .iter()
        .map(|policy| {
            sweep
                .p99(policy, Slice::All)
                .map(|it| (it.point, it))
                .collect()
        })
        .collect();
    let mut table = Table::new(columns);
    for (number, point) in sweep.points.iter().enumerate() {
        let mut row = Vec::new();
        if has_scenarios {
            row.push(Cell::from(&*point.scenario));
        }
        row.extend(point.values.iter().map(|value| Cell::from(&**value)));
        row.push(cells(point));
        row.push(flows(point));
        row.push(level(sweep, point));
        row.extend(effects.iter().map(|of_policy| {
            let effect = of_policy.get(&number);
            effect.map_or_else(Cell::none, |effect| change(effect))
        }));
        table.push(row);
    }
    table
}

/// Returns the table of how much each axis moves each policy's p99; the axis that moves the first policy's most comes
/// first.
fn sensitivity(sweep: &SweepAnswer) -> Table {
    let policies = distinct(sweep.sensitivities.iter().map(|it| &it.policy));
    let mut axes: Vec<(&str, BTreeMap<&str, f64>)> = Vec::new();
    for it in &sweep.sensitivities {
        match axes.iter_mut().find(|(axis, _)| *axis == it.axis) {
            Some((_, factors)) => {
                factors.insert(&it.policy, it.factor);
            }
            None => axes.push((&it.axis, BTreeMap::from([(&*it.policy, it.factor)]))),
        }
    }
    let of_first = |factors: &BTreeMap<&str, f64>| factors.get(policies[0]).copied();
    axes.sort_by(|(_, a), (_, b)| {
        let [a, b] = [a, b].map(|factors| of_first(factors).unwrap_or(0.0));
        b.total_cmp(&a)
    });
    let columns = policies.iter().copied().map(Column::numbers);
    let mut table = Table::new([Column::names("axis")].into_iter().chain(columns));
    for (axis, factors) in axes {
        let factor = |policy: &&str| {
            let known = factors.get(policy);
            Cell::of(known.map(|factor| format!("× {}", text::slowdown(*factor))))
        };
        table.push(
            [Cell::from(axis)]
                .into_iter()
                .chain(policies.iter().map(factor)),
        );
    }
    table
}

fn cells(point: &Point) -> Cell {
    if point.done == point.cells {
        return point.cells.to_string().into();
    }
    Cell::from(format!("{} of {}", point.done, point.cells)).bad(true)
}

fn flows(point: &Point) -> Cell {
    let cell = Cell::from(text::number(point.flows));
    match point.flows_with_choice {
        Some(flows) => cell.below(format!("{} with a choice", text::number(flows))),
        None => cell,
    }
}

/// Returns the cell of the baseline's p99.
fn level(sweep: &SweepAnswer, point: &Point) -> Cell {
    let mut levels = point.levels.iter();
    let level = levels.find(|it| sweep.baseline.as_ref() == Some(&it.policy));
    Cell::of(level.and_then(|it| it.p99).map(text::slowdown))
}

fn change(effect: &Effect) -> Cell {
    if effect.change.is_none() {
        return Cell::none();
    }
    let flows = usize::try_from(effect.flows).unwrap_or(usize::MAX);
    let cell = Cell::change(effect.change, flows, effect.statistic, false);
    match effect.outcome {
        EffectOutcome::Unknown => cell,
        outcome => {
            let mut named = OUTCOMES.iter().filter(|(it, _)| *it == outcome);
            cell.below(named.next().map_or("", |(_, name)| name))
        }
    }
}

fn problems(problems: &[CellProblem]) -> Table {
    let rows = problems
        .iter()
        .map(|it| [it.cell.clone(), it.problem.clone()]);
    Table::of(["cell", "problem"], 2, rows)
}
