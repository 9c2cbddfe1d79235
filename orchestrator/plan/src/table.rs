//! A plan as a table for people.

use std::collections::BTreeMap;

use lab_policy::lcmp::Preset;
use lab_units::{Bytes, DcId, Nanos, NodeId};

use crate::{
    model::{
        Candidate, Destination, FaultChange, Flow, Link, LinkKind, Plan, PolicyPlan, PolicyRun,
        Role, Switch,
    },
    text::{Side, about_bytes, about_time, columns, commas, paragraph},
};

/// `plan` as text of at most 100 columns: what is built, what the ways are worth, what flows, what
/// it costs, and what to know before trusting it.
#[must_use]
pub fn render_table(plan: &Plan) -> String {
    let sections = [
        head(plan),
        dcs(plan),
        links(plan),
        ways(plan),
        policies(plan),
        flows(plan),
        faults(plan),
        estimate(plan),
        warnings(plan),
    ];
    let shown = sections.into_iter().filter(|section| !section.is_empty());
    shown.collect::<Vec<_>>().join("\n")
}

fn head(plan: &Plan) -> String {
    let scale = &plan.scale;
    let mut text = paragraph(&format!("{}: ", plan.name), &plan.description);
    let facts = format!(
        "rates × {}, times × {}, sizes × {}; seed {}; slot {}; scenario hash {}",
        scale.rate,
        scale.time,
        scale.size,
        plan.seed,
        plan.slot,
        plan.scenario_hash.get(..12).unwrap_or_default(),
    );
    text.push_str(&paragraph("", &facts));
    text
}

fn dcs(plan: &Plan) -> String {
    let mut rows = vec![["name", "hosts", "prefix", "switch", "agent"].map(str::to_owned)];
    rows.extend(plan.dcs.iter().map(|dc| {
        [
            dc.name.clone(),
            dc.hosts.len().to_string(),
            format!("{}/{}", dc.prefix.addr, dc.prefix.len),
            plan.nodes[dc.dci.index()].addr.to_string(),
            if dc.legacy { "legacy" } else { "policy" }.to_owned(),
        ]
    }));
    let sides = [Side::Left, Side::Right, Side::Left, Side::Left, Side::Left];
    format!("Datacenters\n{}", columns(2, sides, &rows))
}

/// Inter-DC links one by one, those inside datacenters by kind.
fn links(plan: &Plan) -> String {
    let heads = [
        ["", "paper", "", "", "emulated", "", "", ""],
        [
            "name",
            "rate",
            "delay",
            "buffer",
            "rate",
            "delay",
            "buffer",
            "line packets",
        ],
    ];
    let mut rows: Vec<_> = heads.map(|row| row.map(str::to_owned)).into();
    let inter_dc = plan
        .links
        .iter()
        .filter(|link| link.kind == LinkKind::InterDc);
    rows.extend(inter_dc.map(|link| wire_row(link.name.clone(), link)));
    for group in groups(plan) {
        rows.push(wire_row(group.name(plan), group.links[0]));
    }
    let right = Side::Right;
    let sides = [Side::Left, right, right, right, right, right, right, right];
    format!("Links\n{}", columns(2, sides, &rows))
}

fn wire_row(name: String, link: &Link) -> [String; 8] {
    let (paper, emu) = (&link.paper, &link.emu);
    [
        name,
        paper.rate_bps.to_string(),
        paper.delay_ns.to_string(),
        paper.buffer_bytes.to_string(),
        emu.rate_bps.to_string(),
        emu.delay_ns.to_string(),
        about_bytes(emu.buffer_bytes),
        commas(u64::from(emu.delay_line_packets)),
    ]
}

/// Links inside datacenters between nodes of the same roles, alike.
struct Group<'a> {
    tiers: (Role, Role),
    dcs: Vec<DcId>,
    links: Vec<&'a Link>,
}

impl Group<'_> {
    /// `16 leaf-host in dc1`.
    fn name(&self, plan: &Plan) -> String {
        let place = match &self.dcs[..] {
            [dc] => dc_name(plan, *dc).to_owned(),
            several => format!("{} dcs", several.len()),
        };
        let (upper, lower) = (tier(self.tiers.0), tier(self.tiers.1));
        format!("{} {upper}-{lower} in {place}", self.links.len())
    }
}

fn groups(plan: &Plan) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for link in plan
        .links
        .iter()
        .filter(|link| link.kind != LinkKind::InterDc)
    {
        let (upper, lower) = (&plan.nodes[link.a.index()], &plan.nodes[link.b.index()]);
        let tiers = (upper.role, lower.role);
        let alike =
            |group: &&mut Group<'_>| group.tiers == tiers && group.links[0].paper == link.paper;
        match groups.iter_mut().find(alike) {
            Some(group) => {
                if group.dcs.last() != Some(&upper.dc) {
                    group.dcs.push(upper.dc);
                }
                group.links.push(link);
            }
            None => groups.push(Group {
                tiers,
                dcs: vec![upper.dc],
                links: vec![link],
            }),
        }
    }
    groups
}

