//! Messages to be sent together.

use netlink_bindings::traits::{NetlinkRequest, Protocol};
use rtnetlink::{
    packet_core::{NLM_F_ACK, NLM_F_REQUEST, NetlinkSerializable},
    packet_route::RouteNetlinkMessage,
};

/// Messages to be sent together, numbered from 0 in the order they were put in.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    /// Where each message starts.
    starts: Vec<usize>,
}

impl Batch {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self {
            bytes: Vec::new(),
            starts: Vec::new(),
        }
    }

    /// Number of messages.
    pub const fn len(&self) -> usize {
        self.starts.len()
    }

    pub const fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Whether it is time to send: one message more may not fit in one system call.
    pub const fn is_full(&self) -> bool {
        self.bytes.len() >= FULL
    }

    /// Adds a message about links, addresses, neighbours, routes or rules.
    pub fn route(&mut self, message: &RouteNetlinkMessage, flags: u16) {
        let start = self.header(message.message_type(), flags);
        let payload = self.bytes.len();
        self.bytes.resize(payload + message.buffer_len(), 0);
        message.serialize(&mut self.bytes[payload..]);
        self.finish(start);
    }

    /// Adds a message about queueing disciplines or filters.
    pub fn request(&mut self, request: &impl NetlinkRequest) {
        if let Protocol::Raw { request_type, .. } = request.protocol() {
            self.raw(request_type, request.flags(), request.payload());
        }
    }

    /// Adds a message of any kind.
    pub fn raw(&mut self, kind: u16, flags: u16, payload: &[u8]) {
        let start = self.header(kind, flags);
        self.bytes.extend_from_slice(payload);
        self.finish(start);
    }

    /// The bytes to send, with an acknowledgement asked for the last message.
    pub fn bytes_to_send(&mut self) -> &[u8] {
        if let Some(&last) = self.starts.last() {
            let [low, high] = NLM_F_ACK.to_ne_bytes();
            self.bytes[last + FLAGS] |= low;
            self.bytes[last + FLAGS + 1] |= high;
        }
        &self.bytes
    }

    fn header(&mut self, kind: u16, flags: u16) -> usize {
        let start = self.bytes.len();
        let sequence = u32::try_from(self.starts.len()).unwrap_or(u32::MAX);
        self.starts.push(start);
        self.bytes.extend_from_slice(&0u32.to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes
            .extend_from_slice(&(flags | NLM_F_REQUEST).to_ne_bytes());
        self.bytes.extend_from_slice(&sequence.to_ne_bytes());
        self.bytes.extend_from_slice(&0u32.to_ne_bytes());
        start
    }

    fn finish(&mut self, start: usize) {
        let length = u32::try_from(self.bytes.len() - start).unwrap_or(u32::MAX);
        self.bytes[start..start + 4].copy_from_slice(&length.to_ne_bytes());
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

/// Offset of the flags in a message's header.
const FLAGS: usize = 6;
/// The kernel copies what is sent into one buffer, which the socket's limit of some 200 KiB bounds.
const FULL: usize = 32 << 10;
