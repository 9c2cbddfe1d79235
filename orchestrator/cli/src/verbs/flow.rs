//! `lcmp-lab flow`: what became of one flow of a run, and why.

mod show;

use lab_records::{DecisionRow, FlowRow, RunDir, StoryRow};
use lab_units::FlowId;
use serde::Serialize;

use crate::{
    args::{FlowArgs, Global},
    failure::{During, Exit, Failure, Outcome},
    output::{print, print_json},
};

/// One policy's run of a flow.
#[derive(Debug, Serialize)]
struct Tale {
    /// What became of it.
    flow: FlowRow,
    /// What DCI switches chose for it, and from what.
    decisions: Vec<Choice>,
    /// What happened to it, if that was recorded.
    story: Vec<StoryRow>,
}

/// A decision with its candidates side by side.
#[derive(Debug, Serialize)]
struct Choice {
    time_ns: u64,
    switch: String,
    /// Whether it was for the flow's acknowledgements.
    is_ack: bool,
    reason: String,
    candidates: Vec<Scores>,
}

/// A candidate of a decision.
#[derive(Debug, Serialize)]
struct Scores {
    /// The DC behind it.
    to_dc: String,
    c_path: u8,
    c_cong: u8,
    cost: u32,
    is_kept: bool,
    is_chosen: bool,
}

/// `lcmp-lab flow`.
pub fn flow(arguments: &FlowArgs, global: &Global) -> Outcome {
    let run = RunDir::open(&arguments.run).map_err(Failure::usage)?;
    let tales = tales(&run, arguments)?;
    if tales.is_empty() {
        return Err(unknown(&run, arguments));
    }
    if global.json {
        print_json(&tales);
    } else {
        print(&show::text(&tales));
    }
    Ok(Exit::Pass)
}

/// Reads the tables once each, keeping what is the flow's.
fn tales(run: &RunDir, arguments: &FlowArgs) -> Result<Vec<Tale>, Failure> {
    let id = FlowId(arguments.id);
    let is_asked = |policy: &str| {
        arguments
            .policy
            .as_deref()
            .is_none_or(|asked| asked == policy)
    };
    let mut tales: Vec<Tale> = Vec::new();
    run.visit(|flow: FlowRow| {
        if flow.flow_id == id && is_asked(&flow.policy) {
            tales.push(Tale {
                flow,
                decisions: Vec::new(),
                story: Vec::new(),
            });
        }
    })
    .during("read the flows")?;
    run.visit(|row: DecisionRow| {
        let of_flow = (row.flow_id == Some(id)).then(|| find(&mut tales, &row.policy));
        if let Some(tale) = of_flow.flatten() {
            let choice = Choice::of(&row, &tale.flow);
            tale.decisions.push(choice);
        }
    })
    .during("read the decisions")?;
    run.visit(|row: StoryRow| {
        if row.flow_id == id
            && let Some(tale) = find(&mut tales, &row.policy)
        {
            tale.story.push(row);
        }
    })
    .during("read the stories")?;
    for tale in &mut tales {
        tale.decisions.sort_by_key(|choice| choice.time_ns);
        tale.story.sort_by_key(|row| row.time_ns);
    }
    Ok(tales)
}

fn find<'a>(tales: &'a mut [Tale], policy: &str) -> Option<&'a mut Tale> {
    tales.iter_mut().find(|tale| tale.flow.policy == policy)
}

fn unknown(run: &RunDir, arguments: &FlowArgs) -> Failure {
    let info = run.info();
    let policies = info.policies.join(", ");
    match &arguments.policy {
        Some(policy) if !info.policies.contains(policy) => Failure::usage(format_args!(
            "the run has no policy `{policy}`, it has {policies}"
        )),
        _ => Failure::usage(format_args!(
            "`{}` has no flow {}: {} are numbered from 0 (a flow without a row had not begun when \
             the run ended)",
            arguments.run.display(),
            arguments.id,
            info.scheduled_flows,
        )),
    }
}

impl Choice {
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
            is_ack: !leads_to(row, flow),
            reason: row.reason.clone(),
            candidates: row.candidates.iter().enumerate().map(scores).collect(),
        }
    }
}

/// Whether a decision was about data: then a switch of the flow's own way made it, or, where both
/// directions cross it, the packet was on its way from the sender.
fn leads_to(row: &DecisionRow, flow: &FlowRow) -> bool {
    if row.switch == flow.src_dc || row.switch == flow.dst_dc {
        return row.switch == flow.src_dc;
    }
    // Hosts' addresses are not in the records: the way that goes through the chosen DC is meant.
    let crosses = |path: &Option<lab_records::DcPath>| {
        let (Some(path), Some(chosen)) = (path, &row.chosen) else {
            return false;
        };
        let step = format!("-{}-{chosen}-", row.switch);
        format!("-{path}-").contains(&step)
    };
    crosses(&flow.path) || !crosses(&flow.ack_path)
}
