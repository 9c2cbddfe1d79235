//! Faults: the steps that change a link while flows run.

use lab_plan::model::{FaultChange, FaultPlan, LinkKind, Plan};
use lab_units::PortId;

use super::{Layout, LowerOptions, link};
use crate::step::{QdiscAt, Step};

/// Why a fault cannot be lowered.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum FaultError {
    /// Only inter-DC links have a fiber to cut.
    #[error("link `{link}` is inside a datacenter, only links between datacenters can change")]
    InsideDc {
        /// The link's name.
        link: String,
    },
}

/// The steps that make a fault happen.
///
/// A link is cut in its fiber: both DCI switches lose their carrier, as with a real cable, and
/// keep their addresses, neighbours and routes. What is in flight is lost.
///
/// # Errors
/// When the link is not an inter-DC link.
pub fn lower_fault(
    plan: &Plan,
    options: &LowerOptions,
    fault: &FaultPlan,
) -> Result<Vec<Step>, FaultError> {
    let layout = Layout::new(plan, options);
    let link = layout.link(fault.link);
    if link.kind != LinkKind::InterDc {
        return Err(FaultError::InsideDc {
            link: link.name.clone(),
        });
    }
    let ports = [fault.link.port_a(), fault.link.port_b()];
    let place = layout.fiber();
    let cable = |port: PortId| (place.clone(), layout.fiber_dev(port));
    Ok(match fault.change {
        FaultChange::Down => ports
            .map(cable)
            .map(|(place, dev)| Step::LinkDown { place, dev })
            .into(),
        FaultChange::Up => ports
            .map(cable)
            .map(|(place, dev)| Step::LinkUp { place, dev })
            .into(),
        FaultChange::Wire(wire) => {
            let mut changed = link.clone();
            changed.emu = wire;
            let qdiscs = |port| {
                let node = layout.node(layout.port(port).node);
                let (place, dev) = (layout.place(node), &layout.port(port).interface);
                link::egress(&layout, &place, dev, &changed, node.role)
                    .chain(link::fiber_line(&layout, port, &wire))
            };
            let change = |at: QdiscAt| Step::QdiscChange(at);
            ports.into_iter().flat_map(qdiscs).map(change).collect()
        }
    })
}
