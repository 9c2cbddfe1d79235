//! `lcmp-lab explain`: decision of a DCI switch, given queues and failed links.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::Ipv4Addr,
};

use lab_abi::rows::ROCE_PORT;
use lab_plan::{
    Engine, Explanation, Node, Plan, PlanOptions, PolicyPlan, PolicyRun, Question, QueueState,
    Role, explain, model::LinkKind,
};
use lab_policy::FlowTuple;
use lab_units::{BitsPerSec, CandidateSet, DcId, PortId, Ratio, Twin};

use crate::{
    args::ExplainArgs,
    failure::{Failure, Outcome},
    load,
    terminal::{note, show},
    verbs::train,
};

/// Runs `lcmp-lab explain`.
pub fn run(arguments: &ExplainArgs, json: bool) -> Outcome {
    let plan = plan(arguments)?;
    let explanations = explanations(&plan, arguments)?;
    show(json, &explanations, |explanations| {
        let tables = explanations.iter().map(lab_plan::render_explanation);
        tables.collect::<Vec<_>>().join("\n")
    })
}

/// Plans the scenario without scaling, so that all quantities are at the paper's scale.
fn plan(arguments: &ExplainArgs) -> Result<Plan, Failure> {
    let loaded = train::load_shown(&arguments.scenario, &arguments.policies)?;
    let options = PlanOptions {
        policies: (!arguments.policies.is_empty()).then(|| arguments.policies.clone()),
        engine: Engine::Sim,
        ..PlanOptions::default()
    };
    load::resolve(&loaded, &arguments.scenario, &options)
}

fn explanations(plan: &Plan, arguments: &ExplainArgs) -> Result<Vec<Explanation>, Failure> {
    let from = dc(plan, &arguments.from)?;
    let to = dc(plan, &arguments.to)?;
    check_decides(plan, from)?;
    let queues = arguments
        .queues
        .iter()
        .map(|text| queue(plan, from, text))
        .collect::<Result<Vec<_>, _>>()?;
    let dead = arguments
        .dead
        .iter()
        .map(|name| neighbour(plan, from, name))
        .collect::<Result<Vec<_>, _>>()?;
    let queued = queues.iter().map(|(port, _)| *port);
    let asked = queued.chain(dead.iter().copied());
    note_idle(plan, (from, to), asked);
    let utilisations = arguments
        .utilisations
        .iter()
        .map(|text| utilisation(plan, from, text))
        .collect::<Result<Vec<_>, _>>()?;
    let demands = arguments
        .demands
        .iter()
        .map(|text| demand(plan, from, text))
        .collect::<Result<Vec<_>, _>>()?;
    if !(utilisations.is_empty() && demands.is_empty()) {
        note_untrained(plan);
    }
    let flow = flow(plan, arguments, from, to)?;
    let question = |policy| Question {
        policy,
        from,
        to,
        flow,
        queues: &queues,
        dead: &dead,
        utilisations: &utilisations,
        demands: &demands,
    };
    let all: Option<Vec<Explanation>> = (0..plan.policies.len())
        .map(|policy| explain(plan, &question(policy)))
        .collect();
    all.ok_or_else(|| {
        Failure::usage(format_args!(
            "the switch of `{}` makes no decision for `{}`, because that is the same datacenter or has no \
             hosts",
            arguments.from, arguments.to
        ))
    })
}

/// Fails if no policy decides at the switch of `from`, with exit code 2.
fn check_decides(plan: &Plan, from: DcId) -> Result<(), Failure> {
    let dc = &plan.dcs[from.index()];
    let why = if dc.legacy {
        "is a legacy switch, which hashes over its next hops under every policy"
    } else if dc.hosts.is_empty() && matches!(plan.candidate_set, CandidateSet::Tunnels { .. }) {
        "follows tunnels only, because its datacenter has no hosts"
    } else {
        return Ok(());
    };
    Err(Failure::usage(format_args!(
        "no policy decides at the switch of `{}`: it {why} (hint: `--from` another datacenter)",
        dc.name
    )))
}

