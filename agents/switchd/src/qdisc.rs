//! Queueing disciplines: one dump covers the queues of all ports in the namespace.

use std::collections::BTreeMap;

use lab_netlink::{Batch, Socket};
use netlink_bindings::{
    tc::{OpGetqdiscDump, Request, Tcmsg},
    traits::NetlinkRequest,
};

use crate::SwitchdError;

/// Parent of an interface's root qdisc, `TC_H_ROOT`.
const ROOT: u32 = 0xffff_ffff;

/// Parent of an interface's clsact qdisc, `TC_H_CLSACT`.
const CLSACT_PARENT: u32 = 0xffff_fff1;

/// Handle of the clsact qdisc, the same on every interface.
const CLSACT_HANDLE: u32 = 0xffff_0000;

/// Counters of an interface's root qdisc.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct QueueSample {
    /// Bytes waiting in the queue.
    pub(crate) backlog_bytes: u64,
    /// Packets dropped since the qdisc was created.
    pub(crate) drops: u64,
    /// Bytes sent since the qdisc was created.
    pub(crate) tx_bytes: u64,
    /// Packets sent since the qdisc was created.
    pub(crate) tx_packets: u64,
}

/// Route netlink socket for qdiscs, bound to the network namespace where it was opened.
pub struct Qdiscs(Socket);

impl Qdiscs {
    /// Opens a socket in the network namespace of the calling thread.
    pub fn open() -> Result<Self, SwitchdError> {
        let socket = Socket::route().map_err(SwitchdError::io("open a netlink socket"))?;
        Ok(Self(socket))
    }

    /// Returns counters of the root qdiscs of all interfaces, by interface index.
    pub(crate) fn roots(&mut self) -> Result<BTreeMap<u32, QueueSample>, SwitchdError> {
        let roots = self.list(|message| {
            let (header, attributes) = OpGetqdiscDump::decode_reply(message);
            let stats = attributes.get_stats2().ok()?;
            let ifindex = u32::try_from(header.ifindex).ok()?;
            let mut sample = QueueSample::default();
            if let Ok(queue) = stats.get_queue() {
                sample.backlog_bytes = u64::from(queue.backlog);
                sample.drops = u64::from(queue.drops);
            }
            if let Ok(basic) = stats.get_basic() {
                sample.tx_bytes = basic.bytes;
                sample.tx_packets = u64::from(basic.packets);
            }
            (header.parent == ROOT).then_some((ifindex, sample))
        })?;
        Ok(roots.into_iter().collect())
    }

    /// Returns the indices of the interfaces with a clsact qdisc.
    pub(crate) fn with_clsact(&mut self) -> Result<Vec<i32>, SwitchdError> {
        self.list(|message| {
            let (header, _) = OpGetqdiscDump::decode_reply(message);
            (header.parent == CLSACT_PARENT).then_some(header.ifindex)
        })
    }

    /// Removes an interface's clsact qdisc with its filters.
    pub(crate) fn delete_clsact(&mut self, ifindex: i32) -> Result<(), SwitchdError> {
        let mut header = Tcmsg::new();
        header.ifindex = ifindex;
        header.handle = CLSACT_HANDLE;
        header.parent = CLSACT_PARENT;
        let mut batch = Batch::default();
        batch.request(&Request::new().op_delqdisc_do(&header));
        let deleted = self.0.execute_one(batch);
        deleted.map_err(SwitchdError::io("remove a clsact qdisc"))
    }

    fn list<T>(&mut self, read: impl FnMut(&[u8]) -> Option<T>) -> Result<Vec<T>, SwitchdError> {
        let qdiscs = self
            .0
            .dump(libc::RTM_GETQDISC, Tcmsg::new().as_slice(), read);
        qdiscs.map_err(SwitchdError::io("list the qdiscs"))
    }
}
