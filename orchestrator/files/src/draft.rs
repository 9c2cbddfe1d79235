//! Atomic replacement of files in directories that other users may own.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    process,
};

/// Writes `bytes` to `path` atomically, so that a reader sees either the old file or the new one. A symbolic link at
/// `path` is replaced, not followed.
///
/// # Errors
/// If the file cannot be written; the old file then stays.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_with(path, |file| file.write_all(bytes))
}

/// Replaces the file at `path` as [`replace`] does, with the bytes that `write` writes.
///
/// # Errors
/// If the file cannot be written; the old file then stays.
pub fn replace_with(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let draft = beside(path);
    let written = create(&draft).and_then(|mut file| {
        write(&mut file)?;
        file.sync_all()?;
        fs::rename(&draft, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Returns the path of this process's draft of the file at `path`. Another process of this machine that writes the same
/// file has another draft.
#[must_use]
pub fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}{ENDING}", process::id()))
}

/// Returns true if `name` is that of a draft, which a killed process may have left.
#[must_use]
pub fn is_draft(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(ENDING)
}

/// Ending of the names of drafts.
const ENDING: &str = ".draft";

/// Creates the file at `draft`, after removing a file that a killed process may have left there. Does not follow a
/// symbolic link.
///
/// # Errors
/// If the old file cannot be removed, or the new file cannot be created.
pub fn create(draft: &Path) -> io::Result<File> {
    remove(draft)?;
    // The file is opened only for writing, because QEMU opens its console file a second time itself.
    File::options().write(true).create_new(true).open(draft)
}

/// Removes the file at `path`, if there is one.
///
/// # Errors
/// If it cannot be removed.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Creates the directory at `path` if it does not exist.
///
/// # Errors
/// If the directory cannot be created, or if it is a symbolic link, because files in it would then be written
/// elsewhere.
pub fn make_dir(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)?;
    if fs::symlink_metadata(path)?.is_dir() {
        Ok(())
    } else {
        Err(io::Error::new(
            io::ErrorKind::NotADirectory,
            "it is a symbolic link, which is not followed",
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_is_replaced_and_its_target_stays() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        let link = folder.path().join("link");
        fs::write(&target, "kept").unwrap();
        symlink(&target, &link).unwrap();
        symlink(&target, beside(&link)).unwrap();
        replace(&link, b"new").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "kept");
        assert_eq!(fs::read_to_string(&link).unwrap(), "new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_file_that_cannot_be_replaced_leaves_no_draft() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("directory");
        fs::create_dir(&path).unwrap();
        assert!(replace(&path, b"new").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_directory_is_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("a/b");
        let link = folder.path().join("link");
        make_dir(&dir).unwrap();
        make_dir(&dir).unwrap();
        symlink(&dir, &link).unwrap();
        assert!(make_dir(&link).is_err());
    }
}
