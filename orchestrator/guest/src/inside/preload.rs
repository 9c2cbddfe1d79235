//! Copying of files into the guest's memory before a measurement.

use std::{
    fs,
    io::{self, Read},
    os::unix::{
        fs::{MetadataExt, lchown, symlink},
        process::CommandExt,
    },
    path::{Component, Path, PathBuf},
    process::Command,
};

use lab_units::Bytes;
use nix::{
    errno::Errno,
    mount::{MsFlags, mount},
};

use crate::inside::is_inside;

/// Copies files into the guest's memory: `paths`, including all files below directories, the shared libraries of
/// programs, and all symbolic links along the paths. Returns the total size of the files.
///
/// Reading ahead is not enough: over 9p, opening a file, following a link and listing a directory each ask the host
/// even if the data is cached, and the virtual clock jumps at each wait for the host. Files are therefore copied up
/// into the overlay. A copy is mounted over each directory, because the overlay would still list the directory from the
/// host. Files that a program opens at run time must be listed too, e.g. `/etc/libibverbs.d` and the providers'
/// directory for programs that use verbs. [`host_waits`](crate::inside::host_waits) shows if a file is missing.
///
/// Outside a guest this function does nothing.
/// Fails if a file cannot be copied; the error includes the file's name.
pub fn preload<P: AsRef<Path>>(paths: &[P]) -> io::Result<Bytes> {
    if !is_inside() {
        return Ok(Bytes::ZERO);
    }
    let mut bytes = load(Path::new(LOADER_CACHE))?;
    for path in paths.iter().map(AsRef::as_ref) {
        bytes = bytes + load(path)?;
        cover_if_directory(path).map_err(named(path))?;
    }
    Ok(bytes)
}

/// Copies up a file and its libraries, or a directory and all files below it; returns the total size.
fn load(path: &Path) -> io::Result<Bytes> {
    let file = copy_up_links(path, MAX_LINKS).map_err(named(path))?;
    if file.is_dir() {
        let mut bytes = Bytes::ZERO;
        for entry in fs::read_dir(&file).map_err(named(path))? {
            bytes = bytes + load(&entry.map_err(named(path))?.path())?;
        }
        return Ok(bytes);
    }
    let mut bytes = copy_up(&file).map_err(named(path))?;
    if is_program(&file).map_err(named(path))? {
        for library in libraries(&file) {
            let library = copy_up_links(&library, MAX_LINKS).map_err(named(&library))?;
            bytes = bytes + copy_up(&library).map_err(named(&library))?;
        }
    }
    Ok(bytes)
}

/// Returns a function that adds the file's name to an error.
fn named(path: &Path) -> impl Fn(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("`{}`: {error}", path.display()))
}

/// Copies up the symbolic links in a path and returns the file that the path resolves to.
fn copy_up_links(path: &Path, links_left: u32) -> io::Result<PathBuf> {
    let mut reached = PathBuf::new();
    let mut components = path.components();
    while let Some(component) = components.next() {
        match component {
            Component::ParentDir => {
                reached.pop();
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) | Component::Normal(_) => {
                reached.push(component);
            }
        }
        if !fs::symlink_metadata(&reached)?.is_symlink() {
            continue;
        }
        if links_left == 0 {
            return Err(Errno::ELOOP.into());
        }
        copy_up(&reached)?;
        let target = fs::read_link(&reached)?;
        reached.pop();
        let rest = reached.join(target).join(components.as_path());
        return copy_up_links(&rest, links_left - 1);
    }
    Ok(reached)
}

/// Copies up a file or link into the overlay, by setting its owner to the current owner; returns its size.
fn copy_up(path: &Path) -> io::Result<Bytes> {
    let metadata = fs::symlink_metadata(path)?;
    lchown(path, Some(metadata.uid()), Some(metadata.gid()))?;
    Ok(Bytes::new(metadata.len()))
}

/// Mounts an in-memory copy of a directory over the directory; does nothing for other files.
fn cover_if_directory(path: &Path) -> io::Result<()> {
    let dir = path.canonicalize()?;
    if !dir.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(COPIES)?;
    let number = fs::read_dir(COPIES)?.count();
    let copy = Path::new(COPIES).join(number.to_string());
    copy_tree(&dir, &copy)?;
    let none = None::<&str>;
    mount(Some(&copy), &dir, none, MsFlags::MS_BIND, none)?;
    Ok(())
}

