//! Creation and removal of network namespaces, and threads that enter them.
//!
//! The crate netns-rs prepares the directory of namespaces in the same way as `ip netns`. It is not used for creating
//! the namespaces, because it would take over an existing file of the same name.

use std::{
    fs::{self, File},
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd},
    path::{Path, PathBuf},
    thread,
};

use netns_rs::Env;
use nix::{
    errno::Errno,
    mount::{MntFlags, MsFlags, mount, umount2},
    sched::{CloneFlags, setns, unshare},
    sys::statfs::{NSFS_MAGIC, statfs},
};
use procfs::{FromRead, process::MountInfos};

use crate::{
    journal::if_found,
    name::NetnsName,
    netlink::{NetlinkError, Socket, dump, route::Interfaces},
    process::NetnsId,
};

/// Open network namespace, with a netlink socket that acts in it.
#[derive(Debug)]
pub(crate) struct NetnsHandle {
    pub socket: Socket,
    pub interfaces: Interfaces,
    file: File,
}

impl NetnsHandle {
    /// Opens the calling thread's namespace, which must be the root namespace.
    pub fn root() -> io::Result<Self> {
        Self::here(File::open(OWN)?)
    }

    /// Creates a namespace and runs `work` in it, in the same way as [`create`].
    pub fn create<T: Send>(
        name: &NetnsName,
        record: impl FnOnce(NetnsId) -> io::Result<()> + Send,
        work: impl FnOnce() -> T + Send,
    ) -> io::Result<(Self, T)> {
        let (handle, result) = create(name, record, |file| (Self::here(file), work()))?;
        Ok((handle?, result))
    }

    fn here(file: File) -> io::Result<Self> {
        Ok(Self {
            socket: Socket::route()?,
            interfaces: Interfaces::new(),
            file,
        })
    }

    /// Returns the index of an interface; if the index is not cached, lists all interfaces first. `None` if there is no
    /// such interface.
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

/// Returns the path of the namespace called `name`.
pub(crate) fn path(name: &NetnsName) -> PathBuf {
    directory().join(name.as_str())
}

pub(crate) fn directory() -> PathBuf {
    PathBuf::from("/run/netns")
}

/// Returns true if the directory of namespaces is a separate mount, as after `ip netns`, so that unmounting a namespace
/// propagates to other mount namespaces.
pub(crate) fn directory_is_ready() -> io::Result<bool> {
    if !directory().is_dir() {
        return Ok(false);
    }
    // `/proc/self` is not used here, because this thread may have its own mount namespace.
    let mut mounts = MountInfos::from_file("/proc/thread-self/mountinfo")
        .map_err(io::Error::other)?
        .into_iter();
    Ok(mounts.any(|mount| mount.mount_point == directory()))
}

/// Prepares the directory of namespaces in the same way as `ip netns`.
pub(crate) fn make_directory() -> io::Result<()> {
    RunNetns.init().map_err(io::Error::other)
}

/// Directory that `ip netns` uses, even on systems where `/var/run` is not `/run`.
struct RunNetns;

impl Env for RunNetns {
    fn persist_dir(&self) -> PathBuf {
        directory()
    }
}

/// Removes the directory of namespaces if it is empty.
pub(crate) fn remove_directory() -> io::Result<()> {
    let entries = if_found(fs::read_dir(directory()))?;
    if entries.is_none_or(|mut entries| entries.next().is_some()) {
        return Ok(());
    }
    match umount2(&directory(), MntFlags::MNT_DETACH) {
        Ok(()) | Err(Errno::EINVAL | Errno::ENOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    fs::remove_dir(directory())
}

/// Creates a namespace and runs `work` in it on a new thread. The namespace's file keeps the namespace alive; `record`
/// gets the namespace's identity before the file exists.
pub(crate) fn create<T: Send>(
    name: &NetnsName,
    record: impl FnOnce(NetnsId) -> io::Result<()> + Send,
    work: impl FnOnce(File) -> T + Send,
) -> io::Result<T> {
    let path = path(name);
    on_thread(|| {
        unshare(CloneFlags::CLONE_NEWNET)?;
        // The file is kept open until the namespace is mounted: when its last holder closes it, the kernel discards the
        // inode and creates another one at the next lookup.
        let own = File::open(OWN)?;
        record(NetnsId::of_file(&own.metadata()?))?;
        File::create_new(&path)?;
        let none = None::<&str>;
        let bound = mount(Some(OWN), &path, none, MsFlags::MS_BIND, none);
        let made = bound
            .map_err(io::Error::from)
            .and_then(|()| File::open(&path));
        if made.is_err() {
            // The lab created the file, so it may remove the file, whether or not a namespace is mounted on it.
            let _ = remove(&path);
        }
        Ok(work(made?))
    })
}

/// Runs `work` on a new thread in a namespace.
pub(crate) fn inside<T: Send>(
    netns: impl AsFd + Send,
    work: impl FnOnce() -> T + Send,
) -> io::Result<T> {
    on_thread(|| {
        setns(netns, CloneFlags::CLONE_NEWNET)?;
        Ok(work())
    })
}

/// Runs `work` on a new thread in a namespace; the thread's `/sys` shows that namespace.
pub(crate) fn inside_with_sysfs<T: Send>(
    netns: impl AsFd + Send,
    work: impl FnOnce() -> T + Send,
) -> io::Result<T> {
    inside(netns, || own_sysfs().map(|()| work()))?
}

/// Mounts a `/sys` that shows the calling thread's namespace, for this thread alone. `/sys/fs` still shows the
/// machine's mount, which contains pinned BPF objects.
pub(crate) fn own_sysfs() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    let none = None::<&str>;
    mount(none, "/", none, MsFlags::MS_SLAVE | MsFlags::MS_REC, none)?;
    let file_systems = File::open("/sys/fs")?;
    mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), none)?;
    let hidden = format!("/proc/thread-self/fd/{}", file_systems.as_raw_fd());
    let bind = MsFlags::MS_BIND | MsFlags::MS_REC;
    mount(Some(hidden.as_str()), "/sys/fs", none, bind, none)?;
    Ok(())
}

/// Removes the file of a namespace. The namespace itself ends with its last process.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match umount2(path, MntFlags::MNT_DETACH) {
        // The namespace is not mounted yet, or is no longer mounted.
        Ok(()) | Err(Errno::EINVAL) => {}
        Err(Errno::ENOENT) => return Ok(()),
        Err(errno) => return Err(errno.into()),
    }
    if_found(fs::remove_file(path)).map(drop)
}

/// State of a namespace's name, a file in `/run/netns`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Name {
    /// There is no file with this name.
    Free,
    /// There is a file with this name, but no namespace is mounted on it.
    File,
    /// The namespace with this identity has the name.
    Netns(NetnsId),
}

/// Returns the current state of a namespace's name.
pub(crate) fn state(name: &NetnsName) -> Name {
    let path = path(name);
    let is_netns = statfs(&path).is_ok_and(|found| found.filesystem_type() == NSFS_MAGIC);
    match NetnsId::at(&path) {
        None => Name::Free,
        Some(found) if is_netns => Name::Netns(found),
        Some(_) => Name::File,
    }
}

/// File of the namespace in which the calling thread is.
const OWN: &str = "/proc/thread-self/ns/net";

/// Runs `work` on a new thread. If `work` switches the thread to other namespaces, the caller's thread is not affected.
pub(crate) fn on_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    thread::scope(|scope| scope.spawn(work).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
