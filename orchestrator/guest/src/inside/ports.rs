//! Serial ports that connect the guest to the host.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
};

use nix::sys::termios::{SetArg, cfmakeraw, tcdrain, tcgetattr, tcsetattr};
use rustix::termios::{Winsize, tcsetwinsize};

use super::error::InsideError;
use crate::{
    retry::uninterrupted,
    wire::{CONTROL_PORT, STDERR_PORT, STDOUT_PORT, ToGuest, ToHost, Token},
};

/// Open serial ports to the host.
pub(crate) struct Ports {
    pub stdout: File,
    pub stderr: File,
    pub control: File,
    /// Secret that proves to the host that a control line comes from this init.
    token: Token,
    /// Received part of an incomplete control line.
    received: Vec<u8>,
}

impl Ports {
    /// Opens the ports in raw mode.
    pub(crate) fn open(token: Token) -> Result<Self, InsideError> {
        let open = |port| open_raw(port).map_err(InsideError::port(port));
        Ok(Self {
            stdout: open(STDOUT_PORT)?,
            stderr: open(STDERR_PORT)?,
            control: open(CONTROL_PORT)?,
            token,
            received: Vec::new(),
        })
    }

    /// Sets the window size of the output ports to `size`: columns and rows of the host's terminal.
    pub(crate) fn resize(&self, size: (u16, u16)) -> Result<(), InsideError> {
        for port in [&self.stdout, &self.stderr] {
            tcsetwinsize(port, window_size(size)).map_err(InsideError::kernel("terminal size"))?;
        }
        Ok(())
    }

    /// Writes a message to the host as a control line.
    pub(crate) fn send(&mut self, message: &ToHost) -> Result<(), InsideError> {
        let line = self.token.seal(message);
        let line = line.map_err(InsideError::kernel("control line"))?;
        self.control
            .write_all(&line)
            .map_err(InsideError::port(CONTROL_PORT))
    }

    /// Reads the control lines that are available now.
    pub(crate) fn receive(&mut self) -> Result<Vec<ToGuest>, InsideError> {
        let mut buffer = [0; 1024];
        let count = uninterrupted(|| self.control.read(&mut buffer))
            .map_err(InsideError::port(CONTROL_PORT))?;
        self.received.extend_from_slice(&buffer[..count]);
        Ok(take_lines(&mut self.received))
    }

    /// Waits until all output has left the serial ports.
    pub(crate) fn drain(&self) -> Result<(), InsideError> {
        for (file, port) in [
            (&self.stdout, STDOUT_PORT),
            (&self.stderr, STDERR_PORT),
            (&self.control, CONTROL_PORT),
        ] {
            uninterrupted(|| Ok(tcdrain(file)?)).map_err(InsideError::port(port))?;
        }
        Ok(())
    }
}

fn open_raw(port: &str) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.custom_flags(nix::fcntl::OFlag::O_NOCTTY.bits());
    let file = options.read(true).write(true).open(port)?;
    let mut attributes = tcgetattr(&file)?;
    cfmakeraw(&mut attributes);
    tcsetattr(&file, SetArg::TCSANOW, &attributes)?;
    Ok(file)
}

/// Returns the window size of a terminal with these columns and rows.
pub(crate) const fn window_size((columns, rows): (u16, u16)) -> Winsize {
    Winsize {
        ws_col: columns,
        ws_row: rows,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

/// Removes the complete lines from `received` and parses them; invalid lines are ignored.
fn take_lines(received: &mut Vec<u8>) -> Vec<ToGuest> {
    let Some(end) = received.iter().rposition(|&byte| byte == b'\n') else {
        return Vec::new();
    };
    let complete: Vec<u8> = received.drain(..=end).collect();
    complete
        .split(|&byte| byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_in_pieces_is_taken_once_it_is_complete() {
        let line = serde_json::to_vec(&ToGuest::Signal { number: 2 }).unwrap();
        let mut received = line[..5].to_vec();
        assert_eq!(take_lines(&mut received), []);
        received.extend_from_slice(&line[5..]);
        received.extend_from_slice(b"\nnoise\n{");
        assert_eq!(take_lines(&mut received), [ToGuest::Signal { number: 2 }]);
        assert_eq!(received, b"{");
    }
}
