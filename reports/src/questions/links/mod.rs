//! Certificate and totals of links, and totals of ports.

mod certificate;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use lab_records::{EngineInfo, LinkInfo};
use lab_units::{Bytes, Nanos};

use super::{Question, ReportInputs};
use crate::{
    document::{Block, Cell, Column, Medium, Table},
    figure::attributes,
    frames::{LinkUse, PortTotal},
    run::Run,
    text,
};

/// Report section on the use of links and queues.
pub const QUESTION: Question = Question {
    id: "links",
    title: "How full were links and queues?",
    is_open: false,
    figures: &[
        |draw| draw.utilisation(),
        |draw| draw.links_over_time(),
        |draw| draw.queues_over_time(),
        |draw| draw.around_faults(),
    ],
    blocks,
    values: None,
};

fn blocks<'a>(inputs: &ReportInputs<'a>) -> Vec<Block<'a>> {
    let run = inputs.run;
    let heading = |text: &str| Block::Heading(Medium::Page, text.to_owned());
    let table = |table| Block::Table(Medium::Page, table);
    let mut blocks = vec![inputs.figures(&QUESTION)];
    if run.info.has_only_totals() {
        let text = "The run kept only flows and totals (`--records flows`): decisions and pauses are unknown, and so are links, \
                    queues and rates over time.";
        blocks.push(Block::Note(Medium::Page, text.to_owned()));
    }
    // Simulated links are exact and need no certificate.
    if matches!(run.info.engine, EngineInfo::Kernel) {
        blocks.push(heading("Certificate: planned, measured, bound"));
        blocks.extend(certificate::blocks(&run.certificate));
    }
    blocks.push(heading("Carried"));
    if run.link_uses.is_empty() {
        let text = "No link counters were recorded.".to_owned();
        blocks.push(Block::Text(Medium::Page, text));
    } else {
        blocks.push(table(carried(run)));
        blocks.push(Block::Note(Medium::Page, about_carried(run)));
    }
    if !run.ports.is_empty() {
        blocks.push(heading("Ports with the longest queues"));
        blocks.push(table(ports(run)));
        let note = format!(
            "Ports of hosts and switches, up to {MAX_PORTS} per policy. The longest queue is the maximum over all \
             packets, not over samples."
        );
        blocks.push(Block::Note(Medium::Page, note));
    }
    if !run.pauses.is_empty() {
        blocks.push(heading("Paused by priority flow control"));
        blocks.push(table(paused(run)));
    }
    blocks
}

fn about_carried(run: &Run) -> String {
    let mut note = "Bytes that each link direction carried in the whole run, including headers and acknowledgements; \
                    below them, the longest egress queue and the packets marked with ECN and dropped, if any."
        .to_owned();
    if run.link_uses.iter().any(|one| one.is_peak_sampled) {
        note += " A queue length after ≥ is the longest sample: between samples, the queue may have been longer.";
    }
    let directions = 2 * run.info.links.len();
    if directions > MAX_DIRECTIONS {
        note += &format!(
            " {MAX_DIRECTIONS} of {} are listed, those with the most bytes under any policy.",
            text::count(directions, "direction")
        );
    }
    note
}

fn carried(run: &Run) -> Table {
    let policies = &run.flows.policies;
    let first = [
        Column::names("direction"),
        Column::numbers("capacity · delay"),
    ];
    let columns = first
        .into_iter()
        .chain(policies.iter().map(Column::numbers));
    let shown = busiest_directions(run);
    let directions = run
        .info
        .links
        .iter()
        .flat_map(|link| [(link, &link.a, &link.b), (link, &link.b, &link.a)])
        .filter(|(link, from, _)| shown.contains(&(link.name.as_str(), from.as_str())));
    let row = |(link, from, to): (&LinkInfo, &String, &String)| {
        let uses = policies
            .iter()
            .map(|policy| use_cell(run, policy, &link.name, from));
        let first = [
            Cell::from(format!("{from} → {to}")),
            attributes(link).into(),
        ];
        first.into_iter().chain(uses).collect::<Vec<_>>()
    };
    Table::new(columns)
        .colored(policies)
        .with(directions.map(row))
}

