//! Queue of events from the guest's streams, the user's signals and exec clients.
//!
//! Each stream has a thread that only reads and enqueues, so that a slow terminal never blocks the guest: its virtual
//! clock would jump.

use std::{
    io::{self, BufRead, BufReader, PipeReader, Read},
    iter,
    os::unix::net::UnixStream,
    process::ChildStderr,
    sync::mpsc::{self, Receiver, Sender},
    thread,
};

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::{self, Handle},
};

use crate::{
    exec::ClientEvent,
    retry::uninterrupted,
    wire::{ToHost, Token},
};

/// Event of a guest run.
#[derive(Debug)]
pub(crate) enum SessionEvent {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
    Control(ToHost),
    /// Line that QEMU itself wrote.
    Machine(String),
    /// End of a stream. All streams end when the machine ends.
    Closed,
    Signal(i32),
    Client(ClientEvent),
}

/// Number of streams that end when the machine ends: standard output, standard error, control, and QEMU's own messages.
pub(crate) const STREAMS: usize = 4;

/// Enqueues the bytes of an output stream.
pub(crate) fn pump(
    mut stream: PipeReader,
    queue: Sender<SessionEvent>,
    event: fn(Vec<u8>) -> SessionEvent,
) {
    let mut buffer = [0; 16 << 10];
    let events = iter::from_fn(move || match uninterrupted(|| stream.read(&mut buffer)) {
        Ok(count @ 1..) => Some(event(buffer[..count].to_vec())),
        _ => None,
    });
    enqueue(events, queue);
}

/// Enqueues the control lines that the guest's init wrote, which are recognised by `token`.
pub(crate) fn pump_control(stream: UnixStream, token: Token, queue: Sender<SessionEvent>) {
    let lines = BufReader::new(stream)
        .split(b'\n')
        .map_while(Result::ok)
        .filter(|line| !line.is_empty());
    let messages = lines.filter_map(move |line| {
        let message = token.open(&line);
        if message.is_none() {
            tracing::debug!("ignored a control line that the guest's init did not write");
        }
        message
    });
    enqueue(messages.map(SessionEvent::Control), queue);
}

/// Enqueues the lines that QEMU itself writes.
pub(crate) fn pump_machine(stream: ChildStderr, queue: Sender<SessionEvent>) {
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    enqueue(lines.map(SessionEvent::Machine), queue);
}

/// Enqueues the events of a stream, and the stream's end, on a new thread.
fn enqueue(
    events: impl Iterator<Item = SessionEvent> + Send + 'static,
    queue: Sender<SessionEvent>,
) {
    thread::spawn(move || {
        let _ = (events.chain([SessionEvent::Closed])).try_for_each(|event| queue.send(event));
    });
}

/// Queue for a run's events. From the queue's creation on, it also receives this process's SIGHUP, SIGINT and SIGTERM,
/// so that a signal before the guest's boot ends the run in an orderly way instead of killing this process.
pub struct Signals {
    pub(crate) queue: Sender<SessionEvent>,
    pub(crate) events: Receiver<SessionEvent>,
    pub(crate) forwarding: Forwarding,
}

impl Signals {
    /// Installs handlers for SIGHUP, SIGINT and SIGTERM. The handlers stay installed, so the signals no longer end this
    /// process.
    ///
    /// # Errors
    /// If a handler cannot be installed, or its thread cannot be started.
    pub fn listen() -> io::Result<Self> {
        let (queue, events) = mpsc::channel();
        let forwarding = forward_signals(queue.clone())?;
        Ok(Self {
            queue,
            events,
            forwarding,
        })
    }
}

/// Handle of the signal handlers; dropping the value ends the forwarding of signals.
pub(crate) struct Forwarding(Handle);

fn forward_signals(queue: Sender<SessionEvent>) -> io::Result<Forwarding> {
    let mut signals = iterator::Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    let handle = signals.handle();
    thread::spawn(move || {
        for signal in &mut signals {
            if queue.send(SessionEvent::Signal(signal)).is_err() {
                return;
            }
        }
    });
    Ok(Forwarding(handle))
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        self.0.close();
    }
}
