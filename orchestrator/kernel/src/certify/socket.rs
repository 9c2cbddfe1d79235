//! Packet sockets, which send frames with a special ethertype and read the kernel's time stamps of their arrivals.

use std::{
    io::{self, IoSliceMut},
    os::fd::{AsRawFd, OwnedFd},
};

use lab_units::{Bytes, Mac};
use nix::{
    errno::Errno,
    sys::{
        socket::{
            AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockType, recvmsg, send,
            setsockopt, socket, sockopt,
        },
        time::TimeSpec,
    },
    time::{ClockId, clock_gettime},
};

use crate::clocks::nanos;

/// Packet socket of one port, which sends and receives frames.
#[derive(Debug)]
pub(super) struct ProbeSocket {
    descriptor: OwnedFd,
    frame: Vec<u8>,
}

/// Arrival of a frame at the socket's port.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Arrival {
    /// Sequence number of the frame within its link direction.
    pub sequence: u32,
    /// Time of the arrival, ns.
    pub at: u64,
}

impl ProbeSocket {
    /// Opens a socket on the interface with index `index` in the calling thread's namespace, for frames of at most
    /// `largest` bytes between the two MAC addresses.
    pub fn open(index: u32, [own, peer]: [Mac; 2], largest: Bytes) -> io::Result<Self> {
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let descriptor = socket(AddressFamily::Packet, SockType::Raw, flags, None)?;
        setsockopt(&descriptor, sockopt::ReceiveTimestampns, &true)?;
        setsockopt(&descriptor, sockopt::RcvBufForce, &BUFFER)?;
        setsockopt(&descriptor, sockopt::SndBufForce, &BUFFER)?;
        bind(&descriptor, index, ETHERTYPE)?;
        let len = usize::try_from(largest.get()).map_err(io::Error::other)?;
        let mut frame = vec![0; len.max(SMALLEST)];
        frame[..6].copy_from_slice(&peer.0);
        frame[6..12].copy_from_slice(&own.0);
        frame[12..14].copy_from_slice(&ETHERTYPE.to_be_bytes());
        Ok(Self { descriptor, frame })
    }

    /// Sends a frame of the smallest or the largest size. Returns the time just before the system call (ns); `None` if
    /// the queue refused the frame.
    pub fn send(&mut self, sequence: u32, is_large: bool) -> io::Result<Option<u64>> {
        self.frame[14..18].copy_from_slice(&sequence.to_be_bytes());
        let len = if is_large { self.frame.len() } else { SMALLEST };
        let at = now()?;
        // The socket is non-blocking, so the call cannot be interrupted by a signal (EINTR).
        match send(
            self.descriptor.as_raw_fd(),
            &self.frame[..len],
            MsgFlags::empty(),
        ) {
            Ok(_) => Ok(Some(at)),
            Err(Errno::ENOBUFS) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Reads the frames that have arrived so far, and appends them to `arrivals`.
    pub fn receive(&self, arrivals: &mut Vec<Arrival>) -> io::Result<()> {
        loop {
            let mut head = [0; 18];
            let mut buffers = [IoSliceMut::new(&mut head)];
            let mut control = nix::cmsg_space!(TimeSpec);
            let descriptor = self.descriptor.as_raw_fd();
            let flags = MsgFlags::empty();
            let at = match recvmsg::<()>(descriptor, &mut buffers, Some(&mut control), flags) {
                Ok(message) => message.cmsgs()?.find_map(|cmsg| match cmsg {
                    ControlMessageOwned::ScmTimestampns(at) => Some(nanos(at)),
                    _ => None,
                }),
                Err(Errno::EINTR) => continue,
                Err(Errno::EAGAIN) => return Ok(()),
                // No frame arrives while the interface is down.
                Err(Errno::ENETDOWN) => return Ok(()),
                Err(errno) => return Err(errno.into()),
            };
            let sequence = u32::from_be_bytes([head[14], head[15], head[16], head[17]]);
            arrivals.extend(at.map(|at| Arrival { sequence, at }));
        }
    }
}

/// Returns the current time on the clock that stamps arrivals, ns.
pub(super) fn now() -> io::Result<u64> {
    Ok(nanos(clock_gettime(ClockId::CLOCK_REALTIME)?))
}

/// Binds a packet socket to an interface and to an ethertype.
#[expect(unsafe_code, reason = "nix cannot make addresses of packet sockets")]
pub(super) fn bind(descriptor: &OwnedFd, index: u32, ethertype: u16) -> io::Result<()> {
    // SAFETY: all bytes zero is a valid `sockaddr_ll`.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = u16::try_from(libc::AF_PACKET).map_err(io::Error::other)?;
    address.sll_protocol = ethertype.to_be();
    address.sll_ifindex = index.cast_signed();
    let len = u32::try_from(size_of_val(&address)).map_err(io::Error::other)?;
    let descriptor = descriptor.as_raw_fd();
    // SAFETY: the address is a `sockaddr_ll` of this length and outlives the call.
    Errno::result(unsafe { libc::bind(descriptor, (&raw const address).cast(), len) })?;
    Ok(())
}

/// Ethertype of the measurement's frames: the first of IEEE 802's local experimental ethertypes.
const ETHERTYPE: u16 = 0x88b5;

/// Size of the smallest Ethernet frame without its checksum, bytes.
const SMALLEST: usize = 60;

/// Size of a probe, the smallest frame.
pub(super) const PROBE: Bytes = Bytes::new(SMALLEST as u64);

/// Size of a socket buffer in bytes, enough for the frames of a train that have been sent and not read yet.
const BUFFER: usize = 1 << 26;