const fn tier(role: Role) -> &'static str {
    match role {
        Role::DciSwitch => "dci",
        Role::Spine => "spine",
        Role::Leaf => "leaf",
        Role::Host => "host",
    }
}

/// Destinations with several candidates, with what policies see of them, then those without a
/// choice.
fn ways(plan: &Plan) -> String {
    let scored: Vec<_> = plan
        .policies
        .iter()
        .filter(|run| !run.path_scores.is_empty())
        .collect();
    let labels: Vec<_> = scored.iter().map(|run| run.label.as_str()).collect();
    let scores = match &labels[..] {
        [] => String::new(),
        labels => format!("path score: {}", labels.join(" ")),
    };
    let heads = ["from", "to", "by", "port", "delay", "bottleneck", &scores];
    let mut rows = vec![heads.map(str::to_owned)];
    for (index, switch) in plan.switches.iter().enumerate() {
        for (row, destination) in switch.destinations.iter().enumerate() {
            if destination.candidates.len() < 2 {
                continue;
            }
            for (at, way) in destination.candidates.iter().enumerate() {
                let score = |run: &&PolicyRun| {
                    let score = run.path_scores[index][row][at];
                    format!("{score:>width$}", width = run.label.chars().count())
                };
                let scores = scored.iter().map(score).collect::<Vec<_>>().join(" ");
                rows.push(way_row(plan, switch, destination, at, way, scores));
            }
        }
    }
    let left = Side::Left;
    let right = Side::Right;
    let sides = [left, left, left, left, right, right, right];
    let choices = match rows.len() {
        1 => "  no datacenter has more than one way to another\n".to_owned(),
        _ => columns(2, sides, &rows),
    };
    format!("Ways\n{choices}{}", only_ways(plan))
}

fn way_row(
    plan: &Plan,
    switch: &Switch,
    destination: &Destination,
    at: usize,
    way: &Candidate,
    scores: String,
) -> [String; 7] {
    let first = |name: &str| if at == 0 { name } else { "" }.to_owned();
    [
        first(home(plan, switch)),
        first(dc_name(plan, destination.dc)),
        dc_name(plan, way.next_dc).to_owned(),
        plan.ports[way.port.index()].interface.clone(),
        way.paper_delay_ns.to_string(),
        way.paper_bottleneck_bps.to_string(),
        scores,
    ]
}

/// Destinations with one candidate, by that candidate.
fn only_ways(plan: &Plan) -> String {
    let mut text = String::new();
    for switch in &plan.switches {
        let mut direct = Vec::new();
        let mut by: BTreeMap<DcId, Vec<&str>> = BTreeMap::new();
        for destination in &switch.destinations {
            let [way] = destination.candidates[..] else {
                continue;
            };
            let to = dc_name(plan, destination.dc);
            match way.next_dc == destination.dc {
                true => direct.push(to),
                false => by.entry(way.next_dc).or_default().push(to),
            }
        }
        let mut parts = Vec::new();
        if !direct.is_empty() {
            parts.push(format!("directly to {}", direct.join(" ")));
        }
        let only = |(via, to): (DcId, Vec<&str>)| {
            format!("only by {} to {}", dc_name(plan, via), to.join(" "))
        };
        parts.extend(by.into_iter().map(only));
        if !parts.is_empty() {
            let head = format!("  {}: ", home(plan, switch));
            text.push_str(&paragraph(&head, &parts.join("; ")));
        }
    }
    text
}

fn policies(plan: &Plan) -> String {
    let mut text = "Policies\n".to_owned();
    let width = plan.policies.iter().map(|run| run.label.chars().count());
    let width = width.max().unwrap_or(0);
    for run in &plan.policies {
        let words = match &run.policy {
            PolicyPlan::Ecmp => "5-tuple hash over all candidates".to_owned(),
            PolicyPlan::Lcmp(config) => format!(
                "{} preset; α:β {}:{}; delay:capacity {}:{}; queue:trend:duration {}:{}:{}; delays \
                 up to {}; emulated: sampled every {}, idle after {}",
                match config.preset {
                    Preset::Paper => "paper",
                    Preset::Artifact => "artifact",
                },
                config.alpha,
                config.beta,
                config.w_dl,
                config.w_lc,
                config.w_ql,
                config.w_tl,
                config.w_dp,
                crate::policy::max_delay(config.max_delay_shift, config.preset),
                about_time(config.sample_interval_ns),
                about_time(config.idle_timeout_ns),
            ),
        };
        text.push_str(&paragraph(&format!("  {:width$}  ", run.label), &words));
    }
    text
}

