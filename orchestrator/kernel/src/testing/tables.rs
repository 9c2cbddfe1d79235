//! Lookup of the CSV tables in a run directory.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Returns the paths of the CSV tables in `directory`, sorted by name.
pub(crate) fn tables(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("a run's folder");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|it| it == "csv"));
    paths.sort();
    paths
}
