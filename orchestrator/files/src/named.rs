//! Paths given by a user: symbolic links that belong to this user are followed, links of other users are not.
//!
//! The kernel's `fs.protected_symlinks` covers only directories with the sticky bit, but a user may name a path in
//! any directory that others can write to.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
};

use rustix::fs::OFlags;

use crate::Refusal;

/// Checks that every symbolic link on `path`, including links reached through other links, belongs to one of the
/// `trusted` user ids. The check ends at the first component of the path that does not exist.
///
/// # Errors
/// If a component of the path cannot be inspected, or with [`Refusal::LinkOfAnother`].
pub fn check_links(path: &Path, trusted: &[u32]) -> io::Result<()> {
    check(path, trusted, MAX_LINKS)
}

/// Opens the file at `path` for writing, and creates or truncates it; follows only symbolic links of the `trusted` user
/// ids.
///
/// # Errors
/// If the file cannot be opened, or with [`Refusal::LinkOfAnother`].
pub fn create(path: &Path, trusted: &[u32]) -> io::Result<File> {
    check_links(path, trusted)?;
    // A link that was created after the check is not followed.
    let flags = match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => OFlags::NOCTTY,
        _ => OFlags::NOCTTY | OFlags::NOFOLLOW,
    };
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
}

fn check(path: &Path, trusted: &[u32], links_left: u32) -> io::Result<()> {
    let parts: Vec<&Path> = path.ancestors().collect();
    // The last ancestor of a relative path is empty and stands for the working directory.
    for part in parts.into_iter().rev().filter(|it| *it != Path::new("")) {
        let found = match fs::symlink_metadata(part) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        if !found.is_symlink() {
            continue;
        }
        let uid = found.uid();
        if !trusted.contains(&uid) {
            return Err(Refusal::LinkOfAnother { uid }.into());
        }
        // If the path has more than [`MAX_LINKS`] links, the kernel itself will reject it.
        if let Some(links_left) = links_left.checked_sub(1) {
            let folder = part.parent().unwrap_or(Path::new(""));
            check(&folder.join(fs::read_link(part)?), trusted, links_left)?;
        }
    }
    Ok(())
}

/// Maximum number of symbolic links on a path, as in the kernel (`MAXSYMLINKS`).
const MAX_LINKS: u32 = 40;

#[cfg(test)]
mod tests {
    use std::{io::Write, os::unix::fs::symlink};

    use super::*;

    fn write(path: &Path, bytes: &[u8], trusted: &[u32]) -> io::Result<()> {
        create(path, trusted)?.write_all(bytes)
    }

    #[test]
    fn a_link_is_followed_if_its_owner_is_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name| folder.path().join(name);
        fs::create_dir(at("dir")).unwrap();
        fs::write(at("dir/file"), "old and longer").unwrap();
        symlink("dir", at("link")).unwrap();
        symlink("link/file", at("chain")).unwrap();
        symlink("loop", at("loop")).unwrap();
        let own = fs::symlink_metadata(at("link")).unwrap().uid();
        for name in ["link/file", "chain", "link/new"] {
            let refused = write(&at(name), b"new", &[own + 1]).unwrap_err();
            assert!(refused.to_string().contains("of user"), "{refused}");
            assert!(!at("dir/new").exists());
            assert_eq!(fs::read(at("dir/file")).unwrap(), b"old and longer");
        }
        for name in ["link/file", "chain", "link/new"] {
            write(&at(name), b"new", &[own]).unwrap();
            assert_eq!(fs::read(at(name)).unwrap(), b"new");
        }
        assert!(write(&at("loop"), b"new", &[own]).is_err());
        // A path without links needs no trusted user id.
        write(&at("dir/file"), b"newer", &[]).unwrap();
        assert!(check_links(&at("dir/none/below"), &[]).is_ok());
    }

    #[test]
    fn devices_can_be_named() {
        write("/dev/null".as_ref(), b"text", &[]).unwrap();
    }
}
