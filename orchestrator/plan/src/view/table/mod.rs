//! Plan as text for a terminal.

mod flows;
mod links;
mod name;
mod paths;
pub(crate) mod policies;
mod transport;

use lab_units::show::{Side, about_bytes, about_time, commas, paragraph, table};

use std::collections::BTreeSet;

use crate::model::{AgentCrashPlan, FaultChange, Plan, Reconvergence};

/// Renders `plan` as text of at most 100 columns: topology, paths, policies, flows, cost, assumptions, warnings.
#[must_use]
pub fn render_table(plan: &Plan) -> String {
    let sections = [
        head(plan),
        dcs(plan),
        links::section(plan),
        paths::section(plan),
        policies::section(plan),
        transport::section(plan),
        flows::section(plan),
        faults(plan),
        agent_crashes(plan),
        reconvergences(plan),
        estimate(plan),
        assumptions(plan),
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
    if let Some(auto) = &plan.auto_scale {
        let reason = format!("the finest for {}", auto.capacity);
        text.push_str(&paragraph("scale: auto: ", &reason));
    }
    text
}

fn dcs(plan: &Plan) -> String {
    let has_labels = plan.dcs.iter().any(|dc| dc.label.is_some());
    let label = |text: &str| if has_labels { text } else { "" }.to_owned();
    let titles = ["name", "hosts", "prefix", "switch", "agent"].map(str::to_owned);
    let [name, hosts, prefix, switch, agent] = titles;
    let mut rows = vec![[name, hosts, prefix, switch, agent, label("label")]];
    rows.extend(plan.dcs.iter().map(|dc| {
        [
            dc.name.clone(),
            dc.hosts.len().to_string(),
            format!("{}/{}", dc.prefix.addr, dc.prefix.len),
            plan.nodes[dc.dci.index()].addr.to_string(),
            if dc.legacy { "legacy" } else { "policy" }.to_owned(),
            label(dc.label.as_deref().unwrap_or_default()),
        ]
    }));
    let sides = [
        Side::Left,
        Side::Right,
        Side::Left,
        Side::Left,
        Side::Left,
        Side::Left,
    ];
    format!("Datacenters\n{}", table(2, sides, &rows))
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
                FaultChange::Up => "is restored".to_owned(),
                FaultChange::Wire(wire) => format!("becomes {} (emulated)", wire.changeable()),
            };
            let at = fault.paper_at_ns.to_string();
            [at, plan.links[fault.link.index()].name.clone(), change]
        })
        .collect();
    let sides = [Side::Right, Side::Left, Side::Left];
    format!("Faults (paper time)\n{}", table(2, sides, &rows))
}

/// Renders the time spans in which switches have no agent.
fn agent_crashes(plan: &Plan) -> String {
    if plan.agent_crashes.is_empty() {
        return String::new();
    }
    let row = |crash: &AgentCrashPlan| {
        let until = crash.restart.map_or_else(
            || "the end".to_owned(),
            |restart| restart.paper_at_ns.to_string(),
        );
        [
            crash.paper_at_ns.to_string(),
            until,
            plan.dcs[crash.dc.index()].name.clone(),
        ]
    };
    let mut rows = vec![["from", "until", "switch"].map(str::to_owned)];
    rows.extend(plan.agent_crashes.iter().map(row));
    let sides = [Side::Right, Side::Right, Side::Left];
    format!(
        "Switches without an agent (paper time)\n{}",
        table(2, sides, &rows)
    )
}

/// Renders the times at which the switches get new candidates.
fn reconvergences(plan: &Plan) -> String {
    let Some(after) = plan.paper_reconverge_after_ns else {
        return String::new();
    };
    if plan.reconvergences.is_empty() {
        return format!("Reconvergence {after} after cuts and repairs, of which there are none\n");
    }
    let row = |change: &Reconvergence| {
        let switches: BTreeSet<usize> = change.rows.iter().map(|row| row.switch).collect();
        let [rows, switches] = [change.rows.len(), switches.len()]
            .map(|count| commas(u64::try_from(count).unwrap_or(u64::MAX)));
        [change.paper_at_ns.to_string(), rows, switches]
    };
    let mut rows = vec![["at", "changed rows", "switches"].map(str::to_owned)];
    rows.extend(plan.reconvergences.iter().map(row));
    let table = table(2, [Side::Right; 3], &rows);
    format!("Reconvergence {after} after cuts and repairs (paper time)\n{table}")
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
    let table = table(2, [Side::Left, Side::Left], &rows);
    format!("Estimate (one policy, on the reference guest)\n{table}")
}

fn assumptions(plan: &Plan) -> String {
    if plan.assumptions.is_empty() {
        return String::new();
    }
    let texts = plan.assumptions.iter().map(|text| paragraph("  ", text));
    format!("Assumptions of the topology\n{}", texts.collect::<String>())
}

fn warnings(plan: &Plan) -> String {
    if plan.warnings.is_empty() {
        return String::new();
    }
    let texts = plan
        .warnings
        .iter()
        .map(|warning| paragraph(&format!("  {}: ", warning.code), &warning.text));
    format!("Warnings\n{}", texts.collect::<String>())
}
