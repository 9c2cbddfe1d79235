//! Use of rights as root. Files are read with the rights of the user who called sudo, and that user also becomes owner
//! of files that this program writes. Existing runs are changed with the rights of their owner.

use std::{
    env,
    ffi::CString,
    fs,
    io::{self, Write},
    os::unix::fs::{MetadataExt, fchown, lchown},
    path::{Path, PathBuf},
    thread,
};

use lab_files::named;
use nix::unistd::{User, getgrouplist};
use rustix::{
    fs::{Gid, Uid},
    thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid},
};

use crate::{
    failure::{During, Exit, Outcome},
    terminal::{note, print},
};

/// User and group IDs of the user who called sudo.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Caller {
    uid: u32,
    gid: u32,
}

/// Guard that, when dropped, makes the user who called sudo the owner of a directory and its contents; no effect
/// without sudo.
pub struct Handover(PathBuf);

impl Handover {
    /// Returns the guard for `dir`.
    pub fn of(dir: &Path) -> Self {
        Self(dir.to_owned())
    }
}

impl Drop for Handover {
    fn drop(&mut self) {
        hand_over(&self.0);
    }
}

/// Makes the user who called sudo the owner of `path`, including the contents of a directory.
pub fn hand_over(path: &Path) {
    if let Some(caller) = Caller::of_sudo() {
        report(path, caller.own_all(path));
    }
}

/// Makes the user who called sudo the owner of `path` itself, but not of a symbolic link's target or a directory's
/// contents, which may belong to other users.
pub fn hand_over_alone(path: &Path) {
    if let Some(caller) = Caller::of_sudo() {
        report(path, lchown(path, Some(caller.uid), Some(caller.gid)));
    }
}

