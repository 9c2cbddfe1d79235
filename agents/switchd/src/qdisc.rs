//! Queueing disciplines: one dump for the namespace has all ports' queues.

use std::{collections::BTreeMap, io};

use netlink_bindings::tc::{Request, Tcmsg};
use netlink_socket2::NetlinkSocket;

use crate::SwitchdError;

/// Parent of an interface's root qdisc, `TC_H_ROOT`.
const ROOT: u32 = 0xffff_ffff;

/// Parent of an interface's clsact qdisc, `TC_H_CLSACT`.
const CLSACT_PARENT: u32 = 0xffff_fff1;

/// Handle of clsact on every interface.
const CLSACT_HANDLE: u32 = 0xffff_0000;

/// Counters of an interface's root qdisc.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct QueueSample {
    /// Bytes waiting.
    pub(crate) backlog_bytes: u64,
    /// Packets dropped since the qdisc was created.
    pub(crate) drops: u64,
    /// Bytes sent since the qdisc was created.
    pub(crate) tx_bytes: u64,
    /// Packets sent since the qdisc was created.
    pub(crate) tx_packets: u64,
}

/// Route netlink socket for qdiscs, in the network namespace where it was opened.
pub struct Qdiscs {
    socket: NetlinkSocket,
}

impl Qdiscs {
    /// Opens a socket in the network namespace of the calling thread.
    #[must_use]
    pub fn open() -> Self {
        Self {
            socket: NetlinkSocket::new(),
        }
    }

    /// Returns the root qdiscs of all interfaces by interface index.
    pub(crate) fn roots(&mut self) -> Result<BTreeMap<u32, QueueSample>, SwitchdError> {
        let mut roots = BTreeMap::new();
        self.each(|message, sample| {
            let Ok(ifindex) = u32::try_from(message.ifindex) else {
                return;
            };
            if message.parent == ROOT {
                roots.insert(ifindex, sample);
            }
        })?;
        Ok(roots)
    }

    /// Returns the indices of the interfaces with a clsact qdisc.
    pub(crate) fn with_clsact(&mut self) -> Result<Vec<i32>, SwitchdError> {
        let mut found = Vec::new();
        self.each(|message, _| {
            if message.parent == CLSACT_PARENT {
                found.push(message.ifindex);
            }
        })?;
        Ok(found)
    }

    /// Removes an interface's clsact qdisc with its filters.
    pub(crate) fn delete_clsact(&mut self, ifindex: i32) -> Result<(), SwitchdError> {
        let mut header = Tcmsg::new();
        header.ifindex = ifindex;
        header.handle = CLSACT_HANDLE;
        header.parent = CLSACT_PARENT;
        let request = Request::new().op_delqdisc_do(&header);
        let failed = |source| SwitchdError::Netlink {
            action: "remove a clsact qdisc",
            source,
        };
        let mut reply = self.socket.request(&request).map_err(failed)?;
        reply
            .recv_ack()
            .map_err(|error| failed(io::Error::other(error)))
    }

    fn each(&mut self, mut visit: impl FnMut(&Tcmsg, QueueSample)) -> Result<(), SwitchdError> {
        let failed = |source| SwitchdError::Netlink {
            action: "list the qdiscs",
            source,
        };
        let request = Request::new().op_getqdisc_dump(&Tcmsg::new());
        let mut reply = self.socket.request(&request).map_err(failed)?;
        while let Some(message) = reply.recv() {
            let (header, attributes) = message.map_err(|error| failed(io::Error::other(error)))?;
            let Ok(stats) = attributes.get_stats2() else {
                continue;
            };
            let mut sample = QueueSample::default();
            if let Ok(queue) = stats.get_queue() {
                sample.backlog_bytes = u64::from(queue.backlog);
                sample.drops = u64::from(queue.drops);
            }
            if let Ok(basic) = stats.get_basic() {
                sample.tx_bytes = basic.bytes;
                sample.tx_packets = u64::from(basic.packets);
            }
            visit(&header, sample);
        }
        Ok(())
    }
}
