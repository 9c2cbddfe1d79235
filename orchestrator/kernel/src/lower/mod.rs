//! Lowering of a plan to steps. Pure: the same plan and options give the same steps.
//!
//! One direction of a link:
//!
//! ```text
//! inter-DC   dc1 egress [tbf rate, queue] ──veth── fiber ⇒ fiber [netem serialisation, delay] ──veth── dc2
//! intra-DC   egress [netem queue, serialisation, delay] ──veth── ingress
//! ```
//!
//! `tbf` releases a packet at the start of its serialisation time and so keeps the queue at the
//! switch, where it is measured; `netem` with the same rate adds the serialisation time.
//! Together they are an exact store-and-forward link, as is the one `netem` of an intra-DC link. The
//! fibers of all inter-DC links are in one namespace of their own, `delay-lines`.

mod fault;
mod host;
mod layout;
mod link;
mod node;
mod pacer;
#[cfg(test)]
mod tests;

use lab_plan::model::Plan;
pub use lab_units::Clock;

pub use self::fault::{FaultError, lower_fault, lower_repair};
pub(crate) use self::{
    fault::lower_after,
    host::{rdma_device, rxe_devices},
    layout::Layout,
    link::{buffer, egress},
};
use crate::{name::LabName, step::Step};

/// Inputs of lowering besides the plan.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LowerOptions {
    /// Name of the lab, part of its namespaces' names.
    pub lab: LabName,
    /// Namespace of the hosts' NICs.
    pub hosts: HostPlacement,
    /// Clock that the lab runs on.
    pub clock: Clock,
    /// True for a whole lab. False for kernels without netem, red and rxe: links then have rate and
    /// queue but no delay, loss or marks, and hosts no RDMA devices. Used only to measure and test
    /// how a lab is brought up.
    pub delay_lines: bool,
    /// Number of CPUs in the machine.
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
    /// In the root namespace behind policy routing, where every rxe can send.
    RootNamespace,
    /// Each in a namespace of its own, for kernels whose rxe can send from there.
    OwnNamespace,
}

/// Returns the steps, in order, that bring up the plan's lab on a machine that has no part of it.
#[must_use]
pub fn lower(plan: &Plan, options: &LowerOptions) -> Vec<Step> {
    let layout = Layout::new(plan, options);
    let mut steps = vec![node::backlog()];
    node::namespaces(&layout, &mut steps);
    link::pairs(&layout, &mut steps);
    pacer::pair(&layout, &mut steps);
    pacer::programs(&layout, &mut steps);
    for node in layout.nodes() {
        link::ends(&layout, node, &mut steps);
        node::interfaces(&layout, node, &mut steps);
    }
    link::fiber(&layout, &mut steps);
    link::receiving_cpus(&layout, &mut steps);
    if options.delay_lines {
        rxe_devices(&layout, &mut steps);
    }
    steps
}
