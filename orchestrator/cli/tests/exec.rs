//! Tests of `exec`, `status` and `down` on a lab in a guest, while its flows run and when it has been kept.

mod common;

use std::{
    fs,
    io::{BufRead, BufReader, Lines, Read, Write},
    path::Path,
    process::{Child, ChildStderr, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tempfile::TempDir;

use self::common::{Outcome, root};

/// Lab in a guest, identified by its name. It is taken down when this value is dropped.
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
            .current_dir(root())
            .env("LCMP_LAB_RESULTS", self.results.path())
            .env("LCMP_LAB_LAB", self.lab)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str]) -> Outcome {
        self.command(arguments).output().unwrap().into()
    }

    /// Starts `up` of the smallest scenario in a guest and waits until it prints the text `moment`; returns the process
    /// and its further messages. If this machine cannot run a guest, prints that `test` is skipped and returns `None`.
    fn up_until(&self, moment: &str, test: &str) -> Option<(Child, Lines<BufReader<ChildStderr>>)> {
        let mut up = self
            .command(&["up", "--guest", "scenarios/smoke.yaml"])
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(up.stderr.take().unwrap()).lines();
        let mut said = String::new();
        for line in lines.by_ref().map(Result::unwrap) {
            if line.contains(moment) {
                return Some((up, lines));
            }
            said += &line;
            said.push('\n');
        }
        let out = Outcome {
            exit: up.wait().unwrap().code(),
            stdout: String::new(),
            stderr: said,
        };
        let reason = obstacle(&out).unwrap_or_else(|| panic!("{out:?}"));
        eprintln!("skipped: {test}: {reason}");
        None
    }

    /// Returns a command that runs a shell script on a DCI switch.
    fn script(&self, script: &str) -> Command {
        self.command(&["exec", "dc1", "--", "sh", "-c", script])
    }

    fn status(&self) -> Option<serde_json::Value> {
        let mut command = self.command(&["status", "--json"]);
        let output = command.env_remove("LCMP_LAB_LAB").output().unwrap();
        let labs: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        labs.as_array()
            .unwrap()
            .iter()
            .find(|lab| lab["lab"] == self.lab)
            .cloned()
    }

    /// Returns the IDs of the process that owns the lab and of its QEMU.
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
        wait_for_end(machine);
        assert_eq!(self.status(), None);
        assert!(!Path::new("/run/lcmp-lab").join(self.lab).exists());
        let out = self.run(&["exec", "dc1", "--", "true"]);
        assert_eq!(out.exit, Some(2), "{out:?}");
        assert!(out.stderr.contains("there is no lab"), "{out:?}");
    }
}

impl Drop for InGuest {
    fn drop(&mut self) {
        // A failed test must not leave its lab up.
        let _ = self.command(&["down", self.lab]).output();
    }
}

