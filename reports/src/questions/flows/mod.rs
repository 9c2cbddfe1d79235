//! Table of flows, in which each flow opens its decisions and queues.

use lab_records::{DcPath, FlowRow};
use lab_units::{Nanos, show::counted};
use maud::{Markup, html};

use super::Question;
use crate::{
    document::{Block, Cell, Column, Table},
    frames::badness,
    page::live,
    run::Run,
    text,
};

/// Report section on single flows over time.
pub const QUESTION: Question = Question {
    id: "flows",
    title: "What happened to single flows?",
    is_open: false,
    figures: &[
        |draw| draw.flows_in_flight(),
        |draw| draw.timeline(),
        |draw| draw.rates_over_time(),
    ],
    blocks: |inputs| {
        vec![
            Block::Html(live::timeline()),
            inputs.figures(&QUESTION),
            Block::Html(table(inputs.run)),
        ]
    },
    values: None,
};

/// Returns the table of the worst flows, which the page's scripts replace by a table of all flows in the page.
fn table(run: &Run) -> Markup {
    let all = run.flows.counts.iter().map(|counts| counts.flows).sum();
    let shown = &run.flows.shown;
    html! {
        h3 id="flow-table" { "Table of flows" }
        @if shown.is_empty() {
            p { "No flow is recorded." }
        } @else {
            p.note {
                @if (shown.len() as u64) < all {
                    "The page has " (text::number(shown.len() as u64)) " of "
                    (counted(all, "flow"))
                    ": the worst of each policy, and about as many at even intervals; all flows are in "
                } @else {
                    "All flows are in this table and in "
                }
                code { "flows.csv" }
                ". Click a row for the flow's story: the candidates and the choice of every DCI switch, \
                 with the queue lengths sampled by then. Without scripts, the table lists only the worst flows."
            }
            input.search id="flow-search" type="search" hidden
                placeholder="search: policy, host, path, status" aria-label="search flows";
            div id="flow-rows" { (rows(run, &worst(run)).html()) }
        }
    }
}

/// Returns the flows of each policy that did not finish or have the largest slowdowns, at most [`MAX_WORST`] per
/// policy.
fn worst(run: &Run) -> Vec<&FlowRow> {
    let mut worst = Vec::new();
    for policy in &run.flows.policies {
        let badness = |row: &FlowRow| badness(row.fields());
        let mut flows: Vec<&FlowRow> = run
            .flows
            .shown
            .iter()
            .filter(|row| row.policy == *policy)
            .collect();
        flows.sort_by(|a, b| badness(b).total_cmp(&badness(a)));
        worst.extend(flows.into_iter().take(MAX_WORST));
    }
    worst
}

/// Maximum number of flows per policy in the table that is shown without scripts.
const MAX_WORST: usize = 5;

fn rows(run: &Run, flows: &[&FlowRow]) -> Table {
    let is_repeated = run.info.repetitions > 1;
    let numbers = Column::numbers;
    let mut columns = vec![Column::names("policy")];
    columns.extend(is_repeated.then(|| numbers("repetition")));
    columns.extend([numbers("flow"), Column::names("from → to")]);
    columns.extend(["size", "start", "FCT", "ideal", "slowdown"].map(numbers));
    columns.extend(["path", "path of ACKs"].map(Column::names));
    columns.extend([numbers("late by"), Column::names("status")]);
    let row = |flow: &&FlowRow| {
        let time = |it: Option<Nanos>| Cell::of(it.map(text::time));
        let slowdown = Cell::of(flow.slowdown.map(text::slowdown));
        let path = |it: &Option<DcPath>| Cell::of(it.as_ref().map(ToString::to_string));
        let status = match flow.reason.as_str() {
            "" => flow.status.label().to_owned(),
            reason => format!("{}: {reason}", flow.status.label()),
        };
        let mut cells = vec![Cell::from(&*flow.policy)];
        cells.extend(is_repeated.then(|| flow.repetition.to_string().into()));
        cells.extend([
            flow.flow_id.to_string().into(),
            format!("{} → {}", flow.src_host, flow.dst_host).into(),
            text::size(flow.size_bytes).into(),
            time(Some(flow.start_ns)),
            time(flow.fct_ns),
            time(Some(flow.ideal_fct_ns)),
            slowdown.bad(flow.slowdown.is_some_and(|it| it < 1.0)),
            path(&flow.path),
            path(&flow.ack_path),
            time(flow.launch_lateness_ns),
            Cell::from(status).bad(!flow.status.is_finished()),
        ]);
        cells
    };
    Table::new(columns).with(flows.iter().map(row))
}
