//! Labs in a guest, as those meet them who are not their owner: `exec`, `status` and `down` while the
//! lab runs and after it was kept.

mod common;

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tempfile::TempDir;

use self::common::Said;

/// A lab in a guest, by its name; whatever is left of it goes with this value.
struct InGuest {
    lab: &'static str,
    results: TempDir,
}

impl InGuest {
    fn new(lab: &'static str) -> Self {
        let results = tempfile::tempdir().unwrap();
        Self { lab, results }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lcmp-lab"));
        command
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
            .env("LCMP_LAB_RESULTS", self.results.path())
            .env("LCMP_LAB_LAB", self.lab)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str]) -> Said {
        self.command(arguments).output().unwrap().into()
    }

    /// Runs a shell's script on a DCI switch.
    fn script(&self, script: &str) -> Command {
        self.command(&["exec", "dc1", "--", "sh", "-c", script])
    }

    fn status(&self) -> Option<serde_json::Value> {
        let labs: serde_json::Value =
            serde_json::from_str(&self.run(&["status", "--json"]).stdout).unwrap();
        let mut labs = labs.as_array().unwrap().iter();
        labs.find(|lab| lab["lab"] == self.lab).cloned()
    }

    /// The process that owns the lab, and its machine.
    fn owner_and_machine(&self) -> (i32, i32) {
        let owner = self.status().expect("it is there")["owner_pid"]
            .as_i64()
            .unwrap();
        let children = fs::read_to_string(format!("/proc/{owner}/task/{owner}/children")).unwrap();
        let machine = children.trim().parse().unwrap();
        (i32::try_from(owner).unwrap(), machine)
    }

    #[track_caller]
    fn assert_nothing_left(&self, machine: i32) {
        let patience = Instant::now() + Duration::from_secs(10);
        while is_alive(machine) {
            assert!(
                Instant::now() < patience,
                "machine {machine} is still there"
            );
            thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(self.status(), None);
        assert!(!Path::new("/run/lcmp-lab").join(self.lab).exists());
        let said = self.run(&["exec", "dc1", "--", "true"]);
        assert_eq!(said.exit, Some(2), "{said:?}");
        assert!(said.stderr.contains("there is no lab"), "{said:?}");
    }
}

impl Drop for InGuest {
    fn drop(&mut self) {
        // A test that failed did not.
        let _ = self.command(&["down", self.lab]).output();
    }
}

/// Returns true while a process runs; a zombie does not.
fn is_alive(process: i32) -> bool {
    lab_kernel::ProcessId::of(process).is_some_and(lab_kernel::ProcessId::is_alive)
}

fn signal(process: &Child, signal: Signal) {
    kill(Pid::from_raw(process.id().cast_signed()), signal).unwrap();
}

/// Why there can be no guest, in the words of an `up` that did not get one.
fn obstacle(said: &Said) -> Option<&str> {
    let lacks = ["a lab needs root", "is not installed", "no kernel package"];
    let is_reason = |line: &&str| lacks.iter().any(|lack| line.contains(lack));
    let reason = said.stderr.lines().find(is_reason)?;
    (said.exit == Some(3)).then_some(reason)
}

