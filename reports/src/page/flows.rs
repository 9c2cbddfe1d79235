//! The tables of flows and their routes.

use std::collections::BTreeMap;

use lab_records::{DcPath, FlowRow};
use lab_units::{Bytes, Nanos, show::counted};
use maud::{Markup, html};

use super::contents::Page;
use crate::{
    document::{Cell, Column, Table},
    error::ReportError,
    frames::{RouteShare, badness},
    run::Run,
    text,
};

/// Returns the table of routes, the least delay first.
pub fn routes(page: &Page<'_>) -> Result<Markup, ReportError> {
    let mut shares: BTreeMap<(u8, Nanos, String), BTreeMap<&str, &RouteShare>> = BTreeMap::new();
    let policies = &page.run.flows.policies;
    let routes = &page.run.routes;
    for (index, policy) in policies.iter().enumerate() {
        for share in page.run.flows.routes(index) {
            let delay = routes.delay(&routes.named(&share.route));
            let (unknown, delay) = delay.map_or((1, Nanos::ZERO), |delay| (0, delay));
            let key = (unknown, delay, share.route.clone());
            shares.entry(key).or_default().insert(policy, share);
        }
    }
    if shares.is_empty() {
        return Ok(html! { p { "No flow's path is known." } });
    }
    let first = [Column::names("route"), Column::numbers("one-way delay")];
    let columns = first
        .into_iter()
        .chain(policies.iter().map(Column::numbers));
    let rows = shares
        .into_iter()
        .map(|((unknown, delay, route), by_policy)| {
            let cells = policies
                .iter()
                .map(|policy| match by_policy.get(policy.as_str()) {
                    Some(share) => {
                        let flows = Cell::from(counted(share.flows, "flow"));
                        flows.below(text::size(Bytes::new(share.bytes)))
                    }
                    None => Cell::none(),
                });
            let delay = (unknown == 0).then(|| text::time(delay));
            let first = [Cell::from(route), Cell::of(delay)];
            first.into_iter().chain(cells).collect::<Vec<_>>()
        });
    let table = Table::new(columns).colored(policies).with(rows);
    Ok(html! {
        (table.html())
        p.note { "Routes of the flows' data, either direction." (page.run.about_routes()) }
    })
}

/// Returns the flow table: the worst flows, which scripts replace by all flows on the page.
pub fn table(run: &Run) -> Markup {
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
                    ": the worst of each policy, and about as many picked evenly; all are in "
                } @else {
                    "All flows are here and in "
                }
                code { "flows.csv" }
                ". A row opens the flow's story: the candidates and the choice of every DCI switch, \
                 and queues as sampled then. Without scripts, the table has the worst flows alone."
            }
            input.search id="flow-search" type="search" hidden
                placeholder="search: policy, host, path, status" aria-label="search flows";
            div id="flow-rows" { (rows(run, &worst(run)).html()) }
        }
    }
}

/// Returns the worst flows of each policy.
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

/// Number of each policy's flows in the table without scripts.
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
