//! Tests of a request's properties, as seen inside the guest.

use std::{fs, os::unix::fs::MetadataExt};

use lab_guest::{cache::Kernel, rights::GUEST_USER};

use crate::guest::{Guest, stderr};

/// Tests all properties of a command in the guest that can be checked in a single boot.
#[test]
fn a_command_runs_as_if_it_ran_here() {
    Guest::test(|guest| {
        let results = guest.dir.path().join("results, of $(all) \"kinds\"");
        fs::create_dir(&results).unwrap();
        fs::write(guest.dir.path().join("here"), "unchanged").unwrap();
        let script = r#"
        echo "to stdout: $1"
        echo "to stderr: $LCMP_LAB_GUEST $LCMP_LAB_CLOCK $LCMP_LAB_ACCEL $LCMP_LAB_PROGRESS" >&2
        test -t 1 && echo 'stdout is a terminal'
        echo from inside >"$2/new"
        echo changed >here
        echo "here: $(cat here)"
        ls /sys/class/net
        head -c 300000 /dev/zero | tr '\0' x
        rm /etc/hostname
        (sleep 1000 &)
        exit 7
    "#;
        let odd = "two words\nand 'quotes'; $(not run)";
        let results_text = results.to_str().unwrap();
        let output = guest.run(
            &["--writable", results_text],
            &["/bin/bash", "-c", script, "script", odd, results_text],
        );

        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(7), "{text}");
        let stdout = String::from_utf8(output.stdout).unwrap();
        let (lines, bulk) = stdout.split_at(stdout.len() - 300_000);
        assert_eq!(lines, format!("to stdout: {odd}\nhere: changed\nlo\n"));
        assert!(bulk.bytes().all(|byte| byte == b'x'));
        assert!(text.contains("to stderr: 1 virtual tcg plain\n"), "{text}");
        assert!(!text.contains("to stdout"), "{text}");
        assert!(text.contains("clocksource: \"tsc\""), "{text}");

        assert_eq!(
            fs::read_to_string(results.join("new")).unwrap(),
            "from inside\n"
        );
        let here = fs::read_to_string(guest.dir.path().join("here")).unwrap();
        assert_eq!(here, "unchanged");
        assert!(fs::exists("/etc/hostname").unwrap());
    });
}

/// Root in the guest tries everything that could write to the control port: the port's file, a new device file, the
/// host's file for the port, the init's open file, and the init's secret from the request or from the init's memory.
#[test]
fn a_program_cannot_speak_for_the_guests_init() {
    Guest::test(|guest| {
        let script = r#"
        forged='{"exit":{"code":0}}'
        for port in 0 1 2 3; do
            echo "$forged" >/dev/ttyS$port
            mknod /run/port$port c 4 $((64 + port)) && echo "$forged" >/run/port$port
        done
        mkdir /run/root && mount --bind / /run/root && echo "$forged" >/run/root/dev/ttyS3
        for file in /proc/1/fd/*; do echo "$forged" >$file; done
        head -c 1 /proc/1/mem && echo 'memory is readable'
        ls /run/lcmp-lab-guest
        cat /run/lcmp-lab-guest/request.json && echo 'request is readable'
        reboot -f
        sleep 1
        exit 7
    "#;
        let output = guest.run(&[], &["/bin/bash", "-c", script]);
        let text = stderr(&output);
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(7), "{stdout}{text}");
        for leak in ["readable", "request.json\n", "{"] {
            assert!(!stdout.contains(leak), "{leak}: {stdout}");
        }
        let refused = "mknod: /run/port3: Operation not permitted";
        assert!(text.contains(refused), "{text}");
    });
}

#[test]
fn what_a_guest_writes_is_its_callers_and_holds_no_link_or_right() {
    Guest::test(|guest| {
        let results = guest.dir.path().join("results");
        fs::create_dir(&results).unwrap();
        let before = fs::metadata(&results).unwrap();
        let text = results.to_str().unwrap();
        let script = r#"
        cd "$1" && echo row >table && mkdir inner && echo row >inner/table
        cp /bin/true program && chmod 4755 program
        ln -s /etc/passwd link
        mkfifo pipe || true
    "#;
        let output = guest.run(
            &["--writable", text],
            &["/bin/bash", "-c", script, "script", text],
        );
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let made = ["", "table", "inner", "inner/table", "program"];
        for path in made.map(|name| results.join(name)) {
            let found = fs::symlink_metadata(&path).unwrap();
            let owner = (found.uid(), found.gid());
            let expected = (before.uid(), before.gid());
            assert_eq!(owner, expected, "{}", path.display());
            assert_eq!(found.mode() & 0o7000, 0, "{}", path.display());
        }
        if nix::unistd::geteuid().is_root() {
            for name in ["link", "pipe"] {
                assert!(fs::symlink_metadata(results.join(name)).is_err(), "{name}");
            }
        }
    });
}

/// Checks the user, the capabilities and the system call filter of QEMU, as shown in `/proc`.
#[test]
fn qemu_has_no_rights_but_to_read() {
    Guest::test(|guest| {
        let mut started = guest.start(&[], &["/bin/bash", "-c", "echo inside >&2; sleep 1000"]);
        started.wait_for("inside");
        let status = fs::read_to_string(format!("/proc/{}/status", started.machine())).unwrap();
        let field = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap();
            line[name.len()..]
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        };
        if nix::unistd::geteuid().is_root() {
            let user = GUEST_USER.to_string();
            assert_eq!(field("Uid:"), [user.as_str(); 4].join(" "));
            assert_eq!(field("Gid:"), [user.as_str(); 4].join(" "));
            // CAP_DAC_READ_SEARCH has number 2 in the kernel's list.
            for set in ["CapEff:", "CapPrm:"] {
                assert_eq!(
                    u64::from_str_radix(&field(set), 16).unwrap(),
                    1 << 2,
                    "{set}"
                );
            }
        }
        assert_eq!(
            (field("NoNewPrivs:"), field("Seccomp:")),
            ("1".into(), "2".into())
        );
        started.child.kill().unwrap();
        started.child.wait().unwrap();
    });
}

#[test]
fn a_wrong_request_is_refused_before_anything_is_started() {
    Guest::test(|guest| {
        let empty = guest.dir.path().to_str().unwrap();
        let cases: [(&[&str], &str, i32, &str); 5] = [
            (&[], "uname", 2, "`uname` is not an absolute path"),
            (
                &[],
                "/run/program",
                3,
                "`/run/program` is not visible inside the guest",
            ),
            (
                &["--cache", empty],
                "/bin/true",
                3,
                "no kernel package is unpacked in",
            ),
            (
                &["--writable", "/nonexistent"],
                "/bin/true",
                3,
                "writable directory `/nonexistent`: No",
            ),
            (
                &["--writable", "results"],
                "/bin/true",
                3,
                "writable directory `results`: the path is not",
            ),
        ];
        for (options, command, code, message) in cases {
            if options.contains(&"--cache") && Kernel::find(empty.as_ref()).is_ok() {
                // An installed kernel is used if the cache has no kernel.
                continue;
            }
            let output = guest.run(options, &[command]);
            let text = stderr(&output);
            assert!(text.contains(message), "{text}");
            assert!(!text.contains("Booting"), "{text}");
            assert_eq!(output.status.code(), Some(code), "{text}");
        }
    });
}

#[test]
fn a_command_that_does_not_exist_is_named() {
    Guest::test(|guest| {
        let output = guest.run(&[], &["/nonexistent/program"]);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(
            text.contains("guest set-up: cannot start command `/nonexistent/program`"),
            "{text}"
        );
    });
}
