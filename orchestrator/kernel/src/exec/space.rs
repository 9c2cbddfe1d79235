//! A namespace and the conversation with its kernel state.

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

/// A namespace: its file, and a netlink socket that stays in it.
#[derive(Debug)]
pub(crate) struct Space {
    pub socket: Socket,
    pub interfaces: Interfaces,
    netns: File,
}

impl Space {
    /// The root namespace: that of the calling thread.
    pub fn root() -> io::Result<Self> {
        Self::here(File::open("/proc/thread-self/ns/net")?)
    }

    /// Makes a namespace and does `work` in it.
    pub fn create<T: Send>(
        name: &NetnsName,
        work: impl FnOnce() -> T + Send,
    ) -> io::Result<(Self, T)> {
        let (space, done) = netns::create(name, |file| (Self::here(file), work()))?;
        Ok((space?, done))
    }

    /// A namespace that is there.
    #[cfg(test)]
    pub fn open(path: &std::path::Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let again = file.try_clone()?;
        netns::inside(file, || Self::here(again))?
    }

    fn here(netns: File) -> io::Result<Self> {
        Ok(Self {
            socket: Socket::route()?,
            interfaces: Interfaces::new(),
            netns,
        })
    }

    /// The number of an interface; asks the kernel for all of them if it is not known yet.
    pub fn interface(&mut self, dev: &str) -> Result<Option<u32>, NetlinkError> {
        if !self.interfaces.contains_key(dev) {
            let links = dump::links(&mut self.socket)?;
            self.interfaces = links
                .into_iter()
                .map(|link| (link.name, link.index))
                .collect();
        }
        Ok(self.interfaces.get(dev).copied())
    }
}

impl AsFd for Space {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.netns.as_fd()
    }
}
