//! Flows between network namespaces; these tests need root.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::Command,
    sync::mpsc::{Sender, channel},
    thread,
};

use lab_generators::contract::{Status, Tool};
use nix::{
    sched::{CloneFlags, unshare},
    unistd::{Uid, gettid},
};

use crate::bench::Bench;

/// Network namespace with a loopback interface; it exists until this value is dropped.
struct Namespace {
    path: PathBuf,
    _keep: Sender<()>,
}

impl Namespace {
    fn new() -> Self {
        let (ready, path) = channel();
        let (keep, dropped) = channel();
        thread::spawn(move || {
            unshare(CloneFlags::CLONE_NEWNET).unwrap();
            let up = Command::new("ip")
                .args(["link", "set", "lo", "up"])
                .status();
            assert!(up.unwrap().success());
            let path = format!("/proc/self/task/{}/ns/net", gettid());
            ready.send(PathBuf::from(path)).unwrap();
            // The namespace exists as long as this thread does.
            dropped.recv().ok()
        });
        let path = path.recv().unwrap();
        Self { path, _keep: keep }
    }
}

fn inode(path: &Path) -> u64 {
    fs::metadata(path).unwrap().ino()
}

#[tokio::test]
async fn both_ends_run_in_their_namespaces_and_connect_to_the_gate() {
    if !Uid::effective().is_root() {
        eprintln!("skipped: both_ends_run_in_their_namespaces_and_connect_to_the_gate: needs root");
        return;
    }
    let here = Namespace::new();
    let there = Namespace::new();
    let bench = Bench::new();
    let jobs = Tool::PERFTEST.into_iter().zip(0..).map(|(tool, flow)| {
        let mut job = bench.job(flow, tool, "good", "good");
        job.src.netns = Some(here.path.clone());
        job.dst.netns = Some(there.path.clone());
        job
    });
    let own = inode(Path::new("/proc/self/ns/net"));
    let (session, _events) = bench.prepare(jobs.collect()).await;
    let processes = bench.processes();
    let mut inside: Vec<u64> = processes
        .iter()
        .map(|process| inode(&process.join("ns/net")))
        .collect();
    inside.sort_unstable();
    let mut expected = [inode(&here.path); 6];
    expected[3..].fill(inode(&there.path));
    expected.sort_unstable();
    assert_eq!(inside, expected);
    assert_eq!(
        own,
        inode(Path::new("/proc/thread-self/ns/net")),
        "the caller keeps its namespace"
    );

    let rows = session
        .run(lab_generators::contract::MonotonicTime::now())
        .await
        .unwrap();
    for row in rows {
        assert!(matches!(row.status, Status::Finished(_)), "{}", row.status);
    }
}
