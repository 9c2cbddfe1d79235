//! RDMA devices: the equivalents of `rdma link add` and `delete`, with the RDMA netlink protocol.
//!
//! <https://github.com/torvalds/linux/blob/v6.1/include/uapi/rdma/rdma_netlink.h>

use lab_netlink::c_string;
use rtnetlink::packet_core::{NlaBuffer, NlasIterator};

use super::{Batch, NetlinkError, Socket};

/// RDMA device as the kernel lists it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct RdmaDevice {
    /// Index of the device in the kernel.
    pub index: u32,
    /// Name of the device.
    pub name: String,
}

/// Creates a SoftRoCE device called `name` on the interface `dev` of the socket's namespace.
pub(crate) fn add_rxe(socket: &mut Socket, name: &str, dev: &str) -> Result<(), NetlinkError> {
    let mut payload = Vec::new();
    text(&mut payload, ATTR_DEV_NAME, name);
    text(&mut payload, ATTR_NDEV_NAME, dev);
    text(&mut payload, ATTR_LINK_TYPE, "rxe");
    let mut batch = Batch::default();
    batch.raw(message(CMD_NEWLINK), 0, &payload);
    socket.execute_one(batch)
}

/// Deletes the RDMA device with the given index.
pub(crate) fn delete(socket: &mut Socket, index: u32) -> Result<(), NetlinkError> {
    let mut payload = Vec::new();
    attribute(&mut payload, ATTR_DEV_INDEX, &index.to_ne_bytes());
    let mut batch = Batch::default();
    batch.raw(message(CMD_DELLINK), 0, &payload);
    socket.execute_one(batch)
}

/// Returns the RDMA devices that are visible in the socket's namespace.
pub(crate) fn devices(socket: &mut Socket) -> Result<Vec<RdmaDevice>, NetlinkError> {
    socket.dump(message(CMD_GET), &[], read_device)
}

/// Returns the name of the interface at each port of a device.
pub(crate) fn interfaces(socket: &mut Socket, index: u32) -> Result<Vec<String>, NetlinkError> {
    let mut payload = Vec::new();
    attribute(&mut payload, ATTR_DEV_INDEX, &index.to_ne_bytes());
    socket.dump(message(CMD_PORT_GET), &payload, |message| {
        let name = |(kind, value): (u16, &[u8])| (kind == ATTR_NDEV_NAME).then(|| c_string(value));
        attributes(message).find_map(name)
    })
}

fn read_device(message: &[u8]) -> Option<RdmaDevice> {
    let mut index = None;
    let mut name = None;
    for (kind, value) in attributes(message) {
        match kind {
            ATTR_DEV_INDEX => index = value.first_chunk().map(|n| u32::from_ne_bytes(*n)),
            ATTR_DEV_NAME => name = Some(c_string(value)),
            _ => {}
        }
    }
    Some(RdmaDevice {
        index: index?,
        name: name?,
    })
}

fn attributes<'a>(message: &'a [u8]) -> impl Iterator<Item = (u16, &'a [u8])> {
    let pairs = |attribute: NlaBuffer<&'a [u8]>| {
        let kind = attribute.kind();
        let value = attribute.into_inner().get(4..).unwrap_or_default();
        (kind, value)
    };
    NlasIterator::new(message).flatten().map(pairs)
}

fn text(payload: &mut Vec<u8>, kind: u16, value: &str) {
    let mut bytes = value.as_bytes().to_vec();
    bytes.push(0);
    attribute(payload, kind, &bytes);
}

fn attribute(payload: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let length = u16::try_from(value.len() + 4).unwrap_or(u16::MAX);
    payload.extend_from_slice(&length.to_ne_bytes());
    payload.extend_from_slice(&kind.to_ne_bytes());
    payload.extend_from_slice(value);
    payload.resize(payload.len().next_multiple_of(4), 0);
}

/// Returns the netlink message type for an RDMA command, `RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command)`.
const fn message(command: u16) -> u16 {
    (5 << 10) + command
}

const CMD_GET: u16 = 1;
const CMD_NEWLINK: u16 = 3;
const CMD_DELLINK: u16 = 4;
const CMD_PORT_GET: u16 = 5;
const ATTR_DEV_INDEX: u16 = 1;
const ATTR_DEV_NAME: u16 = 2;
const ATTR_NDEV_NAME: u16 = 51;
const ATTR_LINK_TYPE: u16 = 65;
