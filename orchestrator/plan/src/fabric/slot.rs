//! Relabelling of a plan for the slot that the lab gets on its machine.

use lab_units::PortId;

use crate::{
    address,
    model::{Node, Plan, Port, Prefix},
};

impl Plan {
    /// Returns the plan with addresses and interface names of `slot`, which must be less than [`address::SLOTS`]. Only
    /// addresses, names and MACs depend on the slot. An interface name without the prefix of the plan's current slot
    /// stays unchanged.
    #[must_use]
    pub fn in_slot(mut self, slot: u8) -> Self {
        let from = self.slot;
        for dc in &mut self.dcs {
            dc.prefix = prefix(dc.prefix, slot);
        }
        for node in &mut self.nodes {
            relabel_node(node, slot);
        }
        for (port, id) in self.ports.iter_mut().zip((0..).map(PortId)) {
            relabel_port(port, id, from, slot);
        }
        Self { slot, ..self }
    }
}

fn relabel_node(node: &mut Node, slot: u8) {
    node.addr = address::in_slot(node.addr, slot);
    for addr in &mut node.further_addrs {
        *addr = address::in_slot(*addr, slot);
    }
    for route in &mut node.routes {
        route.to = prefix(route.to, slot);
    }
}

fn relabel_port(port: &mut Port, id: PortId, from: u8, to: u8) {
    let own = port.interface.strip_prefix(&address::interface_start(from));
    if let Some(rest) = own {
        port.interface = address::interface_start(to) + rest;
    }
    port.mac = address::mac(to, id);
    port.addr = address::in_slot(port.addr, to);
}

/// Returns `prefix` moved to `slot`. The prefix of a default route is not a lab address, and stays unchanged.
const fn prefix(prefix: Prefix, slot: u8) -> Prefix {
    Prefix {
        addr: address::in_slot(prefix.addr, slot),
        ..prefix
    }
}
