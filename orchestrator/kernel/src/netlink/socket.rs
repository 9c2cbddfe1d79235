//! Netlink socket of one namespace.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd},
};

use rtnetlink::{
    packet_core::{NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NetlinkBuffer},
    sys::{Socket as RawSocket, protocols},
};

use super::{Batch, KernelError, NetlinkError};

/// Netlink socket. It stays in the namespace in which it was opened, whichever thread uses it.
#[derive(Debug)]
pub(crate) struct Socket {
    raw: RawSocket,
    buffer: Vec<u8>,
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
        })
    }

    /// Sends a batch, waits until the kernel has processed all of it, and returns each error with
    /// the number of its message. The kernel goes on after an error.
    pub fn execute(&mut self, mut batch: Batch) -> io::Result<Vec<(usize, KernelError)>> {
        let mut errors = Vec::new();
        if batch.is_empty() {
            return Ok(errors);
        }
        let last = batch.len() - 1;
        self.send(batch.bytes_to_send())?;
        loop {
            let done = self.receive(|message| {
                if i32::from(message.message_type()) != libc::NLMSG_ERROR {
                    return false;
                }
                let number = message.sequence_number() as usize;
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

    /// Lists all objects of a kind, each parsed by `read`.
    pub fn dump<T>(
        &mut self,
        kind: u16,
        payload: &[u8],
        mut read: impl FnMut(&NetlinkBuffer<&[u8]>) -> Option<T>,
    ) -> Result<Vec<T>, NetlinkError> {
        for _ in 0..MAX_DUMPS {
            let mut batch = Batch::default();
            batch.raw(kind, NLM_F_REQUEST | NLM_F_DUMP, payload);
            self.send(batch.bytes_to_send())?;
            let (mut found, mut interrupted, mut refused) = (Vec::new(), false, None);
            loop {
                let done = self.receive(|message| {
                    interrupted |= message.flags() & NLM_F_DUMP_INTR != 0;
                    match i32::from(message.message_type()) {
                        libc::NLMSG_DONE => true,
                        libc::NLMSG_ERROR => {
                            refused = KernelError::of_message(message);
                            true
                        }
                        _ => {
                            found.extend(read(message));
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
            "objects of kind {kind} changed during {MAX_DUMPS} listings"
        )))
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        let sent = loop {
            match self.raw.send(bytes, 0) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => break done?,
            }
        };
        if sent == bytes.len() {
            Ok(())
        } else {
            Err(io::ErrorKind::WriteZero.into())
        }
    }

    /// Receives once and passes each message to `read` until that returns true for the last.
    fn receive(&mut self, mut read: impl FnMut(&NetlinkBuffer<&[u8]>) -> bool) -> io::Result<bool> {
        self.buffer.clear();
        loop {
            match self.raw.recv(&mut self.buffer, 0) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(_) => break,
            }
        }
        let mut rest = self.buffer.as_slice();
        while !rest.is_empty() {
            let message = NetlinkBuffer::new_checked(rest)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
            if read(&message) {
                return Ok(true);
            }
            let length = (message.length() as usize).next_multiple_of(4);
            rest = rest.get(length..).unwrap_or_default();
        }
        Ok(false)
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
    // SAFETY: the socket owns the descriptor and closes it when dropped, which the lifetime of the
    // borrow rules out.
    unsafe { BorrowedFd::borrow_raw(raw.as_raw_fd()) }
}

const NETLINK_RDMA: isize = 20;
/// Bytes of the receive buffer; the kernel fills at most 32 KiB at a time.
const RECEIVE: usize = 64 << 10;
/// Maximum number of listings, each repeated because objects changed meanwhile.
const MAX_DUMPS: u32 = 16;
