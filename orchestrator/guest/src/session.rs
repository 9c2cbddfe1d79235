//! Following a machine from its start to the end of the inner command, and beyond where it stays.

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
    console,
    exec::{Clients, Door, Knock, talk::Order},
    process::Qemu,
    wire::{ToGuest, ToHost},
};

/// A machine being followed.
pub(crate) struct Session<'a> {
    request: &'a GuestRequest,
    engine: Accelerator,
    clock: Clock,
    /// Taken away before the machine is, so that nobody comes in to nothing.
    door: Option<Door>,
    qemu: Qemu,
    control: UnixStream,
    events: Receiver<Event>,
    _forwarding: Forwarding,
    clients: Clients,
    started: Instant,
    /// When the machine last gave a sign of life.
    heard: Instant,
    ready: Option<Ready>,
    is_frozen: bool,
    signals: u32,
    open_streams: usize,
    /// The last lines QEMU itself wrote.
    said: VecDeque<String>,
    /// Events that came while late output was waited for.
    late: VecDeque<Event>,
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
        (engine, clock): (Accelerator, Clock),
        (qemu, control): (Qemu, UnixStream),
        (events, forwarding, door): (Receiver<Event>, Forwarding, Option<Door>),
        started: Instant,
    ) -> Self {
        Self {
            request,
            engine,
            clock,
            qemu,
            control,
            events,
            _forwarding: forwarding,
            door,
            clients: Clients::default(),
            started,
            heard: started,
            ready: None,
            is_frozen: false,
            signals: 0,
            open_streams: STREAMS,
            said: VecDeque::new(),
            late: VecDeque::new(),
        }
    }

    /// Passes output and signals on until the inner command has ended.
    pub(crate) fn follow(&mut self, sinks: &mut Sinks<'_>) -> Result<GuestOutcome, GuestError> {
        let exit = loop {
            match self.next()? {
                Event::Signal(number) => self.signal(number, sinks)?,
                event => {
                    if let Some(exit) = self.attend(event, sinks)? {
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

    /// Takes the machine away and passes on what output is still on its way.
    pub(crate) fn finish(mut self, sinks: &mut Sinks<'_>) -> Result<(), GuestError> {
        self.door = None;
        // Everything the command wrote has left the guest by now: results are synced and output
        // lies in our pipes. Killing the machine spares the wait for its shutdown.
        self.qemu.end().map_err(host_error)?;
        while self.open_streams > 0 {
            match self.events.recv() {
                Ok(Event::Stdout(bytes)) => write(sinks.stdout, &bytes),
                Ok(Event::Stderr(bytes)) => write(sinks.stderr, &bytes),
                Ok(Event::Closed) => self.open_streams -= 1,
                Ok(Event::Control(_) | Event::Machine(_) | Event::Signal(_) | Event::Door(_)) => {}
                Err(_) => break,
            }
        }
        Ok(())
    }

    /// Passes on what the ended command wrote and has not come through the pipes yet: it has left the
    /// guest, so that it only takes our own threads a moment. The moment does not start anew with
    /// each event: an idle guest on the virtual clock jumps from heartbeat to heartbeat and never
    /// leaves a pause between them.
    pub(crate) fn pass_late_output(&mut self, sinks: &mut Sinks<'_>) {
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
                other => self.late.push_back(other),
            }
        }
    }

    /// Serves clients until a signal comes.
    pub(crate) fn serve(mut self) -> Result<(), GuestError> {
        let mut sinks = Sinks {
            stdout: &mut io::sink(),
            stderr: &mut io::sink(),
            events: &mut |_| (),
        };
        loop {
            self.freeze_or_thaw().map_err(host_error)?;
            match self.next()? {
                Event::Signal(_) => return Ok(()),
                event => {
                    self.attend(event, &mut sinks)?;
                }
            }
        }
    }

    /// Does what an event asks for; the end of the inner command is returned.
    fn attend(&mut self, event: Event, sinks: &mut Sinks<'_>) -> Result<Option<Exit>, GuestError> {
        match event {
            Event::Stdout(bytes) => write(sinks.stdout, &bytes),
            Event::Stderr(bytes) => write(sinks.stderr, &bytes),
            Event::Machine(line) => self.remember(line),
            Event::Closed => self.closed()?,
            Event::Door(knock) => self.at_door(knock, sinks)?,
            Event::Control(message) => return self.control(message, sinks),
            Event::Signal(_) => {}
        }
        Ok(None)
    }

    fn at_door(&mut self, knock: Knock, sinks: &mut Sinks<'_>) -> Result<(), GuestError> {
        let words = match &knock {
            Knock::Wants(_, Order::Start(start)) => Some(start.words.clone()),
            _ => None,
        };
        let obstacle = self.ready.is_none().then_some(BOOTING);
        let Some(message) = self.clients.knock(knock, obstacle) else {
            return Ok(());
        };
        if let Some(words) = words {
            (sinks.events)(GuestEvent::CommandCameIn { words });
        }
        self.tell(&message)
    }

    /// Lets a guest that stays stand still while nobody is in it. On the real clock an idle guest
    /// sleeps by itself, and would find its clock wrong after having stood still.
    fn freeze_or_thaw(&mut self) -> io::Result<()> {
        let freeze = self.clock == Clock::Virtual && self.clients.is_idle();
        if freeze == self.is_frozen {
            return Ok(());
        }
        if freeze {
            self.qemu.freeze()?;
        } else {
            self.qemu.thaw()?;
            self.heard = Instant::now();
        }
        self.is_frozen = freeze;
        Ok(())
    }

    /// The next event, or the error of the time-out that came first.
    fn next(&mut self) -> Result<Event, GuestError> {
        let event = match self.late.pop_front() {
            Some(event) => event,
            None => self.wait()?,
        };
        if !matches!(event, Event::Signal(_) | Event::Door(_)) {
            self.heard = Instant::now();
        }
        Ok(event)
    }

    fn wait(&self) -> Result<Event, GuestError> {
        let Some((deadline, late)) = self.deadline() else {
            return self.events.recv().map_err(|_| queue_lost());
        };
        let left = deadline.saturating_duration_since(Instant::now());
        match self.events.recv_timeout(left) {
            Ok(event) => Ok(event),
            Err(RecvTimeoutError::Timeout) => Err(late),
            Err(RecvTimeoutError::Disconnected) => Err(queue_lost()),
        }
    }

    /// Until when something must be heard, and what it means if not.
    fn deadline(&self) -> Option<(Instant, GuestError)> {
        let console = self.request.console_log.clone();
        if self.ready.is_none() {
            let limit = self.request.boot_timeout;
            let late = GuestError::BootTimeout { limit, console };
            return Some((self.started + limit, late));
        }
        let limit = self.request.silence_timeout.filter(|_| !self.is_frozen)?;
        Some((self.heard + limit, GuestError::Silent { limit, console }))
    }

    fn control(
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
            ToHost::Command { id, answer } => {
                if let Some(message) = self.clients.answer(id, &answer) {
                    self.tell(&message)?;
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
        self.tell(&ToGuest::Signal { number })?;
        (sinks.events)(GuestEvent::Forwarded { signal: number });
        Ok(())
    }

    fn tell(&mut self, message: &ToGuest) -> Result<(), GuestError> {
        let mut line = serde_json::to_vec(message).map_err(|error| host_error(error.into()))?;
        line.push(b'\n');
        // A machine that has just ended says so by its closed streams.
        if let Err(error) = self.control.write_all(&line) {
            tracing::debug!(%error, "message not sent");
        }
        Ok(())
    }

    fn remember(&mut self, line: String) {
        if self.said.len() == REMEMBERED_LINES {
            self.said.pop_front();
        }
        self.said.push_back(line);
    }

    /// Counts an ended stream; after the last one the machine has ended early.
    fn closed(&mut self) -> Result<(), GuestError> {
        self.open_streams -= 1;
        if self.open_streams > 0 {
            return Ok(());
        }
        let console = self.request.console_log.clone();
        let status = self
            .qemu
            .end()
            .map_err(|source| GuestError::Host { source })?;
        if let Some(message) = console::panic_message(&console) {
            return Err(GuestError::Panicked { message, console });
        }
        let said = Vec::from(std::mem::take(&mut self.said)).join("; ");
        Err(GuestError::MachineDied {
            status,
            said,
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
                engine: self.engine,
                kernel: ready.kernel.clone(),
                clocksource: ready.clocksource.clone(),
                ready_uptime_ns: ready.uptime_ns,
                exit_uptime_ns: exit.uptime_ns,
                cpu: exit.cpu,
            },
        })
    }
}

/// A reader that has gone away, such as `head`, is no reason to end the run.
fn write(sink: &mut dyn Write, bytes: &[u8]) {
    if let Err(error) = sink.write_all(bytes).and_then(|()| sink.flush()) {
        tracing::debug!(%error, "output not passed on");
    }
}

fn queue_lost() -> GuestError {
    host_error(io::ErrorKind::BrokenPipe.into())
}

fn host_error(source: io::Error) -> GuestError {
    GuestError::Host { source }
}

/// The first asks the command to end, the second reaches it too and finds it at its undo; taking
/// away the whole guest at the third undoes everything at once.
const FORWARDED_SIGNALS: u32 = 2;

/// QEMU says why it cannot go on in a line or two.
const REMEMBERED_LINES: usize = 5;

/// What came out of the guest is in our pipes, and our threads were seen to take it within a
/// millisecond.
const LATE_OUTPUT: Duration = Duration::from_millis(100);

const BOOTING: &str = "it is still booting (hint: try again in a few seconds)";