/// Waits until the process has ended or is a zombie.
#[track_caller]
fn wait_for_end(process: i32) {
    let is_alive = || {
        let process = lab_kernel::ProcessId::of(process);
        process.is_some_and(lab_kernel::ProcessId::is_alive)
    };
    let since = Instant::now();
    while is_alive() {
        assert!(since.elapsed() < PATIENCE, "process {process} still runs");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Maximum time that a test waits for a condition.
const PATIENCE: Duration = Duration::from_secs(120);

fn signal(process: &Child, signal: Signal) {
    kill(Pid::from_raw(process.id().cast_signed()), signal).unwrap();
}

/// Returns the error message of `up` if it failed because this machine cannot run a guest.
fn obstacle(out: &Outcome) -> Option<&str> {
    let lacks = ["a lab needs root", "is not installed", "no kernel package"];
    let is_reason = |line: &&str| lacks.iter().any(|lack| line.contains(lack));
    let reason = out.stderr.lines().find(is_reason)?;
    (out.exit == Some(3)).then_some(reason)
}

#[test]
fn a_lab_kept_in_a_guest_is_reached_and_leaves_nothing_even_if_its_owner_is_killed() {
    let guest = InGuest::new("exec-kept");
    let up = ["up", "--guest", "--keep", "--policies", "ecmp"];
    let out = guest.run(&[&up[..], &["scenarios/smoke.yaml"]].concat());
    if let Some(reason) = obstacle(&out) {
        eprintln!(
            "skipped: a_lab_kept_in_a_guest_is_reached_and_leaves_nothing_even_if_its_owner_is_\
             killed: {reason}"
        );
        return;
    }
    assert_eq!(out.exit, Some(0), "{out:?}");
    assert!(out.stdout.contains("report: "), "{out:?}");
    assert!(out.stderr.contains("lab `exec-kept` stays up"), "{out:?}");
    let status = guest.status().expect("it was kept");
    assert_eq!(
        (&status["state"], &status["place"], &status["switches"]),
        (&"live".into(), &"guest".into(), &3.into()),
        "{status}"
    );
    let run = Path::new(status["run"].as_str().expect("the lab has a run directory"));
    assert!(run.starts_with(guest.results.path()) && run.join("run.json").exists());
    let shown = guest.run(&["status"]).stdout;
    assert!(
        shown.contains("live, in a guest") && !shown.contains("up-as-owner"),
        "{shown}"
    );
    let again = guest.run(&["up", "--guest", "scenarios/smoke.yaml"]);
    assert_eq!(again.exit, Some(3), "{again:?}");
    assert!(again.stderr.contains("is running: process"), "{again:?}");

    streams_and_exit_codes_are_forwarded(&guest);
    signals_are_forwarded(&guest);
    a_command_ends_with_its_client(&guest);
    packets_on_a_link_are_roce(&guest);
    hosts_of_different_dcs_reach_each_other(&guest);

    let (owner, machine) = guest.owner_and_machine();
    kill(Pid::from_raw(owner), Signal::SIGKILL).unwrap();
    wait_for_end(machine);
    assert_eq!(guest.status().expect("it is dead")["state"], "dead");
    let out = guest.run(&["exec", "dc1", "--", "true"]);
    assert_eq!(out.exit, Some(3), "{out:?}");
    assert!(out.stderr.contains("is dead"), "{out:?}");
    let out = guest.run(&["down", "exec-kept"]);
    assert_eq!(out.exit, Some(0), "{out:?}");
    guest.assert_nothing_left(machine);
}

fn streams_and_exit_codes_are_forwarded(guest: &InGuest) {
    let mut child = guest
        .script("cat; echo from inside >&2; exit 7")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    // The data are binary, and larger than all buffers between the processes.
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
    let out = guest.run(&["exec", "dc1", "--", "printf", "%s", quoted]);
    assert_eq!(
        (out.exit, out.stdout.as_str()),
        (Some(0), quoted),
        "{out:?}"
    );
    let out = guest.run(&["exec", "dc9", "--", "true"]);
    assert_eq!((out.exit, out.stdout.as_str()), (Some(2), ""), "{out:?}");
    assert!(out.stderr.contains("no node `dc9`"), "{out:?}");
    for (program, exit) in [("/nonexistent/program", 127), ("/etc/passwd", 126)] {
        let out = guest.run(&["exec", "dc1", "--", program]);
        assert_eq!(out.exit, Some(exit), "{out:?}");
        assert!(out.stderr.contains("cannot run"), "{out:?}");
    }
}

fn signals_are_forwarded(guest: &InGuest) {
    // The script loops, because a shell that has just begun to wait in `read` would run its trap only after the next
    // line.
    let script = "trap 'echo undone; exit 42' INT; echo ready; while :; do sleep 1; done";
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

fn a_command_ends_with_its_client(guest: &InGuest) {
    let script = "echo ready; sleep 1000000000";
    let mut child = guest.script(script).spawn().unwrap();
    let mut line = String::new();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    lines.read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let out = guest.run(&["exec", "dc1", "--", "pgrep", "-x", "sleep"]);
    assert_eq!((out.exit, out.stdout.as_str()), (Some(1), ""), "{out:?}");
}

fn hosts_of_different_dcs_reach_each_other(guest: &InGuest) {
    for (from, to) in [("dc1/h1", "dc3/h2"), ("dc3/h1", "dc2/h1")] {
        let out = guest.run(&["exec", from, "--", "ping", "-n", "-c", "1", "-W", "60", to]);
        assert_eq!(out.exit, Some(0), "{from} {to}: {out:?}");
        assert!(out.stdout.contains("1 received"), "{out:?}");
    }
}

/// Runs perftest between two hosts of the kept lab and tcpdump on a switch.
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
    let since = Instant::now();
    let client = loop {
        let output = on("dc1/h1", &bw("rxe_l0d1h1", &["127.0.0.1"])).wait_with_output();
        let out = Outcome::from(output.unwrap());
        // The client fails until the server has begun to listen.
        if out.exit == Some(0) || since.elapsed() > PATIENCE {
            break out;
        }
    };
    assert_eq!(client.exit, Some(0), "{client:?}");
    let server = Outcome::from(server.wait_with_output().unwrap());
    assert_eq!(server.exit, Some(0), "{server:?}");
    let seen = Outcome::from(tcpdump.wait_with_output().unwrap());
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
    let test = "a_lab_that_runs_in_a_guest_is_reached_and_taken_down";
    let Some((mut up, lines)) = guest.up_until("agents  done in", test) else {
        return;
    };
    let out = guest.run(&["exec", "dc1", "--", "sh", "-c", "ls /sys/class/net; exit 5"]);
    assert_eq!(out.exit, Some(5), "{out:?}");
    assert!(out.stdout.contains("l0d1-d3"), "{out:?}");

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

/// During the second half of the time in which flows run, a queue with half the planned rate replaces the planned
/// queue.
#[test]
fn a_queue_that_is_changed_while_flows_run_makes_the_run_invalid() {
    let guest = InGuest::new("exec-tc");
    let test = "a_queue_that_is_changed_while_flows_run_makes_the_run_invalid";
    let Some((mut up, lines)) = guest.up_until("agents  done in", test) else {
        return;
    };
    let change =
        "tc qdisc change dev l0d1-d3 root handle 1: tbf rate 50mbit burst 10kb limit 500kb";
    let out = guest.run(&["exec", "dc1", "--", "sh", "-c", change]);
    assert_eq!(out.exit, Some(0), "{out:?}");
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert_eq!(up.wait().unwrap().code(), Some(5), "{rest:?}");
    let is_named = |line: &String| {
        [
            "invalid: interface or queue changed while flows ran: ",
            "tbf of `l0d1-d3`",
            "found",
        ]
        .iter()
        .all(|part| line.contains(part))
    };
    assert!(rest.iter().any(is_named), "{rest:#?}");
}

#[test]
fn a_run_that_is_interrupted_before_its_flows_is_inconclusive() {
    let guest = InGuest::new("exec-early");
    let test = "a_run_that_is_interrupted_before_its_flows_is_inconclusive";
    for moment in [" under tcg", "  guest  up in", "build-up  done in"] {
        let Some((mut up, lines)) = guest.up_until(moment, test) else {
            return;
        };
        signal(&up, Signal::SIGINT);
        let rest: Vec<String> = lines.map(Result::unwrap).collect();
        assert_eq!(up.wait().unwrap().code(), Some(4), "{moment}: {rest:?}");
    }
}

#[test]
fn a_run_whose_guest_is_killed_keeps_its_plan_and_is_no_finished_one() {
    let guest = InGuest::new("exec-killed");
    let test = "a_run_whose_guest_is_killed_keeps_its_plan_and_is_no_finished_one";
    let Some((mut up, _)) = guest.up_until("agents  done in", test) else {
        return;
    };
    signal(&up, Signal::SIGKILL);
    up.wait().unwrap();
    let runs: Vec<_> = fs::read_dir(guest.results.path())
        .unwrap()
        .map(|run| run.unwrap().path())
        .collect();
    let [run] = runs.as_slice() else {
        panic!("{runs:?}");
    };
    for file in ["run.json", "plan.json", "scenario.yaml"] {
        assert!(run.join(file).exists(), "{file}");
    }
    let reported = guest.run(&["report", run.to_str().unwrap()]);
    assert_eq!(reported.exit, Some(4), "{reported:?}");
    assert!(reported.stderr.contains("did not end"), "{reported:?}");
    assert_eq!(guest.run(&["down", "exec-killed"]).exit, Some(0));
}
