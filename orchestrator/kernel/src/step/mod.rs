//! Steps: every change of the kernel's state, as data.
//!
//! `Display` prints a step as the `ip`, `tc`, `rdma`, `ethtool` or `sysctl` command with the same
//! effect. Quantities are those passed to the kernel.

mod enter;
mod host;
mod route;
mod show;

use std::{net::Ipv4Addr, path::PathBuf};

use lab_host::HostProgram;
use lab_units::Mac;
use serde::{Deserialize, Serialize};

pub(crate) use self::{host::hook, route::MAIN_TABLE};
pub use self::{
    host::{HostPrograms, NicRate},
    route::{NextHop, Route, RouteTarget, Rule, Selector},
};
pub use crate::name::Namespace;
use crate::name::NetnsName;
pub use crate::qdisc::{Fq, Handle, Netem, Parent, Qdisc, QdiscAt, Red, Tbf};

/// One change of the kernel's state.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Creates a network namespace.
    Netns {
        /// Name in `/run/netns`.
        name: NetnsName,
    },
    /// Sets a sysctl of a namespace or interface of the lab; the sysctl disappears with the namespace or interface.
    Sysctl {
        netns: Namespace,
        /// Key, e.g. `net.ipv4.ip_forward`.
        key: String,
        value: String,
        /// True if the kernel may be built without the sysctl.
        optional: bool,
    },
    /// Raises a machine-wide sysctl, which all labs share and the last lab restores.
    SharedSysctl {
        /// Key, e.g. `net.core.netdev_max_backlog`.
        key: String,
        /// Lowest sufficient value.
        at_least: u64,
    },
    /// Creates a pair of interfaces, each end in its own namespace.
    Veth(Veth),
    Device {
        netns: Namespace,
        dev: String,
        change: DeviceChange,
    },
    Route(Route),
    /// Adds a policy routing rule.
    Rule(Rule),
    /// Adds a queueing discipline.
    Qdisc(QdiscAt),
    /// Changes the parameters of an existing queueing discipline.
    QdiscChange(QdiscAt),
    /// Loads the host programs of the root namespace, and pins them in the lab's BPF file system, whose
    /// removal unloads them.
    HostPrograms(HostPrograms),
}

/// Change of an interface.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceChange {
    /// Disables checksum, segmentation and receive offloads, so that packets are never merged.
    NoOffloads,
    /// Sets the interface up.
    Up,
    /// Sets the interface down.
    Down,
    /// Adds an address as a /32, without a prefix route.
    Address(Ipv4Addr),
    /// Removes an address that the kernel added to the `local` table.
    NotLocal(Ipv4Addr),
    /// Adds a permanent neighbour entry.
    Neighbour { addr: Ipv4Addr, mac: Mac },
    /// Redirects every received packet to this interface's egress in the same namespace. The
    /// receiving interface must have a clsact qdisc.
    Redirect(String),
    /// Creates a SoftRoCE device of this name, which is unique on the machine.
    Rxe(String),
    /// Attaches a pinned host program to its hook on the interface, which must have a clsact qdisc.
    Program {
        program: HostProgram,
        /// Directory in which the program is pinned.
        directory: PathBuf,
    },
    /// Spreads received packets over the CPUs of this bit mask (RPS). The flow decides the CPU, so that no flow is
    /// reordered.
    Rps(u64),
}

/// Pair of virtual Ethernet interfaces.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Veth {
    pub a: VethEnd,
    pub b: VethEnd,
    /// MTU of both ends, in bytes.
    pub mtu: u32,
    /// Transmit queue length of both ends, in packets.
    pub queue_len: u32,
}

/// One end of a veth pair.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct VethEnd {
    pub netns: Namespace,
    pub dev: String,
    pub mac: Mac,
    /// Interface group, whose members can be deleted in one request; 0 is the default group.
    pub group: u32,
    /// Interface index; 0 lets the kernel choose. End `b` has one only if end `a` does.
    pub index: u32,
}

/// Inverse of a step. Most steps need no inverse, because their objects disappear with a namespace or interface.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Undo<'a> {
    /// Removes a namespace with everything in it.
    Netns(&'a NetnsName),
    /// Deletes an interface in the root namespace if it has this hardware address.
    Link { dev: &'a str, mac: Mac },
    /// Deletes a rule in the root namespace.
    Rule(&'a Rule),
    /// Deletes an RDMA device if it is on this interface.
    Rxe {
        name: &'a str,
        /// Interface of the device.
        dev: &'a str,
    },
    /// Releases the lab's share of a machine-wide sysctl; the last lab restores its value.
    SharedSysctl { key: &'a str },
}

impl Step {
    /// Returns the step that changes an interface.
    pub(crate) fn device(netns: &Namespace, dev: &str, change: DeviceChange) -> Self {
        Self::Device {
            netns: netns.clone(),
            dev: dev.to_owned(),
            change,
        }
    }

    /// Returns the name of the namespace that the step runs in; `None` for the root namespace.
    #[must_use]
    pub fn netns_name(&self) -> Option<&NetnsName> {
        let netns = match self {
            Self::Netns { name } => return Some(name),
            Self::SharedSysctl { .. } | Self::HostPrograms(_) => return None,
            Self::Sysctl { netns, .. } | Self::Device { netns, .. } => netns,
            Self::Veth(veth) => &veth.a.netns,
            Self::Route(route) => &route.netns,
            Self::Rule(rule) => &rule.netns,
            Self::Qdisc(at) | Self::QdiscChange(at) => &at.netns,
        };
        netns.name()
    }

    /// Returns the inverse of the step; `None` if the step's object disappears with a namespace or interface of the
    /// lab.
    #[must_use]
    pub fn undo(&self) -> Option<Undo<'_>> {
        match self {
            Self::Netns { name } => Some(Undo::Netns(name)),
            Self::Veth(veth) => {
                let end = [&veth.a, &veth.b]
                    .into_iter()
                    .find(|end| end.netns == Namespace::Root)?;
                let dev = end.dev.as_str();
                let mac = end.mac;
                Some(Undo::Link { dev, mac })
            }
            Self::Rule(rule) if rule.netns == Namespace::Root => Some(Undo::Rule(rule)),
            // RDMA device names are machine-wide, whatever the interface's namespace.
            Self::Device {
                dev,
                change: DeviceChange::Rxe(name),
                ..
            } => Some(Undo::Rxe { name, dev }),
            Self::SharedSysctl { key, .. } => Some(Undo::SharedSysctl { key }),
            Self::Sysctl { .. }
            | Self::Device { .. }
            | Self::Route(_)
            | Self::Rule(_)
            | Self::Qdisc(_)
            | Self::QdiscChange(_)
            | Self::HostPrograms(_) => None,
        }
    }
}

impl Namespace {
    /// Returns the namespace's name; `None` for the root namespace.
    #[must_use]
    pub const fn name(&self) -> Option<&NetnsName> {
        match self {
            Self::Root => None,
            Self::Named(name) => Some(name),
        }
    }
}
