//! Labs and the processes that own them.

use std::{
    env,
    io::{BufRead, BufReader, Lines, Write},
    process::{Child, ChildStdout, Command, Stdio},
    thread::sleep,
    time::Duration,
};

use nix::sys::signal::Signal;

use super::{Refused, exact, left, up};
use crate::{
    exec::netns,
    journal::{LabState, Location},
    lab::{
        DownError, EnterError, Live, Reservation, ReservationError, down, down_all, node_command,
        status,
    },
    lower::HostPlacement,
    name::LabName,
    process::ProcessId,
    testing::{self, Machine, isolated},
};

#[test]
fn a_live_lab_is_refused_and_says_whose_it_is() {
    isolated(|| {
        let mut owner = Owner::start("wait");
        let refused = up(OWNED, HostPlacement::OwnNamespace, testing::pair).unwrap_err();
        let Refused::Reservation(ReservationError::Live { status }) = refused else {
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
            matches!(refused, Refused::Reservation(ReservationError::Kept { .. })),
            "{refused:?}"
        );
        let lab: LabName = OWNED.parse().unwrap();
        let node_command = |node, command: &[&str]| {
            let command: Vec<_> = command.iter().map(Into::into).collect();
            node_command(&lab, node, &command)
        };
        let ready = node_command("dc1", &["ip", "link"]).unwrap();
        assert!(!ready.runs_in_root() && ready.status().unwrap().success());
        let started = node_command("dc1", &["/nonexistent"]).unwrap().status();
        assert!(
            matches!(started, Err(EnterError::Start { .. })),
            "{started:?}"
        );
        let error = node_command("dc9", &["true"]).unwrap_err().to_string();
        assert!(error.contains("no node `dc9`"), "{error}");
        for (_, done) in down_all(Live::Refuse).unwrap() {
            assert_eq!(left(done.unwrap()), Vec::<String>::new());
        }
        before.assert_unchanged();
    });
}

#[test]
fn a_lab_in_a_guest_has_only_its_directory_here() {
    isolated(|| {
        let before = Machine::read();
        let lab: LabName = OWNED.parse().unwrap();
        let plan = testing::pair(0);
        let reservation = Reservation::acquire_for_guest(&lab, &plan).unwrap();
        std::os::unix::net::UnixListener::bind(reservation.directory().join("exec.sock")).unwrap();
        let found = &status().unwrap()[0];
        assert_eq!(
            (found.state, found.location),
            (LabState::Live, Location::Guest)
        );
        assert!(found.switches > 0 && found.hosts > 0);
        let entered = node_command(&lab, "dc1", &["true".into()]);
        assert!(
            matches!(entered, Err(EnterError::InGuest { .. })),
            "{entered:?}"
        );
        drop(reservation);
        assert_eq!(status().unwrap(), []);
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
        "whole loop" => {
            ready();
            loop {
                assert!(exact::up(testing::pair).down().is_empty());
            }
        }
        mode => panic!("unknown mode `{mode}`"),
    }
}

/// Another process that has a lab.
pub(super) struct Owner {
    child: Child,
    /// Open as long as it may write.
    _lines: Lines<BufReader<ChildStdout>>,
}

impl Owner {
    pub fn start(mode: &str) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .args([
                "--exact",
                "lab::tests::owners::owner",
                "--ignored",
                "--nocapture",
            ])
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

    pub fn kill(&mut self) {
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

const OWNED: &str = "owned";
const OWNER: &str = "LAB_KERNEL_OWNER";
