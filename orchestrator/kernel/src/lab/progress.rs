//! Progress of bringing up a lab.

use std::fmt;

use crate::step::{DeviceChange, Namespace, Step};

/// Phase of bringing up a lab.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Phase {
    /// Creation of namespaces and their settings.
    Namespaces,
    Links,
    /// Set-up of queues, addresses, neighbours, routes and rules.
    Nodes,
    RdmaDevices,
    /// Comparison of the kernel's state with the steps.
    Check,
}

/// Progress of bringing up a lab.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LabProgress {
    pub phase: Phase,
    /// Number of steps that have been applied, over all phases.
    pub done: usize,
    /// Number of steps in all phases.
    pub total: usize,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Namespaces => "namespaces",
            Self::Links => "links",
            Self::Nodes => "queues, addresses and routes",
            Self::RdmaDevices => "RDMA devices",
            Self::Check => "read-back and comparison",
        })
    }
}

impl Phase {
    pub(super) const fn of(step: &Step) -> Self {
        match step {
            Step::Netns { .. } | Step::SharedSysctl { .. } => Self::Namespaces,
            Step::Sysctl { netns, .. } => match netns {
                Namespace::Root => Self::Nodes,
                Namespace::Named(_) => Self::Namespaces,
            },
            Step::Veth(_) => Self::Links,
            Step::Device {
                change: DeviceChange::Rxe(_),
                ..
            } => Self::RdmaDevices,
            Step::Device { .. }
            | Step::HostPrograms(_)
            | Step::Route(_)
            | Step::Rule(_)
            | Step::Qdisc(_)
            | Step::QdiscChange(_) => Self::Nodes,
        }
    }
}
