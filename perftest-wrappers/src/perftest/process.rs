//! Child processes: their launcher, namespaces, signals and output.

use std::{
    fs::File,
    io,
    os::{fd::AsFd, unix::process::ExitStatusExt},
    path::Path,
    process::{ExitStatus, Stdio},
    sync::{Arc, mpsc},
    thread,
};

use nix::{
    libc,
    sched::{CloneFlags, setns},
    sys::{
        prctl,
        signal::{Signal, killpg},
    },
    unistd::Pid,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, Command},
    runtime::Handle,
    sync::oneshot,
    task::JoinHandle,
};

use super::{
    command::CommandLine,
    cpu::{StopListener, StopOnCompute},
    error::SessionError,
};
use crate::{contract::Exit, priority::run_when_idle};

/// Handle of the thread that starts all processes.
///
/// Each child process asks the kernel to kill it when its parent dies, and for the kernel the parent is the *thread*
/// that forked it. The runtime's threads may end at any time; this thread lives as long as the session, and its end
/// kills every process.
#[derive(Clone, Debug)]
pub(crate) struct Launcher {
    requests: mpsc::Sender<Request>,
}

struct Request {
    line: CommandLine,
    netns: Netns,
    reply: oneshot::Sender<io::Result<Process>>,
}

impl Launcher {
    /// Starts the thread. Must be called within a runtime, which reaps the processes.
    pub(crate) fn start() -> io::Result<Self> {
        let (requests, received) = mpsc::channel::<Request>();
        let runtime = Handle::current();
        thread::Builder::new()
            .name("perftest-launcher".to_owned())
            .spawn(move || {
                let _inside = runtime.enter();
                for Request { line, netns, reply } in received {
                    // If the requester no longer waits, the process is dropped, which kills it.
                    let _ = reply.send(Process::spawn(&line, netns));
                }
            })?;
        Ok(Self { requests })
    }

    /// Starts one process on the launcher's thread.
    pub(crate) async fn spawn(&self, line: CommandLine, netns: Netns) -> io::Result<Process> {
        let (reply, process) = oneshot::channel();
        let request = Request { line, netns, reply };
        self.requests.send(request).map_err(io::Error::other)?;
        process.await.map_err(io::Error::other)?
    }
}

/// Network namespace that is held open; `None`: the caller's own namespace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Netns(Option<Arc<File>>);

impl Netns {
    /// Opens the network namespace of `host` at `path`.
    pub(crate) fn open(path: &Path, host: &str) -> Result<Self, SessionError> {
        let file = File::open(path).map_err(|source| SessionError::Netns {
            host: host.to_owned(),
            path: path.to_owned(),
            source,
        })?;
        Ok(Self(Some(Arc::new(file))))
    }

    /// Moves the calling thread permanently into the namespace with a single system call, which is safe in a child
    /// process between fork and exec.
    fn enter(&self) -> io::Result<()> {
        match &self.0 {
            Some(file) => Ok(setns(file.as_fd(), CloneFlags::CLONE_NEWNET)?),
            None => Ok(()),
        }
    }

    /// Runs `action` within the namespace, on a separate thread: a namespace belongs to a thread, and the runtime's
    /// threads must keep theirs. A socket keeps the namespace in which it was created.
    pub(crate) async fn run<T, F>(&self, action: F) -> io::Result<T>
    where
        T: Send + 'static,
        F: FnOnce() -> io::Result<T> + Send + 'static,
    {
        if self.0.is_none() {
            return action();
        }
        let inside = self.clone();
        let (done, result) = oneshot::channel();
        thread::Builder::new()
            .name("netns-socket".to_owned())
            .spawn(move || {
                // The call fails if the caller no longer waits for the result.
                let _ = done.send(inside.enter().and_then(|()| action()));
            })?;
        result.await.map_err(io::Error::other)?
    }
}

