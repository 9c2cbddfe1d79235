//! Following a machine from its start to the end of the inner command.

use std::{
    collections::VecDeque,
    io::{self, Write},
    os::unix::net::UnixStream,
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use lab_units::Nanos;

use crate::{
    Clock, ClockFacts, CpuUse, Engine, GuestError, GuestEvent, GuestOutcome, GuestRequest, Sinks,
    channel::{Event, STREAMS},
    console,
    process::Qemu,
    wire::{ToGuest, ToHost},
};

/// A machine being followed.
pub(crate) struct Session<'a> {
    request: &'a GuestRequest,
    engine: Engine,
    clock: Clock,
    qemu: Qemu,
    control: UnixStream,
    events: Receiver<Event>,
    started: Instant,
    /// When the machine last gave a sign of life.
    heard: Instant,
    ready: Option<Ready>,
    signals: u32,
    open_streams: usize,
    /// The last lines QEMU itself wrote.
    said: VecDeque<String>,
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
        (engine, clock): (Engine, Clock),
        qemu: Qemu,
        control: UnixStream,
        events: Receiver<Event>,
        started: Instant,
    ) -> Self {
        Self {
            request,
            engine,
            clock,
            qemu,
            control,
            events,
            started,
            heard: started,
            ready: None,
            signals: 0,
            open_streams: STREAMS,
            said: VecDeque::new(),
        }
    }

    /// Passes output and signals on until the inner command has ended.
    pub(crate) fn follow(mut self, sinks: &mut Sinks<'_>) -> Result<GuestOutcome, GuestError> {
        let exit = loop {
            let event = self.next()?;
            if !matches!(event, Event::Signal(_)) {
                self.heard = Instant::now();
            }
            match event {
                Event::Stdout(bytes) => write(sinks.stdout, &bytes),
                Event::Stderr(bytes) => write(sinks.stderr, &bytes),
                Event::Machine(line) => self.remember(line),
                Event::Signal(number) => self.signal(number, sinks)?,
                Event::Closed => self.closed()?,
                Event::Control(message) => {
                    if let Some(exit) = self.control(message, sinks)? {
                        break exit;
                    }
                }
            }
        };
        self.finish(exit, sinks)
    }

    /// The next event, or the error of the time-out that came first.
    fn next(&self) -> Result<Event, GuestError> {
        let console = || self.request.console_log.clone();
        let (deadline, late) = match (&self.ready, self.request.silence_timeout) {
            (None, _) => {
                let limit = self.request.boot_timeout;
                let console = console();
                let late = GuestError::BootTimeout { limit, console };
                (self.started + limit, late)
            }
            (Some(_), Some(limit)) => {
                let console = console();
                let late = GuestError::Silent { limit, console };
                (self.heard + limit, late)
            }
            (Some(_), None) => {
                return self.events.recv().map_err(|_| self.queue_lost());
            }
        };
        let left = deadline.saturating_duration_since(Instant::now());
        match self.events.recv_timeout(left) {
            Ok(event) => Ok(event),
            Err(RecvTimeoutError::Timeout) => Err(late),
            Err(RecvTimeoutError::Disconnected) => Err(self.queue_lost()),
        }
    }

    fn queue_lost(&self) -> GuestError {
        GuestError::Host {
            source: io::ErrorKind::BrokenPipe.into(),
        }
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
        let mut line = serde_json::to_vec(&ToGuest::Signal { number }).map_err(host_error)?;
        line.push(b'\n');
        match self.control.write_all(&line) {
            Ok(()) => (sinks.events)(GuestEvent::Forwarded { signal: number }),
            // A machine that has just ended says so by its closed streams.
            Err(error) => tracing::debug!(%error, number, "signal not forwarded"),
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

    /// Takes the machine away and passes on what output is still on its way.
    fn finish(mut self, exit: Exit, sinks: &mut Sinks<'_>) -> Result<GuestOutcome, GuestError> {
        let Some(ready) = self.ready.take() else {
            return Err(self.queue_lost());
        };
        (sinks.events)(GuestEvent::Ended {
            exit_code: exit.code,
        });
        // Everything the command wrote has left the guest by now: results are synced and output
        // lies in our sockets. Killing the machine spares the wait for its shutdown.
        self.qemu
            .end()
            .map_err(|source| GuestError::Host { source })?;
        while self.open_streams > 0 {
            match self.events.recv() {
                Ok(Event::Stdout(bytes)) => write(sinks.stdout, &bytes),
                Ok(Event::Stderr(bytes)) => write(sinks.stderr, &bytes),
                Ok(Event::Closed) => self.open_streams -= 1,
                Ok(Event::Control(_) | Event::Machine(_) | Event::Signal(_)) => {}
                Err(_) => break,
            }
        }
        Ok(GuestOutcome {
            exit_code: exit.code,
            boot_wall: ready.boot_wall,
            total_wall: self.started.elapsed(),
            clock: ClockFacts {
                clock: self.clock,
                engine: self.engine,
                kernel: ready.kernel,
                clocksource: ready.clocksource,
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

fn host_error(error: serde_json::Error) -> GuestError {
    GuestError::Host {
        source: error.into(),
    }
}

/// The first asks the command to end, the second reaches it too and finds it at its undo; taking
/// away the whole guest at the third undoes everything at once.
const FORWARDED_SIGNALS: u32 = 2;

/// QEMU says why it cannot go on in a line or two.
const REMEMBERED_LINES: usize = 5;
