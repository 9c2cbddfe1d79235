//! The file system a guest starts from, made in memory.
//!
//! An uncompressed cpio archive in the "newc" format the kernel unpacks
//! (<https://github.com/torvalds/linux/blob/v6.1/Documentation/driver-api/early-userspace/buffer-format.rst>).
//! It is a few megabytes: copying them costs less than unpacking a compressed form.

use std::{
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use crate::{
    cache::Kernel,
    wire::{InnerRequest, REQUEST_FILE},
};

/// The whole initramfs: busybox, the boot modules, the init script and the request.
pub(crate) fn build(
    kernel: &Kernel,
    busybox: &Path,
    init_program: &Path,
    request: &InnerRequest,
) -> io::Result<Vec<u8>> {
    let mut archive = Archive::default();
    for dir in DIRS {
        archive.dir(dir);
    }
    archive.file("init", 0o755, INIT_SCRIPT.as_bytes())?;
    archive.file("bin/busybox", 0o755, &read(busybox)?)?;
    for (index, module) in kernel.boot_modules().iter().enumerate() {
        archive.file(&format!("modules/{index:02}.ko"), 0o644, &read(module)?)?;
    }
    let mut modules = PathBuf::from("/host");
    modules.extend(kernel.modules_root.strip_prefix("/"));
    archive.symlink("host-modules", &modules)?;
    archive.symlink("guest/init", init_program)?;
    let mut request = serde_json::to_vec(request)?;
    // Unpacking takes time by size, and time up to the drawing of random keys must not vary.
    request.resize(request.len().next_multiple_of(REQUEST_PADDING), b' ');
    archive.file(&format!("guest/{REQUEST_FILE}"), 0o600, &request)?;
    Ok(archive.finish())
}

/// An initramfs that only says over the second serial port that it runs.
pub(crate) fn build_trial(busybox: &Path) -> io::Result<Vec<u8>> {
    let mut archive = Archive::default();
    for dir in ["bin", "dev"] {
        archive.dir(dir);
    }
    archive.file("init", 0o755, TRIAL_SCRIPT.as_bytes())?;
    archive.file("bin/busybox", 0o755, &read(busybox)?)?;
    Ok(archive.finish())
}

/// What the trial's initramfs says.
pub(crate) const TRIAL_WORD: &str = "kvm-works";

/// Names the file in the error, which the bare one does not.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    fs::read(path)
        .map_err(|error| io::Error::new(error.kind(), format!("`{}`: {error}", path.display())))
}

/// A cpio archive in the making.
#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    inode: u32,
}

impl Archive {
    fn dir(&mut self, name: &str) {
        self.entry(name, S_IFDIR | 0o755, &[], 0);
    }

    fn file(&mut self, name: &str, mode: u32, data: &[u8]) -> io::Result<()> {
        let size = archive_size(data)?;
        self.entry(name, S_IFREG | mode, data, size);
        Ok(())
    }

    fn symlink(&mut self, name: &str, target: &Path) -> io::Result<()> {
        let target = target.as_os_str().as_bytes();
        let size = archive_size(target)?;
        self.entry(name, S_IFLNK | 0o777, target, size);
        Ok(())
    }

    fn entry(&mut self, name: &str, mode: u32, data: &[u8], size: u32) {
        self.inode += 1;
        // Inode, mode, uid, gid, links, mtime, size, device (2), special device (2), length of the
        // name with its NUL, checksum (unused in this format).
        let name_size = u32::try_from(name.len() + 1).expect("names are ours and short");
        let links = 1;
        let fields = [
            self.inode, mode, 0, 0, links, 0, size, 0, 0, 0, 0, name_size, 0,
        ];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes
                .extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(data);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[], 0);
        self.bytes
    }
}

fn archive_size(data: &[u8]) -> io::Result<u32> {
    u32::try_from(data.len()).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))
}

/// More than two runs of one scenario differ in, which is the name of the run directory.
const REQUEST_PADDING: usize = 16 << 10;

const S_IFDIR: u32 = 0o040_000;
const S_IFREG: u32 = 0o100_000;
const S_IFLNK: u32 = 0o120_000;

/// Directories of the archive, parents first.
const DIRS: &[&str] = &[
    "bin", "dev", "guest", "host", "modules", "overlay", "proc", "root", "sys",
];

/// Constants only: nothing of a request's is in the script's text.
const INIT_SCRIPT: &str = include_str!("init.sh");

const TRIAL_SCRIPT: &str = include_str!("trial.sh");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_the_newc_header_and_are_padded_to_four_bytes() {
        let mut archive = Archive::default();
        archive.file("abc", 0o644, b"hello").unwrap();
        let bytes = archive.finish();
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert!(text.starts_with("07070100000001000081a4"));
        // 110 bytes of header and 4 of name leave 2 of padding, then 5 of data leave 3.
        assert_eq!(&bytes[110..114], b"abc\0");
        assert_eq!(&bytes[116..124], b"hello\0\0\0");
        assert_eq!(&bytes[124..130], b"070701");
        assert_eq!(bytes.len() % 4, 0);
    }

    #[test]
    fn the_trial_says_the_word_it_is_asked_for() {
        assert!(TRIAL_SCRIPT.contains(TRIAL_WORD));
    }

    #[test]
    fn a_link_keeps_any_path() {
        let mut archive = Archive::default();
        archive.symlink("l", Path::new("/a b/$(c)\n,d")).unwrap();
        let text = String::from_utf8(archive.finish()).unwrap();
        assert!(text.contains("/a b/$(c)\n,d"));
    }
}
