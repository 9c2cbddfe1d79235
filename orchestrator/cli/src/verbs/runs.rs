//! Verbs of a single run directory: `report`, and `flow`, which shows one flow with its decisions and events.

use std::fmt::Write;

use lab_records::{DcPath, DecisionRow, FlowRow, RunDir, RunInfo, StoryRow};
use lab_units::{
    FlowId, Nanos,
    show::{Side, about_bytes, about_rate, about_time, sides, table},
};
use serde::Serialize;

use crate::{
    args::{FlowArgs, Global, ReportArgs},
    caller,
    failure::{During, Failure, Outcome},
    load, run_dir,
    terminal::show,
};

/// Records of a flow under one policy.
#[derive(Debug, Serialize)]
struct FlowRecords {
    flow: FlowRow,
    /// Decisions of DCI switches on the flow, in order of time.
    decisions: Vec<ShownDecision>,
    /// Events of the flow in order of time; empty if the run did not record the flow's events.
    story: Vec<StoryRow>,
}

/// Decision of a DCI switch with its candidates.
#[derive(Debug, Serialize)]
struct ShownDecision {
    time_ns: u64,
    switch: String,
    /// True if the decision concerns the flow's acknowledgements, not its data.
    is_ack: bool,
    reason: String,
    candidates: Vec<Scores>,
}

/// Candidate of a decision with its scores.
#[derive(Debug, Serialize)]
struct Scores {
    /// Name of the datacenter at the next hop.
    to_dc: String,
    c_path: u8,
    c_cong: u8,
    cost: u32,
    is_kept: bool,
    is_chosen: bool,
}

/// Runs `lcmp-lab report`: rewrites the report of a run.
pub fn report(arguments: &ReportArgs, global: &Global) -> Outcome {
    let newest = || global.results.join(lab_records::directory::LATEST);
    let run = match &arguments.run {
        Some(run) => load::absolute(run)?,
        None => load::absolute(&newest()).map_err(|_| {
            Failure::usage(format_args!(
                "there is no run in `{}` (hint: lcmp-lab up SCENARIO)",
                global.results.display()
            ))
        })?,
    };
    if !run.join(lab_records::directory::RUN_FILE).is_file() {
        return Err(Failure::usage(format_args!(
            "`{}` is not a run directory: it has no `{}`",
            run.display(),
            lab_records::directory::RUN_FILE
        )));
    }
    caller::become_owner(&run).during("switch to the rights of the run's owner")?;
    run_dir::conclude(&run, global, String::new)
}

/// Runs `lcmp-lab flow`.
pub fn flow(arguments: &FlowArgs, global: &Global) -> Outcome {
    let run = RunDir::open(&arguments.run).map_err(|error| Failure::records(&error))?;
    let flows = read_flows(&run, arguments)?;
    if flows.is_empty() {
        return Err(unknown(&run, arguments));
    }
    show(global.json, &flows, |flows| text(flows, run.info()))
}

/// Reads each table once and returns the records of the flow under each policy.
fn read_flows(run: &RunDir, arguments: &FlowArgs) -> Result<Vec<FlowRecords>, Failure> {
    let id = FlowId(arguments.id);
    let asked = arguments.policy.as_deref();
    let is_asked = |policy: &str| asked.is_none_or(|asked| asked == policy);
    let mut flows: Vec<FlowRecords> = Vec::new();
    run.visit(|flow: FlowRow| {
        if flow.flow_id == id && is_asked(&flow.policy) {
            flows.push(FlowRecords {
                flow,
                decisions: Vec::new(),
                story: Vec::new(),
            });
        }
    })
    .map_err(|error| Failure::records(&error))?;
    run.visit(|row: DecisionRow| {
        let of_flow = (row.flow_id == Some(id)).then(|| find(&mut flows, &row.policy));
        if let Some(records) = of_flow.flatten() {
            let choice = ShownDecision::of(&row, &records.flow);
            records.decisions.push(choice);
        }
    })
    .map_err(|error| Failure::records(&error))?;
    run.visit(|row: StoryRow| {
        if row.flow_id == id
            && let Some(records) = find(&mut flows, &row.policy)
        {
            records.story.push(row);
        }
    })
    .map_err(|error| Failure::records(&error))?;
    for records in &mut flows {
        records.decisions.sort_by_key(|choice| choice.time_ns);
        records.story.sort_by_key(|row| row.time_ns);
    }
    Ok(flows)
}

fn find<'a>(flows: &'a mut [FlowRecords], policy: &str) -> Option<&'a mut FlowRecords> {
    flows
        .iter_mut()
        .find(|records| records.flow.policy == policy)
}

fn unknown(run: &RunDir, arguments: &FlowArgs) -> Failure {
    let info = run.info();
    let policies = info.policies.join(", ");
    match &arguments.policy {
        Some(policy) if !info.policies.contains(policy) => Failure::usage(format_args!(
            "the run has no policy `{policy}`; it has {policies}"
        )),
        _ => Failure::usage(format_args!(
            "`{}` has no flow {}: its {} flows are numbered from 0 (a flow without a row had not started \
             when the run ended)",
            arguments.run.display(),
            arguments.id,
            info.scheduled_flows,
        )),
    }
}

