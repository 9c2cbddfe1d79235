//! Tells the program which commit it is built from, and gives it the scenarios.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

fn main() {
    embed(Path::new(SCENARIOS));
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
    for path in BESIDE_SOURCES {
        println!("cargo:rerun-if-changed={path}");
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

/// Writes the array of embedded files that `src/builtin.rs` includes: path in the repository and contents of each file.
///
/// The array does not contain the clone's path, because its length would shift the source positions after it, some of
/// which the compiler writes to the program.
fn embed(folder: &Path) {
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut rows = String::from("&[\n");
    for file in files(folder) {
        let path = file.strip_prefix("../..").expect("it is in the repository");
        rows += &format!(
            "({path:?}, include_bytes!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/\", {file:?}))),\n"
        );
    }
    let list = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("scenarios.rs");
    fs::write(list, rows + "]").expect("cargo's directory is writable");
}

/// Returns the files to embed from a folder and its subfolders (YAML, CSV, JSON, Markdown), sorted; a folder's own
/// files precede those in its subfolders.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort_by_key(|path| (path.is_dir(), path.clone()));
    let is_embedded = |path: &Path| {
        let extension = path.extension().and_then(|it| it.to_str());
        matches!(extension, Some("yaml" | "csv" | "json" | "md"))
    };
    let found = paths.into_iter().flat_map(|path| {
        if path.is_dir() {
            files(&path)
        } else {
            vec![path]
        }
    });
    found.filter(|path| is_embedded(path)).collect()
}

/// Returns the commit, with `+changes` if files differ from it; `unknown` outside a repository.
fn commit() -> String {
    git(&[
        "describe",
        "--always",
        "--exclude=*",
        "--abbrev=12",
        "--dirty=+changes",
    ])
    .unwrap_or_else(|| "unknown".to_owned())
}

/// Returns the first line that git prints; `None` if git fails, prints nothing or is not installed.
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

const SCENARIOS: &str = "../../scenarios";

/// Files beside the sources that the program is built from.
const BESIDE_SOURCES: [&str; 3] = ["../../Cargo.toml", "../../Cargo.lock", "../topologies/data"];

/// Folders with the sources of the workspace.
const FOLDERS: [&str; 4] = [
    "..",
    "../../agents",
    "../../perftest-wrappers",
    "../../reports",
];
