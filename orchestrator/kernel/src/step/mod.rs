//! Steps, which describe every change of the kernel's state as data.
//!
//! `Display` prints a step as the `ip`, `tc`, `rdma`, `ethtool` or `sysctl` command with the same effect. Quantities
//! are printed as they are passed to the kernel.

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

/// Change of the kernel's state.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Creates a network namespace.
    Netns {
        /// Name of the namespace in `/run/netns`.
        name: NetnsName,
    },
    /// Sets a sysctl of a namespace or interface of the lab; the setting disappears with the namespace or interface.
    Sysctl {
        netns: Namespace,
        /// Key of the sysctl, such as `net.ipv4.ip_forward`.
        key: String,
        value: String,
        /// True if the kernel may have been built without the sysctl.
        optional: bool,
    },
    /// Raises a machine-wide sysctl, which all labs share and the last lab restores.
    SharedSysctl {
        /// Key of the sysctl, such as `net.core.netdev_max_backlog`.
        key: String,
        /// Minimum value that labs need.
        at_least: u64,
    },
    /// Creates a veth pair, each end of which is in its own namespace.
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
    /// Loads the host programs of the root namespace, and pins them in the lab's BPF file system. They are unloaded
    /// when that file system is removed.
    HostPrograms(HostPrograms),
}

/// Change that a step makes to an interface.
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
    /// Redirects every packet that the interface receives to the egress of this other interface in the same namespace.
    /// The receiving interface must have a clsact qdisc.
    Redirect(String),
    /// Creates a SoftRoCE device with this name, which must be unique on the machine.
    Rxe(String),
    /// Attaches a pinned host program to the interface, which must have a clsact qdisc.
    Program {
        program: HostProgram,
        /// Directory in which the program is pinned.
        directory: PathBuf,
    },
    /// Spreads received packets over the CPUs in this bit mask (RPS). The CPU depends on the flow, so that no flow is
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
    /// Group of the interface; all members of a group can be deleted with one request. 0 is the default group.
    pub group: u32,
    /// Index of the interface; 0: the kernel chooses it. End `b` has a fixed index only if end `a` has one.
    pub index: u32,
}

/// Inverse of a step. Most steps need no inverse, because their objects disappear with a namespace or an interface.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Undo<'a> {
    /// Removes a namespace and everything in it.
    Netns(&'a NetnsName),
    /// Deletes an interface in the root namespace if its MAC address is the given one.
    Link { dev: &'a str, mac: Mac },
    /// Deletes a rule in the root namespace.
    Rule(&'a Rule),
    /// Deletes an RDMA device if it is on the given interface.
    Rxe {
        name: &'a str,
        /// Interface on which the device was created.
        dev: &'a str,
    },
    /// Releases the lab's share of a machine-wide sysctl; the last lab restores the original value.
    SharedSysctl { key: &'a str },
}

impl Step {
    /// Returns the step that makes `change` to an interface.
    pub(crate) fn device(netns: &Namespace, dev: &str, change: DeviceChange) -> Self {
        Self::Device {
            netns: netns.clone(),
            dev: dev.to_owned(),
            change,
        }
    }

    /// Returns the name of the namespace in which the step takes effect; `None` for the root namespace.
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

    /// Returns the inverse of the step; `None` if the step's object disappears with a namespace or an interface of the
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
            // The names of RDMA devices are machine-wide, regardless of the interface's namespace.
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
    /// Returns the name of the namespace; `None` for the root namespace.
    #[must_use]
    pub const fn name(&self) -> Option<&NetnsName> {
        match self {
            Self::Root => None,
            Self::Named(name) => Some(name),
        }
    }
}
