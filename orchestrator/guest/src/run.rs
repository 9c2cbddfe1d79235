//! A guest run from start to end, on the host's side.

use std::{
    fs::{self, File},
    io::{self, PipeReader, PipeWriter, Write},
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::net::UnixStream,
    },
    path::{Path, PathBuf},
    sync::mpsc::{self, Sender},
    time::Instant,
};

use nix::{
    fcntl::{FcntlArg, fcntl},
    sys::memfd::{MFdFlags, memfd_create},
};

use crate::{
    Clock, Engine, GuestError, GuestEvent, GuestOutcome, GuestRequest, Sinks,
    cache::Kernel,
    channel::{self, Event},
    initramfs, kvm,
    machine::{Fds, Machine},
    place,
    process::{QEMU, Qemu},
    session::Session,
    wire::{Export, InnerRequest},
};

/// Runs a command inside a guest and waits for its end.
///
/// SIGINT, SIGTERM and SIGHUP are passed to the command from when it runs; before, they end the
/// guest, as does the third while it runs. The handlers stay in place afterwards.
///
/// # Errors
///
/// Fails when the guest does not get to the end of the command; the machine is gone then too. A
/// command that fails is no error but an exit code.
pub fn run(request: &GuestRequest, sinks: &mut Sinks<'_>) -> Result<GuestOutcome, GuestError> {
    place::check_paths(request)?;
    let kernel = Kernel::find(&request.cache)?;
    let (engine, clock) = place::choose(request.accel, request.clock, || {
        kvm::works(&request.cache, &kernel)
    })?;
    let (queue, events) = mpsc::channel();
    let _forwarding = channel::forward_signals(queue.clone()).map_err(host_error)?;
    let started = Instant::now();
    (sinks.events)(GuestEvent::Booting {
        engine,
        clock,
        kernel: kernel.release.clone(),
    });
    let (qemu, control) = start(request, &kernel, engine, clock, &queue)?;
    Session::new(request, (engine, clock), qemu, control, events, started).follow(sinks)
}

/// Starts the machine and the threads that listen to it.
fn start(
    request: &GuestRequest,
    kernel: &Kernel,
    engine: Engine,
    clock: Clock,
    queue: &Sender<Event>,
) -> Result<(Qemu, UnixStream), GuestError> {
    let writable = exports(&request.writable);
    let inner = inner_request(request, kernel, engine, clock, writable.clone());
    let busybox = find_busybox()?;
    let initramfs = initramfs::build(kernel, &busybox, &request.init_program, &inner)
        .and_then(|archive| in_memory(&archive))
        .map_err(|source| GuestError::Initramfs { source })?;
    let console = File::create(&request.console_log).map_err(|source| GuestError::ConsoleLog {
        path: request.console_log.clone(),
        source,
    })?;
    let (stdout, its_stdout) = output_pipe().map_err(host_error)?;
    let (stderr, its_stderr) = output_pipe().map_err(host_error)?;
    let (control, its_control) = UnixStream::pair().map_err(host_error)?;
    let machine = Machine {
        engine,
        clock,
        vcpus: request.vcpus,
        memory: request.memory,
        seed: request.seed,
        image: kernel.image.clone(),
        writable,
        fds: Fds {
            initramfs: initramfs.as_raw_fd(),
            console: console.as_raw_fd(),
            stdout: its_stdout.as_raw_fd(),
            stderr: its_stderr.as_raw_fd(),
            control: its_control.as_raw_fd(),
        },
    };
    let inherited: Vec<OwnedFd> = vec![
        initramfs.into(),
        console.into(),
        its_stdout.into(),
        its_stderr.into(),
        its_control.into(),
    ];
    let mut qemu = Qemu::start(&machine.arguments(), inherited).map_err(start_error)?;
    channel::pump(stdout, queue.clone(), Event::Stdout);
    channel::pump(stderr, queue.clone(), Event::Stderr);
    channel::pump_control(control.try_clone().map_err(host_error)?, queue.clone());
    if let Some(messages) = qemu.take_stderr() {
        channel::pump_machine(messages, queue.clone());
    }
    Ok((qemu, control))
}

fn inner_request(
    request: &GuestRequest,
    kernel: &Kernel,
    engine: Engine,
    clock: Clock,
    writable: Vec<Export>,
) -> InnerRequest {
    InnerRequest {
        argv: request.argv.clone(),
        env: request.env.clone(),
        cwd: request.cwd.clone(),
        writable,
        clock,
        engine,
        stdout_is_terminal: request.terminal.stdout,
        stderr_is_terminal: request.terminal.stderr,
        terminal_size: request.terminal.size,
        modules: kernel.lab_modules(),
    }
}

fn exports(writable: &[PathBuf]) -> Vec<Export> {
    writable
        .iter()
        .enumerate()
        .map(|(index, path)| Export {
            tag: format!("writable{index}"),
            path: path.clone(),
        })
        .collect()
}

/// A pipe for an output port.
///
/// A port whose other end is full makes the guest wait, and its virtual time leap. The port writes
/// byte by byte, of which a socket holds some hundred and a pipe as many as it is large.
fn output_pipe() -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    fcntl(&writer, FcntlArg::F_SETPIPE_SZ(OUTPUT_PIPE_SIZE))?;
    Ok((reader, writer))
}

/// A file without a name: nothing is left behind, however we end.
fn in_memory(bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create(c"lcmp-lab-initramfs", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(bytes)?;
    Ok(file)
}

/// The statically linked busybox.
pub(crate) fn find_busybox() -> Result<PathBuf, GuestError> {
    BUSYBOX_PLACES
        .iter()
        .map(Path::new)
        .find(|path| is_static(path))
        .map(Path::to_owned)
        .ok_or(GuestError::ProgramMissing {
            program: "busybox (statically linked)",
            remedy: "sudo apt-get install busybox-static",
        })
}

/// The dynamically linked package has the same path; it names an interpreter in its first page.
fn is_static(program: &Path) -> bool {
    const INTERPRETER: &[u8] = b"/ld-";
    fs::read(program).is_ok_and(|bytes| {
        let head = &bytes[..bytes.len().min(4096)];
        !head.windows(INTERPRETER.len()).any(|at| at == INTERPRETER)
    })
}

fn start_error(source: io::Error) -> GuestError {
    if source.kind() == io::ErrorKind::NotFound {
        GuestError::ProgramMissing {
            program: QEMU,
            remedy: "sudo apt-get install qemu-system-x86",
        }
    } else {
        GuestError::Start { source }
    }
}

fn host_error(source: io::Error) -> GuestError {
    GuestError::Host { source }
}

/// The most an unprivileged process may ask for.
const OUTPUT_PIPE_SIZE: i32 = 1 << 20;

const BUSYBOX_PLACES: &[&str] = &["/bin/busybox", "/usr/bin/busybox"];
