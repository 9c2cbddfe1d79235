//! Opening a file for appending.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use rustix::fs::OFlags;

use crate::Refusal;

/// Opens the regular file at `path` for appending, or creates it. Does not follow a symbolic link, and does not wait
/// for the other end of a pipe.
///
/// # Errors
/// If the file cannot be opened or created, or with a [`Refusal`] if it is not a regular file.
pub fn append(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new()
        .append(true)
        .create(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(Refusal::Special.into())
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn a_file_grows_and_a_links_target_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let link = folder.path().join("link");
        for _ in 0..2 {
            append(&file).unwrap().write_all(b"row\n").unwrap();
        }
        symlink(&file, &link).unwrap();
        assert!(append(&link).is_err());
        assert!(append("/dev/null".as_ref()).is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), "row\nrow\n");
    }
}
