//! What ends a sleep, and what is done then.

use std::os::fd::AsFd;

use lab_abi::wire::{AgentCommand, AgentMessage};

use super::{Agent, Signals};
use crate::{
    SwitchdError,
    clock::{Due, now},
    controller::Controller,
    install,
    wait::Source,
};

impl Agent<'_> {
    /// Works until the controller is gone or says so, then takes the program off the ports.
    pub(super) fn serve(
        mut self,
        signals: &Signals,
        controller: &mut Controller,
    ) -> Result<(), SwitchdError> {
        for (source, descriptor) in [
            (Source::Alarm, self.alarm.as_fd()),
            (Source::Controller, controller.as_fd()),
            (Source::Decisions, self.program.decisions.as_fd()),
            (Source::Links, self.links.as_fd()),
            (Source::Signals, signals.as_fd()),
        ] {
            self.sleeper.add(source, descriptor)?;
        }
        controller.send(&AgentMessage::Ready(self.ready()?));
        // What follows is counted from here.
        controller.send(&AgentMessage::Links(self.sampler.links()));
        while self.turn(signals, controller)? {}
        self.finish(controller)
    }

    /// Sleeps, then does what has come and what is due; false when it is over.
    fn turn(
        &mut self,
        signals: &Signals,
        controller: &mut Controller,
    ) -> Result<bool, SwitchdError> {
        let due = self
            .sampling
            .due()
            .min(self.recording.due())
            .min(self.reporting_links.due())
            .min(self.collecting.due());
        self.alarm.set(due)?;
        for source in self.sleeper.sleep()? {
            match source {
                Source::Controller => {
                    if !self.hear(controller)? {
                        return Ok(false);
                    }
                }
                Source::Signals => {
                    if signals.say_end()? {
                        return Ok(false);
                    }
                }
                Source::Links => {
                    self.links.drain()?;
                    self.refresh_links(controller)?;
                }
                Source::Decisions => self.send_decisions(controller),
                Source::Alarm => {
                    self.alarm.clear()?;
                    self.do_what_is_due(controller)?;
                }
            }
        }
        self.want_to_write(controller)?;
        Ok(true)
    }

    /// Has the controller's socket wake the agent while something waits to be sent.
    fn want_to_write(&mut self, controller: &Controller) -> Result<(), SwitchdError> {
        let is_waiting = controller.is_waiting();
        if is_waiting == self.wants_to_write {
            return Ok(());
        }
        self.wants_to_write = is_waiting;
        self.sleeper
            .also_when_writable(Source::Controller, controller, is_waiting)
    }

    /// Does what the controller says; false when it says stop or is gone.
    fn hear(&mut self, controller: &mut Controller) -> Result<bool, SwitchdError> {
        controller.flush();
        let received = controller.receive()?;
        for command in received.commands {
            match command {
                AgentCommand::SetPort { port, is_enabled } => {
                    self.set_port(port, is_enabled, controller)?;
                }
                AgentCommand::SetLink {
                    port,
                    rate_bps,
                    buffer_bytes,
                } => {
                    let slot = self.slot(port)?;
                    self.sampler.provision(slot, rate_bps, buffer_bytes);
                }
                AgentCommand::SetDestination(destination) => {
                    self.config.validate_destination(&destination)?;
                    let (prefix, row) = install::destination(&destination, &self.slots);
                    self.program.set_destination(prefix, &row)?;
                }
                AgentCommand::Stop => return Ok(false),
            }
        }
        Ok(!received.is_closed)
    }

    fn do_what_is_due(&mut self, controller: &mut Controller) -> Result<(), SwitchdError> {
        let now = now()?;
        match self.sampling.take(now) {
            Due::NotYet => {}
            Due::Now => self.sample()?,
            Due::Late => {
                self.tally.late_samples += 1;
                self.sample()?;
            }
        }
        if self.recording.take(now) != Due::NotYet {
            self.send_decisions(controller);
            controller.send(&AgentMessage::Queues(self.sampler.queues()));
        }
        if self.reporting_links.take(now) != Due::NotYet {
            controller.send(&AgentMessage::Links(self.sampler.links()));
        }
        if self.collecting.take(now) != Due::NotYet {
            self.collect(now, controller)?;
        }
        Ok(())
    }

    /// One sample of all queues, published to the program.
    fn sample(&mut self) -> Result<(), SwitchdError> {
        let roots = self.qdiscs.roots()?;
        // The time after the dump: the trend is related to when the queues were seen.
        let now = now()?;
        self.sampler.take_in(now, &roots);
        for (slot, levels) in self.sampler.levels() {
            let is_alive = self.ports[slot].is_alive();
            self.program.table.set_port(slot, levels, is_alive);
        }
        self.program.table.set_sampled_at(now.get());
        self.tally.samples += 1;
        Ok(())
    }
}