impl ShownDecision {
    fn of(row: &DecisionRow, flow: &FlowRow) -> Self {
        let scores = |(place, to_dc): (usize, &String)| Scores {
            to_dc: to_dc.clone(),
            c_path: row.c_path.get(place).copied().unwrap_or(0),
            c_cong: row.c_cong.get(place).copied().unwrap_or(0),
            cost: row.cost.get(place).copied().unwrap_or(0),
            is_kept: row.kept.get(place).is_some_and(|&kept| kept > 0),
            is_chosen: row.chosen.as_ref() == Some(to_dc),
        };
        Self {
            time_ns: row.time_ns.get(),
            switch: row.switch.clone(),
            is_ack: !is_for_data(row, flow),
            reason: row.reason.clone(),
            candidates: row.candidates.iter().enumerate().map(scores).collect(),
        }
    }
}

/// Returns true if a decision concerns the flow's data, not its acknowledgements.
fn is_for_data(row: &DecisionRow, flow: &FlowRow) -> bool {
    if row.switch == flow.src_dc || row.switch == flow.dst_dc {
        return row.switch == flow.src_dc;
    }
    // Records have no host addresses. So the direction is the one whose path has the hop from the switch to the chosen
    // DC.
    let crosses = |path: &Option<DcPath>| {
        let (Some(path), Some(chosen)) = (path, &row.chosen) else {
            return false;
        };
        let step = format!("-{}-{chosen}-", row.switch);
        format!("-{path}-").contains(&step)
    };
    crosses(&flow.path) || !crosses(&flow.ack_path)
}

/// Returns the records of a flow of the run `info` as text, with one section per policy.
fn text(flows: &[FlowRecords], info: &RunInfo) -> String {
    let mut text = String::new();
    if let Some(records) = flows.first() {
        text.push_str(&heading(&records.flow));
    }
    if let Some(length) = info.trains() {
        let _ = writeln!(text, "simulated in trains of up to {length} packets");
    }
    if info.has_only_totals() {
        text.push_str(
            "the run kept only flows and totals (`--records flows`): decisions are unknown\n",
        );
    }
    for records in flows {
        text.push('\n');
        text.push_str(&policy(records));
    }
    text
}

fn heading(flow: &FlowRow) -> String {
    format!(
        "flow {}: {} from {} to {}, scheduled at {}, ideal FCT {}\n",
        flow.flow_id,
        about_bytes(flow.size_bytes),
        flow.src_host,
        flow.dst_host,
        about_time(flow.start_ns),
        about_time(flow.ideal_fct_ns),
    )
}

fn policy(records: &FlowRecords) -> String {
    let flow = &records.flow;
    let show = |path: &Option<DcPath>| match path {
        Some(path) => path.to_string(),
        None => "unknown path".to_owned(),
    };
    let mut text = format!("{} (congestion control {})\n", flow.policy, flow.cc);
    let end = match (flow.fct_ns, flow.slowdown) {
        (Some(fct), Some(slowdown)) => {
            let fct = about_time(fct);
            format!("finished after {fct}, FCT slowdown {slowdown:.3}")
        }
        (Some(fct), None) => format!("finished after {}", about_time(fct)),
        (None, _) => format!("{}: {}", flow.status.label(), flow.reason),
    };
    let data = show(&flow.path);
    let acks = show(&flow.ack_path);
    let _ = writeln!(
        text,
        "  {end}\n  data path {data}, path of acknowledgements {acks}"
    );
    for choice in &records.decisions {
        text.push('\n');
        text.push_str(&decision(choice));
    }
    if !records.story.is_empty() {
        text.push('\n');
    }
    for row in &records.story {
        text.push_str(&event(row));
    }
    text
}

fn decision(choice: &ShownDecision) -> String {
    let packets = if choice.is_ack {
        "acknowledgements"
    } else {
        "data"
    };
    let text = format!(
        "  {:>10}  {} decides for {packets} ({})\n",
        about_time(Nanos::new(choice.time_ns)),
        choice.switch,
        choice.reason,
    );
    let fate = |scores: &Scores| match (scores.is_chosen, scores.is_kept) {
        (true, _) => "chosen",
        (false, true) => "kept",
        (false, false) => "",
    };
    let candidates = choice.candidates.iter();
    // A policy that only hashes computes no costs.
    let mut costs = candidates.clone().map(|it| (it.c_path, it.cost));
    if costs.all(|costs| costs == (0, 0)) {
        let head = ["next DC", ""].map(ToOwned::to_owned);
        let rows = candidates.map(|it| [it.to_dc.clone(), fate(it).to_owned()]);
        let rows: Vec<_> = [head].into_iter().chain(rows).collect();
        return text + &table(14, [Side::Left; 2], &rows);
    }
    let head = ["next DC", "C_path", "C_cong", "C", ""].map(ToOwned::to_owned);
    let rows = candidates.map(|it| {
        [
            it.to_dc.clone(),
            it.c_path.to_string(),
            it.c_cong.to_string(),
            it.cost.to_string(),
            fate(it).to_owned(),
        ]
    });
    let rows: Vec<_> = [head].into_iter().chain(rows).collect();
    let mut columns = sides(1);
    columns[4] = Side::Left;
    text + &table(14, columns, &rows)
}

fn event(row: &StoryRow) -> String {
    let mut text = format!(
        "  {:>10}  {:<10} {}",
        about_time(row.time_ns),
        row.node,
        row.event.label()
    );
    if row.count > 1 {
        let _ = write!(text, " {} times", row.count);
    }
    if let Some(peer) = &row.peer {
        let _ = write!(text, ", {peer}");
    }
    if let Some(rate) = row.rate_bps {
        let _ = write!(text, ", at {}", about_rate(rate.get()));
    }
    if let Some(offset) = row.offset_bytes {
        let _ = write!(text, ", byte {}", offset.get());
    }
    text.push('\n');
    text
}
