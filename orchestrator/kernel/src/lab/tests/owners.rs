//! Tests of labs and the processes that own them.

use std::{
    env, fs,
    io::{BufRead, BufReader, Lines, Write},
    os::unix::net::UnixListener,
    process::{Child, ChildStdout, Command, Stdio},
    thread::sleep,
    time::Duration,
};

use nix::sys::signal::Signal;

use super::{exact, left, reserve, up, without_a_trace};
use crate::{
    exec::netns,
    journal::{self, LabState, Location},
    lab::{
        DownError, EnterError, Live, Reservation, ReservationError, down, down_all, forget,
        node_command, status,
    },
    lower::HostPlacement,
    name::LabName,
    process::{self, ProcessId},
    testing::{self, isolated},
};

#[test]
fn a_live_lab_is_refused_with_its_owner() {
    isolated(|| {
        let mut owner = Owner::start("wait");
        let Err(ReservationError::Live { status }) = reserve(OWNED) else {
            panic!("the lab has an owner");
        };
        assert_eq!(status.owner_pid, Some(owner.pid()));
        assert!(status.owner_command.unwrap().contains("owner"));
        let refused = down(&owned(), Live::Refuse);
        assert!(matches!(refused, Err(DownError::Live { .. })));
        assert!(netns::path(&owned().netns("dc1")).exists());
        owner.kill();
    });
}

#[test]
fn a_live_lab_is_taken_down_on_request() {
    without_a_trace(|_| {
        let mut owner = Owner::start("wait");
        let remaining = left(down(&owned(), Live::Stop).unwrap());
        assert_eq!(remaining, Vec::<String>::new());
        owner.wait();
    });
}

#[test]
fn a_dead_lab_is_removed_by_the_next_up() {
    without_a_trace(|_| {
        let mut owner = Owner::start("wait");
        owner.kill();
        assert_eq!(status().unwrap()[0].state, LabState::Dead);
        let lab = up(OWNED, HostPlacement::RootNamespace, testing::pair);
        assert_eq!(lab.plan().slot, 0);
        assert!(lab.down().is_empty());
    });
}

#[test]
fn a_record_whose_writer_was_killed_goes_with_its_lab() {
    without_a_trace(|_| {
        let mut owner = Owner::start("wait");
        owner.kill();
        fs::write(journal::base().join("shared.next"), "{").unwrap();
        assert_down(OWNED, 0);
    });
}

#[test]
fn a_kept_lab_stays_until_it_is_taken_down() {
    without_a_trace(|_| {
        let mut owner = Owner::start("keep");
        owner.wait();
        assert_eq!(status().unwrap()[0].state, LabState::Kept);
        let refused = reserve(OWNED);
        assert!(
            matches!(refused, Err(ReservationError::Kept { .. })),
            "{refused:?}"
        );
        let on_node = |node, command: &[&str]| {
            let command: Vec<_> = command.iter().map(Into::into).collect();
            node_command(&owned(), node, &command)
        };
        let ready = on_node("dc1", &["ip", "link"]).unwrap();
        assert!(!ready.runs_in_root() && ready.status().unwrap().success());
        let started = on_node("dc1", &["/nonexistent"]).unwrap().status();
        assert!(
            matches!(started, Err(EnterError::Start { .. })),
            "{started:?}"
        );
        let error = on_node("dc9", &["true"]).unwrap_err().to_string();
        assert!(error.contains("no node `dc9`"), "{error}");
        for (_, result) in down_all(Live::Refuse).unwrap() {
            assert_eq!(left(result.unwrap()), Vec::<String>::new());
        }
    });
}

#[test]
fn a_lab_in_a_guest_has_only_its_directory_here() {
    without_a_trace(|_| {
        let reservation = Reservation::acquire_for_guest(&owned(), &testing::pair(0)).unwrap();
        UnixListener::bind(reservation.directory().join("exec.sock")).unwrap();
        let found = &status().unwrap()[0];
        let state = (found.state, found.location);
        assert_eq!(state, (LabState::Live, Location::Guest));
        assert!(found.switches > 0 && found.hosts > 0);
        let entered = node_command(&owned(), "dc1", &["true".into()]);
        assert!(
            matches!(entered, Err(EnterError::InGuest { .. })),
            "{entered:?}"
        );
        drop(reservation);
        assert_eq!(status().unwrap(), []);
    });
}

