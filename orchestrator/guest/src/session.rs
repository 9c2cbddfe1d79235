//! Session with a running machine, from its start until the command ends, or longer if the guest stays.

use std::{
    collections::VecDeque,
    io::{self, Write},
    os::unix::net::UnixStream,
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use crate::{
    Clock, GuestError, GuestEvent, GuestRequest, Sinks,
    channel::{Forwarding, STREAMS, SessionEvent},
    exec::{ClientEvent, Clients, ExecRequest, ExecSocket},
    outbox::Incoming,
    process::{Qemu, panic_message},
    wire::{ToGuest, ToHost},
};

/// The host's session with a running machine.
pub(crate) struct GuestSession<'a> {
    request: &'a GuestRequest,
    clock: Clock,
    /// Exec socket; `None` without exec sessions. It is removed before the machine ends, so that no client connects to
    /// a dead machine.
    exec: Option<ExecSocket>,
    qemu: Qemu,
    control: UnixStream,
    outbox: Incoming,
    events: Receiver<SessionEvent>,
    _forwarding: Forwarding,
    clients: Clients,
    started: Instant,
    /// Host time of the machine's latest output or heartbeat.
    last_sign: Instant,
    /// True once the command has started.
    is_ready: bool,
    is_stopped: bool,
    signals: u32,
    open_streams: usize,
    /// Last lines that QEMU itself wrote, for error messages.
    messages: VecDeque<String>,
    /// Events that were received during the wait for late output.
    deferred: VecDeque<SessionEvent>,
}

impl<'a> GuestSession<'a> {
    pub(crate) fn new(
        request: &'a GuestRequest,
        clock: Clock,
        (qemu, control, outbox): (Qemu, UnixStream, Incoming),
        (events, forwarding, exec): (Receiver<SessionEvent>, Forwarding, Option<ExecSocket>),
        started: Instant,
    ) -> Self {
        Self {
            request,
            clock,
            qemu,
            control,
            outbox,
            events,
            _forwarding: forwarding,
            exec,
            clients: Clients::default(),
            started,
            last_sign: started,
            is_ready: false,
            is_stopped: false,
            signals: 0,
            open_streams: STREAMS,
            messages: VecDeque::new(),
            deferred: VecDeque::new(),
        }
    }

    /// Forwards output and signals until the command has ended; returns its exit code.
    pub(crate) fn follow(&mut self, sinks: &mut Sinks<'_>) -> Result<u8, GuestError> {
        let ended = self.until_end(sinks);
        if !matches!(ended, Err(GuestError::Outbox { .. })) {
            // The bytes that the command has sent are stored, regardless of how the command ends.
            self.take_outbox(sinks)?;
        }
        ended
    }

    fn until_end(&mut self, sinks: &mut Sinks<'_>) -> Result<u8, GuestError> {
        loop {
            let event = self.next(Some(OUTBOX_PERIOD))?;
            // The outbox is emptied before output is shown, so that all bytes sent before shown output are stored.
            self.take_outbox(sinks)?;
            match event {
                None => {}
                Some(SessionEvent::Signal(number)) => self.signal(number)?,
                Some(event) => {
                    if let Some(code) = self.handle(event, sinks)? {
                        return Ok(code);
                    }
                }
            }
        }
    }

    /// Kills the machine and writes the output that is still in the pipes.
    pub(crate) fn finish(mut self, sinks: &mut Sinks<'_>) -> Result<(), GuestError> {
        self.exec = None;
        // The command's files are synced and its output is in this process's pipes, so the machine can be killed
        // without a shutdown.
        self.qemu.end().map_err(GuestError::host)?;
        while self.open_streams > 0 {
            match self.events.recv() {
                Ok(SessionEvent::Stdout(bytes)) => write(sinks.stdout, &bytes),
                Ok(SessionEvent::Stderr(bytes)) => write(sinks.stderr, &bytes),
                Ok(SessionEvent::Closed) => self.open_streams -= 1,
                Ok(_) => {}
                Err(_) => break,
            }
        }
        Ok(())
    }

