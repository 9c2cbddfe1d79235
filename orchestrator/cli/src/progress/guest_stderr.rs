//! Standard error of a guest, as received by the host.

use std::{
    cell::RefCell,
    io::{self, Write},
};

use super::{Progress, relay::decode};

/// Receiver of a guest's standard error on the host, which separates progress messages from other lines.
pub struct GuestStderr<'a> {
    progress: &'a RefCell<Progress>,
    line: Vec<u8>,
}

impl<'a> GuestStderr<'a> {
    /// Returns a receiver that applies progress messages to `progress`.
    #[must_use]
    pub const fn new(progress: &'a RefCell<Progress>) -> Self {
        Self {
            progress,
            line: Vec::new(),
        }
    }

    fn handle(&self, line: &[u8]) {
        match decode(line) {
            Some(message) => self.progress.borrow_mut().apply(message),
            None => self.progress.borrow().write(line),
        }
    }
}

impl Write for GuestStderr<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        while let Some(end) = self.line.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.line.drain(..=end).collect();
            self.handle(&line);
        }
        Ok(bytes.len())
    }

    /// Writes nothing, because an incomplete line may still become a progress message.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for GuestStderr<'_> {
    fn drop(&mut self) {
        if !self.line.is_empty() {
            self.handle(&self.line);
        }
    }
}

#[cfg(test)]
mod tests {
    use lab_units::Nanos;

    use super::{
        super::relay::{Message, encode},
        *,
    };

    #[test]
    fn messages_are_applied_however_their_bytes_are_split() {
        let progress = RefCell::new(Progress::new());
        let mut stderr = GuestStderr::new(&progress);
        let messages = [
            encode(&Message::Begin {
                name: "flows".to_owned(),
                total: 4,
            }),
            encode(&Message::Step {
                done: 3,
                total: 4,
                text: "flow 3".to_owned(),
                is_milestone: true,
            }),
            encode(&Message::End {
                virtual_ns: Some(Nanos::from_millis(9)),
            }),
        ];
        for piece in messages.concat().chunks(7) {
            stderr.write_all(piece).unwrap();
        }
        drop(stderr);
        let phases = progress.borrow_mut().finish();
        assert_eq!(phases.len(), 1);
        assert_eq!(phases[0].name, "flows");
        assert_eq!(phases[0].virtual_ns, Some(Nanos::from_millis(9)));
    }
}
