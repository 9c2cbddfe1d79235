//! Properties of a request, as seen inside the guest.

use std::fs;

use lab_guest::cache::Kernel;

use crate::guest::{Guest, stderr};

/// All properties that a single boot can show.
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
                "`/run/program` cannot be seen inside the guest",
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
                "writable directory `results`: it is not",
            ),
        ];
        for (options, command, code, message) in cases {
            if options.contains(&"--cache") && Kernel::find(empty.as_ref()).is_ok() {
                // A kernel is installed, which stands in for a cache's.
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
            text.contains("guest set-up: command `/nonexistent/program`"),
            "{text}"
        );
    });
}
