//! Facts of a run, derived from its plan, location, clock and engine.

use std::collections::{BTreeMap, BTreeSet};

use lab_plan::{
    FaultChange, PaperUnits, Plan,
    model::{FaultPlan, Flow, Link, LinkConfig, LinkKind, link_words},
};
use lab_records::{
    AgentCrashInfo, Clock, DcInfo, EngineInfo, FaultInfo, FlowsWithChoice, Granularity, LinkInfo,
    Location, MeasuredFlows, Provenance, RunInfo, ScaleInfo, SimInfo,
};
use lab_units::{BitsPerSec, DcId, NodeId};

/// Location, clock and engine of a run.
#[derive(Clone, Debug)]
pub struct RunSetting {
    /// Release of the kernel on which this program runs, as `uname -r` prints it.
    pub kernel_release: String,
    /// Location of the run: this machine or a guest.
    pub location: Location,
    /// Clock that measures the run's times.
    pub clock: Clock,
    /// Accelerator of the guest, such as `kvm`; `None` outside a guest.
    pub accel: Option<String>,
    /// Engine that runs the plan.
    pub engine: EngineInfo,
}

impl RunSetting {
    /// Returns the setting in which this process simulates `plan` on `threads` threads. `trains` is the maximum number of
    /// packets in a train; `None` if each packet is an event.
    #[must_use]
    pub fn simulated(
        plan: &Plan,
        threads: usize,
        trains: Option<u32>,
        kernel_release: String,
    ) -> Self {
        let cc = plan.transport.cc.name();
        let info = SimInfo {
            semantics: plan.transport.semantics,
            cc: plan.policies.iter().map(|_| cc.to_owned()).collect(),
            threads: u32::try_from(threads).unwrap_or(u32::MAX),
            trains,
        };
        Self {
            kernel_release,
            location: Location::Here,
            clock: Clock::Virtual,
            accel: None,
            engine: EngineInfo::Sim(info),
        }
    }
}

/// Returns the facts for a run of `plan`; `plan_hash` is the hash of the plan's text. The caller adds the provenance.
#[must_use]
pub fn run_info(plan: &Plan, plan_hash: &str, setting: &RunSetting) -> RunInfo {
    let dc_name = |node: NodeId| {
        let dc = plan.nodes[node.index()].dc;
        plan.dcs[dc.index()].name.clone()
    };
    let links = plan.links.iter();
    let inter_dc = links.filter(|link| link.kind == LinkKind::InterDc);
    let info = RunInfo {
        scenario: plan.name.clone(),
        description: plan.description.clone(),
        scenario_hash: plan.scenario_hash.clone(),
        plan_hash: plan_hash.to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        kernel_release: setting.kernel_release.clone(),
        engine: setting.engine.clone(),
        location: setting.location,
        clock: setting.clock,
        accel: setting.accel.clone(),
        scale: ScaleInfo {
            rate: plan.scale.rate,
            time: plan.scale.time,
            size: plan.scale.size,
        },
        scale_fits: plan
            .auto_scale
            .as_ref()
            .map(|auto| auto.capacity.to_string()),
        seed: plan.seed,
        repetitions: plan.repetitions,
        policies: plan.policies.iter().map(|run| run.label.clone()).collect(),
        scheduled_flows: u64::try_from(plan.flows.len()).unwrap_or(u64::MAX),
        has_same_flows: plan.has_same_flows(),
        measured: plan.measure.measured.map(|window| MeasuredFlows {
            from_ns: window.paper_from_ns,
            to_ns: window.paper_to_ns,
            ids: window.ids(&plan.flows),
        }),
        with_choice: None,
        candidate_set: plan.candidate_set,
        reconverge_after_ns: plan.paper_reconverge_after_ns,
        dcs: plan
            .dcs
            .iter()
            .map(|dc| DcInfo {
                name: dc.name.clone(),
                hosts: dc
                    .hosts
                    .iter()
                    .map(|host| plan.nodes[host.index()].name.clone())
                    .collect(),
                legacy: dc.legacy,
            })
            .collect(),
        links: inter_dc
            .map(|link| LinkInfo {
                name: link.name.clone(),
                a: dc_name(link.a),
                b: dc_name(link.b),
                rate_bps: link.paper.rate_bps,
                delay_ns: link.paper.delay_ns,
                buffer_bytes: link.paper.buffer_bytes,
            })
            .collect(),
        link_details: link_details(plan),
        faults: plan
            .faults
            .iter()
            .map(|fault| fault_info(plan, fault))
            .collect(),
        fault_details: plan
            .faults
            .iter()
            .filter_map(|fault| fault_details(plan, fault))
            .collect(),
        agent_crashes: plan
            .agent_crashes
            .iter()
            .map(|crash| AgentCrashInfo {
                dc: plan.dcs[crash.dc.index()].name.clone(),
                from_ns: crash.paper_at_ns,
                to_ns: crash.restart.map(|restart| restart.paper_at_ns),
            })
            .collect(),
        granularity: Granularity {
            sub_packet_flows_percent: plan.estimate.sub_packet_flows_percent,
            packet_vs_delay_percent: plan.estimate.packet_vs_delay_percent,
        },
        warnings: plan
            .warnings
            .iter()
            .map(|warning| warning.text.clone())
            .collect(),
        assumptions: plan.assumptions.clone(),
        provenance: Provenance::default(),
    };
    RunInfo {
        with_choice: with_choice(plan, &info),
        ..info
    }
}

