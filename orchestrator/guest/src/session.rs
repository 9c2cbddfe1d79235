//! Session of a machine: from its start to the end of the command, and beyond if the guest stays.

use std::{
    collections::VecDeque,
    io::{self, Write},
    os::unix::net::UnixStream,
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use lab_units::Nanos;

use crate::{
    Accelerator, Clock, ClockFacts, CpuUse, GuestError, GuestEvent, GuestOutcome, GuestRequest,
    Sinks,
    channel::{Event, Forwarding, STREAMS},
    exec::{ClientEvent, Clients, ExecRequest, ExecSocket},
    process::{Qemu, panic_message},
    wire::{ToGuest, ToHost},
};

/// Session of a running machine.
pub(crate) struct Session<'a> {
    request: &'a GuestRequest,
    accelerator: Accelerator,
    clock: Clock,
    /// Exec socket, which is removed before the machine ends, so that no client connects to nothing.
    exec: Option<ExecSocket>,
    qemu: Qemu,
    control: UnixStream,
    events: Receiver<Event>,
    _forwarding: Forwarding,
    clients: Clients,
    started: Instant,
    /// Time of the machine's last sign of life.
    last_sign: Instant,
    ready: Option<Ready>,
    is_stopped: bool,
    signals: u32,
    open_streams: usize,
    /// Last lines that QEMU itself wrote.
    messages: VecDeque<String>,
    /// Events that were received during the wait for late output.
    deferred: VecDeque<Event>,
}

struct Ready {
    boot_wall: Duration,
    kernel: String,
    clocksource: String,
    uptime_ns: Nanos,
}

struct Exit {
    code: u8,
    uptime_ns: Nanos,
    cpu: CpuUse,
}

impl<'a> Session<'a> {
    pub(crate) fn new(
        request: &'a GuestRequest,
        (accelerator, clock): (Accelerator, Clock),
        (qemu, control): (Qemu, UnixStream),
        (events, forwarding, exec): (Receiver<Event>, Forwarding, Option<ExecSocket>),
        started: Instant,
    ) -> Self {
        Self {
            request,
            accelerator,
            clock,
            qemu,
            control,
            events,
            _forwarding: forwarding,
            exec,
            clients: Clients::default(),
            started,
            last_sign: started,
            ready: None,
            is_stopped: false,
            signals: 0,
            open_streams: STREAMS,
            messages: VecDeque::new(),
            deferred: VecDeque::new(),
        }
    }

    /// Forwards output and signals until the command has ended.
    pub(crate) fn follow(&mut self, sinks: &mut Sinks<'_>) -> Result<GuestOutcome, GuestError> {
        let exit = loop {
            match self.next()? {
                Event::Signal(number) => self.signal(number, sinks)?,
                event => {
                    if let Some(exit) = self.handle(event, sinks)? {
                        break exit;
                    }
                }
            }
        };
        (sinks.events)(GuestEvent::Ended {
            exit_code: exit.code,
        });
        self.outcome(&exit)
    }

    /// Kills the machine and writes the output that is still in the pipes.
    pub(crate) fn finish(mut self, sinks: &mut Sinks<'_>) -> Result<(), GuestError> {
        self.exec = None;
        // The command's files are synced and its output is in our pipes, so the machine is killed
        // without a shutdown.
        self.qemu.end().map_err(host_error)?;
        while self.open_streams > 0 {
            match self.events.recv() {
                Ok(Event::Stdout(bytes)) => write(sinks.stdout, &bytes),
                Ok(Event::Stderr(bytes)) => write(sinks.stderr, &bytes),
                Ok(Event::Closed) => self.open_streams -= 1,
                Ok(Event::Control(_) | Event::Machine(_) | Event::Signal(_) | Event::Client(_)) => {
                }
                Err(_) => break,
            }
        }
        Ok(())
    }

