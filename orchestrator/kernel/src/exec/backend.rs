//! Interfaces of the kernel through which steps are applied.

use std::{fs, io, os::fd::AsFd, path::PathBuf};

use lab_abi::{dcqcn::HostParams, pfc::quantum_ns};
use lab_dcqcn::parameters;
use lab_host::{Nic, Setup};
use rtnetlink::{
    packet_core::{NLM_F_CREATE, NLM_F_EXCL},
    packet_route::RouteNetlinkMessage,
};

use super::{
    StepCause, StepError,
    error::{each, failed},
    netns::NetnsHandle,
};
use crate::{
    netlink::{Batch, Socket, ethtool, rdma, route, tc},
    step::{DeviceChange, HostPrograms, NicRate, Step, Veth, hook},
};

/// Interface of the kernel that applies a step. Steps with the same backend and namespace are applied together.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Backend {
    /// Files in `/proc/sys`, written on a thread in the step's namespace.
    Inside,
    /// Netlink messages, sent in a batch.
    Messages,
    /// Ethtool ioctl that disables an interface's offloads.
    Ioctl,
    /// Netlink messages to the RDMA subsystem.
    Rdma,
    /// Files in a mount of `/sys` that shows the step's namespace.
    Sysfs,
    /// Machine-wide sysctls, written under the machine's lock.
    Machine,
    /// The loader of eBPF programs.
    Programs,
}

impl Backend {
    pub const fn of(step: &Step) -> Self {
        match step {
            Step::Netns { .. } | Step::Sysctl { .. } => Self::Inside,
            Step::SharedSysctl { .. } => Self::Machine,
            Step::HostPrograms(_) => Self::Programs,
            Step::Device { change, .. } => match change {
                DeviceChange::NoOffloads => Self::Ioctl,
                DeviceChange::Rxe(_) => Self::Rdma,
                DeviceChange::Rps(_) => Self::Sysfs,
                DeviceChange::Up
                | DeviceChange::Down
                | DeviceChange::Address(_)
                | DeviceChange::NotLocal(_)
                | DeviceChange::Neighbour { .. }
                | DeviceChange::Redirect(_)
                | DeviceChange::Program { .. } => Self::Messages,
            },
            Step::Veth(_)
            | Step::Route(_)
            | Step::Rule(_)
            | Step::Qdisc(_)
            | Step::QdiscChange(_) => Self::Messages,
        }
    }
}

/// Writes sysctls in the calling thread's namespace.
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

/// Disables the offloads of interfaces in a namespace.
pub(super) fn disable_offloads(handle: &NetnsHandle, steps: &[Step]) -> Result<(), StepError> {
    each_change(steps, |dev, _| {
        Ok(ethtool::offloads_off(&handle.socket, dev)?)
    })
}

/// Creates RDMA devices in the calling thread's namespace.
pub(super) fn add_rdma_devices(steps: &[Step]) -> Result<(), StepError> {
    let mut socket = Socket::rdma().map_err(|error| failed(&steps[0], error))?;
    each_change(steps, |dev, change| match change {
        DeviceChange::Rxe(name) => Ok(rdma::add_rxe(&mut socket, name, dev)?),
        _ => Ok(()),
    })
}

/// Loads and pins a step's eBPF host programs. `handle` is the root namespace, where the interfaces of the programs
/// are.
pub(super) fn load_programs(
    handle: &mut NetnsHandle,
    programs: &HostPrograms,
) -> Result<(), StepCause> {
    let mut index = |dev: &str| -> Result<u32, StepCause> {
        let missing = || StepCause::NoInterface { dev: dev.into() };
        handle.interface(dev)?.ok_or_else(missing)
    };
    let params = HostParams {
        law: parameters::of(&programs.dcqcn, TICKS_PER_NANO),
        horizon_ns: programs.horizon.get(),
        pacer: index(&programs.pacer)?,
        is_closing: 0,
    };
    let mut nic = |nic: &NicRate| -> Result<Nic, StepCause> {
        Ok(Nic {
            ifindex: index(&nic.dev)?,
            line_bps: nic.rate.get(),
            quantum_ns: if programs.pfc {
                quantum_ns(nic.rate)
            } else {
                0
            },
        })
    };
    let setup = Setup {
        params,
        nics: programs
            .nics
            .iter()
            .map(&mut nic)
            .collect::<Result<_, _>>()?,
        qps: programs.qps,
    };
    Ok(lab_host::install(&setup, &programs.directory)?)
}