/// Returns the measured flows with a choice of paths; `None` if all or none have one.
fn with_choice(plan: &Plan, info: &RunInfo) -> Option<FlowsWithChoice> {
    let with_choice = plan.pairs_with_choice();
    let dc = |node: NodeId| plan.nodes[node.index()].dc;
    let measured = plan.flows.iter().filter(|flow| info.is_measured(flow.id));
    let has_choice = |flow: &&Flow| with_choice.contains(&(dc(flow.src), dc(flow.dst)));
    let flows = u64::try_from(measured.filter(has_choice).count()).unwrap_or(u64::MAX);
    let name = |dc: DcId| plan.dcs[dc.index()].name.clone();
    let mut pairs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (from, to) in with_choice {
        pairs.entry(name(from)).or_default().insert(name(to));
    }
    (flows > 0 && flows < info.measured_flows()).then_some(FlowsWithChoice { flows, pairs })
}

/// Returns the parameters of links that [`LinkInfo`] does not have, at the paper's scale.
fn link_details(plan: &Plan) -> Vec<String> {
    let mut inter_dc: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut local: BTreeMap<(&str, String), usize> = BTreeMap::new();
    let is_known = |name| ["rate", "delay", "buffer"].contains(&name);
    for link in &plan.links {
        let parameters = &link.paper.parameters;
        let ends = match link.kind {
            LinkKind::InterDc => {
                let words = link_words(parameters, |it| !is_known(it.name));
                inter_dc.entry(words).or_default().push(&link.name);
                continue;
            }
            LinkKind::Fabric => "between switches in datacenters",
            LinkKind::Host => "of hosts",
        };
        let words = link_words(parameters, |_| true);
        *local.entry((ends, words)).or_default() += 1;
    }
    inter_dc.remove("");
    let of_some = inter_dc
        .iter()
        .map(|(words, links)| format!("{words} on {}", links.join(" and ")));
    let of_all = local
        .iter()
        .map(|((ends, words), links)| format!("{words} on {links} links {ends}"));
    of_some.chain(of_all).collect()
}

/// Returns the link's changeable parameters after the fault, at the paper's scale; `None` for a cut or a repair.
fn fault_details(plan: &Plan, fault: &FaultPlan) -> Option<String> {
    let FaultChange::Wire(wire) = &fault.change else {
        return None;
    };
    let link = &plan.links[fault.link.index()];
    let paper = PaperUnits::new(&plan.scale);
    let parameters = LinkConfig {
        rate_bps: paper_rate(&paper, wire.rate_bps, link),
        delay_ns: paper.time(wire.delay_ns),
        ecn: None,
        ..wire.parameters
    };
    let words = link_words(&parameters, |it| it.is_changeable);
    Some(format!(
        "{} from {} on: {words}",
        link.name, fault.paper_at_ns
    ))
}

fn fault_info(plan: &Plan, fault: &FaultPlan) -> FaultInfo {
    let link = &plan.links[fault.link.index()];
    let paper = PaperUnits::new(&plan.scale);
    FaultInfo {
        time_ns: fault.paper_at_ns,
        link: link.name.clone(),
        change: fault.change.kind(),
        rate_bps: match &fault.change {
            FaultChange::Wire(wire) => Some(paper_rate(&paper, wire.rate_bps, link)),
            FaultChange::Down | FaultChange::Up => None,
        },
    }
}

/// Returns a link's current rate at the paper's scale (before scaling for emulation): the scenario's rate, or
/// `emulated`, converted, if a fault has changed the rate.
pub(crate) fn paper_rate(paper: &PaperUnits, emulated: BitsPerSec, link: &Link) -> BitsPerSec {
    if emulated == link.emu.rate_bps {
        link.paper.rate_bps
    } else {
        paper.rate(emulated)
    }
}
