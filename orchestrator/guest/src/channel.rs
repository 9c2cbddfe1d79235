//! The streams from the machine and the signals from the user, as one queue of events.
//!
//! Each stream has a thread that only ever reads and enqueues: a slow terminal must not make the
//! guest wait, whose virtual time would not stand still meanwhile.

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

use crate::{exec::Knock, wire::ToHost};

/// Something that happened.
#[derive(Debug)]
pub(crate) enum Event {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
    Control(ToHost),
    /// QEMU itself wrote a line.
    Machine(String),
    /// A stream of the machine's ended, which they do together when it ends.
    Closed,
    Signal(i32),
    /// Someone is at the door.
    Door(Knock),
}

/// Streams that end with the machine: two of output, control, and QEMU's own messages.
pub(crate) const STREAMS: usize = 4;

/// Enqueues what comes over an output stream.
pub(crate) fn pump(mut stream: PipeReader, queue: Sender<Event>, event: fn(Vec<u8>) -> Event) {
    thread::spawn(move || {
        let mut buffer = [0; 16 << 10];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            if queue.send(event(buffer[..count].to_vec())).is_err() {
                return;
            }
        }
        // The receiver may be gone with the run, and so is the need to tell it.
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
                    tracing::debug!(%error, "control line not understood");
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

/// Enqueues what QEMU itself writes.
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

/// Signals enqueued for as long as this lives.
pub(crate) struct Forwarding(Handle);

/// Enqueues the signals that end a program, instead of letting them end this one.
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
