//! Reading files before time matters.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

/// Reads every file of `paths`, and every file below those that are directories, so that later
/// reads come from the guest's memory.
///
/// In virtual time a read that has to wait for the host lets the guest's clock leap.
///
/// # Errors
///
/// Fails with the first file that cannot be read.
pub fn preload<P: AsRef<Path>>(paths: &[P]) -> io::Result<u64> {
    let mut bytes = 0;
    for path in paths {
        bytes += read(path.as_ref())?;
    }
    Ok(bytes)
}

fn read(path: &Path) -> io::Result<u64> {
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("`{}`: {error}", path.display()));
    if path.is_dir() {
        let mut bytes = 0;
        for entry in fs::read_dir(path).map_err(named)? {
            bytes += read(&entry.map_err(named)?.path())?;
        }
        return Ok(bytes);
    }
    let mut file = File::open(path).map_err(named)?;
    io::copy(&mut file, &mut io::sink()).map_err(named)
}
