//! Labs on this machine, without what its kernel may lack: each test in a machine of its own.

use std::{
    env,
    io::{BufRead, BufReader, Lines, Write},
    process::{Child, ChildStdout, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use lab_plan::model::Plan;
use lab_units::NodeId;
use nix::sys::signal::Signal;
use tokio_util::sync::CancellationToken;

use super::{
    Claim, ClaimError, DownError, Lab, LabErrorKind, Live, Phase, Progress, bench_up_down, down,
    down_all, exec_in, status,
};
use crate::{
    exec::netns,
    journal::LabState,
    lower::{Clock, HostPlacement, LowerOptions},
    name::LabName,
    process::ProcessId,
    testing::{self, Machine, isolated},
};

#[test]
fn what_was_up_and_down_leaves_the_machine_as_it_was() {
    isolated(|| {
        let neighbour = Foreign::make();
        for hosts in [HostPlacement::RootNamespace, HostPlacement::OwnNamespace] {
            let before = Machine::read();
            let lab = up("t", hosts, testing::testbed).unwrap();
            assert_ne!(before, Machine::read());
            assert_eq!(left(lab.down()), Vec::<String>::new());
            before.assert_unchanged();
        }
        drop(neighbour);
    });
}

#[test]
fn packets_cross_the_lab_between_hosts_wherever_these_are() {
    isolated(|| {
        for hosts in [HostPlacement::RootNamespace, HostPlacement::OwnNamespace] {
            let mut lab = up("t", hosts, testing::testbed).unwrap();
            let (from, to) = (host(&lab, "dc1/h1"), host(&lab, "dc8/h4"));
            let carried = |lab: &Lab| {
                let mut counters = lab.link_counters(dci(lab, "dc1")).unwrap();
                let counters = counters.read().unwrap();
                counters
                    .iter()
                    .map(|port| port.tx_packets)
                    .collect::<Vec<_>>()
            };
            let before = carried(&lab);
            assert!(ping(&mut lab, from, to), "{hosts:?}");
            let after = carried(&lab);
            let grown = before
                .iter()
                .zip(&after)
                .filter(|(before, after)| after > before);
            // One of the six ways, and the host's own link.
            assert_eq!(grown.count(), 2, "{before:?} {after:?}");
        }
    });
}

#[test]
fn a_cut_link_loses_its_carrier_and_gets_it_back() {
    isolated(|| {
        let mut lab = up("t", HostPlacement::OwnNamespace, testing::pair).unwrap();
        let (from, to) = (host(&lab, "dc1/h1"), host(&lab, "dc2/h1"));
        assert!(ping(&mut lab, from, to));
        fault(&mut lab, lab_plan::model::FaultChange::Down);
        assert!(!ping(&mut lab, from, to));
        fault(&mut lab, lab_plan::model::FaultChange::Up);
        let patience = Instant::now() + Duration::from_secs(10);
        while !ping(&mut lab, from, to) {
            assert!(Instant::now() < patience);
        }
    });
}

#[test]
fn two_labs_stand_side_by_side() {
    isolated(|| {
        let before = Machine::read();
        let mut first = up("a", HostPlacement::RootNamespace, testing::pair).unwrap();
        let mut second = up("b", HostPlacement::RootNamespace, testing::pair).unwrap();
        assert_ne!(first.plan().slot, second.plan().slot);
        for lab in [&mut first, &mut second] {
            let (from, to) = (host(lab, "dc1/h1"), host(lab, "dc2/h1"));
            assert!(ping(lab, from, to));
        }
        let listed = status().unwrap();
        let states: Vec<_> = listed
            .iter()
            .map(|lab| (lab.lab.as_str(), lab.state))
            .collect();
        assert_eq!(states, [("a", LabState::Live), ("b", LabState::Live)]);
        assert_eq!((listed[0].switches, listed[0].hosts), (2, 2));
        assert!(first.down().is_empty());
        let (from, to) = (host(&second, "dc1/h1"), host(&second, "dc2/h1"));
        assert!(ping(&mut second, from, to));
        assert!(second.down().is_empty());
        before.assert_unchanged();
    });
}

#[test]
fn a_live_lab_is_refused_and_says_whose_it_is() {
    isolated(|| {
        let mut owner = Owner::start("wait");
        let refused = up(OWNED, HostPlacement::OwnNamespace, testing::pair).unwrap_err();
        let Refused::Claim(ClaimError::Live { status }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(status.owner_pid, Some(owner.pid()));
        assert!(
            status
                .owner_command
                .is_some_and(|command| command.contains("owner"))
        );
        let lab: LabName = OWNED.parse().unwrap();
        assert!(matches!(
            down(&lab, Live::Refuse),
            Err(DownError::Live { .. })
        ));
        assert!(netns::path(&lab.netns("dc1")).exists());
        owner.kill();
    });
}

#[test]
fn a_live_lab_is_taken_down_when_told_to() {
    isolated(|| {
        let before = Machine::read();
        let mut owner = Owner::start("wait");
        let lab: LabName = OWNED.parse().unwrap();
        assert_eq!(left(down(&lab, Live::Stop).unwrap()), Vec::<String>::new());
        owner.wait();
        before.assert_unchanged();
    });
}

#[test]
fn a_dead_lab_is_cleaned_by_the_next_up() {
    isolated(|| {
        let before = Machine::read();
        let mut owner = Owner::start("wait");
        owner.kill();
        assert_eq!(status().unwrap()[0].state, LabState::Dead);
        let lab = up(OWNED, HostPlacement::RootNamespace, testing::pair).unwrap();
        assert_eq!(lab.plan().slot, 0);
        assert!(lab.down().is_empty());
        before.assert_unchanged();
    });
}

#[test]
fn a_kept_lab_stays_until_it_is_taken_down() {
    isolated(|| {
        let before = Machine::read();
        let mut owner = Owner::start("keep");
        owner.wait();
        assert_eq!(status().unwrap()[0].state, LabState::Kept);
        let refused = up(OWNED, HostPlacement::OwnNamespace, testing::pair).unwrap_err();
        assert!(
            matches!(refused, Refused::Claim(ClaimError::Kept { .. })),
            "{refused:?}"
        );
        let lab: LabName = OWNED.parse().unwrap();
        let ran = exec_in(&lab, "dc1", &["ip".into(), "link".into()]).unwrap();
        assert!(ran.status.success() && !ran.in_root);
        let error = exec_in(&lab, "dc9", &["true".into()])
            .unwrap_err()
            .to_string();
        assert!(error.contains("no node `dc9`"), "{error}");
        for (_, done) in down_all(Live::Refuse).unwrap() {
            assert_eq!(left(done.unwrap()), Vec::<String>::new());
        }
        before.assert_unchanged();
    });
}

#[test]
fn whenever_its_owner_is_killed_a_lab_can_be_taken_down_without_a_trace() {
    isolated(|| {
        let before = Machine::read();
        let lab: LabName = OWNED.parse().unwrap();
        let kills = env::var("LAB_KILLS")
            .ok()
            .and_then(|kills| kills.parse().ok());
        let mut states = Vec::new();
        for kill in 0..kills.unwrap_or(40u64) {
            let mut owner = Owner::start("loop");
            // Spread over making and undoing, which take some tens of milliseconds.
            sleep(Duration::from_micros(kill * 7_919 % 90_000));
            owner.kill();
            states.extend(status().unwrap().into_iter().map(|lab| lab.state));
            match down(&lab, Live::Refuse) {
                Ok(errors) => assert_eq!(left(errors), Vec::<String>::new(), "kill {kill}"),
                Err(DownError::NoLab { .. }) => {}
                Err(error) => panic!("kill {kill}: {error}"),
            }
            before.assert_unchanged();
        }
        assert!(states.contains(&LabState::Dead));
        assert!(
            states.iter().all(|state| *state == LabState::Dead),
            "{states:?}"
        );
    });
}

#[test]
fn stopping_midway_undoes_what_was_made() {
    isolated(|| {
        let before = Machine::read();
        for phase in [Phase::Namespaces, Phase::Links, Phase::Nodes, Phase::Check] {
            let cancel = CancellationToken::new();
            let mut seen = false;
            let mut stop = |progress: Progress| {
                if progress.phase == phase {
                    seen = true;
                    cancel.cancel();
                }
            };
            let lab = "t".parse().unwrap();
            let claim = Claim::take(&lab, "test").unwrap();
            let plan = testing::testbed(claim.slot());
            let options = options(lab, HostPlacement::RootNamespace);
            let error = Lab::up(claim, &plan, &options, &cancel, &mut stop).unwrap_err();
            assert!(matches!(error.kind, LabErrorKind::Cancelled), "{error}");
            assert!(error.left.is_empty() && seen, "{error}");
            before.assert_unchanged();
        }
    });
}

#[test]
fn a_step_that_fails_undoes_what_was_made_and_says_why() {
    isolated(|| {
        let before = Machine::read();
        let lab: LabName = "t".parse().unwrap();
        let claim = Claim::take(&lab, "test").unwrap();
        let mut plan = testing::testbed(claim.slot());
        plan.rdma.interface_mtu = 100_000;
        let options = options(lab, HostPlacement::RootNamespace);
        let error = bring_up(claim, &plan, &options).unwrap_err();
        assert!(error.left.is_empty(), "{error}");
        let text = error.to_string();
        assert!(
            text.contains("mtu 100000") && text.contains("Invalid argument"),
            "{text}"
        );
        before.assert_unchanged();
    });
}

#[test]
fn what_has_a_name_of_the_labs_is_never_touched() {
    isolated(|| {
        let lab: LabName = "t".parse().unwrap();
        sh("ip netns add lcmp-t-dc2");
        let refused = up("t", HostPlacement::OwnNamespace, testing::pair).unwrap_err();
        let text = format!("{refused:?}");
        assert!(
            text.contains("lcmp-t-dc2") && text.contains("Exists"),
            "{text}"
        );
        assert!(netns::path(&lab.netns("dc2")).exists());
        assert!(!netns::path(&lab.netns("dc1")).exists());
    });
}

#[test]
fn what_took_the_place_of_a_namespace_of_the_lab_is_left_alone() {
    isolated(|| {
        let lab = up("t", HostPlacement::OwnNamespace, testing::pair).unwrap();
        sh("ip netns del lcmp-t-dc2");
        sh("ip netns add lcmp-t-dc2");
        let errors = left(lab.down());
        assert_eq!(
            errors,
            ["`/run/netns/lcmp-t-dc2` is not what the lab made, it is left as it is"]
        );
        let name: LabName = "t".parse().unwrap();
        assert!(netns::path(&name.netns("dc2")).exists());
        assert!(!netns::path(&name.netns("dc1")).exists());
    });
}

#[test]
fn processes_of_a_lab_end_with_it() {
    isolated(|| {
        let mut lab = up("t", HostPlacement::OwnNamespace, testing::pair).unwrap();
        let mut sleeping = Command::new("sleep");
        let mut recorded = sleeping.arg("1000").spawn().unwrap();
        lab.record_process(recorded.id()).unwrap();
        // Started by someone else in a namespace of the lab.
        let mut guest = Command::new("ip")
            .args(["netns", "exec", "lcmp-t-dc1", "sleep", "1000"])
            .spawn()
            .unwrap();
        let name = netns::path(&lab.name().netns("dc1"));
        let patience = Instant::now() + Duration::from_secs(10);
        let pid = i32::try_from(guest.id()).unwrap();
        while crate::process::netns_inode(pid) != crate::process::inode(&name) {
            assert!(Instant::now() < patience);
        }
        let mut bystander = sleeping.spawn().unwrap();
        assert_eq!(left(lab.down()), Vec::<String>::new());
        assert!(!recorded.wait().unwrap().success());
        assert!(!guest.wait().unwrap().success());
        assert!(bystander.try_wait().unwrap().is_none());
        bystander.kill().unwrap();
        bystander.wait().unwrap();
    });
}

#[test]
fn a_lab_of_an_earlier_boot_is_only_files() {
    isolated(|| {
        let before = Machine::read();
        let mut owner = Owner::start("wait");
        owner.kill();
        let name: LabName = OWNED.parse().unwrap();
        let journal = crate::journal::directory(&name).join("journal");
        let text = std::fs::read_to_string(&journal).unwrap();
        let boot = crate::process::boot_id().unwrap();
        std::fs::write(&journal, text.replace(&boot, "another")).unwrap();
        assert_eq!(status().unwrap()[0].state, LabState::Dead);
        assert!(down(&name, Live::Refuse).unwrap().is_empty());
        // The machine did not boot, so the lab is still there; that it was not touched is the point.
        assert!(netns::path(&name.netns("dc1")).exists());
        std::fs::create_dir_all(crate::journal::directory(&name)).unwrap();
        std::fs::write(&journal, text).unwrap();
        assert!(down(&name, Live::Refuse).unwrap().is_empty());
        before.assert_unchanged();
    });
}

#[test]
fn a_claim_that_is_dropped_leaves_nothing() {
    isolated(|| {
        let before = Machine::read();
        let lab: LabName = "t".parse().unwrap();
        let claim = Claim::take(&lab, "test").unwrap();
        assert_eq!(status().unwrap().len(), 1);
        assert!(matches!(
            Claim::take(&lab, "test"),
            Err(ClaimError::Live { .. })
        ));
        drop(claim);
        before.assert_unchanged();
    });
}

#[test]
#[expect(clippy::print_stdout, reason = "it is a measurement")]
fn the_eight_fabrics_come_up_and_down_again() {
    isolated(|| {
        let lab: LabName = "t".parse().unwrap();
        let claim = Claim::take(&lab, "test").unwrap();
        let plan = testing::fabrics(claim.slot());
        let options = options(lab, HostPlacement::OwnNamespace);
        let took = bench_up_down(claim, &plan, &options, &CancellationToken::new()).unwrap();
        println!("{took:?}");
        assert_eq!((took.namespaces, took.links), (185, 232));
    });
}

/// Not a test: the owner of a lab that other tests start and kill.
#[test]
#[ignore = "started by other tests"]
#[expect(
    clippy::print_stdout,
    reason = "the test that started it waits for this"
)]
fn owner() {
    let Ok(mode) = env::var(OWNER) else { return };
    let bring_up = || up(OWNED, HostPlacement::RootNamespace, testing::pair).unwrap();
    let ready = || {
        println!("ready");
        std::io::stdout().flush().unwrap();
    };
    match mode.as_str() {
        "wait" => {
            let _lab = bring_up();
            ready();
            sleep(Duration::from_secs(1_000));
        }
        "keep" => {
            bring_up().keep().unwrap();
            ready();
        }
        "loop" => {
            ready();
            loop {
                assert!(bring_up().down().is_empty());
            }
        }
        mode => panic!("unknown mode `{mode}`"),
    }
}

/// Another process that has a lab.
struct Owner {
    child: Child,
    /// Open as long as it may write.
    _lines: Lines<BufReader<ChildStdout>>,
}

impl Owner {
    fn start(mode: &str) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "lab::tests::owner", "--ignored", "--nocapture"])
            .env(OWNER, mode)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("ready")));
        Self {
            child,
            _lines: lines,
        }
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    fn kill(&mut self) {
        let process = ProcessId::of(self.pid()).unwrap();
        process.signal(Signal::SIGKILL).unwrap();
        self.wait();
    }

    fn wait(&mut self) {
        self.child.wait().unwrap();
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // A test that failed did not.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Things of the machine's user, in the way as far as they can be.
struct Foreign;

impl Foreign {
    fn make() -> Self {
        sh("ip link add user0 type veth peer name user1");
        sh("ip addr add 192.168.7.1/24 dev user0");
        sh("ip link set user0 up");
        sh("ip link set user1 up");
        sh("ip route add 10.0.0.0/8 via 192.168.7.2 dev user0");
        sh("ip rule add pref 100 from 192.168.7.1 lookup 77");
        sh("ip route add default via 192.168.7.2 dev user0 table 77");
        sh("ip netns add user");
        Self
    }
}

#[derive(Debug)]
enum Refused {
    Claim(ClaimError),
    #[expect(dead_code, reason = "shown by tests that fail")]
    Up(super::LabError),
}

fn up(name: &str, hosts: HostPlacement, plan: fn(u8) -> Plan) -> Result<Lab, Refused> {
    let lab: LabName = name.parse().unwrap();
    let claim = Claim::take(&lab, "test").map_err(Refused::Claim)?;
    let plan = plan(claim.slot());
    bring_up(claim, &plan, &options(lab, hosts)).map_err(Refused::Up)
}

fn bring_up(claim: Claim, plan: &Plan, options: &LowerOptions) -> Result<Lab, super::LabError> {
    Lab::up(claim, plan, options, &CancellationToken::new(), &mut |_| {})
}

fn options(lab: LabName, hosts: HostPlacement) -> LowerOptions {
    LowerOptions {
        lab,
        hosts,
        clock: Clock::Real,
        delay_lines: false,
        cpus: 2,
    }
}

fn fault(lab: &mut Lab, change: lab_plan::model::FaultChange) {
    let fault = lab_plan::model::FaultPlan {
        at_ns: lab_units::Nanos::ZERO,
        paper_at_ns: lab_units::Nanos::ZERO,
        link: lab_units::LinkId(0),
        change,
    };
    let steps = crate::lower::lower_fault(lab.plan(), lab.options(), &fault).unwrap();
    lab.apply(&steps).unwrap();
}

fn host(lab: &Lab, name: &str) -> NodeId {
    let at = lab.plan().nodes.iter().position(|node| node.name == name);
    NodeId::from_index(at.unwrap()).unwrap()
}

fn dci(lab: &Lab, name: &str) -> NodeId {
    host(lab, name)
}

fn ping(lab: &mut Lab, from: NodeId, to: NodeId) -> bool {
    let port = lab.plan().nodes[from.index()].ports[0];
    let dev = lab.plan().ports[port.index()].interface.clone();
    let addr = lab.plan().nodes[to.index()].addr.to_string();
    let mut command = Command::new("ping");
    command.args(["-n", "-q", "-c", "1", "-W", "2", "-I", &dev, &addr]);
    command.stdout(Stdio::null());
    lab.spawn_on(from, &mut command)
        .unwrap()
        .wait()
        .unwrap()
        .success()
}

fn sh(line: &str) {
    let mut words = line.split(' ');
    let status = Command::new(words.next().unwrap())
        .args(words)
        .status()
        .unwrap();
    assert!(status.success(), "{line}");
}

fn left(errors: Vec<crate::exec::UndoError>) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

const OWNED: &str = "owned";
const OWNER: &str = "LAB_KERNEL_OWNER";