#[test]
fn a_lab_whose_owner_is_killed_at_any_time_can_be_taken_down_without_a_trace() {
    without_a_trace(|before| {
        let kills = env::var("LAB_KILLS")
            .ok()
            .and_then(|kills| kills.parse().ok())
            .unwrap_or(40u64);
        let mut states = Vec::new();
        for kill in 0..kills {
            let mut owner = Owner::start("loop");
            // The kills are spread over the bring-up and the removal of the lab, which take tens of milliseconds.
            sleep(Duration::from_micros(kill * 7_919 % 90_000));
            owner.kill();
            states.extend(status().unwrap().into_iter().map(|lab| lab.state));
            assert_down(OWNED, kill);
            before.assert_unchanged();
        }
        assert!(!states.is_empty());
        let dead = |state: &LabState| *state == LabState::Dead;
        assert!(states.iter().all(dead), "{states:?}");
    });
}

/// Takes down a lab whose owner was killed before, during or after the lab's existence, and asserts that nothing
/// remains.
pub(super) fn assert_down(lab: &str, kill: u64) {
    match down(&lab.parse().unwrap(), Live::Refuse) {
        Ok(errors) => assert_eq!(left(errors), Vec::<String>::new(), "kill {kill}"),
        Err(DownError::NoLab { .. }) => {}
        Err(error) => panic!("kill {kill}: {error}"),
    }
}

#[test]
fn a_lab_of_an_earlier_boot_is_only_files() {
    without_a_trace(|_| {
        let mut owner = Owner::start("wait");
        owner.kill();
        let directory = journal::directory(&owned());
        let text = fs::read_to_string(directory.join("journal")).unwrap();
        let other_boot = text.replace(&process::boot_id().unwrap(), "another");
        fs::write(directory.join("journal"), other_boot).unwrap();
        assert_eq!(status().unwrap()[0].state, LabState::Dead);
        assert!(down(&owned(), Live::Refuse).unwrap().is_empty());
        // The machine was not really rebooted, so the lab's objects still exist.
        assert!(netns::path(&owned().netns("dc1")).exists());
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("journal"), text).unwrap();
        assert!(down(&owned(), Live::Refuse).unwrap().is_empty());
    });
}

#[test]
fn a_lab_whose_journal_has_another_format_is_left_alone() {
    isolated(|| {
        let mut owner = Owner::start("wait");
        owner.kill();
        let journal = journal::directory(&owned()).join("journal");
        let text = fs::read_to_string(&journal).unwrap();
        fs::write(&journal, text.replacen("\"format\":3", "\"format\":1", 1)).unwrap();
        let errors = left(down(&owned(), Live::Refuse).unwrap());
        assert!(errors[0].contains("has format 1"), "{errors:?}");
        assert!(matches!(
            reserve(OWNED),
            Err(ReservationError::Remains { .. })
        ));
        assert!(netns::path(&owned().netns("dc1")).exists());
        fs::write(&journal, text).unwrap();
        assert!(down(&owned(), Live::Refuse).unwrap().is_empty());
    });
}

#[test]
fn a_damaged_journal_stops_no_other_lab_and_can_be_set_aside() {
    isolated(|| {
        let damaged: LabName = "damaged".parse().unwrap();
        let directory = journal::directory(&damaged);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("journal"), "{\"lab\":{\"format\":99}}\n").unwrap();
        let lab = up(OWNED, HostPlacement::RootNamespace, testing::pair);
        let states: Vec<_> = status().unwrap().iter().map(|lab| lab.state).collect();
        assert_eq!(states, [LabState::Unreadable, LabState::Live]);
        assert!(lab.down().is_empty());
        let error = down(&damaged, Live::Stop).unwrap_err().to_string();
        let hint = "has format 99; this version of lcmp-lab reads format 3 (hint: `lcmp-lab down --forget LAB`";
        assert!(error.contains(hint), "{error}");
        let aside = forget(&damaged).unwrap();
        assert!(aside.join("journal").exists() && status().unwrap().is_empty());
        assert!(matches!(forget(&damaged), Err(DownError::NoLab { .. })));
        fs::remove_dir_all(aside).unwrap();
    });
}

pub(super) fn owned() -> LabName {
    OWNED.parse().unwrap()
}

/// Entry point of a process that owns a lab, which tests start and kill. It is not a test and is not counted as one.
#[test]
#[ignore = "entry point of a process that tests start"]
#[expect(
    clippy::print_stdout,
    reason = "the test that started it waits for this"
)]
fn owner() {
    let mode = env::var(OWNER).expect("the test that starts it says how");
    let bring_up = || up(OWNED, HostPlacement::RootNamespace, testing::pair);
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
                assert!(exact::up(testing::paced).down().is_empty());
            }
        }
        mode => panic!("unknown mode `{mode}`"),
    }
}

/// Process that owns a lab.
pub(super) struct Owner {
    child: Child,
    /// Standard output of the process, kept open as long as the process may write.
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
        // If the test failed, the process may still be running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) const OWNED: &str = "owned";
const OWNER: &str = "LAB_KERNEL_OWNER";
