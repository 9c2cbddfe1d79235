//! Queue of events from the machine's streams, the user's signals and exec clients.
//!
//! A thread per stream only reads and enqueues: a guest that waits for a slow terminal would see its
//! virtual clock jump.

use std::{
    io::{self, BufRead, BufReader, PipeReader, Read},
    os::unix::net::UnixStream,
    process::ChildStderr,
    sync::mpsc::Sender,
    thread,
};

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::{Handle, Signals},
};

use crate::{exec::ClientEvent, wire::ToHost};

/// Event of a guest run.
#[derive(Debug)]
pub(crate) enum Event {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
    Control(ToHost),
    /// Line that QEMU itself wrote.
    Machine(String),
    /// End of a stream; all streams end with the machine.
    Closed,
    Signal(i32),
    Client(ClientEvent),
}

/// Number of streams that end with the machine: two of output, control, and QEMU's own messages.
pub(crate) const STREAMS: usize = 4;

/// Enqueues the bytes of an output stream.
pub(crate) fn pump(mut stream: PipeReader, queue: Sender<Event>, event: fn(Vec<u8>) -> Event) {
    thread::spawn(move || {
        let mut buffer = [0; 16 << 10];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            if queue.send(event(buffer[..count].to_vec())).is_err() {
                return;
            }
        }
        // The receiver ends with the run.
        let _ = queue.send(Event::Closed);
    });
}

/// Enqueues the guest's control lines.
pub(crate) fn pump_control(stream: UnixStream, queue: Sender<Event>) {
    thread::spawn(move || {
        for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
            let message = match serde_json::from_slice(&line) {
                Ok(message) => message,
                Err(error) => {
                    tracing::debug!(%error, "invalid control line");
                    continue;
                }
            };
            if queue.send(Event::Control(message)).is_err() {
                return;
            }
        }
        let _ = queue.send(Event::Closed);
    });
}

/// Enqueues the lines that QEMU itself writes.
pub(crate) fn pump_machine(stream: ChildStderr, queue: Sender<Event>) {
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if queue.send(Event::Machine(line)).is_err() {
                return;
            }
        }
        let _ = queue.send(Event::Closed);
    });
}

/// Signal handlers; dropping the value ends the forwarding.
pub(crate) struct Forwarding(Handle);

/// Enqueues SIGHUP, SIGINT and SIGTERM, which no longer end this process.
pub(crate) fn forward_signals(queue: Sender<Event>) -> io::Result<Forwarding> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    let handle = signals.handle();
    thread::spawn(move || {
        for signal in &mut signals {
            if queue.send(Event::Signal(signal)).is_err() {
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
