//! The commands that have come in while the guest runs.

use std::collections::BTreeMap;

use nix::{poll::PollFd, unistd::Pid};

use crate::{
    exec::talk::{Answer, Order},
    inside::{error::InsideError, ports::Ports, visit::Visit},
    wire::{InnerRequest, ToHost},
};

/// Commands by the numbers the host gave them.
#[derive(Debug, Default)]
pub(crate) struct Visits(BTreeMap<u32, Visit>);

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
                    self.0.insert(id, visit);
                }
                Err(error) => {
                    let answer = Answer::Refused(error.to_string());
                    ports.say(&ToHost::Command { id, answer })?;
                }
            },
            order => {
                if let Some(visit) = self.0.get_mut(&id) {
                    visit.take(order);
                }
            }
        }
        Ok(())
    }

    /// Notes that a process has ended, if it leads a command.
    pub(crate) fn ended(&mut self, pid: Pid, code: u8) {
        if let Some(visit) = self.0.values_mut().find(|visit| visit.pid() == pid) {
            visit.end(code);
        }
    }

    /// What to wait for.
    pub(crate) fn poll_fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.0.values().flat_map(Visit::poll_fds)
    }

    /// Passes on what can be passed on now.
    pub(crate) fn advance(&mut self, ports: &mut Ports) -> Result<(), InsideError> {
        let mut done = Vec::new();
        for (&id, visit) in &mut self.0 {
            visit.advance(|answer| {
                if answer.is_last() {
                    done.push(id);
                }
                ports.say(&ToHost::Command { id, answer })
            })?;
        }
        for id in done {
            self.0.remove(&id);
        }
        Ok(())
    }
}
