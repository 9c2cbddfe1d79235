//! Check that the compiled eBPF objects in the tree match their sources.

#![expect(clippy::print_stdout, reason = "a skipped test says so")]

use std::{fs, path::Path, process::Command};

/// Version of the compiler that built the objects in the tree.
///
/// Another patch level may order instructions differently, so that a comparison of the objects would be pointless.
const COMPILER: &str = "14.0.6";

#[test]
fn the_objects_in_the_tree_are_fresh() {
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
    let status = Command::new(source.join("build.sh"))
        .arg(directory.path())
        .status()
        .expect("build.sh runs");
    assert!(status.success(), "build.sh failed: {status}");
    for object in [
        "switch.bpf.o",
        "bench.bpf.o",
        "host.bpf.o",
        "examples/delay-only.bpf.o",
        "examples/two-choice.bpf.o",
    ] {
        let built = fs::read(directory.path().join(object)).expect("build.sh made it");
        let found = fs::read(source.join(object)).expect("it is in the tree");
        assert!(
            built == found,
            "agents/ebpf/{object} is stale (hint: agents/ebpf/build.sh)"
        );
    }
}
