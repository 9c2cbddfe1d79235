//! Reading files before time matters.

use std::{
    fs::{self, File},
    io::{self, Read, Seek},
    path::{Path, PathBuf},
    process::Command,
};

use lab_units::Bytes;

/// Reads every file of `paths`, every file below those that are directories, and the shared
/// libraries of those that are programs, so that later reads come from the guest's memory.
///
/// In virtual time a read that has to wait for the host lets the guest's clock leap. What a program
/// loads by name while it runs must be named too, e.g. `/etc/libibverbs.d` and the providers'
/// directory for anything that speaks verbs.
///
/// # Errors
///
/// Fails with the first file that cannot be read.
pub fn preload<P: AsRef<Path>>(paths: &[P]) -> io::Result<Bytes> {
    let mut bytes = Bytes::ZERO;
    for path in paths {
        bytes = bytes + read(path.as_ref())?;
    }
    Ok(bytes)
}

fn read(path: &Path) -> io::Result<Bytes> {
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("`{}`: {error}", path.display()));
    if path.is_dir() {
        let mut below = Vec::new();
        for entry in fs::read_dir(path).map_err(named)? {
            below.push(entry.map_err(named)?.path());
        }
        return preload(&below);
    }
    let mut file = File::open(path).map_err(named)?;
    let mut magic = [0; ELF_MAGIC.len()];
    let is_program = file.read_exact(&mut magic).is_ok() && magic == ELF_MAGIC;
    file.rewind().map_err(named)?;
    let mut bytes = Bytes::new(io::copy(&mut file, &mut io::sink()).map_err(named)?);
    if is_program {
        for library in libraries(path) {
            let mut library = File::open(library)?;
            bytes = bytes + Bytes::new(io::copy(&mut library, &mut io::sink())?);
        }
    }
    Ok(bytes)
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

const ELF_MAGIC: [u8; 4] = *b"\x7fELF";

#[cfg(test)]
mod tests {
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
    fn a_program_is_read_with_its_libraries_and_a_directory_with_its_files() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a"), [0; 1000]).unwrap();
        fs::write(dir.path().join("b"), [0; 500]).unwrap();
        assert_eq!(preload(&[dir.path()]).unwrap(), Bytes::new(1500));
        let program = std::env::current_exe().unwrap();
        let size = fs::metadata(&program).unwrap().len();
        assert!(preload(&[program]).unwrap() > Bytes::new(size));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let error = preload(&["/nonexistent/file"]).unwrap_err();
        assert!(error.to_string().contains("`/nonexistent/file`"));
    }
}