    /// Writes the ended command's output that our reader threads have not enqueued yet, for at most
    /// [`LATE_OUTPUT`] in total: an idle guest on the virtual clock sends heartbeats without a pause.
    pub(crate) fn write_late_output(&mut self, sinks: &mut Sinks<'_>) {
        let end = Instant::now() + LATE_OUTPUT;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let Ok(event) = self.events.recv_timeout(left) else {
                return;
            };
            match event {
                Event::Stdout(bytes) => write(sinks.stdout, &bytes),
                Event::Stderr(bytes) => write(sinks.stderr, &bytes),
                other => self.deferred.push_back(other),
            }
        }
    }

    /// Serves exec sessions until a signal is received.
    pub(crate) fn serve(mut self) -> Result<(), GuestError> {
        let mut sinks = Sinks {
            stdout: &mut io::sink(),
            stderr: &mut io::sink(),
            events: &mut |_| (),
        };
        loop {
            self.stop_if_idle().map_err(host_error)?;
            match self.next()? {
                Event::Signal(_) => return Ok(()),
                event => {
                    self.handle(event, &mut sinks)?;
                }
            }
        }
    }

    /// Handles an event other than a signal; returns the end of the command.
    fn handle(&mut self, event: Event, sinks: &mut Sinks<'_>) -> Result<Option<Exit>, GuestError> {
        match event {
            Event::Stdout(bytes) => write(sinks.stdout, &bytes),
            Event::Stderr(bytes) => write(sinks.stderr, &bytes),
            Event::Machine(line) => self.remember(line),
            Event::Closed => self.closed()?,
            Event::Client(event) => self.handle_client(event, sinks)?,
            Event::Control(message) => return self.handle_control(message, sinks),
            Event::Signal(_) => {}
        }
        Ok(None)
    }

    fn handle_client(
        &mut self,
        event: ClientEvent,
        sinks: &mut Sinks<'_>,
    ) -> Result<(), GuestError> {
        let words = match &event {
            ClientEvent::Requested(_, ExecRequest::Start(start)) => Some(start.words.clone()),
            _ => None,
        };
        let obstacle = self.ready.is_none().then_some(BOOTING);
        let Some(message) = self.clients.handle(event, obstacle) else {
            return Ok(());
        };
        if let Some(words) = words {
            (sinks.events)(GuestEvent::ExecStarted { words });
        }
        self.send(&message)
    }

    /// Stops a machine on the virtual clock while it has no exec session, and continues it otherwise.
    /// A guest on the real clock sleeps when idle, and its clock would be wrong after a stop.
    fn stop_if_idle(&mut self) -> io::Result<()> {
        let is_idle = self.clock == Clock::Virtual && self.clients.is_idle();
        if is_idle == self.is_stopped {
            return Ok(());
        }
        if is_idle {
            self.qemu.stop()?;
        } else {
            self.qemu.resume()?;
            self.last_sign = Instant::now();
        }
        self.is_stopped = is_idle;
        Ok(())
    }

    /// Returns the next event, or the error of a timeout that expires first.
    fn next(&mut self) -> Result<Event, GuestError> {
        let event = match self.deferred.pop_front() {
            Some(event) => event,
            None => self.wait()?,
        };
        if !matches!(event, Event::Signal(_) | Event::Client(_)) {
            self.last_sign = Instant::now();
        }
        Ok(event)
    }

    fn wait(&self) -> Result<Event, GuestError> {
        let Some((deadline, timeout)) = self.deadline() else {
            return self.events.recv().map_err(|_| queue_lost());
        };
        let left = deadline.saturating_duration_since(Instant::now());
        match self.events.recv_timeout(left) {
            Ok(event) => Ok(event),
            Err(RecvTimeoutError::Timeout) => Err(timeout),
            Err(RecvTimeoutError::Disconnected) => Err(queue_lost()),
        }
    }

    /// Returns the deadline for the next sign of life and the error if there is none.
    fn deadline(&self) -> Option<(Instant, GuestError)> {
        let console = self.request.console_log.clone();
        if self.ready.is_none() {
            let limit = self.request.boot_timeout;
            let timeout = GuestError::BootTimeout { limit, console };
            return Some((self.started + limit, timeout));
        }
        let limit = self.request.silence_timeout.filter(|_| !self.is_stopped)?;
        Some((
            self.last_sign + limit,
            GuestError::Silent { limit, console },
        ))
    }

    fn handle_control(
        &mut self,
        message: ToHost,
        sinks: &mut Sinks<'_>,
    ) -> Result<Option<Exit>, GuestError> {
        match message {
            ToHost::Alive => Ok(None),
            ToHost::Ready {
                kernel,
                clocksource,
                uptime_ns,
            } => {
                let boot_wall = self.started.elapsed();
                (sinks.events)(GuestEvent::Ready { boot_wall });
                self.ready = Some(Ready {
                    boot_wall,
                    kernel,
                    clocksource,
                    uptime_ns,
                });
                Ok(None)
            }
            ToHost::Exit {
                code,
                uptime_ns,
                cpu,
            } => Ok(Some(Exit {
                code,
                uptime_ns,
                cpu,
            })),
            ToHost::Exec { id, reply } => {
                if let Some(message) = self.clients.reply(id, &reply) {
                    self.send(&message)?;
                }
                Ok(None)
            }
            ToHost::Failed { reason } => Err(GuestError::SetUp {
                reason,
                console: self.request.console_log.clone(),
            }),
        }
    }

    fn signal(&mut self, number: i32, sinks: &mut Sinks<'_>) -> Result<(), GuestError> {
        self.signals += 1;
        if self.ready.is_none() || self.signals > FORWARDED_SIGNALS {
            return Err(GuestError::Interrupted { signal: number });
        }
        self.send(&ToGuest::Signal { number })?;
        (sinks.events)(GuestEvent::Forwarded { signal: number });
        Ok(())
    }

    fn send(&mut self, message: &ToGuest) -> Result<(), GuestError> {
        let mut line = serde_json::to_vec(message).map_err(|error| host_error(error.into()))?;
        line.push(b'\n');
        // The end of the machine is detected by its closed streams.
        if let Err(error) = self.control.write_all(&line) {
            tracing::debug!(%error, "message not sent");
        }
        Ok(())
    }

    fn remember(&mut self, line: String) {
        if self.messages.len() == REMEMBERED_LINES {
            self.messages.pop_front();
        }
        self.messages.push_back(line);
    }

    /// Counts a closed stream; returns the error of an early end after the last one.
    fn closed(&mut self) -> Result<(), GuestError> {
        self.open_streams -= 1;
        if self.open_streams > 0 {
            return Ok(());
        }
        let console = self.request.console_log.clone();
        let status = self.qemu.end().map_err(host_error)?;
        if let Some(message) = panic_message(&console) {
            return Err(GuestError::Panicked { message, console });
        }
        let messages = Vec::from(std::mem::take(&mut self.messages)).join("; ");
        Err(GuestError::MachineDied {
            status,
            messages,
            console,
        })
    }

    fn outcome(&self, exit: &Exit) -> Result<GuestOutcome, GuestError> {
        let ready = self.ready.as_ref().ok_or_else(queue_lost)?;
        Ok(GuestOutcome {
            exit_code: exit.code,
            boot_wall: ready.boot_wall,
            total_wall: self.started.elapsed(),
            clock: ClockFacts {
                clock: self.clock,
                accelerator: self.accelerator,
                kernel: ready.kernel.clone(),
                clocksource: ready.clocksource.clone(),
                ready_uptime_ns: ready.uptime_ns,
                exit_uptime_ns: exit.uptime_ns,
                cpu: exit.cpu,
            },
        })
    }
}

/// Writes output; a reader that has closed its end, such as `head`, does not end the run.
fn write(sink: &mut dyn Write, bytes: &[u8]) {
    if let Err(error) = sink.write_all(bytes).and_then(|()| sink.flush()) {
        tracing::debug!(%error, "output not written");
    }
}

fn queue_lost() -> GuestError {
    host_error(io::ErrorKind::BrokenPipe.into())
}

fn host_error(source: io::Error) -> GuestError {
    GuestError::Host { source }
}

/// Number of signals that are forwarded to the command; the next one ends the guest, and with it every
/// object in it.
const FORWARDED_SIGNALS: u32 = 2;

/// Number of QEMU's last lines for the error message.
const REMEMBERED_LINES: usize = 5;

/// Maximum host time to wait for output that has left the guest; reader threads took up to 1 ms.
const LATE_OUTPUT: Duration = Duration::from_millis(100);

const BOOTING: &str = "it is still booting (hint: try again in a few seconds)";
