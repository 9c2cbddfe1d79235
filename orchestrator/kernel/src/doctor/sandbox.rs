//! Two-host lab on an isolated machine: a thread with its own root namespace and its own `/run`.

use std::{
    io, process,
    sync::atomic::{AtomicU32, Ordering},
};

use lab_plan::{
    Plan, PlanOptions,
    transport::{CcPlan, DcqcnConfig},
};
use nix::{
    mount::{MsFlags, mount},
    sched::{CloneFlags, unshare},
};

use crate::{
    exec::netns,
    lab::{Reservation, ReservationError},
    lower::{Clock, HostPlacement, LowerOptions},
    name::LabName,
};

/// Runs `work` on a new thread with an empty root namespace and an empty `/run`. All namespaces, interfaces, mounts and
/// journals that `work` creates disappear at the latest when the thread ends.
pub(super) fn run<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    netns::on_thread(|| {
        unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET)?;
        let none = None::<&str>;
        mount(none, "/", none, MsFlags::MS_PRIVATE | MsFlags::MS_REC, none)?;
        mount(Some("tmpfs"), "/run", Some("tmpfs"), MsFlags::empty(), none)?;
        Ok(work())
    })
}

/// Lab of two datacenters with one host each, which is reserved but not up.
pub(super) struct TwoHosts {
    pub reservation: Reservation,
    pub plan: Plan,
    pub options: LowerOptions,
}

impl TwoHosts {
    /// Reserves the lab. Must be called inside [`run`].
    pub(super) fn reserve() -> Result<Self, ReservationError> {
        let lab: LabName = "doctor".parse().expect("the name is valid");
        let reservation = Reservation::acquire(&lab, "doctor")?;
        let plan = plan(reservation.slot());
        Ok(Self {
            reservation,
            plan,
            options: options(lab),
        })
    }
}

pub(super) const fn options(lab: LabName) -> LowerOptions {
    LowerOptions {
        lab,
        hosts: HostPlacement::OwnNamespace,
        clock: Clock::Real,
        delay_lines: true,
        cpus: 1,
    }
}

/// Returns the plan of the two-host scenario. RDMA devices are machine-wide and named after interfaces, so the
/// interfaces get names that no other lab or process uses.
pub(super) fn plan(slot: u8) -> Plan {
    let scenario = lab_scenario::parse("doctor.yaml", SCENARIO.as_bytes());
    let scenario = scenario.expect("the built-in scenario is valid");
    let files = lab_scenario::Files::new();
    let options = PlanOptions::default();
    let mut plan = lab_plan::resolve(&scenario, SCENARIO, &files, &options)
        .expect("the built-in scenario can be planned")
        .in_slot(slot);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    for (port, at) in plan.ports.iter_mut().zip(0..) {
        port.interface = format!("{}{number}_{at}", interface_prefix());
    }
    plan
}

/// Adds congestion control and a legacy switch to the plan, which then needs every feature that any lab needs.
pub(super) fn with_every_feature(mut plan: Plan) -> Plan {
    plan.dcs[0].legacy = true;
    plan.transport.cc = CcPlan::Dcqcn(DcqcnConfig::PAPER);
    plan
}

/// Returns the prefix of the interface names that this process uses. Names of RDMA devices have `rxe_` in front of this
/// prefix.
pub(super) fn interface_prefix() -> String {
    format!("p{}n", process::id())
}

/// Number that this process's next two-host lab gets.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// Two-host scenario. Its inter-DC link has ECN marking, for which a legacy switch needs a `red` qdisc.
const SCENARIO: &str = "
name: doctor
topology:
  dcs: [{ name: dc1, hosts: 1 }, { name: dc2, hosts: 1 }]
  links:
    - between: [dc1, dc2]
      rate: 100 Gbit
      delay: 1 ms
      ecn: { k_min: 400 kB, k_max: 1600 kB, p_max: 0.2 }
traffic:
  - flows: [{ from: dc1/h1, to: dc2/h1, size: 2 MB }]
policies: [ecmp]
scale: { rate: 1/100, time: 1 }
";
