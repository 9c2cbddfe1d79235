//! The two processes of a flow.

use std::{
    io,
    os::unix::process::ExitStatusExt,
    process::{ExitStatus, Stdio},
};

use nix::{
    libc,
    sys::{
        prctl,
        signal::{Signal, killpg},
    },
    unistd::Pid,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, Command},
    sync::oneshot,
    task::JoinHandle,
};

use crate::{
    brake::Brake, command::CommandLine, netns::Netns, outcome::Exit, priority::run_when_idle,
    stops::Stops,
};

/// A running process, alone in its process group. Dropping it kills the group; the kernel kills it
/// when the launcher's thread ends, whatever ends that.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    brake: Option<(Brake, oneshot::Receiver<()>)>,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
}

/// Why a process does nothing any more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Halt {
    Stopped,
    Ended(Exit),
}

/// The last of what a process wrote.
#[derive(Clone, Debug, Default)]
pub(crate) struct Output {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Process {
    /// Starts `line` in `netns`. Must be called on a thread that outlives the process.
    pub(crate) fn spawn(line: &CommandLine, netns: Netns) -> io::Result<Self> {
        let mut command = Command::new(&line.program);
        command
            .args(&line.args)
            // The parser expects a decimal point.
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        before_exec(&mut command, netns);
        let mut child = command.spawn()?;
        Ok(Self {
            stdout: child.stdout.take().map(|pipe| tokio::spawn(tail(pipe))),
            stderr: child.stderr.take().map(|pipe| tokio::spawn(tail(pipe))),
            child,
            brake: None,
        })
    }

    /// Waits for its end. May be dropped and called again.
    pub(crate) async fn exit(&mut self) -> Exit {
        exit(self.child.wait().await)
    }

    /// The last of what it wrote, once; it must have ended, so that its pipes are closed.
    pub(crate) async fn output(&mut self) -> Output {
        Output {
            stdout: collected(self.stdout.take()).await,
            stderr: collected(self.stderr.take()).await,
        }
    }

    /// Has it stopped as soon as it computes.
    pub(crate) fn brake(&mut self, stops: &Stops) -> io::Result<()> {
        if let Some(id) = self.id() {
            self.brake = Some((Brake::arm(id)?, stops.of(id)));
        }
        Ok(())
    }

    /// Waits for its end, or for its brake. May be dropped and called again.
    pub(crate) async fn halt(&mut self) -> Halt {
        let Some((_, stopped)) = &mut self.brake else {
            return Halt::Ended(self.exit().await);
        };
        tokio::select! {
            Ok(()) = stopped => Halt::Stopped,
            status = self.child.wait() => Halt::Ended(exit(status)),
        }
    }

    /// Takes it off the CPU.
    pub(crate) fn suspend(&self) {
        self.signal(Signal::SIGSTOP);
    }

    /// Lets it go on without a brake, whenever no other process wants the CPU.
    pub(crate) fn resume_idly(&mut self) {
        self.brake = None;
        if let Some(id) = self.id() {
            // It may always be lowered; else the process has ended.
            let _ = run_when_idle(id);
        }
        self.signal(Signal::SIGCONT);
    }

    /// Kills it and waits until it is gone, and its queue pair with it.
    pub(crate) async fn kill(&mut self) {
        self.signal(Signal::SIGKILL);
        // An error means that somebody else has reaped it, so it is gone.
        let _ = self.child.wait().await;
    }

    fn signal(&self, signal: Signal) {
        if let Some(id) = self.id() {
            // It fails when the group has ended meanwhile, which is what is wanted.
            let _ = killpg(id, signal);
        }
    }

    /// Its id, until it is reaped and the id may be another's.
    fn id(&self) -> Option<Pid> {
        let id = self.child.id()?;
        Some(Pid::from_raw(i32::try_from(id).ok()?))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::SIGKILL);
    }
}

/// What the child does between fork and exec: enter its namespace, and ask to die with its parent.
#[expect(unsafe_code, reason = "the child must change itself before it execs")]
fn before_exec(command: &mut Command, netns: Netns) {
    let parent = Pid::this();
    let prepare = move || {
        netns.enter()?;
        prctl::set_pdeathsig(Signal::SIGKILL)?;
        // Had the parent died before that, nobody would ever send the signal.
        if Pid::parent() == parent {
            Ok(())
        } else {
            Err(io::Error::from_raw_os_error(libc::ESRCH))
        }
    };
    // SAFETY: `prepare` makes three system calls (setns, prctl, getppid) and allocates nothing, so
    // it is safe in the child of a process with threads.
    unsafe {
        command.pre_exec(prepare);
    }
}

fn exit(status: io::Result<ExitStatus>) -> Exit {
    match status {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => Exit::Code(code),
            (None, signal) => Exit::Signal(signal.unwrap_or_default()),
        },
        // Somebody else has reaped it, so how it ended is not known.
        Err(_) => Exit::Unknown,
    }
}

async fn collected(reader: Option<JoinHandle<String>>) -> String {
    match reader {
        Some(reader) => reader.await.unwrap_or_default(),
        None => String::new(),
    }
}

/// Reads to the end and keeps the last [`TAIL_BYTES`].
async fn tail(mut pipe: impl AsyncRead + Unpin) -> String {
    let mut kept = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
        kept.extend_from_slice(&buffer[..count]);
        let excess = kept.len().saturating_sub(TAIL_BYTES);
        kept.drain(..excess);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// A successful client prints 10 bytes, a failing one some hundred.
const TAIL_BYTES: usize = 8 << 10;
