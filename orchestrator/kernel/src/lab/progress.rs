//! How far a lab is.

use std::fmt;

use crate::step::{Place, Step};

/// What is being made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Phase {
    /// Namespaces and their settings.
    Namespaces,
    /// Pairs of interfaces.
    Links,
    /// Queues, addresses, neighbours, routes, rules.
    Nodes,
    /// RDMA devices.
    RdmaDevices,
    /// All of it read back and compared.
    Check,
}

/// How far it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Progress {
    /// What is being made.
    pub phase: Phase,
    /// Steps done, of all phases.
    pub done: usize,
    /// Steps in all.
    pub total: usize,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Namespaces => "namespaces",
            Self::Links => "links",
            Self::Nodes => "queues, addresses and routes",
            Self::RdmaDevices => "RDMA devices",
            Self::Check => "read back and compared",
        })
    }
}

impl Phase {
    pub(super) const fn of(step: &Step) -> Self {
        match step {
            Step::Netns { .. } | Step::SharedSysctl { .. } => Self::Namespaces,
            Step::Sysctl { place, .. } => match place {
                Place::Root => Self::Nodes,
                Place::Netns(_) => Self::Namespaces,
            },
            Step::Veth(_) => Self::Links,
            Step::Rxe { .. } => Self::RdmaDevices,
            Step::Offloads { .. }
            | Step::LinkUp { .. }
            | Step::LinkDown { .. }
            | Step::Address { .. }
            | Step::Neighbour { .. }
            | Step::NotLocal { .. }
            | Step::Route(_)
            | Step::Rule(_)
            | Step::Qdisc(_)
            | Step::QdiscChange(_)
            | Step::Redirect { .. }
            | Step::Rps { .. } => Self::Nodes,
        }
    }
}
