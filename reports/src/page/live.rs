//! Interactive part of the page: flows, links, queues, decisions and faults on one time axis, and a table of flows with
//! each flow's decisions.
//!
//! Charts are drawn by uPlot, whose script is in the page, like the data. Without scripts, the page shows only the
//! figures and a table of the worst flows.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use lab_records::FlowRow;
use lab_units::Nanos;
use maud::{Markup, PreEscaped, html};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::swatch::hex;
use crate::{
    error::ReportError,
    figure::{
        FaultMark,
        theme::{Style, policy_styles},
    },
    frames::Decision,
    run::Run,
    series::{self, Line, Quantity, Series, Unit, fault_marks, total},
    text::to_float,
};

/// Scripts of the page, in the order in which they run.
const SCRIPTS: [&str; 2] = [
    include_str!("../../assets/uplot/uPlot.iife.min.js"),
    include_str!("live.js"),
];

/// Style sheets of the charts.
pub const STYLES: [&str; 2] = [
    include_str!("../../assets/uplot/uPlot.min.css"),
    include_str!("live.css"),
];

/// Returns the sources in a content security policy that allow exactly the page's own scripts, by their hashes.
pub fn allowed_scripts() -> String {
    let hash = |script: &&str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(script)));
    SCRIPTS.iter().map(hash).collect::<Vec<_>>().join(" ")
}

/// Returns the section with the common time axis, which is hidden unless scripts run.
pub fn timeline() -> Markup {
    html! {
        div id="timeline" hidden {
            p.note {
                "One axis of time for all: drag over a chart to zoom, double-click for the whole \
                 repetition. A policy's button shows it alone, here and in the table of flows. Only the \
                 first repetition is shown; intervals grow wider after most flows have ended."
            }
            div.live {
                div.bar id="controls" {}
                div id="charts" {}
            }
        }
    }
}

/// Returns the data and the scripts, which belong at the end of the page.
pub fn scripts(run: &Run) -> Result<Markup, ReportError> {
    // In a script element, only `</` and `<!--` could end or change the text, so `<` is escaped.
    let data = data(run)?.replace('<', "\\u003c");
    Ok(html! {
        script type="application/json" id="run-data" { (PreEscaped(data)) }
        @for script in SCRIPTS { script { (PreEscaped(script)) } }
    })
}

#[derive(Serialize)]
struct Data {
    /// Starts of the intervals, followed by the end of the last one, ms.
    edges: Vec<f64>,
    /// Start of the last flow, ms. The next field, `focus`, is the end of the narrow intervals, ms.
    last: f64,
    focus: f64,
    policies: Vec<Policy>,
    routes: Vec<Value>,
    faults: Vec<FaultMark>,
    directions: Vec<Value>,
    charts: Vec<Chart>,
    flows: FlowTable,
}

#[derive(Serialize)]
struct Policy {
    name: String,
    color: String,
    dash: &'static [f64],
    /// True if the policy computes costs: its decisions have costs other than 0.
    scored: bool,
}

/// Chart of a quantity.
#[derive(Serialize)]
struct Chart {
    title: &'static str,
    unit: Unit,
    /// True if each series describes a link direction.
    is_of_direction: bool,
    /// Factor by which values are multiplied before they are rounded to integers.
    parts: f64,
    /// Values by subject (route or link direction, or the whole network), policy and interval; a policy's line is
    /// `None` if all its values are zero.
    series: Vec<Vec<Option<Vec<Option<u64>>>>>,
}

/// Listed flows, one array per column. Texts are indices into `names`, times are in ms.
#[derive(Default, Serialize)]
struct FlowTable {
    names: Vec<String>,
    policy: Vec<usize>,
    repetition: Vec<u32>,
    id: Vec<u32>,
    src: Vec<usize>,
    dst: Vec<usize>,
    size: Vec<u64>,
    start: Vec<f64>,
    fct: Vec<Option<f64>>,
    ideal: Vec<f64>,
    slowdown: Vec<Option<f64>>,
    path: Vec<Option<usize>>,
    ack: Vec<Option<usize>>,
    status: Vec<usize>,
    reason: Vec<Option<usize>>,
    late: Vec<Option<f64>>,
    /// Decisions on each flow: time, switch, reason, candidates, and chosen next hop.
    stories: Vec<Vec<Story>>,
}

type Story = (
    f64,
    usize,
    usize,
    Vec<(usize, u64, u64, u64, u8)>,
    Option<usize>,
);

/// Table that numbers texts in the order of their first use.
#[derive(Default)]
struct Names {
    numbers: BTreeMap<String, usize>,
    names: Vec<String>,
}

impl Names {
    fn number(&mut self, name: &str) -> usize {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.names.len();
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }
}

