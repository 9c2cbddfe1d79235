//! On this machine, whatever it has: what is found missing is what `ip`, `tc` and `rdma` cannot make
//! either.
#![expect(clippy::print_stdout, reason = "what is found is looked at")]

use std::{
    collections::BTreeSet,
    process::{Command, Stdio},
    sync::Mutex,
};

use super::{Level, everywhere, here, missing_here, probe_host_placement, scratch, trial::Feature};
use crate::{
    exec::Space,
    lower::{Clock, HostPlacement, LowerOptions, lower},
    netlink::{Socket, dump, rdma},
    step::{Qdisc, Step},
    testing::{self, skipped},
};

/// RDMA devices are the whole machine's: one test at a time, so that what a test sees is its own
/// doing.
static MACHINE: Mutex<()> = Mutex::new(());

#[test]
fn what_is_missing_is_what_the_programs_cannot_make_either() {
    let _machine = MACHINE.lock();
    if let Some(reason) = cannot_compare() {
        return skipped(&reason);
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
fn what_is_tried_is_what_labs_are_lowered_to() {
    let mut lowered = BTreeSet::new();
    for hosts in [HostPlacement::RootNamespace, HostPlacement::OwnNamespace] {
        let options = LowerOptions {
            lab: "t".parse().unwrap(),
            hosts,
            clock: Clock::Real,
            delay_lines: true,
            cpus: 2,
        };
        let wire = testing::marking(testing::wire("100 Mbit", "5 ms", "620 kB"));
        let plan = testing::pair_over(0, wire);
        lowered.extend(lower(&plan, &options).iter().filter_map(needs));
    }
    let by_programs = [Feature::Bpf, Feature::IbUverbs].map(|feature| feature.words().subject);
    lowered.extend(by_programs);
    let tried = Feature::ALL.map(|feature| feature.words().subject);
    assert_eq!(lowered, BTreeSet::from(tried));
}

/// What of a kernel a step needs that it may lack.
fn needs(step: &Step) -> Option<&'static str> {
    let feature = match step {
        Step::Netns { .. } => Feature::Namespaces,
        Step::Veth(_) => Feature::Veth,
        Step::Qdisc(at) | Step::QdiscChange(at) => match at.qdisc {
            Qdisc::Tbf(_) => Feature::Tbf,
            Qdisc::Red(_) => Feature::Red,
            Qdisc::Netem(_) => Feature::Netem,
            Qdisc::Clsact => Feature::Clsact,
        },
        Step::Redirect { .. } => Feature::Mirred,
        Step::Rxe { .. } => Feature::RdmaRxe,
        Step::Sysctl { .. }
        | Step::SharedSysctl { .. }
        | Step::Offloads { .. }
        | Step::LinkUp { .. }
        | Step::LinkDown { .. }
        | Step::Address { .. }
        | Step::Neighbour { .. }
        | Step::NotLocal { .. }
        | Step::Route(_)
        | Step::Rule(_)
        | Step::Rps { .. } => return None,
    };
    Some(feature.words().subject)
}

#[test]
fn nothing_is_left_of_what_was_tried() {
    let _machine = MACHINE.lock();
    if !nix::unistd::geteuid().is_root() {
        return skipped("it needs root");
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
    assert_eq!(
        probe_host_placement().unwrap(),
        HostPlacement::RootNamespace
    );
}

#[test]
fn every_finding_that_is_not_well_says_what_it_is_about_and_why() {
    let _machine = MACHINE.lock();
    let results = tempfile::tempdir().unwrap();
    let findings = [everywhere(results.path()), here()].concat();
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
        .find(|name| which::which(name).is_err());
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
