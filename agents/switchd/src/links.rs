//! Whether the links of the ports are up.

use std::{
    collections::BTreeMap,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
};

use nix::{
    errno::Errno,
    ifaddrs::getifaddrs,
    net::if_::InterfaceFlags,
    sys::socket::{
        AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
    },
};

use crate::SwitchdError;

/// `RTMGRP_LINK`: the multicast group of link changes.
const LINK_GROUP: u32 = 1;

/// Tells when some link of the network namespace changed.
///
/// The messages only wake: what a link is now is read afresh, so that none can be missed, not even
/// when the kernel had to drop some.
pub(crate) struct LinkWatch {
    socket: OwnedFd,
}

impl LinkWatch {
    /// Listens in the network namespace the calling thread is in.
    pub(crate) fn open() -> Result<Self, SwitchdError> {
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
            SockProtocol::NetlinkRoute,
        )
        .map_err(SwitchdError::io("open a netlink socket"))?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, LINK_GROUP))
            .map_err(SwitchdError::io("listen to link changes"))?;
        Ok(Self { socket })
    }

    /// Forgets the messages that have come.
    pub(crate) fn drain(&self) -> Result<(), SwitchdError> {
        let mut buffer = [0; 8192];
        loop {
            match recv(self.socket.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
                Ok(_) | Err(Errno::EINTR | Errno::ENOBUFS) => {}
                Err(Errno::EAGAIN) => return Ok(()),
                Err(errno) => {
                    return Err(SwitchdError::io("read link changes")(errno));
                }
            }
        }
    }
}

impl AsFd for LinkWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Every interface of the network namespace, and whether it is up at both ends.
pub(crate) fn interfaces() -> Result<BTreeMap<String, bool>, SwitchdError> {
    let addresses = getifaddrs().map_err(SwitchdError::io("list the interfaces"))?;
    let up = InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING;
    Ok(addresses
        .map(|address| (address.interface_name, address.flags.contains(up)))
        .collect())
}
