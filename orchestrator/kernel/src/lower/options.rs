//! Inputs of lowering besides the plan.

use lab_units::Clock;

use crate::name::LabName;

/// Inputs of lowering besides the plan.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LowerOptions {
    /// Name of the lab, part of its namespaces' names.
    pub lab: LabName,
    /// Namespace of the hosts' NICs.
    pub hosts: HostPlacement,
    /// Clock that the lab runs on.
    pub clock: Clock,
    /// True for a whole lab. False for kernels without netem, red and rxe: links then have a rate and a queue but no
    /// delay, loss or marks, and hosts have no RDMA devices. False is used only in tests and benchmarks of bring-up.
    pub delay_lines: bool,
    /// Number of CPUs of the machine.
    pub cpus: u32,
}

impl LowerOptions {
    /// Returns the options with which `plan --steps` shows a lab.
    #[must_use]
    pub const fn shown(lab: LabName) -> Self {
        Self {
            lab,
            hosts: HostPlacement::RootNamespace,
            clock: Clock::Virtual,
            delay_lines: true,
            cpus: 1,
        }
    }
}

/// Namespace of the hosts' NICs.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostPlacement {
    /// In the root namespace behind policy routing, where rxe of every release can send.
    RootNamespace,
    /// Each in a namespace of its own, for kernels whose rxe can send from there.
    OwnNamespace,
}
