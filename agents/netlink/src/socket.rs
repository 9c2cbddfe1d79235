//! Netlink socket of one namespace.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd},
};

use netlink_packet_core::{NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NetlinkBuffer};
use netlink_sys::{Socket as RawSocket, protocols};

use crate::{Batch, KernelError, NetlinkError};

/// Netlink socket. It stays in the namespace in which it was opened, regardless of the thread that uses it.
#[derive(Debug)]
pub struct Socket {
    raw: RawSocket,
    buffer: Vec<u8>,
    /// Sequence number of the next message.
    next: u32,
}

/// Sequence numbers of a request's messages. The kernel's answers repeat the number of the message that they answer,
/// and notifications have a different number, usually 0:
/// <https://docs.kernel.org/userspace-api/netlink/intro.html#sequence-number>. Received messages with a number outside
/// this range, such as the rest of an earlier answer, are ignored.
#[derive(Clone, Copy, Debug)]
struct Sequence {
    first: u32,
    len: usize,
}

impl Sequence {
    /// Returns the 0-based index in the request of the message that `message` answers; `None` if `message` does not
    /// answer this request.
    fn answered(self, message: &NetlinkBuffer<&[u8]>) -> Option<usize> {
        let number = message.sequence_number().wrapping_sub(self.first) as usize;
        (number < self.len).then_some(number)
    }
}

impl Socket {
    /// Opens a socket for links, addresses, routes and queueing disciplines in the calling thread's
    /// namespace.
    pub fn route() -> io::Result<Self> {
        Self::open(protocols::NETLINK_ROUTE)
    }

    /// Opens a socket for RDMA devices in the calling thread's namespace.
    pub fn rdma() -> io::Result<Self> {
        Self::open(NETLINK_RDMA)
    }

    fn open(protocol: isize) -> io::Result<Self> {
        let mut raw = RawSocket::new(protocol)?;
        raw.set_cap_ack(true)?;
        raw.set_ext_ack(true)?;
        raw.bind_auto()?;
        Ok(Self {
            raw,
            buffer: Vec::with_capacity(RECEIVE),
            next: 1,
        })
    }

    /// Sends a batch, waits until the kernel has processed all of it, and returns each error with the 0-based index of
    /// the failed message. The kernel continues with the next message after an error.
    pub fn execute(&mut self, mut batch: Batch) -> io::Result<Vec<(usize, KernelError)>> {
        let mut errors = Vec::new();
        if batch.is_empty() {
            return Ok(errors);
        }
        let last = batch.len() - 1;
        let sequence = self.send(&mut batch)?;
        loop {
            let done = self.receive(sequence, |number, message| {
                if i32::from(message.message_type()) != libc::NLMSG_ERROR {
                    return false;
                }
                errors.extend(KernelError::of_message(message).map(|error| (number, error)));
                number == last
            })?;
            if done {
                return Ok(errors);
            }
        }
    }

    /// Sends one message and waits until the kernel has processed it.
    pub fn execute_one(&mut self, batch: Batch) -> Result<(), NetlinkError> {
        match self.execute(batch)?.pop() {
            Some((_, error)) => Err(error.into()),
            None => Ok(()),
        }
    }

    /// Lists all objects of a kind; `read` parses the payload of each message, and payloads for which it returns `None`
    /// are left out.
    pub fn dump<T>(
        &mut self,
        kind: u16,
        payload: &[u8],
        mut read: impl FnMut(&[u8]) -> Option<T>,
    ) -> Result<Vec<T>, NetlinkError> {
        for _ in 0..MAX_DUMPS {
            let mut batch = Batch::default();
            batch.raw(kind, NLM_F_REQUEST | NLM_F_DUMP, payload);
            let sequence = self.send(&mut batch)?;
            let mut found = Vec::new();
            let mut interrupted = false;
            let mut refused = None;
            loop {
                let done = self.receive(sequence, |_, message| {
                    interrupted |= message.flags() & NLM_F_DUMP_INTR != 0;
                    match end_of_dump(message) {
                        Some(error) => {
                            refused = error;
                            true
                        }
                        None => {
                            found.extend(read(message.payload()));
                            false
                        }
                    }
                })?;
                if done {
                    break;
                }
            }
            if let Some(error) = refused {
                return Err(error.into());
            }
            if !interrupted {
                return Ok(found);
            }
        }
        Err(NetlinkError::Answer(format!(
            "objects (netlink message type {kind}) changed during each of {MAX_DUMPS} listings"
        )))
    }

    /// Subscribes to a multicast group; from then on the socket is non-blocking.
    pub fn subscribe(&mut self, group: u32) -> io::Result<()> {
        self.raw.set_non_blocking(true)?;
        self.raw.add_membership(group)
    }