#[test]
fn a_lab_kept_in_a_guest_is_reached_and_leaves_nothing_even_when_its_keeper_is_killed() {
    let guest = InGuest::new("exec-kept");
    let up = ["up", "--guest", "--keep", "--policies", "ecmp"];
    let said = guest.run(&[&up[..], &["scenarios/smoke.yaml"]].concat());
    if let Some(reason) = obstacle(&said) {
        eprintln!(
            "skipped: a_lab_kept_in_a_guest_is_reached_and_leaves_nothing_even_when_its_keeper_is_\
             killed: {reason}"
        );
        return;
    }
    assert_eq!(said.exit, Some(0), "{said:?}");
    assert!(said.stdout.contains("report: "), "{said:?}");
    assert!(said.stderr.contains("lab `exec-kept` stays up"), "{said:?}");
    let status = guest.status().expect("it was kept");
    assert_eq!(
        (&status["state"], &status["place"], &status["switches"]),
        (&"live".into(), &"guest".into(), &3.into()),
        "{status}"
    );
    let again = guest.run(&["up", "--guest", "scenarios/smoke.yaml"]);
    assert_eq!(again.exit, Some(3), "{again:?}");
    assert!(again.stderr.contains("is running: process"), "{again:?}");

    streams_and_exit_codes_pass(&guest);
    signals_pass(&guest);
    a_client_that_goes_takes_its_command_along(&guest);
    packets_on_a_link_are_roce(&guest);

    let (keeper, machine) = guest.owner_and_machine();
    kill(Pid::from_raw(keeper), Signal::SIGKILL).unwrap();
    let patience = Instant::now() + Duration::from_secs(10);
    while is_alive(machine) {
        assert!(Instant::now() < patience, "the machine outlives its keeper");
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(guest.status().expect("it is dead")["state"], "dead");
    let said = guest.run(&["exec", "dc1", "--", "true"]);
    assert_eq!(said.exit, Some(3), "{said:?}");
    assert!(said.stderr.contains("is dead"), "{said:?}");
    let said = guest.run(&["down", "exec-kept"]);
    assert_eq!(said.exit, Some(0), "{said:?}");
    guest.assert_nothing_left(machine);
}

fn streams_and_exit_codes_pass(guest: &InGuest) {
    let mut child = guest
        .script("cat; echo from inside >&2; exit 7")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    // More than fits into any buffer on the way, and no text.
    let bytes: Vec<u8> = (0..=255).cycle().take(200_000).collect();
    let mut stdin = child.stdin.take().unwrap();
    let sent = bytes.clone();
    let writer = thread::spawn(move || stdin.write_all(&sent).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!(output.status.code(), Some(7));
    assert!(output.stdout == bytes, "{} bytes", output.stdout.len());
    assert_eq!(output.stderr, b"from inside\n");

    let quoted = "two words; $(not run) 'quoted'";
    let said = guest.run(&["exec", "dc1", "--", "printf", "%s", quoted]);
    assert_eq!(
        (said.exit, said.stdout.as_str()),
        (Some(0), quoted),
        "{said:?}"
    );
    let said = guest.run(&["exec", "dc9", "--", "true"]);
    assert_eq!((said.exit, said.stdout.as_str()), (Some(2), ""), "{said:?}");
    assert!(said.stderr.contains("no node `dc9`"), "{said:?}");
    let said = guest.run(&["exec", "dc1", "--", "/nonexistent/program"]);
    assert_eq!(said.exit, Some(2), "{said:?}");
    assert!(said.stderr.contains("cannot run"), "{said:?}");
}

fn signals_pass(guest: &InGuest) {
    let script = "trap 'echo undone; exit 42' INT; echo ready; read line";
    let mut child = guest.script(script).stdin(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    signal(&child, Signal::SIGINT);
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    assert_eq!(
        (rest.as_str(), child.wait().unwrap().code()),
        ("undone\n", Some(42))
    );
}

fn a_client_that_goes_takes_its_command_along(guest: &InGuest) {
    // Reading from a pipe nobody writes to does not end by itself, whatever the clock.
    let script = "echo ready; sleep 1000000000";
    let mut child = guest.script(script).spawn().unwrap();
    let mut line = String::new();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    lines.read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let said = guest.run(&["exec", "dc1", "--", "pgrep", "-x", "sleep"]);
    assert_eq!((said.exit, said.stdout.as_str()), (Some(1), ""), "{said:?}");
}

/// Two hosts by hand: what a kept lab is for.
fn packets_on_a_link_are_roce(guest: &InGuest) {
    let on = |node, words: &[&str]| {
        let words = [&["exec", node, "--"], words].concat();
        guest.command(&words).spawn().unwrap()
    };
    let watch = ["tcpdump", "-ni", "any", "-c", "4", "udp", "port", "4791"];
    let mut tcpdump = on("dc1", &watch);
    let mut listening = BufReader::new(tcpdump.stderr.take().unwrap()).lines();
    assert!(listening.any(|line| line.unwrap().starts_with("listening on")));
    let bw = |device, more: &[&'static str]| {
        let words = [
            "ib_send_bw",
            "-e",
            "-F",
            "-x",
            "1",
            "-n",
            "5",
            "-s",
            "8192",
            "-d",
            device,
        ];
        [&words[..], more].concat()
    };
    let server = on("dc3/h1", &bw("rxe_l0d3h1", &[]));
    let patience = Instant::now() + Duration::from_secs(60);
    let client = loop {
        let output = on("dc1/h1", &bw("rxe_l0d1h1", &["127.0.0.1"])).wait_with_output();
        let said = Said::from(output.unwrap());
        // The server may not listen yet.
        if said.exit == Some(0) || Instant::now() > patience {
            break said;
        }
    };
    assert_eq!(client.exit, Some(0), "{client:?}");
    let server = Said::from(server.wait_with_output().unwrap());
    assert_eq!(server.exit, Some(0), "{server:?}");
    let seen = Said::from(tcpdump.wait_with_output().unwrap());
    assert_eq!(seen.exit, Some(0), "{seen:?}");
    let packets = seen
        .stdout
        .lines()
        .filter(|line| line.contains(" 10.") && line.contains(".4791: UDP, length"));
    assert_eq!(packets.count(), 4, "{seen:?}");
}

#[test]
fn a_lab_that_runs_in_a_guest_is_reached_and_taken_down() {
    let guest = InGuest::new("exec-run");
    let mut up = guest
        .command(&["up", "--guest", "scenarios/smoke.yaml"])
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(up.stderr.take().unwrap()).lines();
    let mut said = String::new();
    let is_up = lines.by_ref().map(Result::unwrap).any(|line| {
        said += &line;
        said.push('\n');
        line.contains("agents  done in")
    });
    if !is_up {
        let exit = up.wait().unwrap().code();
        let (stdout, stderr) = (String::new(), said);
        let said = Said {
            exit,
            stdout,
            stderr,
        };
        let reason = obstacle(&said).unwrap_or_else(|| panic!("{said:?}"));
        eprintln!("skipped: a_lab_that_runs_in_a_guest_is_reached_and_taken_down: {reason}");
        return;
    }
    let said = guest.run(&["exec", "dc1", "--", "sh", "-c", "ls /sys/class/net; exit 5"]);
    assert_eq!(said.exit, Some(5), "{said:?}");
    assert!(said.stdout.contains("l0d1-d3"), "{said:?}");

    let (owner, machine) = guest.owner_and_machine();
    assert_eq!(owner, up.id().cast_signed());
    signal(&up, Signal::SIGINT);
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    let exit = up.wait().unwrap().code();
    assert_eq!(exit, Some(4), "{rest:?}");
    assert!(
        rest.iter()
            .any(|line| line.contains("interrupted: taking the lab down")),
        "{rest:?}"
    );
    guest.assert_nothing_left(machine);
}
