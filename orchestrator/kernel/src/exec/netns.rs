//! Network namespaces: making, entering, removing.
//!
//! netns-rs makes the directory of namespaces what `ip netns` expects. It is not used to make the
//! namespaces themselves, because it would take over a file of the same name.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::fd::{AsFd, AsRawFd},
    path::{Path, PathBuf},
    thread,
};

use netns_rs::Env;
use nix::{
    errno::Errno,
    mount::{MntFlags, MsFlags, mount, umount2},
    sched::{CloneFlags, setns, unshare},
};

use crate::{name::NetnsName, process};

/// The file of a namespace.
pub(crate) fn path(name: &NetnsName) -> PathBuf {
    directory().join(name.as_str())
}

pub(crate) fn directory() -> PathBuf {
    PathBuf::from("/run/netns")
}

/// Whether the directory of namespaces is what `ip netns` makes it: a mount of its own, so that
/// unmounting a namespace reaches other mount namespaces too.
pub(crate) fn directory_is_ready() -> io::Result<bool> {
    if !directory().is_dir() {
        return Ok(false);
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let point = |line: &str| line.split(' ').nth(4).map(str::to_owned);
    let wanted = directory();
    Ok(mounts
        .lines()
        .filter_map(point)
        .any(|point| Path::new(&point) == wanted))
}

/// Makes the directory of namespaces what `ip netns` makes it.
pub(crate) fn make_directory() -> io::Result<()> {
    RunNetns.init().map_err(io::Error::other)
}

/// Where `ip netns` looks, on systems whose `/var/run` is not `/run` too.
struct RunNetns;

impl Env for RunNetns {
    fn persist_dir(&self) -> PathBuf {
        directory()
    }
}

/// Takes the directory of namespaces away again, unless someone else has a namespace in it.
pub(crate) fn remove_directory() -> io::Result<()> {
    let mut entries = match fs::read_dir(directory()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    if entries.next().is_some() {
        return Ok(());
    }
    drop(entries);
    match umount2(&directory(), MntFlags::MNT_DETACH) {
        Ok(()) | Err(Errno::EINVAL | Errno::ENOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    fs::remove_dir(directory())
}

/// Makes a namespace and does `work` in it, on a thread that is thrown away. The namespace outlives
/// the thread by its file.
pub(crate) fn create<T: Send>(
    name: &NetnsName,
    work: impl FnOnce(File) -> T + Send,
) -> io::Result<T> {
    let path = path(name);
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)?;
    let made = on_thread(|| {
        unshare(CloneFlags::CLONE_NEWNET)?;
        mount(
            Some("/proc/thread-self/ns/net"),
            &path,
            None::<&str>,
            MsFlags::MS_BIND,
            None::<&str>,
        )?;
        Ok(work(File::open(&path)?))
    });
    if made.is_err() {
        // Mounted or not: what exists is ours, as the file was new.
        let _ = remove(&path);
    }
    made
}

/// Does `work` in a namespace, on a thread that is thrown away.
pub(crate) fn inside<T: Send>(
    netns: impl AsFd + Send,
    work: impl FnOnce() -> T + Send,
) -> io::Result<T> {
    on_thread(|| {
        setns(netns, CloneFlags::CLONE_NEWNET)?;
        Ok(work())
    })
}

/// Does `work` in a namespace, with its own view of `/sys`, whose network part is that of the
/// namespace it was mounted in.
pub(crate) fn inside_with_sysfs<T: Send>(
    netns: impl AsFd + Send,
    work: impl FnOnce() -> T + Send,
) -> io::Result<T> {
    on_thread(|| {
        setns(netns, CloneFlags::CLONE_NEWNET)?;
        own_sysfs()?;
        Ok(work())
    })
}

/// Gives the calling thread a `/sys` of its own for the namespace it is in, with the machine's file
/// systems below `/sys/fs`, such as that of pinned BPF objects.
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

/// Removes a namespace's file. What is in the namespace goes with it, once no process is.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match umount2(path, MntFlags::MNT_DETACH) {
        // Not mounted yet, or no longer.
        Ok(()) | Err(Errno::EINVAL) => {}
        Err(Errno::ENOENT) => return Ok(()),
        Err(errno) => return Err(errno.into()),
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// The inode of the namespace a file stands for.
pub(crate) fn inode(name: &NetnsName) -> Option<u64> {
    process::inode(&path(name))
}

fn on_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let result = thread::scope(|scope| scope.spawn(work).join());
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
