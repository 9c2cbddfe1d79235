//! Tests of the doctor, which compare its findings about this machine with what `ip`, `tc` and `unshare` can create.
#![expect(clippy::print_stdout, reason = "findings are printed for a person")]

use std::{
    collections::BTreeSet,
    env, fs,
    path::Path,
    process::{Command, Stdio},
    sync::Mutex,
};

use lab_generators::{
    contract::Tool,
    perftest::{Installed, KNOWN_VERSION, ProbeError},
};
use lab_plan::Plan;
use lab_units::Bytes;

use super::{
    Finding, Level, everywhere, feature::Feature, files, here, labs, limits, missing_here, network,
    probe_host_placement, programs, results_directory, rights, sandbox,
};
use crate::{
    connections::Connections,
    exec::NetnsHandle,
    journal::LabState,
    lab::ReservationError,
    lower::{HostPlacement, LowerOptions, lower},
    netlink::{Socket, dump, rdma},
    testing::{self, skipped},
};

/// Lock that makes the tests run one at a time, because RDMA devices are machine-wide, and each test must see only its
/// own devices.
static MACHINE: Mutex<()> = Mutex::new(());

#[test]
fn missing_features_are_those_that_the_programs_cannot_create_either() {
    let _machine = MACHINE.lock();
    if let Some(reason) = cannot_compare() {
        return skipped(&reason);
    }
    let missing = missing_here();
    let subjects: BTreeSet<&str> = missing
        .iter()
        .map(|finding| finding.subject.as_str())
        .collect();
    let all: BTreeSet<&str> = BY_PROGRAM.iter().map(|trial| trial.0).collect();
    let failed: BTreeSet<&str> = BY_PROGRAM
        .iter()
        .filter(|(_, script)| !succeeds_in_a_namespace(script))
        .map(|trial| trial.0)
        .collect();
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
    let mut tried = features(
        &sandbox::with_every_feature(sandbox::plan(0)),
        HostPlacement::OwnNamespace,
    );
    for plan in [testing::pair_over(0, wire), testing::fabrics(0)] {
        for hosts in [HostPlacement::RootNamespace, HostPlacement::OwnNamespace] {
            assert!(tried.is_superset(&features(&plan, hosts)));
        }
    }
    // These features are needed by agents and perftest, and not by any step.
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
        // Without SoftRoCE, the probe fails after it has already created namespaces and interfaces.
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
    let kernel = nix::sys::utsname::uname().unwrap();
    let release = kernel.release().to_str().unwrap();
    let mut numbers = release
        .split(['.', '-'])
        .map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap(), numbers.next().unwrap());
    if version >= (7, 1) {
        return skipped(&format!("Linux {release} may send from any namespace"));
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

/// Features, each with commands that need it. The commands run in a namespace that has the interfaces `pa` and `pb`.
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
    let missing = ["ip", "tc", "unshare"]
        .into_iter()
        .find(|name| which::which(name).is_err());
    missing.map(|name| format!("`{name}` is not installed"))
}

/// Returns the names of all interfaces, files under `/run`, and RDMA devices that this process sees.
fn machine() -> [Vec<String>; 3] {
    let links = dump::links(&mut NetnsHandle::root().unwrap().socket).unwrap();
    let files = fs::read_dir("/run").unwrap();
    // A kernel without the RDMA subsystem has no RDMA devices.
    let devices = Socket::rdma()
        .map(|mut socket| rdma::devices(&mut socket).unwrap())
        .unwrap_or_default()
        .into_iter()
        .map(|device| device.name);
    let own = format!("rxe_{}", sandbox::interface_prefix());
    [
        links.into_iter().map(|link| link.name).collect(),
        files
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect(),
        devices.filter(|name| name.starts_with(&own)).collect(),
    ]
}

