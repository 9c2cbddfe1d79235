//! Document that shows a comparison between two runs of one plan.

use std::cmp::Reverse;

use lab_units::{Bytes, Nanos, show};

use super::{Agreement, Fidelity, FidelityComparison, FlowSide, LinkPair, LinkSide, WorstFlow};
use crate::{
    check::{Judgement, PageAnswer},
    document::{Banner, Block, Cell, Column, Document, Medium, NONE, Section, Table},
    figures::Captioned,
    text,
};

/// Returns the document of the comparison, with its `figures`.
pub fn document<'a>(comparison: &'a FidelityComparison, figures: &'a [Captioned]) -> Document<'a> {
    let fidelity = &comparison.fidelity;
    let [first, second] = &fidelity.runs;
    let directories = format!("{} against {}", first.directory, second.directory);
    let opening = [
        Some(Block::Lead(headline(fidelity))),
        Some(Block::Note(Medium::Any, directories)),
        bounds(comparison).map(Block::Banner),
        comparison.doubts().map(Block::Banner),
    ];
    Document {
        title: format!(
            "{}: {} against {}",
            fidelity.scenario, first.name, second.name
        ),
        version: first.tool_version.clone(),
        origin: "from the records of both runs. Figures are beside this file as SVG and PNG.",
        opening: opening.into_iter().flatten().collect(),
        sections: vec![
            Section::new("Agreement", agreement(fidelity)),
            Section::new("Links", links(fidelity)),
            Section::of_page("Figures", vec![Block::Figures(figures)]),
            Section::new("The flows that differ most", worst(fidelity)),
            Section::of_page(
                "The runs",
                fidelity.runs.iter().flat_map(|it| it.blocks()).collect(),
            ),
        ],
    }
}

fn headline(fidelity: &Fidelity) -> String {
    let all = &fidelity.all;
    let mut text = format!(
        "{} of {} flows finished in both runs; {} of {} took the same paths",
        all.compared, all.scheduled, all.same_paths, all.recorded
    );
    if let Some(fct) = all.fct_difference {
        text += &format!(
            "; half of the FCTs agree within {}, 99 of 100 within {}",
            text::small_percent(fct.p50),
            text::small_percent(fct.p99)
        );
    }
    text + "."
}

/// Returns a banner that states whether the bounds hold; `None` if there are no bounds.
fn bounds(comparison: &FidelityComparison) -> Option<Banner> {
    let bounded = comparison.checks.iter().filter(|it| it.bound.is_some());
    let broken = bounded.clone().filter(|it| it.grade == Judgement::Fail);
    let failed: Vec<String> = broken.map(|it| it.reason.clone()).collect();
    let title = format!("Bounds that do not hold: {}.", failed.len());
    let holds = || Banner {
        is_bad: false,
        title: "All bounds hold.".to_owned(),
        items: Vec::new(),
    };
    Banner::bad(title, failed).or_else(|| (bounded.count() > 0).then(holds))
}

fn agreement(fidelity: &Fidelity) -> Vec<Block<'static>> {
    const DIFFERENCE: &str = "|ΔFCT| ÷ FCT";
    const BY_SIZE: &str = "Pearson by size";
    let numbers = Column::numbers;
    let difference = ["p50", "p95", "p99", "max"].map(|it| numbers(it).under(DIFFERENCE));
    let slowdowns = ["Pearson", "Spearman"].map(|it| numbers(it).under("slowdowns"));
    let by_size = ["p50", "p99"].map(|it| numbers(it).short(format!("{it}s")).under(BY_SIZE));
    let first = [
        Column::names("policy").short("|ΔFCT| / FCT"),
        numbers("flows"),
        numbers("same paths").short("paths"),
    ];
    let columns = first
        .into_iter()
        .chain(difference)
        .chain(slowdowns)
        .chain(by_size);
    let policies = fidelity.policies.iter().chain([&fidelity.all]);
    let table = Table::new(columns)
        .colored(&fidelity.labels())
        .with(policies.map(row));
    let bins = fidelity
        .policies
        .iter()
        .map(|it| it.bins)
        .max()
        .unwrap_or(0);
    let mut note = format!(
        "ΔFCT is relative to the FCT in the {}; percentiles by the nearest-rank rule. In Spearman's coefficient, equal \
         slowdowns get their mean rank. By size: Pearson's coefficient of each policy's p50 and p99 slowdowns over {} \
         of flow sizes, as in the paper's Figure 6, which gives 0.95 and 0.97. A dash: the values do not vary, so the \
         coefficient is undefined.",
        fidelity.runs[0].name,
        show::counted(bins, "bin")
    );
    if fidelity.all.unknown_paths > 0 {
        note += &format!(
            " Number of flows that count as on different paths because a path is unknown in one run: {}.",
            fidelity.all.unknown_paths
        );
    }
    let short =
        "p50s, p99s: Pearson's coefficient over bins of flow sizes, as in the paper's Figure 6";
    vec![
        Block::Table(Medium::Any, table),
        Block::Note(Medium::Page, note),
        Block::Note(Medium::Terminal, short.to_owned()),
    ]
}

