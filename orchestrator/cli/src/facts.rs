//! What a run directory says a run is, from its plan and where it runs.

use lab_kernel::run::LinkMeasurement;
use lab_plan::{
    Plan,
    model::{FaultPlan, LinkKind, Role},
};
use lab_records::{
    Clock, DcInfo, DelayMethod, EngineInfo, FaultInfo, Granularity, LinkInfo, Machine,
    MeasuredLink, RunInfo, ScaleInfo, SimInfo,
};
use sha2::{Digest, Sha256};

/// Where a run happens.
#[derive(Clone, Debug)]
pub struct Setting {
    /// On this machine's kernel or in a guest.
    pub machine: Machine,
    /// What time is.
    pub clock: Clock,
    /// What runs a guest's instructions.
    pub accel: Option<String>,
    /// What plays the plan.
    pub engine: EngineInfo,
}

impl Setting {
    /// Where this process is, by what a guest's init tells it.
    #[must_use]
    pub fn of_this_process() -> Self {
        let variable = |name| std::env::var(name).ok();
        if !lab_guest::inside::is_inside() {
            return Self {
                machine: Machine::Here,
                clock: Clock::Real,
                accel: None,
                engine: EngineInfo::Kernel,
            };
        }
        Self {
            machine: Machine::Guest,
            clock: variable(lab_guest::inside::CLOCK_VARIABLE)
                .and_then(|word| word.parse().ok())
                .unwrap_or(Clock::Real),
            accel: variable(lab_guest::inside::ACCEL_VARIABLE),
            engine: EngineInfo::Kernel,
        }
    }

    /// In virtual time on `threads` of this process.
    #[must_use]
    pub fn simulated(plan: &Plan, threads: usize) -> Self {
        let cc = plan.transport.cc.name();
        let info = SimInfo {
            semantics: plan.transport.semantics,
            cc: plan.policies.iter().map(|_| cc.to_owned()).collect(),
            threads: u32::try_from(threads).unwrap_or(u32::MAX),
        };
        Self {
            machine: Machine::Here,
            clock: Clock::Virtual,
            accel: None,
            engine: EngineInfo::Sim(info),
        }
    }
}

/// What is run, with what, where.
#[must_use]
pub fn run_info(plan: &Plan, plan_hash: &str, setting: &Setting) -> RunInfo {
    let dc_name = |node: lab_units::NodeId| {
        let dc = plan.nodes[node.index()].dc;
        plan.dcs[dc.index()].name.clone()
    };
    let inter_dc = plan
        .links
        .iter()
        .filter(|link| link.kind == LinkKind::InterDc);
    RunInfo {
        scenario: plan.name.clone(),
        description: plan.description.clone(),
        scenario_hash: plan.scenario_hash.clone(),
        plan_hash: plan_hash.to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        kernel_release: kernel_release(),
        engine: setting.engine.clone(),
        machine: setting.machine,
        clock: setting.clock,
        accel: setting.accel.clone(),
        scale: ScaleInfo {
            rate: plan.scale.rate,
            time: plan.scale.time,
            size: plan.scale.size,
        },
        seed: plan.seed,
        repetitions: plan.repetitions,
        policies: plan.policies.iter().map(|run| run.label.clone()).collect(),
        scheduled_flows: u64::try_from(plan.flows.len()).unwrap_or(u64::MAX),
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
        faults: plan
            .faults
            .iter()
            .map(|fault| fault_info(plan, fault))
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
    }
}

fn fault_info(plan: &Plan, fault: &FaultPlan) -> FaultInfo {
    FaultInfo {
        time_ns: fault.paper_at_ns,
        link: plan.links[fault.link.index()].name.clone(),
        change: fault.change.kind(),
    }
}

/// One direction of a link as the facts have it.
#[must_use]
pub fn measured_link(plan: &Plan, measurement: &LinkMeasurement) -> MeasuredLink {
    let link = &plan.links[measurement.link.index()];
    let dc_name = |node: lab_units::NodeId| {
        debug_assert_eq!(plan.nodes[node.index()].role, Role::DciSwitch);
        plan.nodes[node.index()].name.clone()
    };
    let (from, to) = if measurement.forward {
        (link.a, link.b)
    } else {
        (link.b, link.a)
    };
    MeasuredLink {
        link: link.name.clone(),
        from_dc: dc_name(from),
        to_dc: dc_name(to),
        emu_rate_bps: link.emu.rate_bps,
        emu_measured_rate_bps: measurement.rate_bps,
        emu_delay_ns: link.emu.delay_ns,
        emu_measured_delay_ns: measurement.delay_ns,
        delay_method: DelayMethod::OneWay,
    }
}

/// The plan as `plan.json` has it.
#[must_use]
pub fn plan_text(plan: &Plan) -> String {
    let text = serde_json::to_string_pretty(plan).expect("a plan is plain data");
    text + "\n"
}

/// SHA-256 in hex.
#[must_use]
pub fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn kernel_release() -> String {
    nix::sys::utsname::uname()
        .map(|name| name.release().to_string_lossy().into_owned())
        .unwrap_or_default()
}
