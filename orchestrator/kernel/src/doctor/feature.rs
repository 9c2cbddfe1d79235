//! Kernel features that a lab needs; each is tried with steps of a two-host lab.

use crate::step::{DeviceChange, Qdisc, Step};

/// Kernel feature that a lab needs. Variants are in dependency order: each one follows the features that it requires.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Feature {
    Namespaces,
    Veth,
    Tbf,
    Red,
    Netem,
    Fq,
    Clsact,
    Mirred,
    Bpf,
    RdmaRxe,
    IbUverbs,
}

/// Texts for messages about a feature, and the feature's kernel modules.
pub(super) struct Description {
    pub subject: &'static str,
    /// Name of the feature as it appears in the message "this kernel has no …".
    pub thing: &'static str,
    pub why: &'static str,
    pub modules: &'static [&'static str],
}

impl Feature {
    pub(super) const ALL: [Self; 11] = [
        Self::Namespaces,
        Self::Veth,
        Self::Tbf,
        Self::Red,
        Self::Netem,
        Self::Fq,
        Self::Clsact,
        Self::Mirred,
        Self::Bpf,
        Self::RdmaRxe,
        Self::IbUverbs,
    ];

    /// Returns the feature that a step needs; `None` if every kernel can apply the step.
    pub(super) const fn of(step: &Step) -> Option<Self> {
        Some(match step {
            Step::Netns { .. } => Self::Namespaces,
            Step::Veth(_) => Self::Veth,
            Step::Qdisc(at) | Step::QdiscChange(at) => match at.qdisc {
                Qdisc::Tbf(_) => Self::Tbf,
                Qdisc::Red(_) => Self::Red,
                Qdisc::Netem(_) => Self::Netem,
                Qdisc::Fq(_) => Self::Fq,
                Qdisc::Clsact => Self::Clsact,
            },
            Step::Device { change, .. } => match change {
                DeviceChange::Redirect(_) => Self::Mirred,
                DeviceChange::Rxe(_) => Self::RdmaRxe,
                DeviceChange::NoOffloads
                | DeviceChange::Up
                | DeviceChange::Down
                | DeviceChange::Address(_)
                | DeviceChange::NotLocal(_)
                | DeviceChange::Neighbour { .. }
                | DeviceChange::Program { .. }
                | DeviceChange::Rps(_) => return None,
            },
            Step::Sysctl { .. }
            | Step::SharedSysctl { .. }
            | Step::HostPrograms(_)
            | Step::Route(_)
            | Step::Rule(_) => return None,
        })
    }

    /// Returns the feature that must be present before this one can be tried; `None` if there is no such feature.
    pub(super) const fn requires(self) -> Option<Self> {
        match self {
            Self::Namespaces => None,
            Self::Veth => Some(Self::Namespaces),
            Self::Tbf | Self::Red | Self::Netem | Self::Fq | Self::Clsact | Self::RdmaRxe => {
                Some(Self::Veth)
            }
            Self::Mirred | Self::Bpf => Some(Self::Clsact),
            Self::IbUverbs => Some(Self::RdmaRxe),
        }
    }

    pub(super) const fn description(self) -> Description {
        let (subject, thing, why, modules): (_, _, _, &[_]) = match self {
            Self::Namespaces => (
                "namespaces",
                "named network namespace",
                "every switch of a lab has a network namespace",
                &[],
            ),
            Self::Veth => (
                "veth",
                "veth interface",
                "a link is a pair of veth interfaces",
                &["veth"],
            ),
            Self::Tbf => (
                "tbf",
                "tbf qdisc",
                "tbf sets the rate and size of egress queues",
                &["sch_tbf"],
            ),
            Self::Red => (
                "red",
                "red qdisc",
                "red marks packets in the egress queues of legacy switches",
                &["sch_red"],
            ),
            Self::Netem => (
                "netem",
                "netem qdisc",
                "netem delays packets on links",
                &["sch_netem"],
            ),
            Self::Fq => (
                "fq",
                "fq qdisc",
                "fq paces packets for congestion control",
                &["sch_fq"],
            ),
            Self::Clsact => (
                "clsact",
                "clsact qdisc",
                "switch programs and delay lines are attached to clsact",
                &["sch_ingress"],
            ),
            Self::Mirred => (
                "mirred",
                "u32 filter with a mirred action",
                "delay lines forward packets with a mirred action",
                &["cls_u32", "act_mirred"],
            ),
            Self::Bpf => (
                "bpf",
                "eBPF classifier",
                "a DCI switch chooses paths in an eBPF program",
                &["cls_bpf"],
            ),
            Self::RdmaRxe => (
                "rdma_rxe",
                "SoftRoCE device",
                "hosts send RDMA traffic through SoftRoCE",
                &["rdma_rxe"],
            ),
            Self::IbUverbs => (
                "ib_uverbs",
                "verbs device for a SoftRoCE device",
                "perftest opens RDMA devices through their verbs devices",
                &["ib_uverbs"],
            ),
        };
        Description {
            subject,
            thing,
            why,
            modules,
        }
    }
}

/// Returns the names of the kernel modules that a lab needs. A kernel may have some of them built in.
pub fn kernel_modules() -> impl Iterator<Item = &'static str> {
    Feature::ALL
        .into_iter()
        .flat_map(|feature| feature.description().modules)
        .copied()
}
