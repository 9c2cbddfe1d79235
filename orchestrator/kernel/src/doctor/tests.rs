//! Checks of this machine, compared with what `ip`, `tc` and `unshare` can create.
#![expect(clippy::print_stdout, reason = "findings are printed for a person")]

use std::{
    collections::BTreeSet,
    process::{Command, Stdio},
    sync::Mutex,
};

use lab_plan::Plan;

use super::{
    Level, everywhere, feature::Feature, here, missing_here, probe_host_placement, sandbox,
};
use crate::{
    exec::NetnsHandle,
    lower::{HostPlacement, LowerOptions, lower},
    netlink::{Socket, dump, rdma},
    testing::{self, skipped},
};

/// RDMA devices are machine-wide: one test at a time, so that each sees only its own.
static MACHINE: Mutex<()> = Mutex::new(());

#[test]
fn missing_features_are_those_that_the_programs_cannot_create_either() {
    let _machine = MACHINE.lock();
    if let Some(reason) = cannot_compare() {
        return skipped(&reason);
    }
    let missing = missing_here();
    let subjects = missing.iter().map(|finding| finding.subject.as_str());
    let subjects: BTreeSet<&str> = subjects.collect();
    let all: BTreeSet<&str> = BY_PROGRAM.iter().map(|trial| trial.0).collect();
    let failed = BY_PROGRAM
        .iter()
        .filter(|(_, script)| !succeeds_in_a_namespace(script));
    let failed: BTreeSet<&str> = failed.map(|trial| trial.0).collect();
    println!("missing here: {subjects:?}");
    let compared: BTreeSet<&str> = subjects.intersection(&all).copied().collect();
    assert_eq!(compared, failed);
    for finding in &missing {
        assert!(
            finding.level == Level::Fail && finding.fix.is_some(),
            "{finding}"
        );
    }
}

#[test]
fn a_two_host_lab_needs_every_feature_that_other_labs_need() {
    let wire = testing::marking(testing::wire("100 Mbit", "5 ms", "620 kB"));
    let options = sandbox::options("t".parse().unwrap());
    let features = |plan: &Plan, hosts| -> BTreeSet<Feature> {
        let options = LowerOptions {
            hosts,
            ..options.clone()
        };
        lower(plan, &options)
            .iter()
            .filter_map(Feature::of)
            .collect()
    };
    let mut tried = features(&sandbox::plan(0), HostPlacement::OwnNamespace);
    for plan in [testing::pair_over(0, wire), testing::fabrics(0)] {
        for hosts in [HostPlacement::RootNamespace, HostPlacement::OwnNamespace] {
            assert!(tried.is_superset(&features(&plan, hosts)));
        }
    }
    // Agents and perftest need these; no step does.
    tried.extend([Feature::Bpf, Feature::IbUverbs]);
    assert_eq!(tried, BTreeSet::from(Feature::ALL));
}

#[test]
fn checks_leave_nothing_behind() {
    let _machine = MACHINE.lock();
    if !nix::unistd::geteuid().is_root() {
        return skipped("it needs root");
    }
    let (before, placement, after) = sandbox::run(|| {
        let before = machine();
        let _ = missing_here();
        // Fails without SoftRoCE, after it created namespaces and interfaces.
        let placement = probe_host_placement();
        (before, placement, machine())
    })
    .unwrap();
    println!("hosts: {placement:?}");
    assert_eq!(after, before);
}

#[test]
fn softroce_of_older_kernels_sends_from_the_root_namespace_only() {
    let _machine = MACHINE.lock();
    if let Some(finding) = missing_here().first() {
        return skipped(&format!("{} is missing", finding.subject));
    }
    let release = nix::sys::utsname::uname().unwrap();
    let release = release.release().to_str().unwrap();
    let mut numbers = release
        .split(['.', '-'])
        .map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap(), numbers.next().unwrap());
    if version > (6, 12) {
        return skipped(&format!("Linux {release} may do either"));
    }
    let placement = probe_host_placement().unwrap();
    assert_eq!(placement, HostPlacement::RootNamespace);
}

#[test]
fn every_finding_has_its_own_subject_and_a_text() {
    let _machine = MACHINE.lock();
    let results = tempfile::tempdir().unwrap();
    let findings = [everywhere(results.path()), here()].concat();
    for finding in &findings {
        println!("{finding}");
        assert!(!finding.subject.is_empty() && !finding.what.is_empty() && !finding.why.is_empty());
    }
    let subjects: BTreeSet<_> = findings.iter().map(|finding| &finding.subject).collect();
    assert_eq!(subjects.len(), findings.len(), "a subject occurs twice");
}

/// Commands that need one feature, each run in a namespace with the interfaces `pa` and `pb`.
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

/// Returns true if all commands of a script succeed in a new namespace.
fn succeeds_in_a_namespace(script: &[&str]) -> bool {
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
    let mut programs = ["ip", "tc", "unshare"].into_iter();
    let missing = programs.find(|name| which::which(name).is_err());
    missing.map(|name| format!("`{name}` is not installed"))
}

/// Lists interfaces, files of `/run`, and RDMA devices of this process.
fn machine() -> [Vec<String>; 3] {
    let links = dump::links(&mut NetnsHandle::root().unwrap().socket).unwrap();
    let files = std::fs::read_dir("/run").unwrap();
    // A kernel without the RDMA subsystem has no device.
    let devices = Socket::rdma().map(|mut socket| rdma::devices(&mut socket).unwrap());
    let devices = devices.unwrap_or_default().into_iter();
    let devices = devices.map(|device| device.name);
    let own = format!("rxe_{}", sandbox::interface_prefix());
    [
        links.into_iter().map(|link| link.name).collect(),
        files
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect(),
        devices.filter(|name| name.starts_with(&own)).collect(),
    ]
}
