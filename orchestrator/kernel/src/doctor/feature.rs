//! Kernel features that a lab needs, each tried with the steps of a two-host lab.

use crate::step::{DeviceChange, Qdisc, Step};

/// Kernel feature of a lab. Each follows those it requires.
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

/// Texts and modules of a feature.
pub(super) struct Description {
    pub subject: &'static str,
    /// Object of "this kernel has no …".
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

    /// Returns the feature that a step needs and a kernel may lack.
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

    /// Returns the feature without which this one cannot be tried.
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
                "network namespace with a name",
                "every switch of a lab is in one",
                &[],
            ),
            Self::Veth => (
                "veth",
                "veth interface",
                "links are pairs of them",
                &["veth"],
            ),
            Self::Tbf => (
                "tbf",
                "tbf qdisc",
                "egress queues get their rate and size from it",
                &["sch_tbf"],
            ),
            Self::Red => (
                "red",
                "red qdisc",
                "egress queues of legacy switches mark packets with it",
                &["sch_red"],
            ),
            Self::Netem => (
                "netem",
                "netem qdisc",
                "links get their delay from it",
                &["sch_netem"],
            ),
            Self::Fq => (
                "fq",
                "fq qdisc",
                "congestion control paces packets with it",
                &["sch_fq"],
            ),
            Self::Clsact => (
                "clsact",
                "clsact qdisc",
                "switch programs and delay lines are attached to it",
                &["sch_ingress"],
            ),
            Self::Mirred => (
                "mirred",
                "u32 filter with a mirred action",
                "delay lines pass packets on with it",
                &["cls_u32", "act_mirred"],
            ),
            Self::Bpf => (
                "bpf",
                "eBPF classifier",
                "a DCI switch chooses paths with it",
                &["cls_bpf"],
            ),
            Self::RdmaRxe => (
                "rdma_rxe",
                "SoftRoCE device",
                "hosts send RDMA by it",
                &["rdma_rxe"],
            ),
            Self::IbUverbs => (
                "ib_uverbs",
                "verbs device for a SoftRoCE device",
                "perftest opens RDMA devices by it",
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

/// Lists the kernel modules that a lab needs, any of which a kernel may have built in.
pub fn kernel_modules() -> impl Iterator<Item = &'static str> {
    Feature::ALL
        .into_iter()
        .flat_map(|feature| feature.description().modules)
        .copied()
}