/// Calls `read` with the rights of the user who called sudo, so that error messages cannot quote a file which that user
/// may not read; without sudo, with the rights of this process.
///
/// # Errors
/// If the rights cannot be changed.
pub fn read_as<T: Send>(read: impl FnOnce() -> T + Send) -> io::Result<T> {
    let Some(caller) = Caller::of_sudo() else {
        return Ok(read());
    };
    // Linux keeps rights per thread, so the restricted rights end with this thread.
    let reader = || caller.take_rights().map(|()| read());
    thread::scope(|scope| scope.spawn(reader).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Exchanges root's rights for those of `dir`'s owner, because links in `dir` could lead anywhere; no effect if root
/// owns `dir` or the process is not root. If a killed run left `dir` owned by QEMU's user, the owner of its parent
/// directory first becomes its owner again.
///
/// # Errors
/// If the directory cannot be inspected, or the rights cannot be changed.
pub fn become_owner(dir: &Path) -> io::Result<()> {
    lab_guest::rights::recover(dir)?;
    let dir = fs::metadata(dir)?;
    if !nix::unistd::geteuid().is_root() || dir.uid() == 0 {
        return Ok(());
    }
    let owner = Caller {
        uid: dir.uid(),
        gid: dir.gid(),
    };
    let uid = owner.uid.into();
    let gid = owner.gid.into();
    let groups: Vec<_> = owner
        .groups()?
        .iter()
        .map(|group| group.as_raw().into())
        .collect();
    nix::unistd::setgroups(&groups)?;
    nix::unistd::setresgid(gid, gid, gid)?;
    nix::unistd::setresuid(uid, uid, uid)?;
    Ok(())
}

/// Checks that every symbolic link on `path`, which comes from the command line, belongs to root, to this process's
/// user or to the user who called sudo.
///
/// # Errors
/// If a link belongs to another user, or a part of the path cannot be inspected.
pub fn check_links(path: &Path) -> io::Result<()> {
    named::check_links(path, &trusted())
}

/// Returns the directory to which `path`, which comes from the command line, leads.
///
/// # Errors
/// If [`check_links`] refuses the path.
pub fn resolved(path: &Path) -> io::Result<PathBuf> {
    check_links(path)?;
    if path.is_symlink() {
        path.canonicalize()
    } else {
        Ok(path.to_owned())
    }
}

/// Writes the file at `path`, which comes from the command line. A new file gets the user who called sudo as owner; an
/// existing one, such as `/dev/null`, keeps its owner.
///
/// # Errors
/// If the file cannot be written, or [`check_links`] refuses the path.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let is_new = !path.exists();
    let mut file = named::create(path, &trusted())?;
    file.write_all(bytes)?;
    if let Some(caller) = Caller::of_sudo().filter(|_| is_new) {
        report(path, fchown(&file, Some(caller.uid), Some(caller.gid)));
    }
    Ok(())
}

/// Writes a result to the file `output`, or to standard output if `output` is `None`.
pub fn write_to(output: Option<&Path>, text: &str) -> Outcome {
    match output {
        Some(path) => {
            let written = write(path, text.as_bytes());
            written.during(format_args!("write `{}`", path.display()))?;
            note(&format!("wrote {}", path.display()));
        }
        None => print(text),
    }
    Ok(Exit::Pass)
}

fn trusted() -> Vec<u32> {
    let own = [0, nix::unistd::geteuid().as_raw()];
    let caller = Caller::of_sudo().map(|caller| caller.uid);
    own.into_iter().chain(caller).collect()
}

/// Creates the missing directories of `path`, and makes the user who called sudo their owner.
///
/// # Errors
/// If a directory cannot be made, or [`check_links`] refuses the path.
pub fn create_dirs(path: &Path) -> io::Result<()> {
    check_links(path)?;
    let missing: Vec<&Path> = path
        .ancestors()
        .take_while(|path| !path.as_os_str().is_empty() && !path.exists())
        .collect();
    fs::create_dir_all(path)?;
    missing.into_iter().for_each(hand_over_alone);
    Ok(())
}

impl Caller {
    /// Returns the caller of sudo; `None` if this process is not root or was started without sudo.
    fn of_sudo() -> Option<Self> {
        let is_root = nix::unistd::geteuid().is_root();
        let id = |name| env::var(name).ok();
        is_root.then(|| Self::of(id("SUDO_UID")?.as_str(), id("SUDO_GID")?.as_str()))?
    }

    fn of(uid: &str, gid: &str) -> Option<Self> {
        let uid = uid.parse().ok()?;
        let gid = gid.parse().ok()?;
        (uid != 0).then_some(Self { uid, gid })
    }

    /// Gives the calling thread, and no other thread, this user's rights.
    fn take_rights(self) -> io::Result<()> {
        let uid = Uid::from_raw(self.uid);
        let gid = Gid::from_raw(self.gid);
        set_thread_groups(&self.groups()?)?;
        set_thread_res_gid(gid, gid, gid)?;
        set_thread_res_uid(uid, uid, uid)?;
        Ok(())
    }

    /// Returns the IDs of this user's groups; only the primary group if the user ID has no name.
    fn groups(self) -> io::Result<Vec<Gid>> {
        let Some(user) = User::from_uid(self.uid.into())? else {
            return Ok(vec![Gid::from_raw(self.gid)]);
        };
        let name = CString::new(user.name)?;
        let groups = getgrouplist(&name, self.gid.into())?;
        Ok(groups
            .iter()
            .map(|group| Gid::from_raw(group.as_raw()))
            .collect())
    }

    /// Changes the owner of a directory tree. Symbolic links are changed themselves and not followed.
    fn own_all(self, path: &Path) -> io::Result<()> {
        if fs::symlink_metadata(path)?.is_dir() {
            for entry in fs::read_dir(path)? {
                self.own_all(&entry?.path())?;
            }
        }
        // The directory comes last: until then no other user can replace a file in it by a link.
        lchown(path, Some(self.uid), Some(self.gid))
    }
}

/// Prints a warning that a file still belongs to root; a file that does not exist is ignored.
fn report(path: &Path, result: io::Result<()>) {
    if let Err(error) = result
        && error.kind() != io::ErrorKind::NotFound
    {
        note(&format!(
            "warning: `{}` still belongs to root: {error}",
            path.display()
        ));
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn root_is_no_caller_and_words_are_no_ids() {
        let caller = Caller {
            uid: 1000,
            gid: 100,
        };
        assert_eq!(Caller::of("1000", "100"), Some(caller));
        assert_eq!(Caller::of("0", "0"), None);
        assert_eq!(Caller::of("", "100"), None);
    }

    #[test]
    fn a_tree_changes_hands_and_a_links_target_does_not() {
        if !nix::unistd::geteuid().is_root() {
            return eprintln!(
                "skipped: a_tree_changes_hands_and_a_links_target_does_not: this is not root"
            );
        }
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        let other = folder.path().join("other");
        fs::create_dir_all(run.join("figures")).unwrap();
        fs::write(run.join("figures/a.svg"), "").unwrap();
        fs::write(&other, "").unwrap();
        symlink(&other, run.join("link")).unwrap();
        Caller { uid: 7, gid: 8 }.own_all(&run).unwrap();
        let owner = |path: &Path| {
            let file = fs::symlink_metadata(path).unwrap();
            (file.uid(), file.gid())
        };
        for name in ["", "figures", "figures/a.svg", "link"] {
            assert_eq!(owner(&run.join(name)), (7, 8), "{name}");
        }
        assert_eq!(owner(&other), (0, 0));
    }
}