fn dc(plan: &Plan, name: &str) -> Result<DcId, Failure> {
    let index = plan.dcs.iter().position(|dc| dc.name == name);
    index.and_then(DcId::from_index).ok_or_else(|| {
        let names: Vec<&str> = plan.dcs.iter().map(|dc| dc.name.as_str()).collect();
        Failure::usage(format_args!(
            "there is no datacenter `{name}` (hint: there are `{}`)",
            names.join("`, `")
        ))
    })
}

/// Returns the port of `from` to the neighbour `name`: a switch has links and queues only to neighbours. The neighbour
/// over a second link is called `dc2_2`.
fn neighbour(plan: &Plan, from: DcId, name: &str) -> Result<PortId, Failure> {
    let (known, _) = Twin::split(name);
    dc(plan, known)?;
    let neighbours = neighbours(plan, from);
    if let Some(port) = neighbours.get(name) {
        return Ok(*port);
    }
    let names = neighbours.keys().map(String::as_str);
    Err(Failure::usage(format_args!(
        "`{name}` is not a neighbour of `{}` (hint: its links lead to `{}`)",
        plan.dcs[from.index()].name,
        names.collect::<Vec<_>>().join("`, `"),
    )))
}

/// Returns the ports of `from` to other datacenters, by the names of the next hops.
fn neighbours(plan: &Plan, from: DcId) -> BTreeMap<String, PortId> {
    let switch = plan.dcs[from.index()].dci;
    let ports = plan.nodes[switch.index()].ports.iter();
    let inter_dc = ports.filter(|port| {
        let link = &plan.links[port.link().index()];
        link.kind == LinkKind::InterDc
    });
    inter_dc.map(|port| (plan.next_hop(*port), *port)).collect()
}

/// Warns of each port in `asked` that does not lead to a candidate next hop from `from` to `to`: the state that the user
/// gave for its queue or link has no effect.
fn note_idle(plan: &Plan, (from, to): (DcId, DcId), asked: impl Iterator<Item = PortId>) {
    let row = plan.switches[from.index()].towards(to);
    let Some(row) = row else { return };
    let is_candidate = |port: &PortId| row.candidates.iter().any(|it| it.port == *port);
    for port in asked
        .filter(|port| !is_candidate(port))
        .collect::<BTreeSet<_>>()
    {
        let name = |dc: DcId| &plan.dcs[dc.index()].name;
        note(&format!(
            "warning: `{}` is not a next hop from `{}` to `{}`: the state given for it has no effect",
            plan.next_hop(port),
            name(from),
            name(to),
        ));
    }
}

/// Warns that the given utilisations and demands have no effect, if no policy has trained weights.
fn note_untrained(plan: &Plan) {
    let is_trained = |run: &PolicyRun| matches!(run.policy, PolicyPlan::Trained(_));
    if !plan.policies.iter().any(is_trained) {
        note("warning: no policy has trained weights: utilisations and demands have no effect");
    }
}

/// Parses the state of a queue at `from`, such as `dc6=600MB:20MB:40` (queued bytes, trend, number of samples over the
/// threshold).
fn queue(plan: &Plan, from: DcId, text: &str) -> Result<(PortId, QueueState), Failure> {
    let (name, state) = assignment(text, "queue state", "dc6=600MB")?;
    Ok((
        neighbour(plan, from, name)?,
        state.parse().map_err(Failure::usage)?,
    ))
}

/// Parses the utilisation of a link out of `from`, such as `dc6=40%`.
fn utilisation(plan: &Plan, from: DcId, text: &str) -> Result<(PortId, Ratio), Failure> {
    let (name, share) = assignment(text, "utilisation", "dc6=40%")?;
    Ok((
        neighbour(plan, from, name)?,
        share.parse().map_err(Failure::usage)?,
    ))
}

