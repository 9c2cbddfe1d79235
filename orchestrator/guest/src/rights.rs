//! Rights of QEMU, and the directories that it may write to.
//!
//! QEMU acts on behalf of everything in a guest, so root starts QEMU as a separate user. Like root, that user may read
//! all files, because the guest uses this machine's root file system; but it may write only to the directories that are
//! lent to it. If another user starts QEMU, it has that user's rights.

use std::{
    fs::{self, File, Metadata, OpenOptions, TryLockError},
    io,
    os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown, lchown},
    path::{Path, PathBuf},
};

use lab_files::Links;
use rustix::{
    fs::{Gid, OFlags, Uid},
    thread::{
        CapabilitySet, CapabilitySets, configure_capability_in_ambient_set, set_capabilities,
        set_keep_capabilities, set_no_new_privs, set_thread_groups, set_thread_res_gid,
        set_thread_res_uid,
    },
};

use crate::retry::uninterrupted;

/// User and group id of QEMU if root starts it. No account has this id: it is one of the reserved ids of Debian Policy
/// 9.2.2, 65000 to 65533, and ends with the first three digits of the RoCEv2 port, 4791.
pub const GUEST_USER: u32 = 65_479;

/// Rights that QEMU gets in addition to those of its user.
#[derive(Clone, Debug)]
pub(crate) struct GuestRights {
    groups: Vec<Gid>,
}

impl GuestRights {
    /// Returns the rights of a QEMU process that this process starts; `None` if this process is not root, so that QEMU
    /// keeps this process's user and rights.
    pub(crate) fn of_qemu() -> Option<Self> {
        nix::unistd::geteuid().is_root().then(|| Self {
            groups: kvm_group().into_iter().collect(),
        })
    }

    /// Switches the calling process to QEMU's user, with these groups and the capability to read all files
    /// (`CAP_DAC_READ_SEARCH`) as the only one. Called between fork and exec, it makes only system calls and does not
    /// allocate memory.
    pub(crate) fn take(&self) -> io::Result<()> {
        let uid = Uid::from_raw(GUEST_USER);
        let gid = Gid::from_raw(GUEST_USER);
        set_keep_capabilities(true)?;
        set_thread_groups(&self.groups)?;
        set_thread_res_gid(gid, gid, gid)?;
        set_thread_res_uid(uid, uid, uid)?;
        let reads = CapabilitySet::DAC_READ_SEARCH;
        let sets = CapabilitySets {
            effective: reads,
            permitted: reads,
            inheritable: reads,
        };
        set_capabilities(None, sets)?;
        configure_capability_in_ambient_set(reads, true)?;
        Ok(set_no_new_privs(true)?)
    }
}

/// Returns true if root can give files and processes to the guest's user; in a user namespace, the id of that user may
/// be unmapped.
pub(crate) fn has_guest_user() -> bool {
    let has = |map: &str| fs::read_to_string(map).map_or(true, |map| maps(&map, GUEST_USER));
    !nix::unistd::geteuid().is_root() || has("/proc/self/uid_map") && has("/proc/self/gid_map")
}

/// Returns true if an ID map (`user_namespaces(7)`: first id inside, first id outside, count) contains `id` as an
/// inside id.
fn maps(map: &str, id: u32) -> bool {
    map.lines().any(|line| {
        let mut numbers = line.split_whitespace().map(str::parse::<u64>);
        match (numbers.next(), numbers.next(), numbers.next()) {
            (Some(Ok(first)), Some(Ok(_)), Some(Ok(count))) => {
                (first..first.saturating_add(count)).contains(&u64::from(id))
            }
            _ => false,
        }
    })
}

/// Returns the group whose members may use KVM; `None` if there is no such group other than root's.
fn kvm_group() -> Option<Gid> {
    let kvm = fs::metadata("/dev/kvm").ok()?;
    let may_use = kvm.permissions().mode() & 0o060 == 0o060;
    (may_use && kvm.gid() != 0).then(|| Gid::from_raw(kvm.gid()))
}

/// Directories that belong to QEMU's user until this value is dropped, so that QEMU can write to them.
#[derive(Debug)]
pub(crate) struct Lent(Vec<LentDirectory>);

#[derive(Debug)]
struct LentDirectory {
    path: PathBuf,
    uid: u32,
    gid: u32,
    /// Open and locked directory; the lock shows other processes that the directory is in use.
    _lock: File,
}

impl Lent {
    /// Gives directories, but not their existing entries, to QEMU's user. Does nothing if this process is not root,
    /// because QEMU then has this process's user.
    pub(crate) fn new(directories: &[PathBuf]) -> io::Result<Self> {
        let mut lent = Self(Vec::new());
        if nix::unistd::geteuid().is_root() {
            for path in directories {
                // From here on the file descriptor is used, because the path may be replaced at any time.
                let lock = open_directory(path)?;
                uninterrupted(|| lock.lock_shared())?;
                let owner = lock.metadata()?;
                fchown(&lock, Some(GUEST_USER), Some(GUEST_USER))
                    .map_err(|error| without(path, error))?;
                lent.0.push(LentDirectory {
                    path: path.clone(),
                    uid: owner.uid(),
                    gid: owner.gid(),
                    _lock: lock,
                });
            }
        }
        Ok(lent)
    }
}