/// Returns link and source datacenter of the [`MAX_DIRECTIONS`] directions that carried the most bytes under any policy.
fn busiest_directions(run: &Run) -> BTreeSet<(&str, &str)> {
    let mut bytes: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for link in &run.info.links {
        bytes.insert((&link.name, &link.a), 0);
        bytes.insert((&link.name, &link.b), 0);
    }
    for one in &run.link_uses {
        let most = bytes.entry((&one.link, &one.from_dc)).or_default();
        *most = one.bytes.max(*most);
    }
    let mut order: Vec<_> = bytes
        .into_iter()
        .map(|(direction, bytes)| (Reverse(bytes), direction))
        .collect();
    order.sort_unstable();
    let shown = order.into_iter().take(MAX_DIRECTIONS);
    shown.map(|(_, direction)| direction).collect()
}

/// Returns the table of the ports with the longest queues or pauses.
fn ports(run: &Run) -> Table {
    let busiest = |policy: &String| {
        let of_policy = run.ports.iter().filter(|it| it.policy == *policy);
        let mut ports: Vec<&PortTotal> = of_policy.collect();
        ports.sort_by_key(|port| Reverse((port.peak_queue_bytes, port.paused_ns)));
        ports.truncate(MAX_PORTS);
        ports
    };
    let row = |port: &PortTotal| {
        [
            Cell::from(&*port.policy),
            format!("{} → {}", port.node, port.peer).into(),
            text::size(Bytes::new(port.peak_queue_bytes)).into(),
            text::number(port.marks).into(),
            text::number(port.drops).into(),
            text::number(port.pauses).into(),
            text::time(Nanos::new(port.paused_ns)).into(),
        ]
    };
    let names = ["policy", "port"].map(Column::names);
    let numbers = ["longest queue", "marked", "dropped", "pauses", "paused"].map(Column::numbers);
    Table::new(names.into_iter().chain(numbers))
        .colored(&run.flows.policies)
        .with(run.flows.policies.iter().flat_map(busiest).map(row))
}

/// Returns the table of pauses by priority flow control, with a row per policy.
fn paused(run: &Run) -> Table {
    let numbers = ["pauses", "ports", "total time"].map(Column::numbers);
    let columns = [Column::names("policy")].into_iter().chain(numbers);
    let row = |policy: &String| {
        let pauses = run.pauses.get(policy)?;
        let total = Cell::from(text::time(pauses.total()));
        let longest = pauses
            .longest()
            .map(|((node, port), time)| format!("{port} of {node}, {}", text::time(time)));
        Some([
            Cell::from(policy.as_str()),
            text::number(pauses.count).into(),
            pauses.ports.len().to_string().into(),
            match pauses.endless.len() {
                0 => total,
                ports => total.below(format!("{} to the end", text::count(ports, "port"))),
            },
            Cell::of(longest),
        ])
    };
    Table::new(columns.chain([Column::names("longest")]))
        .colored(&run.flows.policies)
        .with(run.flows.policies.iter().filter_map(row))
}

fn use_cell(run: &Run, policy: &str, link: &str, from: &str) -> Cell {
    let wanted = |one: &&LinkUse| one.policy == policy && one.link == link && one.from_dc == from;
    let Some(one) = run.link_uses.iter().find(wanted) else {
        return Cell::none();
    };
    let least = if one.is_peak_sampled { "≥ " } else { "" };
    let queue = one.peak_queue_bytes.filter(|&bytes| bytes > 0);
    let more = [
        queue.map(|bytes| format!("queue {least}{}", text::size(Bytes::new(bytes)))),
        one.marks
            .filter(|&marks| marks > 0)
            .map(|it| format!("{} marked", text::number(it))),
        (one.drops > 0).then(|| format!("{} dropped", text::number(one.drops))),
    ];
    let carried = Cell::from(text::size(Bytes::new(one.bytes)));
    more.into_iter().flatten().fold(carried, Cell::below)
}

/// Maximum number of link directions in the table of carried bytes.
const MAX_DIRECTIONS: usize = 100;

/// Maximum number of ports per policy in the table of ports.
const MAX_PORTS: usize = 8;
