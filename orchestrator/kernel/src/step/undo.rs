//! What takes a step back.

use std::fmt;

use super::{Mac, Place, Rule, Step};
use crate::name::NetnsName;

/// What takes a step back. Most steps need none: what is in a namespace goes with the namespace,
/// what is on an interface with the interface.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Undo<'a> {
    /// Remove the namespace and all that is in it.
    Netns(&'a NetnsName),
    /// Delete an interface in the root namespace, if it has this hardware address.
    Link {
        /// Its name.
        dev: &'a str,
        /// Its hardware address.
        mac: Mac,
    },
    /// Delete a rule in the root namespace.
    Rule(&'a Rule),
    /// Delete an RDMA device, if it is on this interface.
    Rxe {
        /// The RDMA device.
        name: &'a str,
        /// The interface it is on.
        dev: &'a str,
    },
    /// Give up the claim on a shared sysctl; the last lab to do so restores it.
    SharedSysctl {
        /// Which.
        key: &'a str,
    },
}

impl Step {
    /// What takes the step back; `None` if it goes with a namespace or interface of the lab.
    #[must_use]
    pub fn undo(&self) -> Option<Undo<'_>> {
        match self {
            Self::Netns { name } => Some(Undo::Netns(name)),
            Self::Veth(veth) => [&veth.a, &veth.b]
                .into_iter()
                .find(|end| end.place == Place::Root)
                .map(|end| Undo::Link {
                    dev: &end.dev,
                    mac: end.mac,
                }),
            Self::Rule(rule) if rule.place == Place::Root => Some(Undo::Rule(rule)),
            // Names of RDMA devices are the machine's, whatever namespace the interface is in.
            Self::Rxe { name, dev, .. } => Some(Undo::Rxe { name, dev }),
            Self::SharedSysctl { key, .. } => Some(Undo::SharedSysctl { key }),
            Self::Sysctl { .. }
            | Self::Offloads { .. }
            | Self::LinkUp { .. }
            | Self::LinkDown { .. }
            | Self::Address { .. }
            | Self::Neighbour { .. }
            | Self::NotLocal { .. }
            | Self::Route(_)
            | Self::Rule(_)
            | Self::Qdisc(_)
            | Self::QdiscChange(_)
            | Self::Redirect { .. }
            | Self::Rps { .. } => None,
        }
    }
}

impl fmt::Display for Undo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Netns(name) => write!(f, "ip netns del {name}"),
            Self::Link { dev, .. } => write!(f, "ip link del dev {dev}"),
            Self::Rule(rule) => rule.fmt_with("del", f),
            Self::Rxe { name, .. } => write!(f, "rdma link delete {name}"),
            Self::SharedSysctl { key } => write!(f, "sysctl -w {key}=<as it was>"),
        }
    }
}
