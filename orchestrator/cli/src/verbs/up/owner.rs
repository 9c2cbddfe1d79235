//! `up --keep` in a guest: a background process owns the guest, so that `up` can end before it.
//!
//! QEMU ends with the process that started it. So `up` starts an owner process and sends it the request, with the plan,
//! on its standard input; the owner starts QEMU. `up` forwards signals to the owner, reads the result of the run from
//! the owner's standard output, which is a pipe, and writes the report. A signal before `up` has returned ends the
//! owner and its guest, even if the lab in the guest was kept.

use std::{
    fs::OpenOptions,
    io::{self, BufWriter, Read, Write},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
};

use lab_guest::{GuestError, StayingGuest};
use nix::{
    sys::{
        prctl,
        signal::{Signal, kill},
    },
    unistd::{Pid, dup2_stderr, dup2_stdin, dup2_stdout, setsid},
};
use serde::{Deserialize, Serialize};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};

use super::{guest, here::interrupted, task::Request};
use crate::{
    args::Global,
    failure::{During, Exit, Failure, Outcome},
    parent,
    terminal::{self, note},
};

/// Result of a run, sent from the owner to `up`.
#[derive(Debug, Deserialize, Serialize)]
enum RunResult {
    /// Run whose flows have ended; path of the directory with its records.
    Ended(PathBuf),
    /// Run that failed without records.
    Failed(Failure),
}

/// Starts an owner process and waits until the flows have ended; returns the run directory and the owner.
pub fn start(request: &Request, global: &Global) -> Result<(PathBuf, Child), Failure> {
    let program = std::env::current_exe().during("find this program")?;
    let mut command = Command::new(program);
    command
        .arg("up-as-owner")
        .arg(std::process::id().to_string())
        .args(["--log", &global.log, "--results"])
        .arg(&global.results)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    in_own_session(&mut command);
    // The queue is created before the owner, so that a signal that arrives while the owner starts is kept until its
    // process ID is known.
    let signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).during("listen to signals")?;
    let mut owner = command.spawn().during("start the owner of the guest")?;
    forward_signals(signals, Pid::from_raw(owner.id().cast_signed()));
    if let Some(stdin) = owner.stdin.take() {
        // The write fails if the owner has ended early; the missing result below then reports it.
        let _ = serde_json::to_writer(BufWriter::new(stdin), request);
    }
    let mut result = Vec::new();
    if let Some(stdout) = &mut owner.stdout {
        stdout
            .read_to_end(&mut result)
            .during("read from the owner of the guest")?;
    }
    match serde_json::from_slice(&result) {
        Ok(RunResult::Ended(dir)) => Ok((dir, owner)),
        Ok(RunResult::Failed(failure)) => {
            owner.wait().during(WAIT)?;
            Err(failure)
        }
        Err(_) => {
            let status = owner.wait().during(WAIT)?;
            // The signal may have arrived before the owner could handle signals.
            if terminal::is_interrupted() {
                return Err(interrupted());
            }
            Err(Failure::environment(format_args!(
                "the process that owns the guest ended early: {status}"
            )))
        }
    }
}

const WAIT: &str = "wait for the owner of the guest";

/// Starts `command` in a session of its own, so that Ctrl-C on the terminal reaches only this process, which forwards
/// it, and never a kept lab.
#[expect(unsafe_code, reason = "a hook between fork and exec has no safe form")]
fn in_own_session(command: &mut Command) {
    let hook = || setsid().map(drop).map_err(io::Error::from);
    // SAFETY: the hook only makes a system call, which is async-signal-safe.
    unsafe {
        command.pre_exec(hook);
    }
}

/// Forwards signals to the owner for as long as this process runs. At a signal, the owner ends its guest.
fn forward_signals(mut signals: Signals, owner: Pid) {
    thread::spawn(move || {
        for signal in signals.forever() {
            // The signal cannot be sent if the owner has ended; `start` sees that by its closed standard output.
            let _ = Signal::try_from(signal).and_then(|signal| kill(owner, signal));
        }
    });
}

/// Runs the owner process: reads the request of process `caller` from standard input.
pub fn own(caller: i32, global: &Global) -> Outcome {
    // Until the lab is kept, the owner ends with its caller.
    parent::follow(caller, Signal::SIGTERM)?;
    let request = serde_json::from_reader(io::stdin().lock());
    let request: Request = request.during("read the run request from the calling `lcmp-lab up`")?;
    match guest::run_and_stay(&request, global, stay) {
        Ok(dir) => send(&RunResult::Ended(dir)),
        Err(failure) => {
            let exit = failure.exit;
            send(&RunResult::Failed(failure));
            return Ok(exit);
        }
    }
    Ok(Exit::Pass)
}

/// Detaches from the caller, and serves exec sessions until a signal ends this process.
fn stay(guest: StayingGuest<'_>, dir: &Path) -> Result<(), GuestError> {
    detach(dir).map_err(GuestError::host)?;
    let served = guest.serve();
    if let Err(error) = &served {
        // Standard error is closed by now, so the error goes to the console log.
        let console = lab_files::append(&guest::console_log(dir));
        let _ = console.and_then(|mut console| writeln!(console, "lcmp-lab: {error}"));
    }
    served
}

/// Sends the result, closes the streams shared with the caller, and lets this process outlive the caller.
fn detach(dir: &Path) -> io::Result<()> {
    prctl::set_pdeathsig(None)?;
    send(&RunResult::Ended(dir.to_owned()));
    let null = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    Ok(())
}

/// Sends the result of the run to the caller. In a detached owner, standard output is `/dev/null`, so a second result
/// has no effect.
fn send(result: &RunResult) {
    let sent = serde_json::to_vec(result)
        .map_err(io::Error::from)
        .and_then(|text| io::stdout().write_all(&text))
        .and_then(|()| io::stdout().flush());
    if let Err(error) = sent {
        note(&format!(
            "cannot send the result of the run to the calling `lcmp-lab up`: {error}"
        ));
    }
}
