//! Tests that bytes in the outbox reach the host while the command runs.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::guest::{Guest, program};

#[test]
fn what_was_sent_is_on_the_host_even_if_the_machine_is_killed_at_once() {
    Guest::test(|guest| {
        let script = format!(
            "{} send first second && echo sent >&2; sleep 1000",
            program().display()
        );
        let mut started = guest.start(&[], &["/bin/bash", "-c", &script]);
        started.wait_for("sent");
        kill(
            Pid::from_raw(started.machine().cast_signed()),
            Signal::SIGKILL,
        )
        .unwrap();
        let (code, stdout, rest) = started.output();
        assert_eq!(code, Some(3), "{rest}");
        assert_eq!(stdout, "first\nsecond\n", "{rest}");
    });
}

#[test]
fn sending_makes_no_guest_wait_for_the_host() {
    Guest::test(|guest| {
        let path = program();
        let program = path.display();
        let script = format!(
            "{program} preload {program} && {program} send warm && {program} waits && \
             before=$({program} waits) && {program} send {{1..5000}} && \
             test $({program} waits) = $before && echo same"
        );
        let output = guest.run(&["--virtual"], &["/bin/bash", "-c", &script]);
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{stdout}");
        for line in ["warm", "5000", "same"] {
            assert!(stdout.lines().any(|found| found == line), "{line}");
        }
    });
}
