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
use plotters::style::RGBColor;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::swatch::hex;
use crate::{
    error::ReportError,
    figure::attributes,
    figures::fault_marks,
    frames::{Decision, DirectionSeries, FlowsOverTime},
    run::Run,
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
    /// Start of the last flow, ms; `focus` is the end of the narrow intervals, ms.
    last: f64,
    focus: f64,
    policies: Vec<Policy>,
    routes: Vec<Named>,
    faults: Vec<Fault>,
    /// Mean number of flows in flight, by policy and interval.
    flight: Vec<Series<f64>>,
    finished: Vec<Series<u32>>,
    paused: Vec<Series<f64>>,
    again: Vec<Series<u32>>,
    /// Number of flows that start, by policy, group of routes and interval.
    started: Vec<Vec<Series<u32>>>,
    directions: Vec<Direction>,
    flows: FlowTable,
}

/// Values in each interval; `None`, which takes less space, if all are zero.
type Series<T> = Option<Vec<T>>;

#[derive(Serialize)]
struct Policy {
    name: String,
    color: String,
    dash: &'static [f64],
    /// True if the policy computes costs: its decisions have costs other than 0.
    scored: bool,
}

#[derive(Serialize)]
struct Named {
    name: String,
    color: String,
}

#[derive(Serialize)]
struct Fault {
    at: f64,
    label: String,
}

/// Direction of a link, with values by policy and interval.
#[derive(Serialize)]
struct Direction {
    name: String,
    about: String,
    from: String,
    to: String,
    /// Utilisation in thousandths of the capacity.
    util: Vec<Series<Option<f64>>>,
    /// Largest sample of the queue, kB.
    queue: Vec<Series<Option<f64>>>,
    marks: Vec<Series<f64>>,
    drops: Vec<Series<f64>>,
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
    let labels = run
        .groups
        .labels(|route| run.routes.delay(&run.routes.named(route)));
    let mut routes: Vec<Named> = labels.into_iter().map(|it| named(it.0, it.1)).collect();
    routes.push(named(
        "another or unknown".into(),
        crate::figure::theme::UNUSED,
    ));
    let policies = run.flows.policies.iter();
    let flows = &run.by_group;
    let styles = crate::figure::theme::policy_styles(&run.flows.policies);
    let policy = |(name, style): (&String, crate::figure::theme::Style)| Policy {
        name: name.clone(),
        color: hex(style.color),
        dash: style.dash.0,
        scored: run.stories.scored.contains(name),
    };
    let under_way = |flows: &FlowsOverTime| {
        let at = |index: usize| {
            let all = flows.under_way.iter().map(|layer| layer[index]);
            rounded(all.sum(), 100.0)
        };
        unless_zero((0..grid.len()).map(at).collect())
    };
    let again = |policy: &String| run.stories.again.get(policy).cloned();
    let paused = |policy: &String| {
        let pauses = run.pauses.get(policy)?;
        let mean = |(index, &nanos): (usize, &u64)| {
            let width = to_float(grid.edge(index + 1) - grid.edge(index));
            rounded(to_float(nanos) / width, 1_000.0)
        };
        unless_zero(pauses.over_time.iter().enumerate().map(mean).collect())
    };
    let fault = |mark: crate::figure::FaultMark| Fault {
        at: mark.at * 1e3,
        label: mark.label,
    };
    let data = Data {
        edges: (0..=grid.len())
            .map(|edge| millis(grid.edge(edge)))
            .collect(),
        last: millis(run.last_start.get()),
        focus: millis(grid.edge(grid.narrow_len())),
        policies: policies.clone().zip(styles).map(policy).collect(),
        routes,
        faults: fault_marks(run).into_iter().map(fault).collect(),
        flight: flows.iter().map(under_way).collect(),
        finished: flows
            .iter()
            .map(|it| unless_zero(it.finished.clone()))
            .collect(),
        paused: policies.clone().map(paused).collect(),
        again: policies.map(again).collect(),
        started: flows
            .iter()
            .map(|it| it.started.iter().cloned().map(unless_zero).collect())
            .collect(),
        directions: directions(run),
        flows: flow_table(run),
    };
    Ok(serde_json::to_string(&data)?)
}

fn named(name: String, color: RGBColor) -> Named {
    Named {
        name,
        color: hex(color),
    }
}

/// Returns at most [`MAX_DIRECTIONS`] link directions, the busiest first.
fn directions(run: &Run) -> Vec<Direction> {
    let of_direction = run
        .over_time
        .chunk_by(|a, b| (&a.link, &a.from_dc, &a.to_dc) == (&b.link, &b.from_dc, &b.to_dc));
    let busiest = |of: &[DirectionSeries]| {
        let used = of.iter().map(|one| run.used_while_arriving(one));
        used.fold(0.0, f64::max)
    };
    let mut all: Vec<&[DirectionSeries]> = of_direction.collect();
    all.sort_by(|a, b| busiest(b).total_cmp(&busiest(a)));
    all.truncate(MAX_DIRECTIONS);
    let direction = |of: &[DirectionSeries]| {
        let by_policy = |policy: &String| of.iter().find(|one| one.policy == *policy);
        let each = || run.flows.policies.iter().map(by_policy);
        let link = run.info.links.iter().find(|link| link.name == of[0].link);
        let counted = |counts: &Vec<f64>| {
            unless_zero(counts.iter().map(|&count| rounded(count, 10.0)).collect())
        };
        Direction {
            name: format!("{} → {}", of[0].from_dc, of[0].to_dc),
            about: link.map_or_else(String::new, attributes),
            from: of[0].from_dc.clone(),
            to: of[0].to_dc.clone(),
            util: each().map(|one| one.and_then(per_mille)).collect(),
            queue: each().map(|one| one.and_then(kilobytes)).collect(),
            marks: each().map(|one| counted(&one?.marks)).collect(),
            drops: each().map(|one| counted(&one?.drops)).collect(),
        }
    };
    all.into_iter().map(direction).collect()
}

fn per_mille(one: &DirectionSeries) -> Series<Option<f64>> {
    let shares: Vec<Option<f64>> = one
        .utilisation
        .iter()
        .map(|share| share.map(|share| rounded(share * 1_000.0, 1.0)))
        .collect();
    shares
        .iter()
        .flatten()
        .any(|&share| share > 0.0)
        .then_some(shares)
}

fn kilobytes(one: &DirectionSeries) -> Series<Option<f64>> {
    let sizes: Vec<Option<f64>> = one
        .queue
        .iter()
        .map(|size| size.map(|size| rounded(to_float(size) / 1e3, 1.0)))
        .collect();
    sizes
        .iter()
        .flatten()
        .any(|&size| size > 0.0)
        .then_some(sizes)
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

fn unless_zero<T: Copy + Default + PartialEq>(values: Vec<T>) -> Series<T> {
    values
        .iter()
        .any(|value| *value != T::default())
        .then_some(values)
}

/// Converts a time in ns to ms, rounded to microseconds.
fn millis(nanos: u64) -> f64 {
    rounded(to_float(nanos) / 1e6, 1_000.0)
}

fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}

/// Maximum number of link directions in the data, because more would make the page large.
const MAX_DIRECTIONS: usize = 40;
