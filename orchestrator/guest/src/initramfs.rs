//! Initramfs of a guest: an uncompressed cpio archive in the "newc" format
//! (<https://github.com/torvalds/linux/blob/v6.1/Documentation/driver-api/early-userspace/buffer-format.rst>).
//!
//! The archive has a few megabytes, which the kernel copies faster than it would decompress them.

use std::{
    fs,
    io::{self, Write},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use cpio::newc::{Builder, ModeFileType};

use crate::{
    cache::Kernel,
    wire::{InnerRequest, REQUEST_FILE},
};

/// Returns the initramfs of a guest, which contains busybox, the boot modules, the init program and the request.
pub(crate) fn build(
    kernel: &Kernel,
    busybox: &Path,
    init_program: &Path,
    request: &InnerRequest,
) -> io::Result<Vec<u8>> {
    let mut archive = Archive::default();
    for dir in DIRS {
        archive.dir(dir)?;
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
    // The time to unpack the archive depends on its size, and must not vary, because random keys are drawn at the end.
    request.resize(request.len().next_multiple_of(REQUEST_PADDING), b' ');
    archive.file(&format!("guest/{REQUEST_FILE}"), 0o600, &request)?;
    archive.finish()
}

/// Returns the initramfs of a trial boot, whose only program writes [`TRIAL_MARKER`] to the second serial port.
pub(crate) fn build_trial(busybox: &Path) -> io::Result<Vec<u8>> {
    let mut archive = Archive::default();
    for dir in ["bin", "dev"] {
        archive.dir(dir)?;
    }
    archive.file("init", 0o755, TRIAL_SCRIPT.as_bytes())?;
    archive.file("bin/busybox", 0o755, &read(busybox)?)?;
    archive.finish()
}

/// Text with which the first program of a trial boot shows that it runs.
pub(crate) const TRIAL_MARKER: &str = "kvm-works";

/// Reads a file; adds the path to an error.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    fs::read(path)
        .map_err(|error| io::Error::new(error.kind(), format!("`{}`: {error}", path.display())))
}

/// Builder of a cpio archive; it numbers the entries.
#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    inode: u32,
}

impl Archive {
    fn dir(&mut self, name: &str) -> io::Result<()> {
        self.entry(name, ModeFileType::Directory, 0o755, &[])
    }

    fn file(&mut self, name: &str, mode: u32, data: &[u8]) -> io::Result<()> {
        self.entry(name, ModeFileType::Regular, mode, data)
    }

    fn symlink(&mut self, name: &str, target: &Path) -> io::Result<()> {
        let target = target.as_os_str().as_bytes();
        self.entry(name, ModeFileType::Symlink, 0o777, target)
    }

    fn entry(&mut self, name: &str, kind: ModeFileType, mode: u32, data: &[u8]) -> io::Result<()> {
        let entry = Builder::new(name).mode(mode).set_mode_file_type(kind);
        self.append(entry, data)
    }

    fn append(&mut self, entry: Builder, data: &[u8]) -> io::Result<()> {
        let size = u32::try_from(data.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        self.inode += 1;
        let mut writer = entry.ino(self.inode).write(&mut self.bytes, size);
        writer.write_all(data)?;
        writer.finish().map(drop)
    }

    fn finish(mut self) -> io::Result<Vec<u8>> {
        self.append(Builder::new("TRAILER!!!"), &[])?;
        Ok(self.bytes)
    }
}

/// Multiple in bytes to which the request's size is padded, so that two runs of a scenario, which differ only in the
/// name of the run directory, boot from equally large archives.
const REQUEST_PADDING: usize = 16 << 10;

/// Directories in the archive, parents first.
const DIRS: &[&str] = &[
    "bin", "dev", "guest", "host", "modules", "overlay", "proc", "root", "sys",
];

/// Init script. It contains only constants, nothing from a request.
const INIT_SCRIPT: &str = include_str!("init.sh");

const TRIAL_SCRIPT: &str = include_str!("trial.sh");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_in_the_newc_format() {
        let mut archive = Archive::default();
        archive.dir("dev").unwrap();
        archive.file("abc", 0o644, b"hello").unwrap();
        let target = Path::new("/a b/$(c)\n,d");
        archive.symlink("link", target).unwrap();
        let bytes = archive.finish().unwrap();
        assert_eq!(bytes.len() % 4, 0);
        let mut rest = bytes.as_slice();
        for (inode, name, mode, data) in [
            (1, "dev", 0o040_755, b"".as_slice()),
            (2, "abc", 0o100_644, b"hello"),
            (3, "link", 0o120_777, target.as_os_str().as_bytes()),
            (4, "TRAILER!!!", 0, b""),
        ] {
            let header = format!("070701{inode:08x}{mode:08x}{:016x}{:08x}", 0, 1);
            assert!(rest.starts_with(header.as_bytes()), "{name}");
            // A header has 110 bytes; the name, with its NUL, and the data are padded to four bytes.
            let (head, after) = rest.split_at((110 + name.len() + 1).next_multiple_of(4));
            assert_eq!(&head[110..110 + name.len()], name.as_bytes());
            assert!(after.starts_with(data), "{name}");
            rest = &after[data.len().next_multiple_of(4)..];
        }
        assert!(rest.is_empty());
    }

    #[test]
    fn the_trial_script_writes_the_marker() {
        assert!(TRIAL_SCRIPT.contains(TRIAL_MARKER));
    }
}
