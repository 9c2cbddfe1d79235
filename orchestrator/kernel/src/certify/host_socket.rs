//! Sockets that send the datagrams of hosts, and sockets that observe these datagrams.

use std::{
    io,
    net::{Ipv4Addr, SocketAddrV4},
    os::fd::{AsRawFd, OwnedFd},
};

use lab_abi::rows::ROCE_PORT;
use lab_plan::MIN_SOURCE_PORT;
use nix::{
    errno::Errno,
    sys::socket::{
        AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, bind, recv, sendto,
        setsockopt, socket, sockopt,
    },
};

use super::socket::bind as bind_packets;

/// Socket that sends datagrams from a host's address through its NIC.
#[derive(Debug)]
pub(super) struct Sender(OwnedFd);

/// Socket that observes datagrams: at an interface, or at the point where the kernel delivers them to a host.
#[derive(Debug)]
pub(super) struct Observer(OwnedFd);

/// Datagram that a socket saw.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Datagram {
    pub from: Ipv4Addr,
    pub to: Ipv4Addr,
    /// Sequence number of the datagram.
    pub number: u16,
}

impl Sender {
    /// Opens a socket in the calling thread's namespace, bound to the interface `dev` and the address `addr`.
    pub fn open(dev: &str, addr: Ipv4Addr) -> io::Result<Self> {
        let descriptor = open_at(dev, SockType::Datagram, None)?;
        // In the root namespace, a host's address is local only in that host's own routing table.
        setsockopt(&descriptor, sockopt::IpFreebind, &true)?;
        // The loop skips ports that other programs use.
        for port in MIN_SOURCE_PORT..=u16::MAX {
            let address = SockaddrIn::from(SocketAddrV4::new(addr, port));
            match bind(descriptor.as_raw_fd(), &address) {
                Err(Errno::EADDRINUSE) => {}
                bound => {
                    bound?;
                    return Ok(Self(descriptor));
                }
            }
        }
        Err(Errno::EADDRINUSE.into())
    }

    /// Sends a datagram to RoCE's port at `to`.
    pub fn send(&self, to: Ipv4Addr, number: u16) -> nix::Result<()> {
        let [high, low] = number.to_be_bytes();
        let [a, b, c, d] = MAGIC;
        let address = SockaddrIn::from(SocketAddrV4::new(to, ROCE_PORT));
        let payload = [a, b, c, d, high, low];
        let descriptor = self.0.as_raw_fd();
        // The socket is non-blocking, so the call cannot be interrupted by a signal (EINTR).
        sendto(descriptor, &payload, &address, MsgFlags::empty()).map(drop)
    }
}

impl Observer {
    /// Opens an observer of the IPv4 packets that arrive at the interface with index `index` in the calling thread's
    /// namespace.
    pub fn at_interface(index: u32) -> io::Result<Self> {
        let descriptor = socket(AddressFamily::Packet, SockType::Datagram, FLAGS, None)?;
        let ethertype = u16::try_from(libc::ETH_P_IP).map_err(io::Error::other)?;
        bind_packets(&descriptor, index, ethertype)?;
        Ok(Self(descriptor))
    }

    /// Opens an observer of the packets that arrive at the interface `dev` and that the kernel delivers to UDP.
    pub fn of_host(dev: &str) -> io::Result<Self> {
        open_at(dev, SockType::Raw, Some(SockProtocol::Udp)).map(Self)
    }

    /// Calls `see` with each datagram that has arrived since the previous call of `receive`.
    pub fn receive(&self, mut see: impl FnMut(Datagram)) -> io::Result<()> {
        let mut packet = [0; MAX_HEADER + UDP_HEADER + PAYLOAD];
        loop {
            match recv(self.0.as_raw_fd(), &mut packet, MsgFlags::empty()) {
                Ok(len) => parse(&packet[..len]).into_iter().for_each(&mut see),
                Err(Errno::EINTR) => {}
                // No packet arrives while the interface is down.
                Err(Errno::EAGAIN | Errno::ENETDOWN) => return Ok(()),
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

/// Opens an IPv4 socket that is bound to an interface.
fn open_at(dev: &str, kind: SockType, protocol: Option<SockProtocol>) -> io::Result<OwnedFd> {
    let descriptor = socket(AddressFamily::Inet, kind, FLAGS, protocol)?;
    setsockopt(&descriptor, sockopt::BindToDevice, &dev.into())?;
    Ok(descriptor)
}

/// Parses a datagram from [`Sender::send`] in a packet that begins with an IPv4 header; `None` for other packets.
fn parse(packet: &[u8]) -> Option<Datagram> {
    let addr = |at: usize| -> Option<Ipv4Addr> {
        let bytes: [u8; 4] = packet.get(at..at + 4)?.try_into().ok()?;
        Some(bytes.into())
    };
    let header = usize::from(packet.first()? & 0xf) * 4;
    let udp = packet.get(header..)?;
    let is_udp = i32::from(*packet.get(9)?) == libc::IPPROTO_UDP
        && udp.get(2..4)? == ROCE_PORT.to_be_bytes();
    let payload = udp.get(UDP_HEADER..)?;
    let [high, low] = payload.strip_prefix(&MAGIC)?.try_into().ok()?;
    is_udp.then_some(Datagram {
        from: addr(12)?,
        to: addr(16)?,
        number: u16::from_be_bytes([high, low]),
    })
}

const FLAGS: SockFlag = SockFlag::SOCK_NONBLOCK.union(SockFlag::SOCK_CLOEXEC);

/// First bytes of a datagram's payload, by which it is recognised.
const MAGIC: [u8; 4] = *b"lcmp";

/// Size of a datagram's payload, bytes; less than the 12 bytes of SoftRoCE's header, so that SoftRoCE drops the
/// datagram.
const PAYLOAD: usize = 6;

const UDP_HEADER: usize = 8;

/// Size of an IPv4 header with all options, bytes.
const MAX_HEADER: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    /// Packet from 10.0.16.1:49152 to 10.0.32.1:4791 (0x12b7) with the sequence number 7.
    const PACKET: [u8; 34] = [
        0x45, 0, 0, 34, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 16, 1, 10, 0, 32, 1, // IPv4
        0xc0, 0, 0x12, 0xb7, 0, 14, 0, 0, // UDP
        b'l', b'c', b'm', b'p', 0, 7,
    ];

    #[test]
    fn only_whole_datagrams_to_roces_port_count() {
        let expected = Datagram {
            from: Ipv4Addr::new(10, 0, 16, 1),
            to: Ipv4Addr::new(10, 0, 32, 1),
            number: 7,
        };
        assert_eq!(parse(&PACKET), Some(expected));
        for (at, byte) in [(9, 6), (23, 0xb8), (28, b'x'), (0, 0x4f)] {
            let mut other = PACKET;
            other[at] = byte;
            assert_eq!(parse(&other), None, "byte {at}");
        }
        for len in 0..PACKET.len() {
            assert_eq!(parse(&PACKET[..len]), None, "{len} bytes");
        }
    }
}
