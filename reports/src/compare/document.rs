//! Document of a comparison of runs.

use lab_units::Bytes;

use super::{Against, BinChange, Comparison, PolicyComparison};
use crate::{
    check::PageAnswer,
    document::{Block, Cell, Column, Document, Medium, Section, Table},
    facts::RunOrigin,
    figures::Captioned,
    stats::{Change, Estimate, Interval, Slowdowns},
    text,
};

/// Returns the document of the comparison, with its `figures`.
pub fn document<'a>(comparison: &'a Comparison, figures: &'a [Captioned]) -> Document<'a> {
    let first = &comparison.runs[0];
    let others: Vec<&str> = comparison.runs[1..].iter().map(|run| &*run.name).collect();
    let run = |run: &RunOrigin| {
        let text = format!("{}: {} ({})", run.name, run.directory, run.engine);
        Block::Note(Medium::Any, text)
    };
    let mut opening: Vec<Block<'_>> = comparison.runs.iter().map(run).collect();
    opening.extend(comparison.doubts().map(Block::Banner));
    let mut sections = vec![Section::new(
        "Differences of the plans",
        differences(comparison),
    )];
    let of_run = |against: &Against| format!("{} against {}", against.run, first.name);
    let section = |it: &Against| Section::new(of_run(it), changes(it));
    sections.extend(comparison.against.iter().map(section));
    sections.push(Section::of_page("Figures", vec![Block::Figures(figures)]));
    let valid = comparison
        .against
        .iter()
        .filter(|it| it.not_valid.is_empty());
    sections.extend(valid.map(|it| {
        let policy = |one: &PolicyComparison| {
            let table = Block::Table(Medium::Any, bins(&one.bins, &it.run));
            [Block::Heading(Medium::Any, one.policy.clone()), table]
        };
        let with_bins = it.policies.iter().filter(|one| !one.bins.is_empty());
        let blocks = with_bins.flat_map(policy).collect();
        Section::of_page(format!("{} by size", of_run(it)), blocks)
    }));
    let origins = comparison.runs.iter().flat_map(RunOrigin::blocks).collect();
    sections.push(Section::of_page("The runs", origins));
    Document {
        title: format!(
            "{}: {} against {}",
            comparison.scenario,
            others.join(", "),
            first.name
        ),
        version: first.tool_version.clone(),
        origin: "from the records of the runs. Figures are beside this file as SVG and PNG.",
        opening,
        sections,
    }
}

fn differences(comparison: &Comparison) -> Vec<Block<'static>> {
    if comparison.differences.is_empty() {
        let text = "None: all runs have the same plan.".to_owned();
        return vec![Block::Text(Medium::Page, text)];
    }
    let fact = |it: &super::Difference| {
        let of_runs = comparison.runs.iter().zip(&it.values);
        let values = of_runs.map(|(run, value)| format!("{}: {value}", run.name));
        (it.aspect.name().to_owned(), values.collect())
    };
    let facts = comparison.differences.iter().map(fact).collect();
    vec![Block::Facts(Medium::Any, facts)]
}

/// Returns the changes of a run against the first. If the engines differ, no change is called faster or slower.
fn changes(against: &Against) -> Vec<Block<'static>> {
    let mut notes = against.notes();
    let mut blocks = vec![Block::Table(Medium::Any, percentiles(against))];
    if against.not_valid.is_empty() {
        blocks.push(Block::Table(Medium::Any, reductions(against)));
        let is_paired = against.policies.iter().any(|it| it.paired.is_some());
        if is_paired && !against.is_of_two_engines {
            notes.push(FASTER.to_owned());
        }
        notes.push(REDUCED.to_owned());
    }
    blocks.extend(notes.into_iter().map(|it| Block::Note(Medium::Any, it)));
    blocks
}

fn labels(against: &Against) -> Vec<String> {
    let policies = against.policies.iter();
    policies.map(|it| it.policy.clone()).collect()
}

/// Percentile: its name, and functions that return its value in a run and its change between runs.
type Percentile = (
    &'static str,
    fn(&Slowdowns) -> Option<Estimate>,
    fn(&Change) -> Option<Estimate>,
);

const PERCENTILES: [Percentile; 2] = [
    ("p50", |it| it.p50, |it| it.p50),
    ("p99", |it| it.p99, |it| it.p99),
];

fn percentiles(against: &Against) -> Table {
    let mut columns = vec![Column::names("policy"), Column::numbers("flows")];
    for (name, group) in [("p50", "p50 of slowdowns"), ("p99", "p99 of slowdowns")] {
        columns.extend([
            Column::numbers("A").under(group).only(Medium::Page),
            Column::numbers(&*against.run)
                .under(group)
                .only(Medium::Page),
            Column::numbers(name).only(Medium::Terminal),
            Column::numbers("change").under(group),
        ]);
    }
    let row = |policy: &PolicyComparison| {
        let runs = [policy.base, policy.other];
        let flows = match runs.map(|it| text::number(it.map_or(0, |it| it.flows as u64))) {
            [base, other] if base == other => base,
            both => both.join(" → "),
        };
        let mut cells = vec![Cell::from(&*policy.policy), flows.into()];
        for (name, value, change) in PERCENTILES {
            let levels = runs.map(|it| {
                Cell::level(
                    it.as_ref().and_then(value),
                    it.is_some_and(|it| it.at_least),
                )
            });
            let both = Cell::from(levels.each_ref().map(Cell::value).join(" → "));
            cells.extend(levels);
            cells.push(both);
            cells.push(policy.change.as_ref().map_or_else(Cell::none, |it| {
                Cell::change(change(it), it.flows, name, !against.is_of_two_engines)
            }));
        }
        cells
    };
    Table::new(columns)
        .colored(&labels(against))
        .with(against.policies.iter().map(row))
}