    /// Writes output of the ended command that the reader threads have not enqueued yet. Takes at most [`LATE_OUTPUT`]
    /// in total, because an idle guest on the virtual clock sends heartbeats without pause.
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
                SessionEvent::Stdout(bytes) => write(sinks.stdout, &bytes),
                SessionEvent::Stderr(bytes) => write(sinks.stderr, &bytes),
                other => self.deferred.push_back(other),
            }
        }
    }

    /// Serves exec sessions until this process receives a signal.
    pub(crate) fn serve(mut self) -> Result<(), GuestError> {
        let mut sinks = Sinks {
            stdout: &mut io::sink(),
            stderr: &mut io::sink(),
            outbox: &mut io::sink(),
            events: &mut |_| (),
        };
        loop {
            self.stop_if_idle().map_err(GuestError::host)?;
            match self.next(None)? {
                Some(SessionEvent::Signal(_)) => return Ok(()),
                Some(event) => {
                    self.handle(event, &mut sinks)?;
                }
                None => {}
            }
        }
    }

    /// Handles an event other than a signal; returns the exit code of the command if the event reports it.
    fn handle(
        &mut self,
        event: SessionEvent,
        sinks: &mut Sinks<'_>,
    ) -> Result<Option<u8>, GuestError> {
        match event {
            SessionEvent::Stdout(bytes) => write(sinks.stdout, &bytes),
            SessionEvent::Stderr(bytes) => write(sinks.stderr, &bytes),
            SessionEvent::Machine(line) => self.remember(line),
            SessionEvent::Closed => self.closed()?,
            SessionEvent::Client(event) => self.handle_client(event, sinks)?,
            SessionEvent::Control(message) => return self.handle_control(message, sinks),
            SessionEvent::Signal(_) => {}
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
        let obstacle = (!self.is_ready).then_some(BOOTING);
        let Some(message) = self.clients.handle(event, obstacle) else {
            return Ok(());
        };
        if let Some(words) = words {
            (sinks.events)(GuestEvent::ExecStarted { words });
        }
        self.send(&message)
    }

    /// Pauses a machine on the virtual clock while it has no exec session, and resumes it otherwise. A guest on the
    /// real clock is never paused: it sleeps when idle, and its clock would be wrong after a pause.
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

    /// Passes the bytes that have arrived from the guest's outbox to the outbox receiver in `sinks`.
    fn take_outbox(&mut self, sinks: &mut Sinks<'_>) -> Result<(), GuestError> {
        self.outbox
            .take(|bytes| sinks.outbox.write_all(bytes))
            .map_err(|source| GuestError::Outbox { source })
    }

    /// Returns the next event; `None` if no event arrives within `pause`. Fails if a time limit of the run expires
    /// first.
    fn next(&mut self, pause: Option<Duration>) -> Result<Option<SessionEvent>, GuestError> {
        let event = match self.deferred.pop_front() {
            Some(event) => Some(event),
            None => self.wait(pause)?,
        };
        if !matches!(
            event,
            None | Some(SessionEvent::Signal(_) | SessionEvent::Client(_))
        ) {
            self.last_sign = Instant::now();
        }
        Ok(event)
    }

    fn wait(&self, pause: Option<Duration>) -> Result<Option<SessionEvent>, GuestError> {
        let now = Instant::now();
        let pause_ends = pause.map(|pause| now + pause);
        let deadline = self.deadline();
        let ends = deadline.iter().map(|(at, _)| *at).chain(pause_ends).min();
        let Some(end) = ends else {
            return self.events.recv().map(Some).map_err(|_| queue_lost());
        };
        match self.events.recv_timeout(end.saturating_duration_since(now)) {
            Ok(event) => Ok(Some(event)),
            Err(RecvTimeoutError::Disconnected) => Err(queue_lost()),
            Err(RecvTimeoutError::Timeout) => match deadline {
                Some((at, timeout)) if at == end => Err(timeout),
                _ => Ok(None),
            },
        }
    }

    /// Returns the time by which output or a heartbeat must arrive, and the error for the case that nothing arrives;
    /// `None` without a limit.
    fn deadline(&self) -> Option<(Instant, GuestError)> {
        let console = self.request.console_log.clone();
        if !self.is_ready {
            let limit = self.request.boot_timeout;
            let timeout = GuestError::BootTimeout { limit, console };
            return Some((self.started + limit, timeout));
        }
        let limit = self.request.silence_timeout.filter(|_| !self.is_stopped)?;
        let timeout = GuestError::Silent { limit, console };
        Some((self.last_sign + limit, timeout))
    }

    fn handle_control(
        &mut self,
        message: ToHost,
        sinks: &mut Sinks<'_>,
    ) -> Result<Option<u8>, GuestError> {
        match message {
            ToHost::Alive => Ok(None),
            ToHost::Ready { clocksource } => {
                (sinks.events)(GuestEvent::Ready {
                    boot_wall: self.started.elapsed(),
                    clocksource,
                });
                self.is_ready = true;
                Ok(None)
            }
            ToHost::Exit { code } => Ok(Some(code)),
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

    fn signal(&mut self, number: i32) -> Result<(), GuestError> {
        self.signals += 1;
        if !self.is_ready || self.signals > FORWARDED_SIGNALS {
            return Err(GuestError::Interrupted { signal: number });
        }
        self.send(&ToGuest::Signal { number })
    }

    fn send(&mut self, message: &ToGuest) -> Result<(), GuestError> {
        let mut line = serde_json::to_vec(message).map_err(GuestError::host)?;
        line.push(b'\n');
        // An error is ignored, because the end of the machine is detected by its closed streams.
        if let Err(error) = self.control.write_all(&line) {
            tracing::debug!(%error, "cannot send a message to the guest");
        }
        Ok(())
    }

    fn remember(&mut self, line: String) {
        if self.messages.len() == REMEMBERED_LINES {
            self.messages.pop_front();
        }
        self.messages.push_back(line);
    }

    /// Counts a closed stream; once all streams are closed, returns the error for a machine that ended early.
    fn closed(&mut self) -> Result<(), GuestError> {
        self.open_streams -= 1;
        if self.open_streams > 0 {
            return Ok(());
        }
        let console = self.request.console_log.clone();
        let status = self.qemu.end().map_err(GuestError::host)?;
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
}

/// Writes output. An error, for example because a reader such as `head` has closed its end, does not end the run.
fn write(sink: &mut dyn Write, bytes: &[u8]) {
    if let Err(error) = sink.write_all(bytes).and_then(|()| sink.flush()) {
        tracing::debug!(%error, "cannot write output");
    }
}

fn queue_lost() -> GuestError {
    GuestError::host(io::ErrorKind::BrokenPipe)
}

/// Number of signals that are forwarded to the command. The next signal ends the guest and everything in it.
const FORWARDED_SIGNALS: u32 = 2;

/// Interval between two readings of the outbox.
const OUTBOX_PERIOD: Duration = Duration::from_millis(100);

/// Number of QEMU's own lines that are kept for an error message.
const REMEMBERED_LINES: usize = 5;

/// Maximum host time to wait for output that has already left the guest. In measurements, reader threads took up to 1
/// ms.
const LATE_OUTPUT: Duration = Duration::from_millis(100);

const BOOTING: &str = "the guest is still booting (hint: try again in a few seconds)";
