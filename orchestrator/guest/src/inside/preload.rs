//! Bringing files into the guest's memory before time matters.

use std::{
    fs,
    io::{self, Read},
    os::unix::fs::{MetadataExt, lchown},
    path::{Component, Path, PathBuf},
    process::Command,
};

use lab_units::Bytes;
use nix::errno::Errno;

use crate::inside::is_inside;

/// Brings every file of `paths` into the guest's memory, and every file below those that are
/// directories, and the shared libraries of those that are programs, with all links on the way.
///
/// Reading ahead would not do: over 9p the opening of a file and the following of a link ask the
/// host each time, whatever is cached, and in virtual time a wait for the host lets the guest's clock
/// leap. So the files are copied up into the overlay, where they are the guest's own. What a program
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
    for path in paths {
        bytes = bytes + bring(path.as_ref())?;
    }
    Ok(bytes)
}

/// Brings a file with all it needs, or a directory with all that is below.
fn bring(path: &Path) -> io::Result<Bytes> {
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("`{}`: {error}", path.display()));
    let file = copy_up_links(path, MAX_LINKS).map_err(named)?;
    let metadata = fs::metadata(&file).map_err(named)?;
    if metadata.is_dir() {
        let mut bytes = Bytes::ZERO;
        for entry in fs::read_dir(&file).map_err(named)? {
            bytes = bytes + bring(&entry.map_err(named)?.path())?;
        }
        return Ok(bytes);
    }
    copy_up(&file).map_err(named)?;
    let mut bytes = Bytes::new(metadata.len());
    if is_program(&file).map_err(named)? {
        for library in libraries(&file) {
            let library = copy_up_links(&library, MAX_LINKS).map_err(named)?;
            copy_up(&library).map_err(named)?;
            bytes = bytes + Bytes::new(fs::metadata(&library).map_err(named)?.len());
        }
    }
    Ok(bytes)
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

/// Makes the overlay take a file or link over, by giving it the owner it has.
fn copy_up(path: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(path)?;
    lchown(path, Some(metadata.uid()), Some(metadata.gid()))
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

/// As many as the kernel follows.
const MAX_LINKS: u32 = 40;

const ELF_MAGIC: &[u8] = b"\x7fELF";

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

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
    fn a_file_that_cannot_be_brought_is_named() {
        let error = bring(Path::new("/nonexistent/file")).unwrap_err();
        assert!(error.to_string().contains("`/nonexistent/file`"));
    }

    #[test]
    fn outside_a_guest_nothing_is_touched() {
        assert_eq!(preload(&["/nonexistent/file"]).unwrap(), Bytes::ZERO);
    }
}
