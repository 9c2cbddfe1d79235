//! Lowering: a plan becomes steps. Pure: the same plan and options give the same steps.
//!
//! What a link becomes, from left to right, one direction drawn:
//!
//! ```text
//! inter-DC   dc1 egress [tbf rate, queue; red marks] ──veth── fiber ⇒ fiber [netem serialisation, delay] ──veth── dc2
//! intra-DC   egress [netem queue, serialisation, delay] ──veth── ingress
//! ```
//!
//! `tbf` lets a packet go at the start of its time on the wire and so keeps the queue where the
//! switch is, to be seen and marked; `netem` with the same rate adds that time on the wire. Together
//! they are an exact store-and-forward link, and the same is true of the one `netem` of an intra-DC
//! link. The fibers of all inter-DC links are in one namespace of their own, `delay-lines`.

mod fault;
mod host;
mod layout;
mod link;
mod node;
#[cfg(test)]
mod tests;

use lab_plan::model::Plan;
pub use lab_units::Clock;

pub use self::fault::{FaultError, lower_fault, lower_repair};
pub(crate) use self::{
    host::{rdma_device, rxe_devices},
    layout::Layout,
};
use crate::{name::LabName, step::Step};

/// What lowering needs to know besides the plan.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LowerOptions {
    /// The lab, for the names of its namespaces.
    pub lab: LabName,
    /// Where the hosts' NICs are.
    pub hosts: HostPlacement,
    /// What time is.
    pub clock: Clock,
    /// Delay lines and all that goes with them. Without, for kernels that have no netem, red and
    /// rxe: links have their rate and queue but no delay, loss or marks, and hosts no RDMA devices.
    /// Only good to measure how fast a lab is made, and to test that.
    pub delay_lines: bool,
    /// CPUs of the machine.
    pub cpus: u32,
}

impl LowerOptions {
    /// What a lab is lowered with where nothing else is known: for showing its steps.
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

/// Where the hosts' NICs are.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostPlacement {
    /// In the root namespace behind policy routing, where every rxe can send.
    RootNamespace,
    /// Each in a namespace of its own, for kernels whose rxe can send from there.
    OwnNamespace,
}

/// The steps that make the plan's lab on a machine that has nothing of it, in order.
#[must_use]
pub fn lower(plan: &Plan, options: &LowerOptions) -> Vec<Step> {
    let layout = Layout::new(plan, options);
    let mut steps = vec![node::backlog()];
    node::namespaces(&layout, &mut steps);
    link::pairs(&layout, &mut steps);
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
