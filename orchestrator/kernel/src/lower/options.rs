//! Inputs of lowering in addition to the plan.

use lab_units::Clock;

use crate::name::LabName;

/// Inputs, besides the plan, for its translation into kernel steps.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LowerOptions {
    /// Name of the lab, which is part of its namespaces' names.
    pub lab: LabName,
    /// Placement of the hosts' NICs in namespaces.
    pub hosts: HostPlacement,
    /// Clock of the kernel on which the lab runs.
    pub clock: Clock,
    /// True for a whole lab. False for kernels without netem, red and rxe: links then have a rate and a queue but no
    /// delay, loss or marks, and hosts have no RDMA devices. False is used only in tests and benchmarks of bring-up.
    pub delay_lines: bool,
    /// Number of CPUs that the machine has.
    pub cpus: u32,
}

impl LowerOptions {
    /// Returns the options with which `plan --steps` translates a plan into the steps that it prints.
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

/// Placement of the hosts' NICs in namespaces.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostPlacement {
    /// All NICs are in the root namespace, behind policy routing; the rxe of every kernel release can send from there.
    RootNamespace,
    /// Each NIC is in a namespace of its own, for kernels whose rxe can send from there.
    OwnNamespace,
}
