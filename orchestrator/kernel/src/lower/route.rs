//! Neighbours and next hops of a port.

use lab_plan::model::Prefix;
use lab_units::PortId;

use super::Layout;
use crate::step::{DeviceChange, Namespace, NextHop, RouteTarget, Step};

/// Returns the step that adds a neighbour entry for the other end of a port's link.
pub(super) fn neighbour(layout: &Layout<'_>, netns: &Namespace, port: PortId) -> Step {
    let peer = layout.port(port.peer());
    let addr = peer.addr;
    let mac = peer.mac;
    let neighbour = DeviceChange::Neighbour { addr, mac };
    Step::device(netns, &layout.port(port).interface, neighbour)
}

/// Converts the next hops of a plan's route to a route target. A host at the other end of a link needs no gateway.
pub(super) fn route_target(layout: &Layout<'_>, to: Prefix, via: &[PortId]) -> RouteTarget {
    if let [port] = *via
        && to.len == 32
        && to.addr == layout.port(port.peer()).addr
    {
        return RouteTarget::OnLink {
            dev: layout.port(port).interface.clone(),
        };
    }
    let hop = |&port: &PortId| NextHop {
        gateway: layout.port(port.peer()).addr,
        dev: layout.port(port).interface.clone(),
    };
    RouteTarget::Gateways(via.iter().map(hop).collect())
}