fn row(one: &Agreement) -> Vec<Cell> {
    let differences = match one.fct_difference {
        Some(it) => [it.p50, it.p95, it.p99, it.max].map(|it| text::small_percent(it).into()),
        None => [NONE; 4].map(Cell::from),
    };
    let flows = if one.compared == one.scheduled {
        one.compared.to_string()
    } else {
        format!("{}/{}", one.compared, one.scheduled)
    };
    let mut paths = Cell::from(text::share_of(one.same_paths, one.recorded));
    if one.same_paths < one.recorded {
        for (name, same) in [("data", one.same_data_path), ("ACKs", one.same_ack_path)] {
            paths = paths.below(format!("{name} {}", text::share_of(same, one.recorded)));
        }
    }
    let coefficients = [
        one.pearson,
        one.spearman,
        one.pearson_of_p50,
        one.pearson_of_p99,
    ];
    let first = [
        one.policy.as_deref().unwrap_or("all").into(),
        Cell::from(flows).bad(one.compared < one.scheduled),
        paths,
    ];
    let coefficients = coefficients.map(|it| text::coefficient(it).into());
    first
        .into_iter()
        .chain(differences)
        .chain(coefficients)
        .collect()
}

/// Functions that return a link's value in one run, and that format the value.
type LinkValue = (fn(&LinkSide) -> Option<u64>, fn(u64) -> String);

fn links(fidelity: &Fidelity) -> Vec<Block<'static>> {
    if fidelity.links.is_empty() {
        return vec![Block::Text(
            Medium::Page,
            "No link counters were recorded.".to_owned(),
        )];
    }
    let size: fn(u64) -> String = |bytes| text::size(Bytes::new(bytes));
    let values: [(&str, LinkValue); 5] = [
        ("carried", (|it| Some(it.bytes), size)),
        ("mean queue", (|it| it.mean_queue_bytes, size)),
        ("longest queue", (|it| it.peak_queue_bytes, size)),
        ("marked", (|it| it.marks, text::number)),
        ("dropped", (|it| Some(it.drops), text::number)),
    ];
    let labels = fidelity.labels();
    let names = [
        Column::names("policy").short("first · second"),
        Column::names("direction"),
    ];
    let columns = names
        .into_iter()
        .chain(values.map(|it| Column::numbers(it.0)));
    let mut page = Table::new(columns).colored(&labels);
    let mut terminal = page.clone();
    for policy in &labels {
        let of_policy = fidelity.links.iter().filter(|pair| pair.policy == *policy);
        let row = |pair: &LinkPair| {
            let names = [policy.clone(), format!("{} → {}", pair.from_dc, pair.to_dc)];
            let values =
                values.map(|(_, (value, show))| beside(pair.runs.each_ref().map(value), show));
            names
                .map(Cell::from)
                .into_iter()
                .chain(values)
                .collect::<Vec<_>>()
        };
        let longest = |pair: &&LinkPair| pair.runs.iter().map(|it| it.peak_queue_bytes).max();
        let mut pairs: Vec<&LinkPair> = of_policy.clone().collect();
        pairs.sort_by_key(|pair| Reverse(longest(pair)));
        page = page.with(pairs.into_iter().take(MAX_DIRECTIONS).map(row));
        terminal = terminal.with(
            of_policy
                .max_by_key(|it| it.runs[0].mean_queue_bytes)
                .map(row),
        );
    }
    let [first, second] = &fidelity.runs;
    let note = format!(
        "Link directions with the longest queues, up to {MAX_DIRECTIONS} per policy, over all repetitions. Each cell \
         has the value of the {}, then of the {}, and the relative change below. Queue lengths are samples taken \
         until the later run's last flow ended; between samples, queues may have been longer.",
        first.name, second.name
    );
    let mut blocks = vec![
        Block::Table(Medium::Page, page),
        Block::Table(Medium::Terminal, terminal),
        Block::Note(Medium::Page, note),
    ];
    blocks.extend(fidelity.cnps.iter().map(|pair| {
        let flows = show::counted(pair.flows, "flow");
        let counts = both(pair.cnps, text::number, "CNPs");
        let text = format!(
            "{}: {counts} for the {flows} whose rates both runs sampled",
            pair.policy
        );
        Block::Text(Medium::Any, text + &in_brackets(pair.cnps) + ".")
    }));
    blocks.extend(fidelity.pauses.iter().map(|pair| {
        let times = pair.paused_ns.map(Nanos::get);
        let both = both(times, |it| text::time(Nanos::new(it)), "in all");
        let text = format!("{}: PFC paused ports for {both}", pair.policy);
        Block::Text(Medium::Any, text + &in_brackets(times) + ".")
    }));
    blocks
}

