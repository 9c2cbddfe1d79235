//! Fast failover (section 3.4), the agent's part: liveness of the ports.
//!
//! The kernel marks a port dead in the program's table when its link loses its carrier (`carrier.bpf.h`); if the kernel
//! cannot, the agent does so when it is notified. Only the agent marks ports that the controller disables, and only the
//! agent revives ports. Flows pinned to a dead port are moved by the program, each by its own next packet
//! (`failover.bpf.h`).

use std::{
    collections::BTreeMap,
    os::fd::{AsFd, BorrowedFd},
};

use lab_abi::wire::PortConfig;
use lab_netlink::Socket;
use nix::{ifaddrs::getifaddrs, net::if_::InterfaceFlags};

use crate::SwitchdError;

/// Liveness of a switch's ports, indexed by slot (the port's index in the configuration).
pub(crate) struct PortLiveness(Vec<PortHealth>);

struct PortHealth {
    interface: String,
    is_link_up: bool,
    is_enabled: bool,
}

impl PortHealth {
    const fn is_alive(&self) -> bool {
        self.is_link_up && self.is_enabled
    }
}

impl PortLiveness {
    /// Returns the liveness of `ports`, given the link states from [`interfaces`].
    pub(crate) fn new(ports: &[PortConfig], links: &BTreeMap<String, bool>) -> Self {
        let health = |port: &PortConfig| PortHealth {
            interface: port.interface.clone(),
            is_link_up: links.get(&port.interface).copied().unwrap_or(false),
            is_enabled: port.is_enabled,
        };
        Self(ports.iter().map(health).collect())
    }

    /// Returns true if flows may use the port: its link is up and the controller has not disabled it.
    pub(crate) fn is_alive(&self, slot: usize) -> bool {
        self.0[slot].is_alive()
    }

    /// Returns the slots of the ports whose links are down.
    pub(crate) fn cut(&self) -> impl Iterator<Item = usize> {
        self.0
            .iter()
            .enumerate()
            .filter(|(_, port)| !port.is_link_up)
            .map(|(slot, _)| slot)
    }

    /// Enables or disables a port; returns true if its liveness changed.
    pub(crate) fn set_enabled(&mut self, slot: usize, is_enabled: bool) -> bool {
        let port = &mut self.0[slot];
        let was_alive = port.is_alive();
        port.is_enabled = is_enabled;
        port.is_alive() != was_alive
    }

    /// Updates the link states to those from [`interfaces`]; returns the slots whose liveness changed.
    pub(crate) fn set_links(&mut self, links: &BTreeMap<String, bool>) -> Vec<usize> {
        let mut changed = Vec::new();
        for (slot, port) in self.0.iter_mut().enumerate() {
            let was_alive = port.is_alive();
            port.is_link_up = links.get(&port.interface).copied().unwrap_or(false);
            if port.is_alive() != was_alive {
                changed.push(slot);
            }
        }
        changed
    }
}

/// Returns whether the link of each interface in the network namespace is up at both ends, by interface name.
pub(crate) fn interfaces() -> Result<BTreeMap<String, bool>, SwitchdError> {
    let addresses = getifaddrs().map_err(SwitchdError::io("list the interfaces"))?;
    let up = InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING;
    let links = addresses.map(|found| (found.interface_name, found.flags.contains(up)));
    Ok(links.collect())
}

/// Netlink socket that becomes readable when a link of the network namespace changes.
///
/// A notification only wakes the agent, which then reads all link states. So no change is missed even if the kernel
/// drops notifications.
pub(crate) struct LinkWatch(Socket);

impl LinkWatch {
    /// Subscribes in the network namespace of the calling thread.
    pub(crate) fn open() -> Result<Self, SwitchdError> {
        let mut socket = Socket::route().map_err(SwitchdError::io("open a netlink socket"))?;
        let subscribed = socket.subscribe(libc::RTNLGRP_LINK);
        subscribed.map_err(SwitchdError::io("listen to link changes"))?;
        Ok(Self(socket))
    }

    /// Discards all pending notifications.
    pub(crate) fn drain(&mut self) -> Result<(), SwitchdError> {
        self.0
            .drain()
            .map_err(SwitchdError::io("read link changes"))
    }
}

impl AsFd for LinkWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use lab_abi::wire::PolicyConfig;

    use super::*;
    use crate::example;

    #[test]
    fn a_port_is_alive_while_its_link_is_up_and_it_is_enabled() {
        let config = example::config(PolicyConfig::Buckets);
        let links = |p1| BTreeMap::from([("h0".to_owned(), true), ("p1".to_owned(), p1)]);
        let mut ports = PortLiveness::new(&config.ports, &links(true));
        let alive = |ports: &PortLiveness| [0, 1, 2].map(|slot| ports.is_alive(slot));
        assert_eq!(alive(&ports), [true, true, false], "p2 does not exist");
        assert_eq!(ports.set_links(&links(false)), [1]);
        assert_eq!(ports.cut().collect::<Vec<_>>(), [1, 2]);
        assert!(!ports.set_enabled(1, false), "dead before and after");
        assert_eq!(ports.set_links(&links(true)), [0; 0], "taken out");
        assert_eq!(
            ports.cut().collect::<Vec<_>>(),
            [2],
            "its queue still leaves"
        );
        assert!(ports.set_enabled(1, true));
        assert_eq!(alive(&ports), [true, true, false]);
    }
}
