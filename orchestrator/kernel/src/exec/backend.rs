//! Kernel interfaces that apply steps.

use std::{fs, io, os::fd::AsFd, path::PathBuf};

use rtnetlink::{
    packet_core::{NLM_F_CREATE, NLM_F_EXCL},
    packet_route::RouteNetlinkMessage,
};

use super::{
    StepCause, StepError,
    executor::{each, failed},
    handle::NetnsHandle,
};
use crate::{
    netlink::{Batch, Socket, ethtool, rdma, route, tc},
    step::{Step, Veth},
};

/// Kernel interface that applies a step. Steps of one backend and namespace are applied together.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Backend {
    /// `/proc/sys`, on a thread in the namespace.
    Inside,
    /// A batch of netlink messages.
    Messages,
    /// The ethtool ioctl.
    Ioctl,
    /// Netlink messages to the RDMA subsystem.
    Rdma,
    /// A `/sys` of the namespace.
    Sysfs,
    /// Machine-wide sysctls, under the machine's lock.
    Machine,
}

impl Backend {
    pub const fn of(step: &Step) -> Self {
        match step {
            Step::Netns { .. } | Step::Sysctl { .. } => Self::Inside,
            Step::Offloads { .. } => Self::Ioctl,
            Step::Rxe { .. } => Self::Rdma,
            Step::Rps { .. } => Self::Sysfs,
            Step::SharedSysctl { .. } => Self::Machine,
            Step::Veth(_)
            | Step::LinkUp { .. }
            | Step::LinkDown { .. }
            | Step::Address { .. }
            | Step::Neighbour { .. }
            | Step::NotLocal { .. }
            | Step::Route(_)
            | Step::Rule(_)
            | Step::Qdisc(_)
            | Step::QdiscChange(_)
            | Step::Redirect { .. } => Self::Messages,
        }
    }
}

/// Writes sysctls of the calling thread's namespace.
pub(super) fn write_sysctls(steps: &[Step]) -> Result<(), StepError> {
    each(steps, |step| match step {
        Step::Sysctl {
            key,
            value,
            optional,
            ..
        } => Ok(write_sysctl(key, value, *optional)?),
        _ => Ok(()),
    })
}

/// Disables the offloads of interfaces.
pub(super) fn disable_offloads(handle: &NetnsHandle, steps: &[Step]) -> Result<(), StepError> {
    each(steps, |step| match step {
        Step::Offloads { dev, .. } => Ok(ethtool::offloads_off(&handle.socket, dev)?),
        _ => Ok(()),
    })
}

/// Creates RDMA devices in the calling thread's namespace.
pub(super) fn add_rdma_devices(steps: &[Step]) -> Result<(), StepError> {
    let mut socket = Socket::rdma().map_err(|error| failed(&steps[0], error))?;
    each(steps, |step| match step {
        Step::Rxe { name, dev, .. } => Ok(rdma::add_rxe(&mut socket, name, dev)?),
        _ => Ok(()),
    })
}

/// Writes receive packet steering masks to the calling thread's `/sys`.
pub(super) fn steer_packets(steps: &[Step]) -> Result<(), StepError> {
    each(steps, |step| {
        let Step::Rps { dev, cpus, .. } = step else {
            return Ok(());
        };
        let file = format!("/sys/class/net/{dev}/queues/rx-0/rps_cpus");
        fs::write(&file, format!("{cpus:x}"))?;
        let found = fs::read_to_string(&file)?;
        match cpu_mask(&found) {
            Some(mask) if mask == *cpus => Ok(()),
            _ => Err(changed_by_kernel(found.trim()).into()),
        }
    })
}

/// Parses a bit mask of CPUs: hexadecimal, with a comma after each 32 bits.
fn cpu_mask(text: &str) -> Option<u64> {
    u64::from_str_radix(&text.trim().replace(',', ""), 16).ok()
}

/// Adds the message for a pair of interfaces to a batch for the namespace of end `a`; `other` is the
/// namespace of end `b` if it differs.
pub(super) fn add_veth(veth: &Veth, other: Option<&NetnsHandle>, batch: &mut Batch) {
    batch.route(&route::veth(veth, other.map(AsFd::as_fd)), CREATE);
}

/// Adds the message of any other step that is applied by netlink messages.
pub(super) fn add_message(
    handle: &mut NetnsHandle,
    step: &Step,
    batch: &mut Batch,
) -> Result<(), StepCause> {
    let missing = |dev: &str| StepCause::NoInterface { dev: dev.into() };
    let mut index = |dev: &str| -> Result<u32, StepCause> {
        handle.interface(dev)?.ok_or_else(|| missing(dev))
    };
    let (message, flags) = match step {
        Step::LinkUp { dev, .. } => (route::link_up(index(dev)?, true), 0),
        Step::LinkDown { dev, .. } => (route::link_up(index(dev)?, false), 0),
        Step::Address { dev, addr, .. } => (route::address(index(dev)?, *addr), CREATE),
        Step::Neighbour { dev, addr, mac, .. } => {
            (route::neighbour(index(dev)?, *addr, *mac), CREATE)
        }
        Step::NotLocal { dev, addr, .. } => (route::not_local(index(dev)?, *addr), 0),
        Step::Route(route) => {
            for dev in route.devs() {
                index(dev)?;
            }
            let message = route::route(route, &handle.interfaces);
            (message.map_err(missing)?, CREATE)
        }
        Step::Rule(rule) => (RouteNetlinkMessage::NewRule(route::rule(rule)), CREATE),
        Step::Qdisc(at) => {
            tc::add(batch, index(&at.dev)?, at.parent, at.handle, &at.qdisc);
            return Ok(());
        }
        Step::QdiscChange(at) => {
            tc::change(batch, index(&at.dev)?, at.parent, at.handle, &at.qdisc);
            return Ok(());
        }
        Step::Redirect { from, to, .. } => {
            tc::redirect(batch, index(from)?, index(to)?);
            return Ok(());
        }
        Step::Netns { .. }
        | Step::Sysctl { .. }
        | Step::SharedSysctl { .. }
        | Step::Veth(_)
        | Step::Offloads { .. }
        | Step::Rxe { .. }
        | Step::Rps { .. } => return Ok(()),
    };
    batch.route(&message, flags);
    Ok(())
}

/// Writes a sysctl of the calling thread's namespace and reads it back. A missing one is an error
/// unless `optional`.
pub(super) fn write_sysctl(key: &str, value: &str, optional: bool) -> io::Result<()> {
    match fs::write(sysctl_path(key), value) {
        Err(error) if optional && error.kind() == io::ErrorKind::NotFound => return Ok(()),
        written => written?,
    }
    match read_sysctl(key)? {
        found if found == value => Ok(()),
        found => Err(changed_by_kernel(&found)),
    }
}

/// Reads a sysctl of the calling thread's namespace.
pub(super) fn read_sysctl(key: &str) -> io::Result<String> {
    Ok(fs::read_to_string(sysctl_path(key))?.trim().to_owned())
}

/// No interface of a lab has a dot in its name.
fn sysctl_path(key: &str) -> PathBuf {
    PathBuf::from("/proc/sys").join(key.replace('.', "/"))
}

fn changed_by_kernel(found: &str) -> io::Error {
    io::Error::other(format!("the kernel made it `{found}`"))
}

/// Flags that let a request create an object but not replace one.
const CREATE: u16 = NLM_F_CREATE | NLM_F_EXCL;
