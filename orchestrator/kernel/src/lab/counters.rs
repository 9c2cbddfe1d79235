//! Bytes and packets that links carried.

use lab_units::{Bytes, NodeId, PortId};

use super::{Lab, LabErrorKind};
use crate::{exec::Space, lower::Layout, netlink::dump};

/// What a port sent since it was made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PortCounters {
    /// The port.
    pub port: PortId,
    /// Bytes that left its queue, Ethernet headers included.
    pub tx_bytes: Bytes,
    /// Packets that left its queue.
    pub tx_packets: u64,
    /// Packets that were not sent though they left the queue, as when the cable is cut.
    pub tx_dropped: u64,
}

/// Counters of a node's ports. It has a socket of its own, so that it can be read from any thread
/// while flows run.
#[derive(Debug)]
pub struct LinkCounters {
    space: Space,
    ports: Vec<(PortId, String)>,
}

impl Lab {
    /// Counters of a node's ports.
    ///
    /// # Errors
    /// When the node's namespace cannot be entered.
    pub fn link_counters(&self, node: NodeId) -> Result<LinkCounters, LabErrorKind> {
        let space = match self.netns_path(node) {
            Some(path) => Space::open(&path)?,
            None => Space::root()?,
        };
        let layout = Layout::new(&self.plan, &self.options);
        let name = |&port: &PortId| (port, layout.port(port).interface.clone());
        let ports = layout.node(node).ports.iter().map(name).collect();
        Ok(LinkCounters { space, ports })
    }
}

impl LinkCounters {
    /// Reads the counters, in the order of the node's ports.
    ///
    /// # Errors
    /// When the kernel cannot be asked.
    pub fn read(&mut self) -> Result<Vec<PortCounters>, LabErrorKind> {
        let links = dump::links(&mut self.space.socket)?;
        let counters = |(port, dev): &(PortId, String)| {
            let link = links.iter().find(|link| link.name == *dev)?;
            Some(PortCounters {
                port: *port,
                tx_bytes: Bytes::new(link.stats.tx_bytes),
                tx_packets: link.stats.tx_packets,
                tx_dropped: link.stats.tx_dropped,
            })
        };
        Ok(self.ports.iter().filter_map(counters).collect())
    }
}
