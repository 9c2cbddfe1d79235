//! The object in the tree is what its source compiles to.

#![expect(clippy::print_stdout, reason = "a skipped test says so")]

use std::{fs, path::Path, process::Command};

/// The compiler the object in the tree was built with.
///
/// Another patch level may order instructions otherwise, so that a difference would say nothing.
const COMPILER: &str = "14.0.6";

#[test]
fn the_object_in_the_tree_is_fresh() {
    let version = Command::new("clang-14").arg("--version").output();
    match version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()) {
        Err(error) => {
            println!("skipped: object: clang-14: {error}");
            return;
        }
        Ok(version) if !version.contains(COMPILER) => {
            let line = version.lines().next().unwrap_or_default();
            println!("skipped: object: `{line}` is not clang {COMPILER}");
            return;
        }
        Ok(_) => {}
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ebpf");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let built = directory.path().join("switch.bpf.o");
    let status = Command::new(source.join("build.sh"))
        .arg(&built)
        .status()
        .expect("build.sh runs");
    assert!(status.success(), "build.sh failed: {status}");
    let built = fs::read(built).expect("build.sh made an object");
    let found = fs::read(source.join("switch.bpf.o")).expect("there is an object in the tree");
    assert!(
        built == found,
        "agents/ebpf/switch.bpf.o is stale (hint: agents/ebpf/build.sh)"
    );
}
