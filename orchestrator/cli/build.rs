//! Tells the program which commit it is built from.

use std::{fs, path::Path, process::Command};

fn main() {
    println!("cargo:rustc-env=LCMP_LAB_COMMIT={}", commit());
    // Sources decide whether the commit is the whole truth; the logs change with every commit.
    if let Some(log) = git(&[
        "rev-parse",
        "--path-format=absolute",
        "--git-path",
        "logs/HEAD",
    ]) {
        println!("cargo:rerun-if-changed={log}");
    }
    for folder in FOLDERS {
        let sources = |path: &Path| {
            println!("cargo:rerun-if-changed={}", path.join("src").display());
        };
        sources(Path::new(folder));
        let inner = fs::read_dir(folder).into_iter().flatten().flatten();
        inner
            .map(|entry| entry.path())
            .filter(|path| path.join("src").is_dir())
            .for_each(|path| sources(&path));
    }
}

/// Returns the commit, with `+changes` if files differ from it; `unknown` outside a repository.
fn commit() -> String {
    let described = git(&[
        "describe",
        "--always",
        "--exclude=*",
        "--abbrev=12",
        "--dirty=+changes",
    ]);
    described.unwrap_or_else(|| "unknown".to_owned())
}

/// Returns the first line that git prints; none if git fails or is not installed.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .arg("--no-optional-locks")
        .args(arguments)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.lines().next()?.trim();
    (output.status.success() && !line.is_empty()).then(|| line.to_owned())
}

/// Folders with the sources of the workspace.
const FOLDERS: [&str; 4] = [
    "..",
    "../../agents",
    "../../perftest-wrappers",
    "../../reports",
];