/// Returns the error for a directory whose owner cannot be changed.
fn without(path: &Path, error: io::Error) -> io::Error {
    let text = format!(
        "cannot change the owner of `{}` to the guest's user, {GUEST_USER}: {error} (hint: use a file system that \
         stores owners)",
        path.display()
    );
    io::Error::new(error.kind(), text)
}

impl Drop for Lent {
    fn drop(&mut self) {
        for lent in &self.0 {
            if let Err(error) = take_back(&lent.path, (lent.uid, lent.gid)) {
                tracing::warn!(path = %lent.path.display(), %error, "cannot return the directory to its owner");
            }
        }
    }
}

/// Gives a directory to the owner of its parent directory, if a killed process had lent it to QEMU's user. A directory
/// of another user, or one that a running process still lends, stays unchanged.
///
/// # Errors
/// If the directory cannot be read or changed.
pub fn recover(directory: &Path) -> io::Result<()> {
    let file = open_directory(&directory.canonicalize()?)?;
    if file.metadata()?.uid() != GUEST_USER || !nix::unistd::geteuid().is_root() {
        return Ok(());
    }
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(()),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let owner = fs::metadata(directory.canonicalize()?.parent().unwrap_or(directory))?;
    take_back(directory, (owner.uid(), owner.gid()))
}

/// Gives a directory, and those of its entries that belong to the guest's user, to an owner. Entries that are neither
/// files nor directories are removed, and set-user-ID bits are cleared, because later readers trust the directory.
///
/// The owner of the directory itself is changed first, so that the guest cannot change entries during the inspection.
fn take_back(path: &Path, (uid, gid): (u32, u32)) -> io::Result<()> {
    lchown(path, Some(uid), Some(gid))?;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let path = entry.path();
        let found = entry.metadata()?;
        if found.uid() != GUEST_USER {
            continue;
        }
        if found.is_dir() {
            take_back(&path, (uid, gid))?;
        } else if found.is_file() {
            let file = lab_files::open(&path, Links::Refuse)?;
            fchown(&file, Some(uid), Some(gid))?;
            // The kernel clears these bits at a change of the owner only for executable files.
            let mode = found.permissions().mode() & 0o777;
            file.set_permissions(fs::Permissions::from_mode(mode))?;
        } else {
            tracing::warn!(path = %path.display(), kind = kind(&found), "removed an entry that a guest created");
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Opens a directory without following a link at its path.
fn open_directory(path: &Path) -> io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
}

fn kind(found: &Metadata) -> &'static str {
    let kind = found.file_type();
    if kind.is_symlink() {
        "link"
    } else if kind.is_fifo() {
        "pipe"
    } else if kind.is_socket() {
        "socket"
    } else {
        "device"
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{chown, symlink};

    use super::*;

    const NAME: &str = "what_was_lent_is_given_back_without_links_and_rights";

    fn owner(path: &Path) -> (u32, u32) {
        let found = fs::symlink_metadata(path).unwrap();
        (found.uid(), found.gid())
    }

    #[test]
    fn a_user_namespace_may_lack_the_guests_user() {
        assert!(maps("         0          0 4294967295\n", GUEST_USER));
        assert!(maps("0 1000 1\n1 100000 65536\n", GUEST_USER));
        assert!(!maps("0 0 1\n", GUEST_USER));
        assert!(!maps("0 100000 65479\n", GUEST_USER));
        assert!(!maps("", GUEST_USER));
    }

    #[test]
    fn what_was_lent_is_given_back_without_links_and_rights() {
        if !nix::unistd::geteuid().is_root() {
            return eprintln!("skipped: {NAME}: it needs root");
        }
        let folder = tempfile::tempdir().unwrap();
        let lent = folder.path().join("run");
        fs::create_dir(&lent).unwrap();
        fs::write(lent.join("before"), "").unwrap();
        let before = owner(&lent);
        let guard = Lent::new(std::slice::from_ref(&lent)).unwrap();
        assert_eq!(owner(&lent), (GUEST_USER, GUEST_USER));
        assert_eq!(owner(&lent.join("before")), before);
        recover(&lent).unwrap();
        assert_eq!(owner(&lent), (GUEST_USER, GUEST_USER), "it is in use");

        let made = [lent.join("figures"), lent.join("figures/a.csv")];
        fs::create_dir(&made[0]).unwrap();
        fs::write(&made[1], "").unwrap();
        for path in &made {
            chown(path, Some(GUEST_USER), Some(GUEST_USER)).unwrap();
        }
        fs::set_permissions(&made[1], fs::Permissions::from_mode(0o6755)).unwrap();
        let link = lent.join("flows.csv");
        symlink("/etc/passwd", &link).unwrap();
        lchown(&link, Some(GUEST_USER), Some(GUEST_USER)).unwrap();
        drop(guard);
        for path in made.iter().chain([&lent]) {
            assert_eq!(owner(path), before, "{}", path.display());
        }
        let mode = fs::metadata(&made[1]).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o755);
        assert!(fs::symlink_metadata(&link).is_err());
        assert!(fs::metadata("/etc/passwd").unwrap().uid() == 0);

        // If a symbolic link replaces the directory, neither the link nor its target is lent.
        let swapped = folder.path().join("swapped");
        symlink(&lent, &swapped).unwrap();
        assert!(Lent::new(&[swapped]).is_err());
        assert_eq!(owner(&lent), before);

        // A killed process leaves a lent directory behind.
        chown(&lent, Some(GUEST_USER), Some(GUEST_USER)).unwrap();
        recover(&lent).unwrap();
        assert_eq!(owner(&lent), before);
    }
}
