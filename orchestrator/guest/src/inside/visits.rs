//! The commands that have come in while the guest runs.

use std::{collections::BTreeMap, fs, io, path::PathBuf};

use nix::{poll::PollFd, unistd::Pid};

use crate::{
    exec::talk::{Answer, Order},
    inside::{error::InsideError, ports::Ports, visit::Visit},
    wire::{GUEST_DIR, InnerRequest, ToHost},
};

/// How many commands have come into this guest so far; they took time of what runs here.
///
/// # Errors
///
/// Fails when the count cannot be read.
pub fn commands_come_in() -> io::Result<u64> {
    match fs::read_to_string(counter()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        count => count?.parse().map_err(io::Error::other),
    }
}

/// Commands by the numbers the host gave them.
#[derive(Debug, Default)]
pub(crate) struct Visits {
    inside: BTreeMap<u32, Visit>,
    /// How many there have been.
    count: u64,
}

impl Visits {
    /// Takes an order; one for a command that has ended comes too late.
    pub(crate) fn take(
        &mut self,
        id: u32,
        order: Order,
        request: &InnerRequest,
        ports: &mut Ports,
    ) -> Result<(), InsideError> {
        match order {
            Order::Start(start) => match Visit::start(request, start) {
                Ok(visit) => {
                    self.inside.insert(id, visit);
                    self.count += 1;
                    let path = counter();
                    fs::write(&path, self.count.to_string())
                        .map_err(|source| InsideError::File { path, source })?;
                }
                Err(error) => {
                    let answer = Answer::Refused(error.to_string());
                    ports.say(&ToHost::Command { id, answer })?;
                }
            },
            order => {
                if let Some(visit) = self.inside.get_mut(&id) {
                    visit.take(order);
                }
            }
        }
        Ok(())
    }

    /// Notes that a process has ended, if it leads a command.
    pub(crate) fn ended(&mut self, pid: Pid, code: u8) {
        if let Some(visit) = self.inside.values_mut().find(|visit| visit.pid() == pid) {
            visit.end(code);
        }
    }

    /// What to wait for.
    pub(crate) fn poll_fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.inside.values().flat_map(Visit::poll_fds)
    }

    /// Passes on what can be passed on now.
    pub(crate) fn advance(&mut self, ports: &mut Ports) -> Result<(), InsideError> {
        let mut done = Vec::new();
        for (&id, visit) in &mut self.inside {
            visit.advance(|answer| {
                if answer.is_last() {
                    done.push(id);
                }
                ports.say(&ToHost::Command { id, answer })
            })?;
        }
        for id in done {
            self.inside.remove(&id);
        }
        Ok(())
    }
}

/// The file that counts them.
fn counter() -> PathBuf {
    PathBuf::from(GUEST_DIR).join("commands")
}
