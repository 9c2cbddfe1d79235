//! Batches of netlink messages.

use std::{iter, os::fd::OwnedFd};

use netlink_bindings::traits::{NetlinkRequest, Protocol};
use netlink_packet_core::{NLM_F_ACK, NLM_F_REQUEST, NetlinkSerializable};

/// Messages to send with one system call, numbered from 0 in the order of insertion.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    /// Offset of each message in the batch's bytes.
    starts: Vec<usize>,
    /// File descriptors that messages refer to, kept open until the batch has been sent.
    kept: Vec<OwnedFd>,
}

impl Batch {
    /// Returns a batch of one message for a link, address, neighbour, route or rule.
    pub fn of(message: &impl NetlinkSerializable) -> Self {
        let mut batch = Self::default();
        batch.route(message, 0);
        batch
    }

    /// Returns the number of messages.
    pub const fn len(&self) -> usize {
        self.starts.len()
    }

    /// Returns true if there are no messages.
    pub const fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Returns true if one more message may not fit in one system call.
    pub const fn is_full(&self) -> bool {
        self.bytes.len() >= FULL
    }

    /// Adds a message for a link, address, neighbour, route or rule.
    pub fn route(&mut self, message: &impl NetlinkSerializable, flags: u16) {
        let start = self.header(message.message_type(), flags);
        let payload = self.bytes.len();
        self.bytes.resize(payload + message.buffer_len(), 0);
        message.serialize(&mut self.bytes[payload..]);
        self.finish(start);
    }

    /// Adds a message for a queueing discipline or filter.
    pub fn request(&mut self, request: &impl NetlinkRequest) {
        let Protocol::Raw { request_type, .. } = request.protocol() else {
            unreachable!(
                "rtnetlink, the protocol of queueing disciplines and filters, is a raw protocol"
            );
        };
        self.raw(request_type, request.flags(), request.payload());
    }

    /// Adds a message of any kind.
    pub fn raw(&mut self, kind: u16, flags: u16, payload: &[u8]) {
        let start = self.header(kind, flags);
        self.bytes.extend_from_slice(payload);
        self.finish(start);
    }

    /// Returns the bytes to send: the messages have consecutive sequence numbers from `first` on, and the last one asks
    /// for an acknowledgement.
    pub(crate) fn bytes_to_send(&mut self, first: u32) -> &[u8] {
        let sequences = iter::successors(Some(first), |it| Some(it.wrapping_add(1)));
        for (&start, sequence) in self.starts.iter().zip(sequences) {
            let at = start + SEQUENCE;
            self.bytes[at..at + 4].copy_from_slice(&sequence.to_ne_bytes());
        }
        if let Some(&last) = self.starts.last() {
            let [low, high] = NLM_F_ACK.to_ne_bytes();
            self.bytes[last + FLAGS] |= low;
            self.bytes[last + FLAGS + 1] |= high;
        }
        &self.bytes
    }

    /// Keeps a file descriptor that a message refers to open until the batch has been sent.
    pub fn keep(&mut self, descriptor: OwnedFd) {
        self.kept.push(descriptor);
    }

    fn header(&mut self, kind: u16, flags: u16) -> usize {
        let start = self.bytes.len();
        self.starts.push(start);
        self.bytes.extend_from_slice(&0u32.to_ne_bytes());
        let flags = flags | NLM_F_REQUEST;
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(&flags.to_ne_bytes());
        // Sequence number and port, which are written when the message is sent, the port by the kernel.
        self.bytes.extend_from_slice(&[0; 8]);
        start
    }

    fn finish(&mut self, start: usize) {
        let length = u32::try_from(self.bytes.len() - start).unwrap_or(u32::MAX);
        self.bytes[start..start + 4].copy_from_slice(&length.to_ne_bytes());
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

/// Offset of the flags in a message header.
const FLAGS: usize = 6;
/// Offset of the sequence number in a message header.
const SEQUENCE: usize = 8;
/// Size in bytes from which a batch counts as full. The kernel copies a batch into one buffer, limited to about 200
/// KiB.
const FULL: usize = 32 << 10;
