//! Run of a guest from start to end, as seen from the host.

use std::{
    io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::net::UnixStream,
    },
    path::PathBuf,
    sync::mpsc::Sender,
    time::Instant,
};

use lab_files::draft;

use crate::{
    Accelerator, Clock, ExecConfig, GuestError, GuestRequest, Signals,
    cache::Kernel,
    channel::{self, SessionEvent},
    cpu::CpuClaim,
    exec::ExecSocket,
    initramfs,
    kvm::{self, KvmVerdict},
    machine::{Machine, Messages, SerialPort, SharedDir},
    outbox::Incoming,
    process::{BUSYBOX_PACKAGE, QEMU, QEMU_PACKAGE, Qemu, find_busybox, in_memory, output_pipe},
    rights::Lent,
    session::GuestSession,
    sinks::{GuestEvent, Sinks},
    wire::{Export, InnerRequest, Token},
};

/// Runs a command inside a guest and returns its exit code, or 128 plus the number of the signal that ended it.
///
/// The first two signals among SIGINT, SIGTERM and SIGHUP are forwarded to the command. The third signal, and any
/// signal before the command has started, ends the guest. Fails if the guest ends before the command; in that case QEMU
/// has also ended. A non-zero exit code of the command is not an error.
pub fn run(
    request: &GuestRequest,
    signals: Signals,
    sinks: &mut Sinks<'_>,
) -> Result<u8, GuestError> {
    // Lent directories are taken back when this is dropped, after QEMU has ended.
    let _lent = lend(request)?;
    let mut session = begin(request, false, signals, sinks)?;
    let code = session.follow(sinks)?;
    session.finish(sinks)?;
    Ok(code)
}

/// Runs a command inside a guest as [`run`] does, and keeps the guest for exec sessions after the
/// command's end. Dropping the guest ends it.
pub fn run_and_stay<'a>(
    request: &'a GuestRequest,
    signals: Signals,
    sinks: &mut Sinks<'_>,
) -> Result<(u8, StayingGuest<'a>), GuestError> {
    // Lent directories are taken back when this is dropped, while the guest still runs.
    let _lent = lend(request)?;
    let mut session = begin(request, true, signals, sinks)?;
    let code = session.follow(sinks)?;
    session.write_late_output(sinks);
    Ok((code, StayingGuest(session)))
}

fn lend(request: &GuestRequest) -> Result<Lent, GuestError> {
    request.check_paths()?;
    Lent::new(&request.writable).map_err(host("writable directories"))
}

/// Guest that stays after its command has ended. It ends with the thread that started it.
pub struct StayingGuest<'a>(GuestSession<'a>);

impl StayingGuest<'_> {
    /// Serves exec sessions until a signal asks this process to end. A guest on the virtual clock is paused while there
    /// are no sessions, because its clock would race through idle time.
    pub fn serve(self) -> Result<(), GuestError> {
        self.0.serve()
    }
}

fn begin<'a>(
    request: &'a GuestRequest,
    stays: bool,
    signals: Signals,
    sinks: &mut Sinks<'_>,
) -> Result<GuestSession<'a>, GuestError> {
    let Signals {
        queue,
        events,
        forwarding,
    } = signals;
    let kernel = Kernel::find(&request.cache)?;
    let (accelerator, clock) = Accelerator::choose(request.clock, || {
        let on_trial = || (sinks.events)(GuestEvent::TryingKvm);
        kvm::verdict(&request.cache, &kernel, on_trial) == KvmVerdict::Works
    });
    let open = |exec: &ExecConfig| {
        ExecSocket::open(&exec.socket, queue.clone())
            .map_err(GuestError::file("exec socket", &exec.socket))
    };
    let exec = request.exec.as_ref().map(open).transpose()?;
    let started = Instant::now();
    (sinks.events)(GuestEvent::Booting {
        accelerator,
        clock,
        kernel: kernel.release.clone(),
    });
    let token = Token::random().map_err(host("token of the guest"))?;
    let inner = inner_request(request, &kernel, (accelerator, clock), (stays, token));
    let machine = start(request, &kernel, &inner, &queue)?;
    let inputs = (events, forwarding, exec);
    Ok(GuestSession::new(request, clock, machine, inputs, started))
}

