//! On this machine, whatever it has: what is found missing is what `ip`, `tc` and `rdma` cannot make
//! either.
#![expect(
    clippy::print_stdout,
    reason = "what is skipped is counted, what is found is looked at"
)]

use std::{
    collections::BTreeSet,
    process::{Command, Stdio},
    sync::Mutex,
};

use super::{Level, doctor, missing_here, probe_host_placement, programs, scratch};
use crate::{
    exec::Space,
    lower::HostPlacement,
    netlink::{Socket, dump, rdma},
};

/// RDMA devices are the whole machine's: one test at a time, so that what a test sees is its own
/// doing.
static MACHINE: Mutex<()> = Mutex::new(());

#[test]
fn what_is_missing_is_what_the_programs_cannot_make_either() {
    let _machine = MACHINE.lock();
    if let Some(reason) = cannot_compare() {
        return skipped(
            "what_is_missing_is_what_the_programs_cannot_make_either",
            &reason,
        );
    }
    let missing = missing_here();
    let names: BTreeSet<&str> = missing
        .iter()
        .map(|finding| finding.subject.as_str())
        .collect();
    let all: BTreeSet<&str> = BY_PROGRAM.iter().map(|trial| trial.0).collect();
    let by_program = BY_PROGRAM
        .iter()
        .filter(|(_, script)| !in_a_namespace(script));
    let by_program: BTreeSet<&str> = by_program.map(|trial| trial.0).collect();
    let compared: BTreeSet<&str> = names.intersection(&all).copied().collect();
    println!("missing here: {names:?}");
    assert_eq!(compared, by_program);
    assert!(
        missing
            .iter()
            .all(|finding| finding.level == Level::Fail && finding.mend.is_some())
    );
}

#[test]
fn nothing_is_left_of_what_was_tried() {
    let _machine = MACHINE.lock();
    if !nix::unistd::geteuid().is_root() {
        return skipped("nothing_is_left_of_what_was_tried", "it needs root");
    }
    let (before, placement, after) = alone(|| {
        let before = machine();
        let _ = missing_here();
        // Fails where there is no SoftRoCE, after it made namespaces and interfaces.
        let placement = probe_host_placement();
        (before, placement, machine())
    });
    println!("hosts: {placement:?}");
    assert_eq!(after, before);
}

#[test]
fn softroce_of_older_kernels_sends_from_the_root_namespace_only() {
    let _machine = MACHINE.lock();
    let name = "softroce_of_older_kernels_sends_from_the_root_namespace_only";
    if !missing_here().is_empty() {
        return skipped(name, "this kernel cannot run a lab");
    }
    let release = nix::sys::utsname::uname().unwrap();
    let release = release.release().to_str().unwrap();
    let mut numbers = release
        .split(['.', '-'])
        .map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap(), numbers.next().unwrap());
    if version > (6, 12) {
        return skipped(name, &format!("Linux {release} may do either"));
    }
    assert_eq!(
        probe_host_placement().unwrap(),
        HostPlacement::RootNamespace
    );
}

#[test]
fn every_finding_that_is_not_well_says_what_it_is_about_and_why() {
    let _machine = MACHINE.lock();
    let results = tempfile::tempdir().unwrap();
    let findings = doctor(results.path());
    for finding in &findings {
        println!("{finding}");
        assert!(!finding.subject.is_empty() && !finding.what.is_empty() && !finding.why.is_empty());
    }
    let subjects: BTreeSet<_> = findings.iter().map(|finding| &finding.subject).collect();
    assert_eq!(subjects.len(), findings.len(), "a subject is there twice");
}

/// Commands that make one of a feature, each in a namespace that has the interfaces `pa` and `pb`.
const BY_PROGRAM: [(&str, &[&str]); 6] = [
    ("veth", &[]),
    (
        "tbf",
        &["tc qdisc add dev pa root tbf rate 1mbit burst 10kb limit 10kb"],
    ),
    (
        "red",
        &["tc qdisc add dev pa root red limit 100000 avpkt 1000 bandwidth 1mbit"],
    ),
    ("netem", &["tc qdisc add dev pa root netem delay 1ms"]),
    ("clsact", &["tc qdisc add dev pa clsact"]),
    (
        "mirred",
        &[
            "tc qdisc add dev pa clsact",
            "tc filter add dev pa ingress protocol all u32 match u32 0 0 \
             action mirred egress redirect dev pb",
        ],
    ),
];

/// Whether all commands of a script succeed in a new namespace. The words are this file's own.
fn in_a_namespace(script: &[&str]) -> bool {
    let make = "ip link add pa type veth peer name pb";
    let script = [&[make], script].concat().join(" && ");
    let status = Command::new("unshare")
        .args(["--net", "sh", "-c", &script])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.unwrap().success()
}

fn cannot_compare() -> Option<String> {
    if !nix::unistd::geteuid().is_root() {
        return Some("it needs root".to_owned());
    }
    let missing = ["ip", "tc", "unshare"]
        .into_iter()
        .find(|name| programs::find(name).is_none());
    missing.map(|name| format!("`{name}` is not installed"))
}

/// Does `work` where nobody else makes interfaces and names namespaces.
fn alone<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let done = scratch::on_thread(|| {
        scratch::alone()?;
        Ok(work())
    });
    done.unwrap()
}

/// Interfaces, files of `/run`, and RDMA devices of this process.
fn machine() -> [Vec<String>; 3] {
    let links = dump::links(&mut Space::root().unwrap().socket).unwrap();
    let files = std::fs::read_dir("/run").unwrap();
    // Without the RDMA subsystem there is no device.
    let devices = Socket::rdma().map(|mut socket| rdma::devices(&mut socket).unwrap());
    let devices = devices
        .unwrap_or_default()
        .into_iter()
        .map(|device| device.name);
    let own = format!("lcmp-doctor-{}-", std::process::id());
    [
        links.into_iter().map(|link| link.name).collect(),
        files
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect(),
        devices.filter(|name| name.starts_with(&own)).collect(),
    ]
}

fn skipped(name: &str, reason: &str) {
    println!("skipped: {name}: {reason}");
}
