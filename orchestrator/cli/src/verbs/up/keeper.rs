//! `up --keep` in a guest: a background process owns the guest and keeps it when `up` returns.
//!
//! The machine dies with the process that started it, whatever ends that. So it is started by the
//! process that is to stay: `up` starts a keeper, passes signals on to it, and concludes the run once
//! the keeper has said on its standard output, a pipe, how it went.

use std::{
    fs::OpenOptions,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use lab_guest::{GuestError, StayingGuest};
use nix::{
    sys::{
        prctl,
        signal::{Signal, kill},
    },
    unistd::{Pid, dup2_stderr, dup2_stdin, dup2_stdout, getppid, setsid},
};
use serde::{Deserialize, Serialize};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};

use super::{Request, guest};
use crate::{
    failure::{During, Exit, Failure, Outcome},
    output::note,
};

/// What a keeper says to the process that started it.
#[derive(Debug, Deserialize, Serialize)]
enum Said {
    /// The flows have ended; records are in this directory.
    Ran(PathBuf),
    /// There are none.
    Failed(Failure),
}

/// Starts a keeper and waits for the run directory.
pub fn start(request: &Request<'_>) -> Result<PathBuf, Failure> {
    let mut words = guest::again(request)?.into_iter();
    let mut command = Command::new(words.next().unwrap_or_default());
    command
        .args(words)
        .arg("--results")
        .arg(&request.global.results)
        .args(["--guest", "--keep", "--keeper-for"])
        .arg(std::process::id().to_string());
    if let Some(clock) = request.arguments.clock {
        command.arg("--clock").arg(clock.name());
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut keeper = command.spawn().during("start the guest's keeper")?;
    let has_said = Arc::new(AtomicBool::new(false));
    pass_signals(Pid::from_raw(keeper.id().cast_signed()), has_said.clone())
        .during("listen to signals")?;
    let mut said = Vec::new();
    if let Some(stdout) = &mut keeper.stdout {
        stdout
            .read_to_end(&mut said)
            .during("listen to the guest's keeper")?;
    }
    has_said.store(true, Ordering::Relaxed);
    match serde_json::from_slice(&said) {
        Ok(Said::Ran(dir)) => Ok(dir),
        Ok(Said::Failed(failure)) => Err(failure),
        Err(_) => {
            let status = keeper.wait().during("wait for the guest's keeper")?;
            Err(Failure::environment(format_args!(
                "the process that keeps the guest ended early: {status}"
            )))
        }
    }
}

/// Passes signals on to the keeper, which takes the lab down, until it has said how the run went;
/// from then on the lab is its own affair.
fn pass_signals(keeper: Pid, has_said: Arc<AtomicBool>) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::spawn(move || {
        for signal in signals.forever() {
            if has_said.load(Ordering::Relaxed) {
                std::process::exit(128 + signal);
            }
            // One that has just ended is told by the end of its output.
            let _ = Signal::try_from(signal).and_then(|signal| kill(keeper, signal));
        }
    });
    Ok(())
}

/// Is the keeper, for the process `caller`.
pub fn keep(request: &Request<'_>, caller: i32) -> Outcome {
    // Ctrl-C at the terminal reaches us by the caller alone, and ends it alone once the lab is kept.
    setsid().during("leave the terminal")?;
    // Until then we go with it, as one program.
    prctl::set_pdeathsig(Signal::SIGTERM).during("follow the caller")?;
    if getppid() != Pid::from_raw(caller) {
        return Err(Failure::environment("the caller is gone"));
    }
    match guest::run_and_stay(request, stay) {
        Ok(dir) => say(&Said::Ran(dir)),
        Err(failure) => {
            let exit = failure.exit;
            say(&Said::Failed(failure));
            return Ok(exit);
        }
    }
    Ok(Exit::Pass)
}

/// Lets go of everything of the caller's and serves the guest's visitors until told to end.
fn stay(guest: StayingGuest<'_>, dir: &Path) -> Result<(), GuestError> {
    let left = prctl::set_pdeathsig(None)
        .map_err(io::Error::from)
        .and_then(|()| {
            say(&Said::Ran(dir.to_owned()));
            let null = OpenOptions::new()
                .read(true)
                .write(true)
                .open("/dev/null")?;
            dup2_stdin(&null)?;
            dup2_stdout(&null)?;
            dup2_stderr(&null)?;
            Ok(())
        });
    left.map_err(|source| GuestError::Host { source })?;
    let served = guest.serve();
    if let Err(error) = &served {
        // Nobody listens any more.
        let console = OpenOptions::new()
            .append(true)
            .open(guest::console_log(dir));
        let _ = console.and_then(|mut console| writeln!(console, "lcmp-lab: {error}"));
    }
    served
}

/// Says the one thing the caller waits for. A caller that is gone has no use for it; once it was
/// said, standard output leads nowhere.
fn say(said: &Said) {
    let told = serde_json::to_vec(said)
        .map_err(io::Error::from)
        .and_then(|text| io::stdout().write_all(&text))
        .and_then(|()| io::stdout().flush());
    if let Err(error) = told {
        note(&format!("the caller is gone: {error}"));
    }
}