fn data(run: &Run) -> Result<String, ReportError> {
    let grid = &run.grid;
    let policies = &run.flows.policies;
    let policy = |(name, style): (&String, Style)| Policy {
        name: name.clone(),
        color: hex(style.color),
        dash: style.dash.0,
        scored: run.stories.scored.contains(name),
    };
    let route = |(name, color)| json!({"name": name, "color": hex(color)});
    let flows = series::under_way(run);
    let under_way = Quantity::of_network(flows.title, flows.unit, total(&flows.series));
    let utilisation = series::utilisation(run);
    let directions = utilisation.series.iter().take(MAX_DIRECTIONS);
    let direction = |one: &Series| json!({"name": one.label, "about": one.about});
    let data = Data {
        edges: (0..=grid.len())
            .map(|edge| millis(grid.edge(edge)))
            .collect(),
        last: millis(run.last_start.get()),
        focus: millis(grid.edge(grid.narrow_len())),
        policies: policies
            .iter()
            .zip(policy_styles(policies))
            .map(policy)
            .collect(),
        routes: run
            .groups
            .labels(&run.routes)
            .into_iter()
            .map(route)
            .collect(),
        faults: fault_marks(run),
        directions: directions.map(direction).collect(),
        charts: [
            under_way,
            series::finished(run),
            utilisation,
            series::queues(run),
            series::marks(run),
            series::drops(run),
            series::paused(run),
            series::again(run),
            series::started(run),
        ]
        .into_iter()
        .filter_map(chart)
        .collect(),
        flows: flow_table(run),
    };
    Ok(serde_json::to_string(&data)?)
}

/// Returns the chart of a quantity; `None` if all values are zero.
fn chart(quantity: Quantity) -> Option<Chart> {
    let parts = match quantity.unit {
        Unit::Count | Unit::Share => 1.0,
        Unit::Flows => 100.0,
        Unit::Ports => 1_000.0,
        Unit::PerMs | Unit::Percent => 10.0,
        Unit::Bytes => 1e-3,
    };
    let line = |line: &Line| {
        let whole = |value: &Option<f64>| value.map(|value| whole(value * parts));
        let line: Vec<Option<u64>> = line.iter().map(whole).collect();
        line.iter()
            .flatten()
            .any(|&value| value > 0)
            .then_some(line)
    };
    let is_named = quantity.series.iter().any(|one| !one.label.is_empty());
    let shown = quantity.series.iter().take(MAX_DIRECTIONS);
    let series: Vec<Vec<_>> = shown
        .map(|one| one.lines.iter().map(line).collect())
        .collect();
    series
        .iter()
        .flatten()
        .any(Option::is_some)
        .then_some(Chart {
            title: quantity.title,
            unit: quantity.unit,
            is_of_direction: quantity.unit != Unit::Share && is_named,
            parts,
            series,
        })
}

fn flow_table(run: &Run) -> FlowTable {
    let mut names = Names::default();
    let mut table = FlowTable::default();
    for row in &run.flows.shown {
        add_flow(&mut table, &mut names, run, row);
    }
    table.names = names.names;
    table
}

fn add_flow(table: &mut FlowTable, names: &mut Names, run: &Run, row: &FlowRow) {
    let policy = run.flows.policies.iter().position(|it| *it == row.policy);
    let time = |time: Nanos| millis(time.get());
    table.policy.push(policy.unwrap_or(0));
    table.repetition.push(row.repetition);
    table.id.push(row.flow_id.0);
    table.src.push(names.number(&row.src_host));
    table.dst.push(names.number(&row.dst_host));
    table.size.push(row.size_bytes.get());
    table.start.push(time(row.start_ns));
    table.fct.push(row.fct_ns.map(time));
    table.ideal.push(time(row.ideal_fct_ns));
    table
        .slowdown
        .push(row.slowdown.map(|it| rounded(it, 10_000.0)));
    table
        .path
        .push(row.path.as_ref().map(|it| names.number(it.as_str())));
    table
        .ack
        .push(row.ack_path.as_ref().map(|it| names.number(it.as_str())));
    table.status.push(names.number(row.status.label()));
    table
        .reason
        .push((!row.reason.is_empty()).then(|| names.number(&row.reason)));
    table.late.push(row.launch_lateness_ns.map(time));
    let key = (row.policy.clone(), row.repetition, row.flow_id.0);
    let decisions = run
        .stories
        .of_flows
        .get(&key)
        .map_or(&[][..], Vec::as_slice);
    let mut story = |decision: &Decision| {
        let candidates = decision
            .candidates
            .iter()
            .map(|(name, c_path, c_cong, cost, kept)| {
                (names.number(name), *c_path, *c_cong, *cost, u8::from(*kept))
            })
            .collect();
        (
            millis(decision.time),
            names.number(&decision.switch),
            names.number(&decision.reason),
            candidates,
            decision.chosen.as_ref().map(|dc| names.number(dc)),
        )
    };
    table
        .stories
        .push(decisions.iter().map(&mut story).collect());
}

/// Returns a time in milliseconds, to a microsecond.
fn millis(nanos: u64) -> f64 {
    rounded(to_float(nanos) / 1e6, 1_000.0)
}

fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}

/// Returns the nearest whole number to `value`, which is not negative.
fn whole(value: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates"
    )]
    let whole = value.round() as u64;
    whole
}

/// Maximum number of link directions with charts; more directions would make the page large.
const MAX_DIRECTIONS: usize = 40;
