//! Tests of runs that end before their command has finished.

use std::fs;

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::guest::{Guest, Started, stderr, wait_for_end};

fn send(process: u32, signal: Signal) {
    kill(Pid::from_raw(process.cast_signed()), signal).unwrap();
}

fn started(guest: &Guest, options: &[&str], script: &str) -> Started {
    let mut started = guest.start(options, &["/bin/bash", "-c", script]);
    started.wait_for("inside");
    started
}

#[test]
fn interrupts_reach_the_command_and_the_third_ends_the_guest() {
    Guest::test(|guest| {
        // The interrupted `sleep` shows that the signal reaches the whole process group.
        let script = "trap 'echo undone >&2' INT; echo inside >&2; \
                  while :; do sleep 1000; echo woken >&2; done";
        let mut started = started(&guest, &[], script);
        let machine = started.machine();
        for _ in 0..2 {
            send(started.child.id(), Signal::SIGINT);
            started.wait_for("undone");
            started.wait_for("woken");
        }
        send(started.child.id(), Signal::SIGINT);
        let (code, rest) = started.end();
        assert_eq!(code, Some(130), "{rest}");
        assert!(rest.contains("ended by signal 2"), "{rest}");
        wait_for_end(machine);
    });
}

#[test]
fn a_command_that_ends_on_a_signal_gives_its_own_exit_code() {
    Guest::test(|guest| {
        let script = "trap 'exit 42' TERM; echo inside >&2; sleep 1000 & wait";
        let started = started(&guest, &[], script);
        send(started.child.id(), Signal::SIGTERM);
        let (code, rest) = started.end();
        assert_eq!(code, Some(42), "{rest}");
    });
}

#[test]
fn a_killed_machine_is_an_error_of_the_environment() {
    Guest::test(|guest| {
        let started = started(&guest, &[], "echo inside >&2; sleep 1000");
        send(started.machine(), Signal::SIGKILL);
        let (code, rest) = started.end();
        assert_eq!(code, Some(3), "{rest}");
        assert!(
            rest.contains("guest machine ended early: signal: 9"),
            "{rest}"
        );
        assert!(rest.contains(guest.console().to_str().unwrap()), "{rest}");
        // Only the console log is left.
        assert_eq!(fs::read_dir(guest.dir.path()).unwrap().count(), 1);
    });
}

#[test]
fn the_machine_dies_with_a_killed_program() {
    Guest::test(|guest| {
        let mut started = started(&guest, &[], "echo inside >&2; sleep 1000");
        let machine = started.machine();
        started.child.kill().unwrap();
        started.child.wait().unwrap();
        wait_for_end(machine);
    });
}

#[test]
fn a_panicking_kernel_is_quoted_and_its_console_kept() {
    Guest::test(|guest| {
        let output = guest.run(&[], &["/bin/bash", "-c", "echo c >/proc/sysrq-trigger"]);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(
            text.contains("guest kernel: Kernel panic - not syncing: sysrq"),
            "{text}"
        );
        let console = fs::read_to_string(guest.console()).unwrap();
        assert!(console.contains("sysrq triggered crash"), "{console}");
    });
}

#[test]
fn a_silent_guest_is_ended() {
    Guest::test(|guest| {
        let started = started(&guest, &["--silence", "30"], "echo inside >&2; sleep 1000");
        let machine = started.machine();
        send(machine, Signal::SIGSTOP);
        let (code, rest) = started.end();
        assert_eq!(code, Some(3), "{rest}");
        assert!(
            rest.contains("no output and no heartbeat for 30 s"),
            "{rest}"
        );
        wait_for_end(machine);
    });
}

#[test]
fn a_boot_that_takes_too_long_is_ended() {
    Guest::test(|guest| {
        let output = guest.run(&["--boot-timeout", "1"], &["/bin/true"]);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(text.contains("not ready within 1 s"), "{text}");
    });
}

#[test]
fn an_interrupt_during_boot_ends_the_run() {
    Guest::test(|guest| {
        let mut started = guest.start(&[], &["/bin/true"]);
        started.wait_for("Booting");
        send(started.child.id(), Signal::SIGINT);
        let (code, rest) = started.end();
        assert_eq!(code, Some(130), "{rest}");
    });
}
