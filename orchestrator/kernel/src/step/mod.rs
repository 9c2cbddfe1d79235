//! Steps: everything that is done to the kernel, as data.
//!
//! A step says where and what; `Display` is its spelling with `ip`, `tc`, `rdma` and `sysctl`, for
//! people. Quantities are those the kernel is given.

mod qdisc;
mod routing;
mod show;
mod undo;

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

pub use lab_units::Mac;

pub(crate) use self::show::MAIN_TABLE;
pub use self::{
    qdisc::{Handle, Netem, Parent, Qdisc, Red, Tbf},
    routing::{Matches, NextHop, Route, Rule, Way},
    undo::Undo,
};
use crate::name::NetnsName;

/// Where a step acts.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// The namespace of the machine's own interfaces.
    Root,
    /// A namespace of the lab.
    Netns(NetnsName),
}

/// One change of the kernel's state.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Make a network namespace.
    Netns {
        /// Its name in `/run/netns`.
        name: NetnsName,
    },
    /// Set a sysctl of a namespace or of an interface of the lab; it goes with them.
    Sysctl {
        /// Where.
        place: Place,
        /// `net.ipv4.ip_forward`; a part in the way of the dots is written with slashes.
        key: String,
        /// The text to write.
        value: String,
        /// The kernel may be built without it.
        optional: bool,
    },
    /// Raise a sysctl of the whole machine, shared by all labs and restored by the last.
    SharedSysctl {
        /// `net.core.netdev_max_backlog`.
        key: String,
        /// The least value that will do.
        at_least: u64,
    },
    /// Make a pair of interfaces, each in its place.
    Veth(Veth),
    /// Turn checksum, segmentation and receive offloads off: packets stay packets.
    Offloads {
        /// Where.
        place: Place,
        /// Which interface.
        dev: String,
    },
    /// Bring an interface up.
    LinkUp {
        /// Where.
        place: Place,
        /// Which interface.
        dev: String,
    },
    /// Take an interface down.
    LinkDown {
        /// Where.
        place: Place,
        /// Which interface.
        dev: String,
    },
    /// Give an interface an address, without the route to its prefix.
    Address {
        /// Where.
        place: Place,
        /// Which interface.
        dev: String,
        /// The address, as a /32.
        addr: Ipv4Addr,
    },
    /// Say which hardware address is behind an address, for good.
    Neighbour {
        /// Where.
        place: Place,
        /// By which interface.
        dev: String,
        /// The neighbour's address.
        addr: Ipv4Addr,
        /// The neighbour's hardware address.
        mac: Mac,
    },
    /// Take an address that the kernel put there out of the `local` table.
    NotLocal {
        /// Where.
        place: Place,
        /// Which interface.
        dev: String,
        /// The address.
        addr: Ipv4Addr,
    },
    /// Add a route.
    Route(Route),
    /// Add a policy routing rule.
    Rule(Rule),
    /// Add a queueing discipline.
    Qdisc(QdiscAt),
    /// Change the parameters of a queueing discipline that is there.
    QdiscChange(QdiscAt),
    /// Send all that comes in by one interface out by another.
    Redirect {
        /// Where.
        place: Place,
        /// Where it comes in; has a clsact qdisc.
        from: String,
        /// Where it goes out.
        to: String,
    },
    /// Make a SoftRoCE device on an interface.
    Rxe {
        /// Where.
        place: Place,
        /// The RDMA device.
        name: String,
        /// The interface.
        dev: String,
    },
    /// Let a packet's flow choose the CPU that receives it, so that a flow is never reordered.
    Rps {
        /// Where.
        place: Place,
        /// Which interface.
        dev: String,
        /// Bit mask of CPUs.
        cpus: u64,
    },
}

/// A pair of interfaces.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Veth {
    /// One end.
    pub a: VethEnd,
    /// The other end.
    pub b: VethEnd,
    /// MTU of both.
    pub mtu: u32,
    /// Transmit queue length of both, in packets.
    pub queue_len: u32,
}

/// One end of a pair of interfaces.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct VethEnd {
    /// Where.
    pub place: Place,
    /// Its name.
    pub dev: String,
    /// Its hardware address.
    pub mac: Mac,
    /// The group it can be deleted with; 0 for none.
    pub group: u32,
    /// Its number in its namespace; 0 for the kernel's choice. End `b` has one only if end `a` does.
    pub index: u32,
}

/// A queueing discipline and where it hangs.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct QdiscAt {
    /// Where.
    pub place: Place,
    /// Which interface.
    pub dev: String,
    /// Below what.
    pub parent: Parent,
    /// Its own number.
    pub handle: Handle,
    /// Kind and parameters.
    pub qdisc: Qdisc,
}

impl Step {
    /// The namespace the step is done in; none for the root namespace.
    #[must_use]
    pub fn netns(&self) -> Option<&NetnsName> {
        let place = match self {
            Self::Netns { name } => return Some(name),
            Self::SharedSysctl { .. } => return None,
            Self::Sysctl { place, .. }
            | Self::Offloads { place, .. }
            | Self::LinkUp { place, .. }
            | Self::LinkDown { place, .. }
            | Self::Address { place, .. }
            | Self::Neighbour { place, .. }
            | Self::NotLocal { place, .. }
            | Self::Redirect { place, .. }
            | Self::Rxe { place, .. }
            | Self::Rps { place, .. } => place,
            Self::Veth(veth) => &veth.a.place,
            Self::Route(route) => &route.place,
            Self::Rule(rule) => &rule.place,
            Self::Qdisc(at) | Self::QdiscChange(at) => &at.place,
        };
        place.netns()
    }
}

impl Place {
    /// The namespace's name; none for the root namespace.
    #[must_use]
    pub const fn netns(&self) -> Option<&NetnsName> {
        match self {
            Self::Root => None,
            Self::Netns(name) => Some(name),
        }
    }
}