/// Running process in its own process group. Dropping it kills the group; the kernel kills the process when the
/// launcher's thread ends.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    stop: Option<(StopOnCompute, oneshot::Receiver<()>)>,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
}

/// Event that ends the wait for a process: its end, or its stop by `SIGSTOP`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Halt {
    Stopped,
    Ended(Exit),
}

/// Last part of a process's output on both streams.
#[derive(Clone, Debug, Default)]
pub(crate) struct Output {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Process {
    /// Starts `line` in `netns`. Must be called on a thread that outlives the process.
    fn spawn(line: &CommandLine, netns: Netns) -> io::Result<Self> {
        let mut command = Command::new(&line.program);
        command
            .args(&line.args)
            // The parser of the reports expects a decimal point.
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
            stop: None,
        })
    }

    /// Waits for the end of the process. The future is cancel-safe.
    pub(crate) async fn exit(&mut self) -> Exit {
        exit(self.child.wait().await)
    }

    /// Returns the last part of the output; can be called once. The process must have ended, so that its pipes are
    /// closed.
    pub(crate) async fn output(&mut self) -> Output {
        Output {
            stdout: collected(self.stdout.take()).await,
            stderr: collected(self.stderr.take()).await,
        }
    }

    /// Arms a performance counter that stops the process by `SIGSTOP` once the process computes in user mode.
    pub(crate) fn stop_on_compute(&mut self, stops: &StopListener) -> io::Result<()> {
        if let Some(id) = self.id() {
            self.stop = Some((StopOnCompute::arm(id)?, stops.stop_of(id)));
        }
        Ok(())
    }

    /// Waits until the process ends or is stopped. The future is cancel-safe.
    pub(crate) async fn halt(&mut self) -> Halt {
        let Some((_, stopped)) = &mut self.stop else {
            return Halt::Ended(self.exit().await);
        };
        tokio::select! {
            Ok(()) = stopped => Halt::Stopped,
            status = self.child.wait() => Halt::Ended(exit(status)),
        }
    }

    /// Stops the process with `SIGSTOP`.
    pub(crate) fn suspend(&self) {
        self.signal(Signal::SIGSTOP);
    }

    /// Continues the process at idle priority, so that it runs only when no other process needs the CPU.
    pub(crate) fn resume_idly(&mut self) {
        self.stop = None;
        if let Some(id) = self.id() {
            // Lowering a priority is always permitted, so the call fails only if the process has ended.
            let _ = run_when_idle(id);
        }
        self.signal(Signal::SIGCONT);
    }

    /// Kills the process and waits for its end, which also destroys its queue pair.
    pub(crate) async fn kill(&mut self) {
        self.signal(Signal::SIGKILL);
        // An error means that the process was reaped elsewhere.
        let _ = self.child.wait().await;
    }

    fn signal(&self, signal: Signal) {
        if let Some(id) = self.id() {
            // The call fails if the group has already ended and needs no signal.
            let _ = killpg(id, signal);
        }
    }

    /// Returns the process id; `None` once the process has been reaped.
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

/// Makes the child process enter its namespace between fork and exec, and die with its parent.
#[expect(unsafe_code, reason = "the child must change itself before it execs")]
fn before_exec(command: &mut Command, netns: Netns) {
    let parent = Pid::this();
    let prepare = move || {
        netns.enter()?;
        prctl::set_pdeathsig(Signal::SIGKILL)?;
        // If the parent died before the call, the child will not receive the signal.
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
        // The process was reaped elsewhere.
        Err(_) => Exit::Unknown,
    }
}

async fn collected(reader: Option<JoinHandle<String>>) -> String {
    match reader {
        Some(reader) => reader.await.unwrap_or_default(),
        None => String::new(),
    }
}

/// Reads a pipe to its end and returns the last [`TAIL_BYTES`] bytes as text.
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

/// Number of output bytes that are kept: a successful client prints 10 bytes, a failing client a few hundred.
const TAIL_BYTES: usize = 8 << 10;