/// Every check is evaluated on both sides of its bounds, and the findings include the commands that fix problems.
#[test]
fn findings_say_what_is_missing_and_how_to_fix_it() {
    let lab_names = ["8dc", "smoke"].map(|name| name.parse().unwrap());
    let lab = |states: &[LabState]| labs::existing(lab_names.iter().zip(states.iter().copied()));
    let tool = |version: &str| {
        let tool = Tool::SendBw;
        let version = version.to_owned();
        programs::perftest((tool, Ok(Installed { tool, version })))
    };
    let tool_missing = Err(ProbeError::Missing { tool: Tool::ReadBw });
    let connections = |count, max| limits::connections(Connections { count, max });
    let net = rights::CAP_NET_ADMIN;
    let admin = rights::CAP_SYS_ADMIN;
    let findings = [
        limits::open_files(1_048_576),
        limits::open_files(1_124),
        limits::open_files(1_024),
        limits::neighbours(1_024),
        limits::neighbours(128),
        limits::processes(10),
        limits::processes(200),
        limits::processes(30_000),
        limits::memory(Bytes::new(100_000_000)),
        limits::memory(Bytes::new(21_522_976_768)),
        files::room("results", Bytes::new(1_000_000)),
        files::room("results", Bytes::new(100_000_999)),
        files::room("results", Bytes::new(9_000_000_000)),
        network::loopback(false),
        network::loopback(true),
        network::addresses_of_labs(&[]),
        network::addresses_of_labs(&["10.1.2.3/8 on `eth0`".into()]),
        rights::judge(true, u64::MAX),
        rights::judge(true, net),
        rights::judge(false, 0),
        // These capabilities suffice for bpf(2) on older kernels.
        rights::judge(true, net | admin),
        lab(&[]),
        lab(&[LabState::Kept]),
        lab(&[LabState::Kept, LabState::Dead]),
        lab(&[LabState::Kept, LabState::Unreadable]),
        labs::slots(Ok(16)),
        labs::slots(Ok(0)),
        labs::slots(Err(ReservationError::NoSlot)),
        programs::helpers(|_| true),
        programs::helpers(|program| program == "ping" || program == "modprobe"),
        tool(KNOWN_VERSION),
        tool("24.07"),
        programs::perftest((Tool::ReadBw, tool_missing)),
        connections(37, 262_144),
        connections(250_037, 262_144),
    ];
    let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
    insta::assert_snapshot!(lines.join("\n"));
    let json = serde_json::to_string(&findings[3]).unwrap();
    let expected = r#"{"level":"ok","subject":"neighbour table","what":"up to 1024 entries","why":"all namespaces share it","fix":null}"#;
    assert_eq!(json, expected);
}

#[test]
fn the_limits_of_this_machine_are_read() {
    let subjects: Vec<_> = limits::findings()
        .into_iter()
        .map(|finding| finding.subject)
        .collect();
    let expected = ["open files", "neighbour table", "processes", "memory"];
    assert_eq!(subjects, expected);
}

#[test]
fn results_may_be_a_directory_that_does_not_exist_yet() {
    let directory = tempfile::tempdir().unwrap();
    let results = directory.path().join("a/b/results");
    assert_eq!(files::existing(&results).as_deref(), Some(directory.path()));
    assert_ne!(results_directory(&results).level, Level::Fail);
    assert!(!results.exists());
    let read_only = results_directory(Path::new("/proc/results"));
    assert_eq!(read_only.level, Level::Fail, "{read_only}");
}

#[test]
fn interfaces_of_labs_have_a_slot_and_a_node() {
    for dev in ["l0d1-d2", "lfd255s127-l127", "l3d1h1"] {
        assert!(network::is_labs(dev), "{dev}");
    }
    for dev in "lo eth0 l0 l0d l0dx lgd1h1 l+d1h1 l00d1h1".split(' ') {
        assert!(!network::is_labs(dev), "{dev}");
    }
}

/// This process touches 300 MB before it starts the child, whose own peak is a few megabytes.
#[test]
fn the_peak_memory_of_a_process_is_its_own() {
    const CHILD: &str = "LCMP_LAB_PEAK_OF_CHILD";
    let peak = || limits::peak_memory().expect("the kernel reports it").get();
    if let Ok(file) = env::var(CHILD) {
        fs::write(file, peak().to_string()).unwrap();
        return;
    }
    let touched = vec![1_u8; 300 << 20];
    assert!(peak() >= touched.len() as u64);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("peak");
    let status = Command::new(env::current_exe().unwrap())
        .args([
            "--exact",
            "doctor::tests::the_peak_memory_of_a_process_is_its_own",
        ])
        .env(CHILD, &file)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success() && touched[touched.len() - 1] == 1);
    let of_child: u64 = fs::read_to_string(&file).unwrap().parse().unwrap();
    assert!((1..200 << 20).contains(&of_child), "{of_child}");
}
