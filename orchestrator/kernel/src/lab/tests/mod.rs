//! Tests of labs on this machine. Each test of a lab that can run on any kernel uses an isolated machine of its own.

mod corpus;
mod datagrams;
mod exact;
mod machine;
mod owners;
mod rights;
mod shared;
mod strangers;
mod traffic;

use std::{
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use lab_plan::model::{FaultChange, FaultPlan, Plan};
use lab_units::{LinkId, Nanos, NodeId};
use tokio_util::sync::CancellationToken;

use super::{Lab, LabError, Reservation, ReservationError};
use crate::{
    exec::netns,
    lower::{Clock, HostPlacement, LowerOptions, lower_fault},
    name::NetnsName,
    process::NetnsId,
    testing::{Machine, isolated},
};

/// Runs a test's body on an isolated machine, and asserts that the body leaves the machine unchanged.
fn without_a_trace(body: impl FnOnce(&Machine)) {
    isolated(|| {
        let before = Machine::read();
        body(&before);
        before.assert_unchanged();
    });
}

/// Starts a process in a namespace, and waits until it has entered the namespace.
fn inside(name: &NetnsName) -> Child {
    let mut command = Command::new("ip");
    let child = command
        .args(["netns", "exec", name.as_str(), "sleep", "1000"])
        .spawn()
        .unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    let named = NetnsId::at(&netns::path(name)).expect("the namespace has its name");
    let deadline = Instant::now() + PATIENCE;
    while NetnsId::of_process(pid) != Some(named) {
        assert!(Instant::now() < deadline);
    }
    child
}

fn reserve(name: &str) -> Result<Reservation, ReservationError> {
    Reservation::acquire(&name.parse().unwrap(), "test")
}

/// Brings up a lab called `name`, which must not be the name of another test's lab.
fn up(name: &str, hosts: HostPlacement, plan: fn(u8) -> Plan) -> Lab {
    let reservation = reserve(name).unwrap();
    let plan = plan(reservation.slot());
    let options = options(name, hosts);
    bring_up(reservation, &plan, &options).unwrap()
}

fn bring_up(
    reservation: Reservation,
    plan: &Plan,
    options: &LowerOptions,
) -> Result<Lab, LabError> {
    let cancel = CancellationToken::new();
    Lab::up(reservation, plan, options, &cancel, &mut |_| {})
}

fn options(lab: &str, hosts: HostPlacement) -> LowerOptions {
    LowerOptions {
        lab: lab.parse().unwrap(),
        hosts,
        clock: Clock::Real,
        delay_lines: false,
        // Packets can be steered only to CPUs that exist.
        cpus: u32::try_from(thread::available_parallelism().unwrap().get()).unwrap(),
    }
}

fn host(lab: &Lab, name: &str) -> NodeId {
    let at = lab.plan().nodes.iter().position(|node| node.name == name);
    NodeId::from_index(at.unwrap()).unwrap()
}

/// Sends one echo request; returns true if it is answered within `seconds`.
fn ping(lab: &mut Lab, from: NodeId, to: NodeId, seconds: u32) -> bool {
    let port = lab.plan().nodes[from.index()].ports[0];
    let dev = lab.plan().ports[port.index()].interface.clone();
    let addr = lab.plan().nodes[to.index()].addr.to_string();
    let mut command = Command::new("ping");
    let wait = seconds.to_string();
    command.args(["-n", "-q", "-c", "1", "-W", &wait, "-I", &dev, &addr]);
    command.stdout(Stdio::null());
    let mut child = lab.spawn_on(from, &mut command).unwrap();
    child.wait().unwrap().success()
}

/// Injects a fault into the first link.
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

fn left(errors: Vec<crate::exec::UndoError>) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

/// Maximum time for an echo to be answered on a loaded machine, in seconds.
const ANSWERED: u32 = 60;

/// Maximum time for a process to start on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);
