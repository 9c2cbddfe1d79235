//! Bringing files into the guest's memory before time matters.

use std::{
    fs,
    io::{self, Read},
    os::unix::fs::{MetadataExt, lchown, symlink},
    path::{Component, Path, PathBuf},
    process::Command,
};

use lab_units::Bytes;
use nix::{
    errno::Errno,
    mount::{MsFlags, mount},
};

use crate::inside::is_inside;

/// Brings every file of `paths` into the guest's memory, and every file below those that are
/// directories, and the shared libraries of those that are programs, with all links on the way.
///
/// Reading ahead would not do: over 9p the opening of a file, the following of a link and the listing
/// of a directory ask the host each time, whatever is cached, and in virtual time a wait for the host
/// lets the guest's clock leap. So files are copied up into the overlay, where they are the guest's
/// own, and directories, which the overlay would still list from both, are covered by a copy. What a program
/// loads by name while it runs must be named too, e.g. `/etc/libibverbs.d` and the providers'
/// directory for anything that speaks verbs. Whether something was forgotten is what
/// [`host_waits`](crate::inside::host_waits) tells.
///
/// Outside a guest it does nothing.
///
/// # Errors
///
/// Fails with the first file that cannot be brought, which is named.
pub fn preload<P: AsRef<Path>>(paths: &[P]) -> io::Result<Bytes> {
    if !is_inside() {
        return Ok(Bytes::ZERO);
    }
    let mut bytes = bring(Path::new(LOADER_CACHE))?;
    for path in paths.iter().map(AsRef::as_ref) {
        bytes = bytes + bring(path)?;
        cover_if_directory(path).map_err(named(path))?;
    }
    Ok(bytes)
}

/// Brings a file with all it needs, or a directory with all that is below.
fn bring(path: &Path) -> io::Result<Bytes> {
    let file = copy_up_links(path, MAX_LINKS).map_err(named(path))?;
    if file.is_dir() {
        let mut bytes = Bytes::ZERO;
        for entry in fs::read_dir(&file).map_err(named(path))? {
            bytes = bytes + bring(&entry.map_err(named(path))?.path())?;
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

/// Names the file in the error, which the bare one does not.
fn named(path: &Path) -> impl Fn(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("`{}`: {error}", path.display()))
}

/// Copies up the links a path leads through; what it leads to in the end.
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

/// Makes the overlay take a file or link over, by giving it the owner it has; its size.
fn copy_up(path: &Path) -> io::Result<Bytes> {
    let metadata = fs::symlink_metadata(path)?;
    lchown(path, Some(metadata.uid()), Some(metadata.gid()))?;
    Ok(Bytes::new(metadata.len()))
}

/// Covers a directory by a copy of itself in memory.
fn cover_if_directory(path: &Path) -> io::Result<()> {
    let dir = path.canonicalize()?;
    if !dir.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(COPIES)?;
    let number = fs::read_dir(COPIES)?.count();
    let copy = Path::new(COPIES).join(number.to_string());
    copy_tree(&dir, &copy)?;
    let (kind, flags, data) = (None::<&str>, MsFlags::MS_BIND, None::<&str>);
    mount(Some(&copy), &dir, kind, flags, data)?;
    Ok(())
}

/// Copies a directory's files, links and directories with their permissions; nothing else.
fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
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

/// The shared libraries of a program, as the dynamic loader finds them; none for a static one.
fn libraries(program: &Path) -> Vec<PathBuf> {
    Command::new(DYNAMIC_LOADER)
        .arg("--list")
        .arg(program)
        .output()
        .map(|output| parse_list(&String::from_utf8_lossy(&output.stdout)))
        .unwrap_or_default()
}

/// Takes the paths out of lines like `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f…)`.
fn parse_list(list: &str) -> Vec<PathBuf> {
    list.lines()
        .filter_map(|line| line.rsplit_once(" (")?.0.split("=>").last())
        .map(|path| PathBuf::from(path.trim()))
        .filter(|path| path.is_absolute())
        .collect()
}

/// Where the x86-64 ABI puts it; there are no guests of other machines.
const DYNAMIC_LOADER: &str = "/lib64/ld-linux-x86-64.so.2";

/// Every dynamic program reads it.
const LOADER_CACHE: &str = "/etc/ld.so.cache";

/// Where copies of directories are, in the guest's memory.
const COPIES: &str = "/run/lcmp-lab-guest/preloaded";

/// As many as the kernel follows.
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
    fn links_in_a_circle_are_an_error() {
        let dir = tempfile::tempdir().unwrap();
        symlink("b", dir.path().join("a")).unwrap();
        symlink("a", dir.path().join("b")).unwrap();
        let error = copy_up_links(&dir.path().join("a"), MAX_LINKS).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::ELOOP as i32));
    }

    #[test]
    fn a_copied_directory_has_its_files_links_and_permissions() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
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
    fn a_file_that_cannot_be_brought_is_named() {
        let error = bring(Path::new("/nonexistent/file")).unwrap_err();
        assert!(error.to_string().contains("`/nonexistent/file`"));
    }

    #[test]
    fn outside_a_guest_nothing_is_touched() {
        assert_eq!(preload(&["/nonexistent/file"]).unwrap(), Bytes::ZERO);
    }
}
