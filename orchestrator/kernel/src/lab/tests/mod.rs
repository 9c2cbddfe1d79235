//! Labs on this machine. Those without what its kernel may lack are each in a machine of their own.

mod exact;
mod machine;
mod owners;
mod traffic;

use std::{
    process::{Command, Stdio},
    thread,
};

use lab_plan::model::{FaultChange, FaultPlan, Plan};
use lab_units::{LinkId, Nanos, NodeId};
use rtnetlink::packet_route::link::Stats64;
use tokio_util::sync::CancellationToken;

use super::{Claim, ClaimError, Lab, LabError};
use crate::{
    exec::Space,
    lower::{Clock, HostPlacement, Layout, LowerOptions, lower_fault},
    name::LabName,
    netlink::dump,
};

#[derive(Debug)]
enum Refused {
    Claim(ClaimError),
    #[expect(dead_code, reason = "shown by tests that fail")]
    Up(LabError),
}

fn up(name: &str, hosts: HostPlacement, plan: fn(u8) -> Plan) -> Result<Lab, Refused> {
    let lab: LabName = name.parse().unwrap();
    let claim = Claim::take(&lab, "test").map_err(Refused::Claim)?;
    let plan = plan(claim.slot());
    bring_up(claim, &plan, &options(lab, hosts)).map_err(Refused::Up)
}

fn bring_up(claim: Claim, plan: &Plan, options: &LowerOptions) -> Result<Lab, LabError> {
    Lab::up(claim, plan, options, &CancellationToken::new(), &mut |_| {})
}

fn options(lab: LabName, hosts: HostPlacement) -> LowerOptions {
    LowerOptions {
        lab,
        hosts,
        clock: Clock::Real,
        delay_lines: false,
        cpus: cpus(),
    }
}

/// Packets can be steered to CPUs that are there.
fn cpus() -> u32 {
    u32::try_from(thread::available_parallelism().unwrap().get()).unwrap()
}

fn host(lab: &Lab, name: &str) -> NodeId {
    let at = lab.plan().nodes.iter().position(|node| node.name == name);
    NodeId::from_index(at.unwrap()).unwrap()
}

fn ping(lab: &mut Lab, from: NodeId, to: NodeId) -> bool {
    let port = lab.plan().nodes[from.index()].ports[0];
    let dev = lab.plan().ports[port.index()].interface.clone();
    let addr = lab.plan().nodes[to.index()].addr.to_string();
    let mut command = Command::new("ping");
    command.args(["-n", "-q", "-c", "1", "-W", "2", "-I", &dev, &addr]);
    command.stdout(Stdio::null());
    lab.spawn_on(from, &mut command)
        .unwrap()
        .wait()
        .unwrap()
        .success()
}

/// Changes the first link, as a fault of the plan.
fn fault(lab: &mut Lab, change: FaultChange) {
    let fault = FaultPlan {
        at_ns: Nanos::ZERO,
        paper_at_ns: Nanos::ZERO,
        link: LinkId(0),
        change,
        path_cost_updates: Vec::new(),
    };
    let steps = lower_fault(lab.plan(), lab.options(), &fault).unwrap();
    lab.apply(&steps).unwrap();
    lab.plan.faults.push(fault);
}

/// What a node's ports sent since they were made, in the order of its ports.
fn counters(lab: &Lab, node: NodeId) -> Vec<Stats64> {
    let path = lab.netns_path(node);
    let space = path.map_or_else(Space::root, |path| Space::open(&path));
    let links = dump::links(&mut space.unwrap().socket).unwrap();
    let layout = Layout::new(&lab.plan, &lab.options);
    let stats = |&port| {
        let dev = &layout.port(port).interface;
        links.iter().find(|link| link.name == *dev).unwrap().stats
    };
    layout.node(node).ports.iter().map(stats).collect()
}

fn left(errors: Vec<crate::exec::UndoError>) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}
