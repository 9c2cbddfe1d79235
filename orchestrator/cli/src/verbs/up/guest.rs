//! `up` in a guest: the same command again, inside.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::SystemTime,
};

use lab_guest::{Clock, GuestEvent, GuestRequest, Sinks};
use lab_kernel::{doctor::Finding, lab::Claim};
use lab_records::UtcTime;

use super::{Request, make_run_dir};
use crate::{
    args::ClockArg,
    failure::{During, Exit, Failure, with_causes},
    load,
    output::note,
    progress::seconds,
};

/// Boots a guest, runs the lab in it and gives back the run directory.
pub fn run(request: &Request<'_>, missing: &[Finding]) -> Result<PathBuf, Failure> {
    let names: Vec<&str> = missing
        .iter()
        .map(|finding| finding.subject.as_str())
        .collect();
    if !names.is_empty() {
        note(&format!(
            "this kernel has no {}: running in a guest",
            names.join(", ")
        ));
    }
    let now = SystemTime::now();
    // Nothing of the lab is made on this kernel, but its name is taken.
    let _claim = Claim::take(&request.lab, &request.plan.name)
        .map_err(|error| Failure::environment(with_causes(&error)))?;
    let dir = make_run_dir(request, now)?;
    let outcome = boot(request, &dir, now)?;
    if !dir.join(lab_records::format::RUN_FILE).exists() {
        let code = outcome.exit_code;
        return Err(Failure {
            exit: Exit::Environment,
            message: format!(
                "the lab in the guest ended with exit code {code} before it had records \
                 (its console: {})",
                console_log(&dir).display()
            ),
        });
    }
    Ok(dir)
}

fn boot(
    request: &Request<'_>,
    dir: &Path,
    now: SystemTime,
) -> Result<lab_guest::GuestOutcome, Failure> {
    let console = console_log(dir);
    let cwd = std::env::current_dir().during("find the working directory")?;
    let mut guest = GuestRequest::new(command(request, dir, now)?, &cwd, &console)
        .during("find this program")?;
    guest.clock = request.arguments.clock.map(|clock| match clock {
        ClockArg::Virtual => Clock::Virtual,
        ClockArg::Real => Clock::Real,
    });
    guest.seed = request.plan.seed;
    guest.writable = vec![dir.to_owned()];
    for name in PASSED_ON {
        guest.env.extend(
            std::env::var(name)
                .ok()
                .map(|value| (name.to_owned(), value)),
        );
    }
    let mut tell = |event: GuestEvent| match event {
        GuestEvent::TryingKvm => note("     guest  trying KVM"),
        GuestEvent::Booting {
            engine,
            clock,
            kernel,
        } => note(&format!(
            "     guest  Linux {kernel} under {}, {} clock",
            engine.name(),
            clock.name()
        )),
        GuestEvent::Ready { boot_wall } => {
            note(&format!("     guest  up in {}", seconds(boot_wall)));
        }
        GuestEvent::Forwarded { .. } | GuestEvent::Ended { .. } => {}
    };
    let mut sinks = Sinks {
        stdout: &mut std::io::stdout(),
        stderr: &mut std::io::stderr(),
        events: &mut tell,
    };
    lab_guest::run(&guest, &mut sinks).map_err(|error| Failure {
        exit: Exit::of_guest(error.exit_code()),
        message: with_causes(&error),
    })
}

/// The command inside: this program, the same scenario, records into the run directory.
fn command(request: &Request<'_>, dir: &Path, now: SystemTime) -> Result<Vec<OsString>, Failure> {
    let program = std::env::current_exe().during("find this program")?;
    let arguments = &request.arguments;
    let scenario = load::absolute(&arguments.scenario.scenario)?;
    let mut command: Vec<OsString> = vec![program.into(), "up".into(), scenario.into()];
    let mut option = |name: &str, value: OsString| command.extend([OsString::from(name), value]);
    option("--into", dir.into());
    option("--started-at", UtcTime::new(now).to_string().into());
    option("--lab", request.lab.to_string().into());
    option("--log", request.global.log.clone().into());
    option("--seed", request.plan.seed.to_string().into());
    if !arguments.scenario.policies.is_empty() {
        option("--policies", arguments.scenario.policies.join(",").into());
    }
    if arguments.keep {
        command.push("--keep".into());
    }
    Ok(command)
}

fn console_log(dir: &Path) -> PathBuf {
    dir.join("console.log")
}

/// What the command inside may know of this process's environment.
const PASSED_ON: [&str; 4] = ["PATH", "HOME", "TERM", "LANG"];