    /// Discards all notifications that have arrived, and clears the socket error that reports dropped notifications
    /// (`ENOBUFS`).
    pub fn drain(&mut self) -> io::Result<()> {
        loop {
            match self.fill() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.raw_os_error() != Some(libc::ENOBUFS) => return Err(error),
                _ => {}
            }
        }
    }

    fn send(&mut self, batch: &mut Batch) -> io::Result<Sequence> {
        let sequence = Sequence {
            first: self.next,
            len: batch.len(),
        };
        let len = u32::try_from(sequence.len).unwrap_or(u32::MAX);
        self.next = self.next.wrapping_add(len);
        let bytes = batch.bytes_to_send(sequence.first);
        let sent = loop {
            match self.raw.send(bytes, 0) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => break done?,
            }
        };
        if sent == bytes.len() {
            Ok(sequence)
        } else {
            Err(io::ErrorKind::WriteZero.into())
        }
    }

    /// Receives one datagram into the buffer.
    fn fill(&mut self) -> io::Result<()> {
        self.buffer.clear();
        loop {
            match self.raw.recv(&mut self.buffer, 0) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => return done.map(drop),
            }
        }
    }

    /// Receives one datagram. Passes each answer to the request `sequence` to `read`, with the 0-based index of the
    /// answered message, until `read` returns true; returns true in that case.
    fn receive(
        &mut self,
        sequence: Sequence,
        mut read: impl FnMut(usize, &NetlinkBuffer<&[u8]>) -> bool,
    ) -> io::Result<bool> {
        self.fill()?;
        let mut rest = self.buffer.as_slice();
        while !rest.is_empty() {
            let message = NetlinkBuffer::new_checked(rest)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
            if let Some(number) = sequence.answered(&message)
                && read(number, &message)
            {
                return Ok(true);
            }
            let length = (message.length() as usize).next_multiple_of(4);
            rest = rest.get(length..).unwrap_or_default();
        }
        Ok(false)
    }
}

/// Returns `Some` for a message that ends a listing, with the kernel's error if there is one; `None` for a message that
/// describes an object.
fn end_of_dump(message: &NetlinkBuffer<&[u8]>) -> Option<Option<KernelError>> {
    match i32::from(message.message_type()) {
        libc::NLMSG_DONE => Some(KernelError::of_done(message)),
        libc::NLMSG_ERROR => Some(KernelError::of_message(message)),
        _ => None,
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        borrow(&self.raw)
    }
}

#[expect(
    unsafe_code,
    reason = "the crate's socket has a number but no borrowed descriptor"
)]
fn borrow(raw: &RawSocket) -> BorrowedFd<'_> {
    // SAFETY: the socket owns the descriptor and closes it only when it is dropped, and the lifetime of the borrow
    // rules that out.
    unsafe { BorrowedFd::borrow_raw(raw.as_raw_fd()) }
}

const NETLINK_RDMA: isize = 20;
/// Size of the receive buffer in bytes; the kernel sends at most 32 KiB at a time.
const RECEIVE: usize = 64 << 10;
/// Maximum number of attempts at a listing; it is repeated if objects changed meanwhile.
const MAX_DUMPS: u32 = 16;

#[cfg(test)]
mod tests {
    use netlink_packet_core::NLM_F_ACK_TLVS;

    use super::*;

    /// Message of the kernel: length, type, flags, number 0 and port 0, then `payload`, as in `netlink(7)`.
    fn message(kind: i32, flags: u16, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(16 + payload.len()).unwrap();
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend(u16::try_from(kind).unwrap().to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend(payload);
        bytes
    }

    fn end(bytes: &[u8]) -> Option<Option<String>> {
        let message = NetlinkBuffer::new_checked(bytes).unwrap();
        end_of_dump(&message).map(|error| error.map(|it| it.to_string()))
    }

    #[test]
    fn a_listing_that_the_kernel_gave_up_is_an_error() {
        let number = |errno: i32| (-errno).to_ne_bytes();
        let complete = message(libc::NLMSG_DONE, 0, &number(0));
        assert_eq!(end(&complete), Some(None));
        let failed = message(libc::NLMSG_DONE, 0, &number(libc::ENOMEM));
        let text = "Cannot allocate memory (os error 12)";
        assert_eq!(end(&failed), Some(Some(text.to_owned())));
        // An attribute of 4 + 5 bytes, kind 1, padded to 12: the text follows the number.
        let mut payload = number(libc::EINVAL).to_vec();
        payload.extend(9_u16.to_ne_bytes());
        payload.extend(1_u16.to_ne_bytes());
        payload.extend(b"none\0\0\0\0");
        let explained = message(libc::NLMSG_DONE, NLM_F_ACK_TLVS, &payload);
        let text = "Invalid argument (os error 22): none";
        assert_eq!(end(&explained), Some(Some(text.to_owned())));
    }

    #[test]
    fn a_refusal_ends_a_listing_and_an_object_does_not() {
        let mut payload = (-libc::EPERM).to_ne_bytes().to_vec();
        payload.extend([0; 16]);
        let refused = message(libc::NLMSG_ERROR, 0, &payload);
        let text = "Operation not permitted (os error 1)";
        assert_eq!(end(&refused), Some(Some(text.to_owned())));
        assert_eq!(end(&message(16, 0, &[0; 8])), None);
    }

    #[test]
    fn only_messages_of_the_same_sequence_are_answers() {
        let answered = |sequence: Sequence, number: u32| {
            let mut bytes = message(libc::NLMSG_ERROR, 0, &[0; 20]);
            bytes[8..12].copy_from_slice(&number.to_ne_bytes());
            sequence.answered(&NetlinkBuffer::new_checked(&bytes[..]).unwrap())
        };
        let sequence = Sequence { first: 7, len: 2 };
        let numbers = [0, 6, 7, 8, 9].map(|number| answered(sequence, number));
        assert_eq!(numbers, [None, None, Some(0), Some(1), None]);
        let wrapped = Sequence {
            first: u32::MAX,
            len: 2,
        };
        assert_eq!(answered(wrapped, 0), Some(1));
    }

    #[test]
    fn messages_of_a_batch_are_numbered_on() {
        let mut batch = Batch::default();
        for payload in [&[1; 5][..], &[2; 8]] {
            batch.raw(16, 0, payload);
        }
        let bytes = batch.bytes_to_send(7);
        let second = bytes.get(24..).unwrap();
        let numbers = [bytes, second].map(|it| {
            let message = NetlinkBuffer::new_checked(it).unwrap();
            message.sequence_number()
        });
        assert_eq!(numbers, [7, 8]);
    }
}