fn both([first, second]: [u64; 2], show: fn(u64) -> String, what: &str) -> String {
    format!("{} and {} {what}", show(first), show(second))
}

fn in_brackets(values: [u64; 2]) -> String {
    change(values).map_or_else(String::new, |change| format!(" ({change})"))
}

/// Returns a cell with the values of both runs and the relative change from the first to the second.
fn beside(values: [Option<u64>; 2], show: fn(u64) -> String) -> Cell {
    let shown = values.map(|value| value.map_or_else(|| NONE.to_owned(), show));
    let cell = Cell::from(shown.join(" · "));
    let [Some(first), Some(second)] = values else {
        return cell;
    };
    match change([first, second]) {
        Some(change) => cell.below(change),
        None => cell,
    }
}

/// Formats the relative change from the first value to the second; `None` if the first is 0 or both are equal.
fn change([first, second]: [u64; 2]) -> Option<String> {
    let is_change = first > 0 && first != second;
    is_change.then(|| text::change(text::to_float(second) / text::to_float(first) - 1.0))
}

fn worst(fidelity: &Fidelity) -> Vec<Block<'static>> {
    if fidelity.worst.is_empty() {
        let text = "No flow finished in both runs.".to_owned();
        return vec![Block::Text(Medium::Page, text)];
    }
    let [first, second] = &fidelity.runs;
    let note = format!(
        "Flows with the largest |ΔFCT| ÷ FCT among all policies. Of two values side by side, the first is from the {}. \
         A bottleneck is the link with the lowest rate on the data's path.",
        first.name
    );
    let columns = [
        Column::names("flow").short(format!(
            "largest differences ({} first, {} second)",
            first.name, second.name
        )),
        Column::numbers("size").only(Medium::Page),
        Column::numbers("ΔFCT").only(Medium::Page),
        Column::numbers("slowdowns").only(Medium::Page),
        Column::sentences("facts"),
    ];
    let table = Table::new(columns).with(fidelity.worst.iter().map(worst_row));
    vec![
        Block::Note(Medium::Page, note),
        Block::Table(Medium::Any, table),
    ]
}

fn worst_row(flow: &WorstFlow) -> [Cell; 5] {
    let slowdown = |side: &FlowSide| side.slowdown.map_or(NONE.to_owned(), text::slowdown);
    let name = Cell::from(format!("{} {}", flow.policy, flow.flow_id));
    [
        match flow.repetition {
            0 => name,
            repetition => name.after(format!("repetition {repetition}")),
        },
        text::size(Bytes::new(flow.size_bytes)).into(),
        text::small_change(flow.fct_difference).into(),
        flow.runs.each_ref().map(slowdown).join(", ").into(),
        flow.explanation.as_str().into(),
    ]
}

/// Maximum number of link directions per policy in a page's table.
const MAX_DIRECTIONS: usize = 4;