/// Copies the files, links and subdirectories of a directory with their permissions; ignores files of other types.
fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let source = entry.path();
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_tree(&source, &target)?;
        } else if kind.is_symlink() {
            symlink(fs::read_link(&source)?, &target)?;
        } else if kind.is_file() {
            fs::copy(&source, &target)?;
        }
    }
    fs::set_permissions(to, fs::metadata(from)?.permissions())
}

fn is_program(file: &Path) -> io::Result<bool> {
    let mut head = Vec::new();
    let size = u64::try_from(ELF_MAGIC.len()).map_err(io::Error::other)?;
    fs::File::open(file)?.take(size).read_to_end(&mut head)?;
    Ok(head == ELF_MAGIC)
}

/// Returns the shared libraries of a program, as found by the dynamic loader; empty for a static program.
fn libraries(program: &Path) -> Vec<PathBuf> {
    let list = Command::new(DYNAMIC_LOADER)
        .arg("--list")
        .arg(program)
        .process_group(0)
        .output();
    list.map(|output| parse_list(&String::from_utf8_lossy(&output.stdout)))
        .unwrap_or_default()
}

/// Returns the paths in lines like `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f…)`.
fn parse_list(list: &str) -> Vec<PathBuf> {
    list.lines()
        .filter_map(|line| line.rsplit_once(" (")?.0.split("=>").last())
        .map(|path| PathBuf::from(path.trim()))
        .filter(|path| path.is_absolute())
        .collect()
}

/// Path of the dynamic loader in the x86-64 ABI, the only architecture of guests.
const DYNAMIC_LOADER: &str = "/lib64/ld-linux-x86-64.so.2";

/// Path of the dynamic loader's cache, which is read at the start of every dynamically linked program.
const LOADER_CACHE: &str = "/etc/ld.so.cache";

/// Directory in the guest's memory that holds copies of directories.
const COPIES: &str = "/run/lcmp-lab-guest/preloaded";

/// Maximum number of symbolic links on a path, as in Linux.
const MAX_LINKS: u32 = 40;

const ELF_MAGIC: &[u8] = b"\x7fELF";

#[cfg(test)]
mod tests {
    use std::{fs::Permissions, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn libraries_are_the_absolute_paths_of_the_list() {
        let list = "\tlinux-vdso.so.1 (0x00007ffd)\n\
                    \tlibc.so.6 => /lib/x/libc.so.6 (0x00007f01)\n\
                    \tlibgone.so => not found\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f02)\n";
        let libraries = parse_list(list);
        let expected = ["/lib/x/libc.so.6", "/lib64/ld-linux-x86-64.so.2"];
        assert_eq!(libraries, expected.map(PathBuf::from));
    }

    #[test]
    fn links_are_followed_to_the_end_in_every_component() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("usr/lib")).unwrap();
        fs::write(root.join("usr/lib/a.so.1"), "").unwrap();
        symlink("usr/lib", root.join("lib")).unwrap();
        symlink("../lib/a.so.1", root.join("usr/lib/a.so")).unwrap();
        let reached = copy_up_links(&root.join("lib/a.so"), MAX_LINKS).unwrap();
        assert_eq!(reached, root.join("usr/lib/a.so.1"));
    }

    #[test]
    fn a_loop_of_links_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        symlink("b", dir.path().join("a")).unwrap();
        symlink("a", dir.path().join("b")).unwrap();
        let error = copy_up_links(&dir.path().join("a"), MAX_LINKS).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::ELOOP as i32));
    }

    #[test]
    fn a_copied_directory_has_its_files_links_and_permissions() {
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path().join("from");
        let to = dir.path().join("to");
        fs::create_dir_all(from.join("below")).unwrap();
        fs::write(from.join("below/file"), "text").unwrap();
        fs::set_permissions(from.join("below/file"), Permissions::from_mode(0o750)).unwrap();
        symlink("below/file", from.join("link")).unwrap();
        copy_tree(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("link")).unwrap(), "text");
        assert!(fs::symlink_metadata(to.join("link")).unwrap().is_symlink());
        let mode = fs::metadata(to.join("below/file")).unwrap().mode();
        assert_eq!(mode & 0o777, 0o750);
    }

    #[test]
    fn a_file_that_cannot_be_copied_is_named() {
        let error = load(Path::new("/nonexistent/file")).unwrap_err();
        assert!(error.to_string().contains("`/nonexistent/file`"));
    }

    #[test]
    fn outside_a_guest_nothing_is_touched() {
        assert_eq!(preload(&["/nonexistent/file"]).unwrap(), Bytes::ZERO);
    }
}
