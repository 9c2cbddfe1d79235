//! Files of the workspace, for tests that check texts and need no build products.

use std::{fs, path::PathBuf};

/// Returns the root of the workspace.
pub fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.join("../..").canonicalize().unwrap()
}

/// Returns the workspace's files with this extension, sorted, without cargo's build products.
pub fn files(extension: &str) -> Vec<PathBuf> {
    let mut folders: Vec<_> = [
        "orchestrator",
        "agents",
        "perftest-wrappers",
        "reports",
        "scenarios",
        "vagrant",
    ]
    .map(|folder| root().join(folder))
    .into();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}