/// Time units per nanosecond in the host programs: 1, because the programs count nanoseconds.
const TICKS_PER_NANO: u64 = 1;

/// Writes masks for receive packet steering to the `/sys` of the calling thread.
pub(super) fn steer_packets(steps: &[Step]) -> Result<(), StepError> {
    each_change(steps, |dev, change| {
        let DeviceChange::Rps(cpus) = change else {
            return Ok(());
        };
        fs::write(steering_file(dev), format!("{cpus:x}"))?;
        match steered_to(dev) {
            Some(mask) if mask == *cpus => Ok(()),
            found => Err(changed_by_kernel(&format!("{:x}", found.unwrap_or(0))).into()),
        }
    })
}

/// Returns the mask of the CPUs to which an interface's packets are steered, according to the calling thread's `/sys`;
/// `None` if the mask cannot be read.
pub(super) fn steered_to(dev: &str) -> Option<u64> {
    cpu_mask(&fs::read_to_string(steering_file(dev)).ok()?)
}

fn steering_file(dev: &str) -> String {
    format!("/sys/class/net/{dev}/queues/rx-0/rps_cpus")
}

/// Calls `work` with each interface change; stops at the first error.
fn each_change(
    steps: &[Step],
    mut work: impl FnMut(&str, &DeviceChange) -> Result<(), StepCause>,
) -> Result<(), StepError> {
    each(steps, |step| match step {
        Step::Device { dev, change, .. } => work(dev, change),
        _ => Ok(()),
    })
}

/// Parses a bit mask of CPUs: hexadecimal, with a comma after each 32 bits.
fn cpu_mask(text: &str) -> Option<u64> {
    u64::from_str_radix(&text.trim().replace(',', ""), 16).ok()
}

/// Adds the message that creates a veth pair to a batch for the namespace of end `a`. `other` is the namespace of end
/// `b` if that end is in another namespace.
pub(super) fn add_veth(veth: &Veth, other: Option<&NetnsHandle>, batch: &mut Batch) {
    batch.route(&route::veth(veth, other.map(AsFd::as_fd)), CREATE);
}

/// Adds the message for a step that is applied through netlink and does not create a veth pair.
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
        Step::Device { dev, change, .. } => {
            let index_of_dev = index(dev)?;
            match change {
                DeviceChange::Up => (route::link_up(index_of_dev, true), 0),
                DeviceChange::Down => (route::link_up(index_of_dev, false), 0),
                DeviceChange::Address(addr) => (route::address(index_of_dev, *addr), CREATE),
                DeviceChange::NotLocal(addr) => (route::not_local(index_of_dev, *addr), 0),
                DeviceChange::Neighbour { addr, mac } => {
                    (route::neighbour(index_of_dev, *addr, *mac), CREATE)
                }
                DeviceChange::Redirect(to) => {
                    tc::redirect(batch, index_of_dev, index(to)?);
                    return Ok(());
                }
                DeviceChange::Program { program, directory } => {
                    let (descriptor, _) = lab_host::pinned(directory, *program)?;
                    let name = program.name();
                    tc::attach(batch, index_of_dev, hook(*program), name, descriptor);
                    return Ok(());
                }
                DeviceChange::NoOffloads | DeviceChange::Rxe(_) | DeviceChange::Rps(_) => {
                    return Ok(());
                }
            }
        }
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
        Step::Netns { .. }
        | Step::Sysctl { .. }
        | Step::SharedSysctl { .. }
        | Step::HostPrograms(_)
        | Step::Veth(_) => return Ok(()),
    };
    batch.route(&message, flags);
    Ok(())
}

/// Writes a sysctl of the calling thread's namespace and reads it back. A missing sysctl is an error unless it is
/// `optional`.
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

/// Returns the path of a sysctl. Every dot in the key separates two directories, because names of lab interfaces
/// contain no dots.
fn sysctl_path(key: &str) -> PathBuf {
    PathBuf::from("/proc/sys").join(key.replace('.', "/"))
}

fn changed_by_kernel(found: &str) -> io::Error {
    io::Error::other(format!("the kernel changed the written value to `{found}`"))
}

/// Flags with which a request creates an object but never replaces one.
const CREATE: u16 = NLM_F_CREATE | NLM_F_EXCL;
