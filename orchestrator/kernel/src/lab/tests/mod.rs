//! Labs on this machine. Those that any kernel can run are each on an isolated machine.

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
use tokio_util::sync::CancellationToken;

use super::{Lab, LabError, Reservation, ReservationError};
use crate::{
    lower::{Clock, HostPlacement, LowerOptions, lower_fault},
    name::LabName,
};

#[derive(Debug)]
enum Refused {
    Reservation(ReservationError),
    #[expect(dead_code, reason = "shown by failing tests")]
    Up(LabError),
}

fn up(name: &str, hosts: HostPlacement, plan: fn(u8) -> Plan) -> Result<Lab, Refused> {
    let lab: LabName = name.parse().unwrap();
    let reservation = Reservation::acquire(&lab, "test").map_err(Refused::Reservation)?;
    let plan = plan(reservation.slot());
    bring_up(reservation, &plan, &options(lab, hosts)).map_err(Refused::Up)
}

fn bring_up(
    reservation: Reservation,
    plan: &Plan,
    options: &LowerOptions,
) -> Result<Lab, LabError> {
    Lab::up(
        reservation,
        plan,
        options,
        &CancellationToken::new(),
        &mut |_| {},
    )
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

/// Returns the number of CPUs, to which packets are steered.
fn cpus() -> u32 {
    u32::try_from(thread::available_parallelism().unwrap().get()).unwrap()
}

fn host(lab: &Lab, name: &str) -> NodeId {
    let at = lab.plan().nodes.iter().position(|node| node.name == name);
    NodeId::from_index(at.unwrap()).unwrap()
}

/// Returns true if one echo is answered within `seconds`.
fn ping(lab: &mut Lab, from: NodeId, to: NodeId, seconds: u32) -> bool {
    let port = lab.plan().nodes[from.index()].ports[0];
    let dev = lab.plan().ports[port.index()].interface.clone();
    let addr = lab.plan().nodes[to.index()].addr.to_string();
    let mut command = Command::new("ping");
    let wait = seconds.to_string();
    command.args(["-n", "-q", "-c", "1", "-W", &wait, "-I", &dev, &addr]);
    command.stdout(Stdio::null());
    lab.spawn_on(from, &mut command)
        .unwrap()
        .wait()
        .unwrap()
        .success()
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

/// Seconds in which an echo is answered on any machine, however loaded.
const ANSWERED: u32 = 60;
