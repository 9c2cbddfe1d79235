//! The serial ports that lead to the host.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
};

use nix::sys::termios::{SetArg, cfmakeraw, tcdrain, tcgetattr, tcsetattr};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::{
    inside::error::InsideError,
    wire::{CONTROL_PORT, STDERR_PORT, STDOUT_PORT, ToGuest, ToHost},
};

/// The three channels to the host.
pub(crate) struct Ports {
    pub stdout: File,
    pub stderr: File,
    pub control: File,
    /// Control input up to the line that is not complete yet.
    heard: Vec<u8>,
}

impl Ports {
    /// Opens the ports so that every byte passes as it is.
    pub(crate) fn open() -> Result<Self, InsideError> {
        let open = |port| open_raw(port).map_err(|source| InsideError::Port { port, source });
        Ok(Self {
            stdout: open(STDOUT_PORT)?,
            stderr: open(STDERR_PORT)?,
            control: open(CONTROL_PORT)?,
            heard: Vec::new(),
        })
    }

    /// Gives the output ports the size of the host's terminal.
    pub(crate) fn resize(&self, (columns, rows): (u16, u16)) -> Result<(), InsideError> {
        let size = Winsize {
            ws_col: columns,
            ws_row: rows,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        for port in [&self.stdout, &self.stderr] {
            tcsetwinsize(port, size).map_err(InsideError::kernel("terminal size"))?;
        }
        Ok(())
    }

    /// Writes a control line.
    pub(crate) fn say(&mut self, message: &ToHost) -> Result<(), InsideError> {
        let mut line = serde_json::to_vec(message).map_err(InsideError::kernel("control line"))?;
        line.push(b'\n');
        self.control
            .write_all(&line)
            .map_err(|source| InsideError::Port {
                port: CONTROL_PORT,
                source,
            })
    }

    /// Reads the control lines that have come.
    pub(crate) fn hear(&mut self) -> Result<Vec<ToGuest>, InsideError> {
        let mut buffer = [0; 1024];
        let count = self
            .control
            .read(&mut buffer)
            .map_err(|source| InsideError::Port {
                port: CONTROL_PORT,
                source,
            })?;
        self.heard.extend_from_slice(&buffer[..count]);
        Ok(take_lines(&mut self.heard))
    }

    /// Waits until all output has left the guest.
    pub(crate) fn drain(&self) -> Result<(), InsideError> {
        for (file, port) in [
            (&self.stdout, STDOUT_PORT),
            (&self.stderr, STDERR_PORT),
            (&self.control, CONTROL_PORT),
        ] {
            tcdrain(file).map_err(|error| InsideError::Port {
                port,
                source: error.into(),
            })?;
        }
        Ok(())
    }
}

fn open_raw(port: &str) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(nix::fcntl::OFlag::O_NOCTTY.bits())
        .open(port)?;
    let mut attributes = tcgetattr(&file)?;
    cfmakeraw(&mut attributes);
    tcsetattr(&file, SetArg::TCSANOW, &attributes)?;
    Ok(file)
}

/// Takes the complete lines out of `heard`; one that is no message is passed over.
fn take_lines(heard: &mut Vec<u8>) -> Vec<ToGuest> {
    let Some(end) = heard.iter().rposition(|&byte| byte == b'\n') else {
        return Vec::new();
    };
    let lines: Vec<u8> = heard.drain(..=end).collect();
    lines
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
        let mut heard = line[..5].to_vec();
        assert_eq!(take_lines(&mut heard), []);
        heard.extend_from_slice(&line[5..]);
        heard.extend_from_slice(b"\nnoise\n{");
        assert_eq!(take_lines(&mut heard), [ToGuest::Signal { number: 2 }]);
        assert_eq!(heard, b"{");
    }
}
