//! Lowering of a plan to steps, without I/O: the same plan and options always give the same steps.
//!
//! One direction of a link is emulated as follows:
//!
//! ```text
//! inter-DC   dc1 egress [tbf rate, queue] ──veth── fiber ⇒ fiber [netem serialisation, delay] ──veth── dc2
//! intra-DC   egress [netem queue, serialisation, delay] ──veth── ingress
//! ```
//!
//! `tbf` releases a packet at the start of its serialisation time and so keeps the queue at the switch, where it is
//! measured; `netem` with the same rate adds the serialisation time. Together, the two are an exact store-and-forward
//! link, as is the single `netem` of an intra-DC link. The fibers of all inter-DC links are in a separate namespace,
//! `delay-lines`.

mod fault;
mod host;
mod interface;
mod layout;
mod link;
mod node;
mod options;
mod pacer;
mod route;
#[cfg(test)]
mod tests;

use lab_plan::model::Plan;
pub use lab_units::Clock;

pub(crate) use self::{
    fault::lower_after,
    host::{rdma_device, rxe_devices},
    layout::Layout,
    link::{buffer, egress},
};
pub use self::{
    fault::{FaultError, lower_fault, lower_repair},
    options::{HostPlacement, LowerOptions},
};
use crate::step::Step;

/// Returns the steps that bring up the plan's lab on a machine that has none of the lab's objects, in the order in
/// which they are applied.
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
