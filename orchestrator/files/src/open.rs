//! Opening and reading a regular file.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use rustix::fs::{OFlags, PROC_SUPER_MAGIC, fstatfs};

/// Treatment of a symbolic link that is the last component of a path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Links {
    /// Open the link's target; for files that are named on the command line.
    Follow,
    /// Reject the link; for files in a directory that another user may have written.
    Refuse,
}

/// Reason to reject a file, found as the inner error of an [`io::Error`].
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The path is a directory.
    #[error("it is a directory, not a file")]
    Directory,
    /// The path is a pipe, a socket or a device, which may never end.
    #[error("it is a pipe or a device, not a file")]
    Special,
    /// The path is a symbolic link.
    #[error("it is a symbolic link, which is not followed")]
    Link,
    /// The path leads through a symbolic link of a user whose links are not followed.
    #[error(
        "it leads through a symbolic link of user {uid}, which is not followed (hint: give the link's target)"
    )]
    LinkOfAnother { uid: u32 },
    /// The file belongs to the kernel, such as `/proc/kmsg`, and may never end.
    #[error("it is a kernel file such as those in `/proc`, not a file on a disk")]
    OfKernel,
    /// The file is larger than its limit.
    #[error("it has more than the allowed {max} bytes")]
    TooLarge {
        /// Maximum size in bytes.
        max: u64,
    },
}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        Self::new(io::ErrorKind::InvalidData, refusal)
    }
}

/// Opens the regular file at `path` for reading.
///
/// # Errors
/// If the file cannot be opened, or with a [`Refusal`] if it is not a regular file.
pub fn open(path: &Path, links: Links) -> io::Result<File> {
    // Opening a device may have side effects, so the type is checked first.
    check(&match links {
        Links::Follow => fs::metadata(path)?,
        Links::Refuse => fs::symlink_metadata(path)?,
    })?;
    // The path may have been replaced in the meantime, and opening a pipe would wait for its other end.
    let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    if links == Links::Refuse {
        flags |= OFlags::NOFOLLOW;
    }
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    check(&file.metadata()?)?;
    match fstatfs(&file)?.f_type {
        PROC_SUPER_MAGIC => Err(Refusal::OfKernel.into()),
        _ => Ok(file),
    }
}

/// Reads the regular file at `path`, which may have at most `max` bytes.
///
/// # Errors
/// If the file cannot be read, or with a [`Refusal`] if it is not a regular file or is larger.
pub fn read(path: &Path, links: Links, max: u64) -> io::Result<Vec<u8>> {
    let file = open(path, links)?;
    if file.metadata()?.len() > max {
        return Err(Refusal::TooLarge { max }.into());
    }
    // The file may grow while it is being read.
    let mut bytes = Vec::new();
    file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        Err(Refusal::TooLarge { max }.into())
    } else {
        Ok(bytes)
    }
}

/// Reads the regular file at `path` as UTF-8 text of at most `max` bytes.
///
/// # Errors
/// If the file cannot be read or is not UTF-8, or with a [`Refusal`] if it is not a regular file or is larger.
pub fn read_text(path: &Path, links: Links, max: u64) -> io::Result<String> {
    String::from_utf8(read(path, links, max)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Returns the error message for a file that cannot be read: its path, and the refusal or the I/O error.
#[must_use]
pub fn failed(path: &Path, error: &io::Error) -> String {
    let path = path.display();
    let inner = error.get_ref();
    match inner.and_then(|inner| inner.downcast_ref::<Refusal>()) {
        Some(refusal) => refusal.to_string().replacen("it", &format!("`{path}`"), 1),
        None => format!("cannot read `{path}`: {error}"),
    }
}

fn check(metadata: &Metadata) -> Result<(), Refusal> {
    let kind = metadata.file_type();
    match () {
        () if kind.is_file() => Ok(()),
        () if kind.is_dir() => Err(Refusal::Directory),
        () if kind.is_symlink() => Err(Refusal::Link),
        () => Err(Refusal::Special),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        os::unix::{fs::symlink, net::UnixListener},
        sync::mpsc,
        thread,
        time::Duration,
    };

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    /// Returns the result of reading `path` in a thread; fails if the read blocks.
    fn read_at_once(path: &Path, links: Links) -> io::Result<Vec<u8>> {
        let path = path.to_owned();
        let (result, read) = mpsc::channel();
        thread::spawn(move || result.send(super::read(&path, links, 100)));
        let read = read.recv_timeout(Duration::from_secs(60));
        read.expect("the read ends")
    }

    fn refusal(path: &Path, links: Links) -> Refusal {
        let error = read_at_once(path, links).unwrap_err();
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
        *inner.unwrap_or_else(|| panic!("{}: {error}", path.display()))
    }

    #[test]
    fn nothing_but_a_regular_file_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name| folder.path().join(name);
        mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        let _listener = UnixListener::bind(at("socket")).unwrap();
        for name in ["pipe", "socket"] {
            assert_eq!(
                refusal(&at(name), Links::Follow),
                Refusal::Special,
                "{name}"
            );
            assert_eq!(
                refusal(&at(name), Links::Refuse),
                Refusal::Special,
                "{name}"
            );
        }
        assert_eq!(refusal(folder.path(), Links::Follow), Refusal::Directory);
        for device in ["/dev/zero", "/dev/tty", "/dev/stdin"] {
            // Without a terminal, `/dev/tty` cannot be opened; standard input can be any kind of file.
            let error = read_at_once(device.as_ref(), Links::Follow);
            assert!(device == "/dev/stdin" || error.is_err(), "{device}");
        }
        assert_eq!(
            refusal("/dev/zero".as_ref(), Links::Follow),
            Refusal::Special
        );
        // This kernel file can be read by every user.
        let own = Path::new("/proc/self/status");
        assert_eq!(refusal(own, Links::Follow), Refusal::OfKernel);
    }

    #[test]
    fn a_link_is_followed_on_request_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let link = folder.path().join("link");
        fs::write(&file, "text").unwrap();
        symlink(&file, &link).unwrap();
        assert_eq!(read_text(&link, Links::Follow, 4).unwrap(), "text");
        assert_eq!(refusal(&link, Links::Refuse), Refusal::Link);
        assert_eq!(read_text(&file, Links::Refuse, 4).unwrap(), "text");
        let missing = read(&folder.path().join("none"), Links::Refuse, 4).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_file_over_its_bound_is_refused_before_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, Links::Follow, 5).unwrap(), b"12345");
        let error = read(&path, Links::Follow, 4).unwrap_err();
        assert_eq!(error.to_string(), "it has more than the allowed 4 bytes");
        // A sparse file of 1 TiB takes no disk space, but reading it would take 1 TiB of memory.
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert!(read(&path, Links::Follow, 1 << 20).is_err());
        let message = failed("a file".as_ref(), &error);
        assert!(
            message.starts_with("`a file` has more than the allowed 4 bytes"),
            "{message}"
        );
    }
}