/// Returns a table with the per-flow slowdown ratios, if both runs have the same flows, and with the paper's reductions
/// (changes over flow-size bins).
fn reductions(against: &Against) -> Table {
    const PAIRED: &str = "each flow with itself";
    const REDUCTION: &str = "as the paper reduces";
    let is_paired = against.policies.iter().any(|it| it.paired.is_some());
    let is_ranked = is_paired && !against.is_of_two_engines;
    let paired = |name| Column::numbers(name).under(PAIRED);
    let mut columns = vec![Column::names("policy")];
    columns.extend(is_paired.then(|| paired("ratio")));
    columns.extend(
        ["faster", "slower", "effect", "δ"]
            .map(paired)
            .into_iter()
            .filter(|_| is_ranked),
    );
    columns
        .extend(["median-bin p50", "worst-bin P99"].map(|it| Column::numbers(it).under(REDUCTION)));
    let row = |policy: &PolicyComparison| {
        let mut cells = vec![Cell::from(&*policy.policy)];
        let one = policy.paired.as_ref();
        if is_paired {
            cells.push(
                one.and_then(|it| it.median_ratio)
                    .map_or_else(Cell::none, ratio),
            );
        }
        if is_ranked {
            cells.extend([
                Cell::of(one.map(|it| text::percent(it.faster))),
                Cell::of(one.map(|it| text::percent(it.slower))),
                Cell::of(one.map(|it| it.effect.name().to_owned())),
                Cell::of(one.map(|it| format!("{:+.2}", it.cliffs_delta))),
            ]);
        }
        let paper = policy.paper.as_ref();
        cells.push(Cell::of(paper.map(|it| text::change(it.median_bin_p50))));
        cells.push(Cell::of(paper.map(|it| text::change(it.worst_bin_p99))));
        cells
    };
    Table::new(columns)
        .colored(&labels(against))
        .with(against.policies.iter().map(row))
}

fn ratio(Estimate { value, interval }: Estimate) -> Cell {
    let cell = Cell::from(format!("× {}", text::significant(value, 4)));
    match interval {
        Some(Interval { low, high }) => {
            let [low, high] = [low, high].map(|it| text::significant(it, 4));
            cell.after(format!("[{low}, {high}]"))
        }
        None => cell,
    }
}

fn bins(bins: &[BinChange], run: &str) -> Table {
    let columns = ["percentile", "up to", "flows", "A", run, "change"].map(Column::numbers);
    let row = |bin: &BinChange| {
        [
            format!("p{}", bin.percentile).into(),
            text::size(Bytes::new(bin.upper_bytes)).into(),
            Cell::from(format!("{}/{}", bin.flows[0], bin.flows[1])),
            text::slowdown(bin.slowdown[0]).into(),
            text::slowdown(bin.slowdown[1]).into(),
            text::change(bin.change()).into(),
        ]
    };
    Table::new(columns).with(bins.iter().map(row))
}

/// Note below a table with per-flow slowdown ratios.
const FASTER: &str = "Faster and slower: by more than 1 %. δ is Cliff's delta; the bounds of effect sizes are those of \
                      Romano et al.";

/// Note below a table with the paper's reductions (changes over flow-size bins).
const REDUCED: &str = "Reductions as in the paper: over 20 bins of flow sizes, the median of the changes of the bins' \
                       median slowdowns, and the largest change of a bin's P99 slowdown. Percentile ranks and bins \
                       are those of the authors' scripts.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{Intervals, Pair, paired};

    fn against(is_of_two_engines: bool) -> Against {
        let pair = |flow: u32| Pair {
            base: 2.0,
            other: 1.0 + f64::from(flow % 3),
        };
        let policy = PolicyComparison {
            policy: "lcmp".to_owned(),
            unfinished: [0, 0],
            base: None,
            other: None,
            change: None,
            paired: paired(&[(0..100).map(pair).collect()]),
            paper: None,
            bins: Vec::new(),
        };
        assert!(policy.paired.is_some());
        Against {
            run: "B".to_owned(),
            is_paired: true,
            is_of_two_engines,
            not_valid: Vec::new(),
            intervals: Intervals::OneDraw,
            policies: vec![policy],
            in_one_run: Vec::new(),
        }
    }

    #[test]
    fn between_two_engines_no_flow_is_called_faster_or_slower() {
        for (is_of_two_engines, count) in [(false, 1), (true, 0)] {
            let section = Section::new("B against A", changes(&against(is_of_two_engines)));
            let page = section.html().into_string();
            assert!(page.contains("ratio"), "{page}");
            for words in ["\">faster", "\">slower", ">δ", "Faster and slower"] {
                assert_eq!(page.matches(words).count().min(1), count, "{words}: {page}");
            }
        }
    }
}