/// Starts the machine and the threads that read its streams; returns the machine, its control port and its outbox.
fn start(
    request: &GuestRequest,
    kernel: &Kernel,
    inner: &InnerRequest,
    queue: &Sender<SessionEvent>,
) -> Result<(Qemu, UnixStream, Incoming), GuestError> {
    let busybox = find_busybox().ok_or(GuestError::ProgramMissing {
        program: "busybox",
        package: BUSYBOX_PACKAGE,
    })?;
    let initramfs = initramfs::build(kernel, &busybox, &request.init_program, inner)
        .and_then(|archive| in_memory(&archive))
        .map_err(host("initramfs"))?;
    let console = draft::create(&request.console_log)
        .map_err(GuestError::file("console log", &request.console_log))?;
    let (stdout, its_stdout) = output_pipe().map_err(GuestError::host)?;
    let (stderr, its_stderr) = output_pipe().map_err(GuestError::host)?;
    let (control, its_control) = UnixStream::pair().map_err(GuestError::host)?;
    let (outbox, its_outbox) = Incoming::new().map_err(host("outbox"))?;
    let machine = Machine {
        accelerator: inner.accelerator,
        clock: inner.clock,
        vcpus: request.vcpus,
        memory: request.memory,
        seed: request.seed,
        image: kernel.image.clone(),
        initramfs: initramfs.as_raw_fd(),
        ports: vec![
            SerialPort::Output(console.as_raw_fd()),
            SerialPort::Output(its_stdout.as_raw_fd()),
            SerialPort::Output(its_stderr.as_raw_fd()),
            SerialPort::Both(its_control.as_raw_fd()),
        ],
        messages: Messages::Errors,
        shares: shares(inner.writable.clone()),
        outbox: Some(its_outbox.as_raw_fd()),
    };
    let inherited: Vec<OwnedFd> = vec![
        initramfs.into(),
        console.into(),
        its_stdout.into(),
        its_stderr.into(),
        its_control.into(),
        its_outbox.into(),
    ];
    let cpu = match machine.clock {
        Clock::Virtual => CpuClaim::new().unwrap_or_else(|error| {
            tracing::debug!(%error, "cannot claim a CPU for the guest");
            None
        }),
        Clock::Real => None,
    };
    let mut qemu = Qemu::start(&machine.arguments(), inherited, cpu).map_err(start_error)?;
    channel::pump(stdout, queue.clone(), SessionEvent::Stdout);
    channel::pump(stderr, queue.clone(), SessionEvent::Stderr);
    let lines = control.try_clone().map_err(GuestError::host)?;
    channel::pump_control(lines, inner.token.clone(), queue.clone());
    if let Some(messages) = qemu.take_stderr() {
        channel::pump_machine(messages, queue.clone());
    }
    Ok((qemu, control, outbox))
}

fn inner_request(
    request: &GuestRequest,
    kernel: &Kernel,
    (accelerator, clock): (Accelerator, Clock),
    (stays, token): (bool, Token),
) -> InnerRequest {
    let exec = request.exec.as_ref();
    let export = |(index, path): (usize, &PathBuf)| Export {
        tag: format!("writable{index}"),
        path: path.clone(),
    };
    InnerRequest {
        argv: request.argv.clone(),
        env: request.env.clone(),
        cwd: request.cwd.clone(),
        writable: request.writable.iter().enumerate().map(export).collect(),
        clock,
        accelerator,
        terminal: request.terminal,
        modules: kernel.lab_modules(),
        exec_prefix: exec.map(|exec| exec.prefix.clone()).unwrap_or_default(),
        stays,
        token,
    }
}

fn shares(writable: Vec<Export>) -> Vec<SharedDir> {
    let share = |(export, writable)| SharedDir { export, writable };
    let root = Export {
        tag: "root".to_owned(),
        path: "/".into(),
    };
    let writable = writable.into_iter().map(|export| (export, true));
    [(root, false)]
        .into_iter()
        .chain(writable)
        .map(share)
        .collect()
}

fn start_error(source: io::Error) -> GuestError {
    match source.kind() {
        io::ErrorKind::NotFound => GuestError::ProgramMissing {
            program: QEMU,
            package: QEMU_PACKAGE,
        },
        _ => host("start of `qemu-system-x86_64`")(source),
    }
}

fn host(what: &'static str) -> impl FnOnce(io::Error) -> GuestError {
    move |source| GuestError::Host { what, source }
}
