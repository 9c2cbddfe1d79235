//! Checks that are made before a lab is brought up.

use std::collections::BTreeSet;

use lab_plan::model::Plan;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::{LabErrorKind, Reservation, rules};
use crate::{
    exec::netns,
    lower::{Clock, HostPlacement, Layout, LowerOptions},
    netlink::{Socket, dump, rdma},
    step::{DeviceChange, Namespace, Step},
};

/// Checks that the plan and options match the reservation, that the lab's names are free, and that no rule of the
/// machine diverts the lab's packets.
pub(super) fn check(
    reservation: &Reservation,
    plan: &Plan,
    options: &LowerOptions,
    steps: &[Step],
) -> Result<(), LabErrorKind> {
    if plan.slot != reservation.slot() || options.lab != *reservation.lab() {
        return Err(LabErrorKind::OtherReservation {
            plan: plan.slot,
            lab: options.lab.clone(),
            slot: reservation.slot(),
            reserved: reservation.lab().clone(),
        });
    }
    check_pacer(plan, options)?;
    check_names(steps)?;
    rules::check(plan, options)
}

/// Fails if the plan has congestion control that cannot run with `options`.
fn check_pacer(plan: &Plan, options: &LowerOptions) -> Result<(), LabErrorKind> {
    if Layout::new(plan, options).dcqcn().is_none() {
        return Ok(());
    }
    match (options.clock, options.hosts) {
        (Clock::Virtual, HostPlacement::RootNamespace) => Ok(()),
        (Clock::Real, _) => Err(LabErrorKind::CongestionControl {
            why: "DCQCN's programs rely on a single CPU with exact timers",
        }),
        (Clock::Virtual, HostPlacement::OwnNamespace) => Err(LabErrorKind::CongestionControl {
            why: "DCQCN's pacer is in the root namespace, but each host of this lab is in a namespace of its own",
        }),
    }
}

/// Raises the limit of open files to the number that the lab needs: two per namespace, and [`OTHER_FILES`].
pub(super) fn allow_files(steps: &[Step]) -> Result<(), LabErrorKind> {
    let is_netns = |step: &&Step| matches!(step, Step::Netns { .. });
    let namespaces = steps.iter().filter(is_netns).count();
    let needed = 2 * u64::try_from(namespaces).unwrap_or(u64::MAX / 2) + OTHER_FILES;
    let io = |errno: nix::Error| LabErrorKind::Io {
        what: "limit of open files",
        error: errno.into(),
    };
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(io)?;
    if soft >= needed {
        return Ok(());
    }
    if hard < needed {
        let limit = hard;
        return Err(LabErrorKind::Files { needed, limit });
    }
    setrlimit(Resource::RLIMIT_NOFILE, needed, hard).map_err(io)
}

/// Fails if a name that the lab needs is already in use.
fn check_names(steps: &[Step]) -> Result<(), LabErrorKind> {
    let io = |error| LabErrorKind::Io {
        what: "netlink socket",
        error,
    };
    let links: BTreeSet<String> = dump::links(&mut Socket::route().map_err(io)?)?
        .into_iter()
        .map(|link| link.name)
        .collect();
    // A kernel without the RDMA subsystem has no RDMA devices.
    let devices: BTreeSet<String> = Socket::rdma()
        .map(|mut socket| rdma::devices(&mut socket).unwrap_or_default())
        .unwrap_or_default()
        .into_iter()
        .map(|device| device.name)
        .collect();
    let exists = |what, name: &str| {
        let name = name.to_owned();
        Err(LabErrorKind::Exists { what, name })
    };
    for step in steps {
        match step {
            Step::Netns { name } if netns::path(name).exists() => {
                return exists("namespace", name.as_str());
            }
            Step::Veth(veth) => {
                for end in [&veth.a, &veth.b] {
                    if end.netns == Namespace::Root && links.contains(&end.dev) {
                        return exists("interface", &end.dev);
                    }
                }
            }
            Step::Device {
                change: DeviceChange::Rxe(name),
                ..
            } if devices.contains(name) => {
                return exists("RDMA device", name);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Number of open files that are not namespaces: journals, pipes of flows, telemetry sockets.
const OTHER_FILES: u64 = 1_024;