/// Parses a demand of the hosts in `from`, such as `dc8=20Gbit`.
fn demand(plan: &Plan, from: DcId, text: &str) -> Result<(DcId, BitsPerSec), Failure> {
    let (name, rate) = assignment(text, "demand", "dc8=20Gbit")?;
    let to = dc(plan, name)?;
    if plan.switches[from.index()].towards(to).is_none() {
        return Err(Failure::usage(format_args!(
            "`{}` has no demand to `{name}`, because that is the same datacenter or has no hosts",
            plan.dcs[from.index()].name,
        )));
    }
    Ok((to, rate.parse().map_err(Failure::usage)?))
}

/// Splits an option's value such as `dc6=40%` into the datacenter's name and its value.
fn assignment<'a>(text: &'a str, what: &str, example: &str) -> Result<(&'a str, &'a str), Failure> {
    text.split_once('=').ok_or_else(|| {
        Failure::usage(format_args!(
            "`{text}` is not a {what} (hint: write it like `{example}`)"
        ))
    })
}

/// Returns the flow between the hosts that `arguments` name. The default source is the first host of `from` or, if
/// `from` has no hosts, of a datacenter whose flows to `to` pass `from`; the default destination is the first host of
/// `to`.
fn flow(plan: &Plan, arguments: &ExplainArgs, from: DcId, to: DcId) -> Result<FlowTuple, Failure> {
    let asked = |name: &Option<String>| name.as_deref().map(|name| host(plan, name)).transpose();
    let src = asked(&arguments.src)?;
    let dst = asked(&arguments.dst)?;
    if let Some(src) = src.filter(|src| !passes(plan, src.dc, from, to)) {
        return Err(Failure::usage(format_args!(
            "no flow from `{}` to `{}` passes `{}` (hint: name a host of `{}`)",
            src.name, arguments.to, arguments.from, arguments.from
        )));
    }
    if let Some(dst) = dst.filter(|dst| dst.dc != to) {
        return Err(Failure::usage(format_args!(
            "`{}` is not a host of `{}`",
            dst.name, arguments.to
        )));
    }
    let first = |dc: DcId| {
        let host = plan.dcs[dc.index()].hosts.first()?;
        Some(&plan.nodes[host.index()])
    };
    // A transit datacenter has no hosts, so the flow may start or end elsewhere.
    let others = (0u32..).map(DcId).take(plan.dcs.len());
    let sender = || {
        others
            .filter(|dc| passes(plan, *dc, from, to))
            .find_map(first)
    };
    let addr = |node: Option<&Node>| node.map_or(Ipv4Addr::UNSPECIFIED, |node| node.addr);
    Ok(FlowTuple {
        src: addr(src.or_else(|| first(from)).or_else(sender)),
        dst: addr(dst.or_else(|| first(to))),
        sport: arguments.sport,
        dport: ROCE_PORT,
    })
}

/// Returns true if the switch of `via` can decide about data from `src` to `to`: if the data can pass through it, and
/// is not in a tunnel.
fn passes(plan: &Plan, src: DcId, via: DcId, to: DcId) -> bool {
    let next_dcs = |at: DcId| {
        let row = plan.switches[at.index()].towards(to);
        let choosing = row.filter(|row| row.tunnels.is_empty()).into_iter();
        let candidates = choosing.flat_map(|row| &row.candidates);
        candidates.map(|candidate| candidate.next_dc)
    };
    let mut reached = BTreeSet::from([src]);
    let mut queue = Vec::from([src]);
    while let Some(at) = queue.pop() {
        queue.extend(next_dcs(at).filter(|next| reached.insert(*next)));
    }
    src != to && reached.contains(&via)
}

fn host<'a>(plan: &'a Plan, name: &str) -> Result<&'a Node, Failure> {
    let host = plan
        .nodes
        .iter()
        .find(|node| node.role == Role::Host && node.name == name);
    host.ok_or_else(|| {
        Failure::usage(format_args!(
            "there is no host `{name}` (hint: hosts are named like `dc1/h1`)"
        ))
    })
}