/// Flows by pair of datacenters, in paper units, then how their QPs are set.
fn flows(plan: &Plan) -> String {
    let mut pairs: BTreeMap<(DcId, DcId), Vec<&Flow>> = BTreeMap::new();
    let dc = |node: NodeId| plan.nodes[node.index()].dc;
    for flow in &plan.flows {
        let pair = (dc(flow.src), dc(flow.dst));
        pairs.entry(pair).or_default().push(flow);
    }
    let heads = [
        "from",
        "to",
        "flows",
        "bytes",
        "smallest",
        "median",
        "largest",
        "last start",
    ];
    let mut rows = vec![heads.map(str::to_owned)];
    let shown = pairs.iter().take(MOST_PAIRS);
    rows.extend(shown.map(|((from, to), flows)| pair_row(plan, *from, *to, flows)));
    let right = Side::Right;
    let sides = [
        Side::Left,
        Side::Left,
        right,
        right,
        right,
        right,
        right,
        right,
    ];
    let mut text = format!("Flows (paper units)\n{}", columns(2, sides, &rows));
    if pairs.len() > MOST_PAIRS {
        text.push_str(&format!(
            "  … and {} more pairs\n",
            pairs.len() - MOST_PAIRS
        ));
    }
    let rdma = &plan.rdma;
    let facts = format!(
        "{} of {} B packets, traffic class 0x{:02x}; QPs wait {}; a flow is given up after {}",
        crate::rdma::program(rdma.tool),
        rdma.path_mtu,
        rdma.traffic_class,
        about_time(crate::rdma::timeout(rdma.qp_timeout)),
        about_time(rdma.flow_deadline_ns),
    );
    text.push_str(&paragraph("  ", &facts));
    text
}

fn pair_row(plan: &Plan, from: DcId, to: DcId, flows: &[&Flow]) -> [String; 8] {
    let mut sizes: Vec<Bytes> = flows.iter().map(|flow| flow.paper_size_bytes).collect();
    sizes.sort_unstable();
    let at = |index: usize| about_bytes(sizes[index]);
    let last = flows.iter().map(|flow| flow.paper_start_ns).max();
    [
        dc_name(plan, from).to_owned(),
        dc_name(plan, to).to_owned(),
        flows.len().to_string(),
        about_bytes(sizes.iter().copied().sum()),
        at(0),
        at((sizes.len() - 1) / 2),
        at(sizes.len() - 1),
        about_time(last.unwrap_or(Nanos::ZERO)),
    ]
}

fn faults(plan: &Plan) -> String {
    if plan.faults.is_empty() {
        return String::new();
    }
    let rows: Vec<_> = plan
        .faults
        .iter()
        .map(|fault| {
            let change = match fault.change {
                FaultChange::Down => "is cut".to_owned(),
                FaultChange::Up => "is back".to_owned(),
                FaultChange::Wire(wire) => format!(
                    "becomes {}, {}, loss {} (emulated)",
                    wire.rate_bps, wire.delay_ns, wire.loss
                ),
            };
            let at = fault.paper_at_ns.to_string();
            [at, plan.links[fault.link.index()].name.clone(), change]
        })
        .collect();
    let sides = [Side::Right, Side::Left, Side::Left];
    format!("Faults (paper time)\n{}", columns(2, sides, &rows))
}

fn estimate(plan: &Plan) -> String {
    let estimate = &plan.estimate;
    let row = |name: &str, value: String| [name.to_owned(), value];
    let rows = [
        row("repetitions", plan.repetitions.to_string()),
        row(
            "flows",
            commas(u64::try_from(plan.flows.len()).unwrap_or(u64::MAX)),
        ),
        row("data packets", commas(estimate.data_packets)),
        row("packets × links", commas(estimate.packet_hops)),
        row(
            "emulated time",
            format!("{} at least", about_time(estimate.span_ns)),
        ),
        row("CPU", about_time(estimate.cpu_ns)),
        row("memory", about_bytes(estimate.memory_bytes)),
        row(
            "forwarding at peak",
            format!("{} %", estimate.forwarding_percent),
        ),
        row(
            "flows under a packet",
            format!("{} %", estimate.sub_packet_flows_percent),
        ),
        row(
            "packet / shortest delay",
            format!("{} %", estimate.packet_vs_delay_percent),
        ),
    ];
    let table = columns(2, [Side::Left, Side::Left], &rows);
    format!("Estimate (one policy, on the reference guest)\n{table}")
}

fn warnings(plan: &Plan) -> String {
    if plan.warnings.is_empty() {
        return String::new();
    }
    let warnings = plan.warnings.iter();
    let texts = warnings.map(|warning| paragraph(&format!("  {}: ", warning.code), &warning.text));
    format!("Warnings\n{}", texts.collect::<String>())
}

/// The datacenter a switch is of.
fn home<'a>(plan: &'a Plan, switch: &Switch) -> &'a str {
    dc_name(plan, plan.nodes[switch.node.index()].dc)
}

fn dc_name(plan: &Plan, dc: DcId) -> &str {
    &plan.dcs[dc.index()].name
}

/// Pairs of datacenters shown; all pairs of many datacenters would hide the rest.
const MOST_PAIRS: usize = 40;
