//! What ends a sleep, and what is done then.

use std::{net::Ipv4Addr, os::fd::AsFd};

use lab_abi::wire::{AgentCommand, AgentMessage};

use super::{Agent, Signals};
use crate::{
    SwitchdError,
    clock::{Due, now},
    controller::Controller,
    install,
    wait::Source,
};

impl Agent {
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
            .min(self.telling.due())
            .min(self.collecting.due());
        let due = self
            .demanding
            .map_or(due, |demanding| due.min(demanding.due()));
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
            if command == AgentCommand::Stop {
                return Ok(false);
            }
            self.config.apply(&command)?;
            self.obey(&command, controller)?;
        }
        Ok(!received.is_closed)
    }

    /// Makes true what a command says and the configuration already has.
    fn obey(
        &mut self,
        command: &AgentCommand,
        controller: &mut Controller,
    ) -> Result<(), SwitchdError> {
        match command {
            AgentCommand::SetPort { port, is_enabled } => {
                self.set_port(*port, *is_enabled, controller)?;
            }
            AgentCommand::SetLink { .. } => self.sampler.provision(&self.config),
            AgentCommand::SetDestination(row) => {
                self.write_destination(row.addr, row.prefix_len)?;
            }
            AgentCommand::SetBuckets(rows) => {
                for row in rows {
                    self.write_destination(row.addr, row.prefix_len)?;
                }
            }
            AgentCommand::SetLcmp(_) => {
                self.sampler.provision(&self.config);
                let params = install::params(&self.config);
                self.program.table.set_params(&params);
            }
            AgentCommand::ConfirmTables | AgentCommand::Stop => {}
        }
        match command {
            AgentCommand::SetDestination(_)
            | AgentCommand::SetBuckets(_)
            | AgentCommand::ConfirmTables => self.program.table.set_tables_at(now()?.get()),
            AgentCommand::SetPort { .. }
            | AgentCommand::SetLink { .. }
            | AgentCommand::SetLcmp(_)
            | AgentCommand::Stop => {}
        }
        Ok(())
    }

    /// Writes the row of a destination of the configuration: new flows are decided by it.
    fn write_destination(&mut self, addr: Ipv4Addr, prefix_len: u8) -> Result<(), SwitchdError> {
        let Some(place) = self.config.destination_index(addr, prefix_len) else {
            return Ok(());
        };
        let (prefix, row) = install::destination(&self.config, place, &self.slots);
        self.program.set_destination(prefix, &row)
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
        if let Some(demanding) = &mut self.demanding
            && demanding.take(now) != Due::NotYet
        {
            self.send_demands(now, controller)?;
        }
        if self.collecting.take(now) != Due::NotYet {
            self.collect(now, controller)?;
        }
        if self.telling.take(now) != Due::NotYet {
            let stats = self.stats(self.program.counters()?, now, controller);
            controller.send(&AgentMessage::Stats(stats));
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
