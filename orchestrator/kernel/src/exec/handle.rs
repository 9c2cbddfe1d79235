//! Handle of a network namespace.

use std::{
    fs::File,
    io,
    os::fd::{AsFd, BorrowedFd},
};

use super::netns;
use crate::{
    name::NetnsName,
    netlink::{NetlinkError, Socket, dump, route::Interfaces},
};

/// Open namespace with a netlink socket that stays in it.
#[derive(Debug)]
pub(crate) struct NetnsHandle {
    pub socket: Socket,
    pub interfaces: Interfaces,
    file: File,
}

impl NetnsHandle {
    /// Opens the root namespace: that of the calling thread.
    pub fn root() -> io::Result<Self> {
        Self::here(File::open("/proc/thread-self/ns/net")?)
    }

    /// Creates a namespace and runs `work` in it.
    pub fn create<T: Send>(
        name: &NetnsName,
        work: impl FnOnce() -> T + Send,
    ) -> io::Result<(Self, T)> {
        let (handle, result) = netns::create(name, |file| (Self::here(file), work()))?;
        Ok((handle?, result))
    }

    fn here(file: File) -> io::Result<Self> {
        Ok(Self {
            socket: Socket::route()?,
            interfaces: Interfaces::new(),
            file,
        })
    }

    /// Returns the index of an interface. Lists all interfaces if it is not known yet.
    pub fn interface(&mut self, dev: &str) -> Result<Option<u32>, NetlinkError> {
        if !self.interfaces.contains_key(dev) {
            let links = dump::links(&mut self.socket)?.into_iter();
            self.interfaces = links.map(|link| (link.name, link.index)).collect();
        }
        Ok(self.interfaces.get(dev).copied())
    }
}

impl AsFd for NetnsHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
