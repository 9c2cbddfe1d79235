//! The agent at work: one thread that sleeps until something is due or has come.

use std::os::fd::AsFd;

use lab_abi::{
    rows::{Counters, FlowEntry, FlowKey},
    wire::{AgentCommand, AgentConfig, AgentMessage, PolicyConfig, PortLiveness, Ready, Stats},
};
use lab_units::{Nanos, PortId};
use nix::{
    net::if_::if_nametoindex,
    sys::{
        signal::{SigSet, Signal},
        signalfd::{SfdFlags, SignalFd},
    },
};

use crate::{
    SwitchdError,
    attach::{Attached, attach},
    clock::{Alarm, Due, Periodic, now},
    controller::Controller,
    decisions, flows, install,
    install::Slots,
    links::{LinkWatch, interfaces},
    program::Program,
    qdisc::Qdiscs,
    sampler::Sampler,
    wait::{Sleeper, Source},
};

/// Runs the agent of one DCI switch until its controller is gone or it is told to stop.
///
/// The calling thread is in the switch's network namespace. `SIGTERM` ends the agent; `SIGINT` does
/// not, for on Ctrl-C it is the controller that decides when the switches go.
///
/// # Errors
///
/// What kept the agent from starting or from going on; the controller has been told.
pub fn run(config: &AgentConfig) -> Result<(), SwitchdError> {
    config.validate()?;
    let signals = signals()?;
    let mut controller = Controller::connect(&config.controller_socket)?;
    let served = Agent::start(config).and_then(|agent| agent.serve(&signals, &mut controller));
    let last = match &served {
        Ok(()) => AgentMessage::Bye,
        Err(error) => AgentMessage::Error {
            message: error.chain(),
        },
    };
    controller.close(&last);
    served
}

fn signals() -> Result<SignalFd, SwitchdError> {
    let mut mask = SigSet::empty();
    mask.add(Signal::SIGTERM);
    mask.add(Signal::SIGINT);
    mask.thread_block()
        .map_err(SwitchdError::io("block signals"))?;
    SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
        .map_err(SwitchdError::io("receive signals"))
}

/// What the agent holds while it works.
struct Agent<'a> {
    config: &'a AgentConfig,
    slots: Slots,
    /// Declared before the program, so that on an error it is taken off before it goes.
    attached: Attached,
    program: Program,
    qdiscs: Qdiscs,
    links: LinkWatch,
    alarm: Alarm,
    sleeper: Sleeper,
    wants_to_write: bool,
    sampler: Sampler,
    ports: Vec<PortHealth>,
    sampling: Periodic,
    recording: Periodic,
    collecting: Periodic,
    tally: Tally,
}

/// Why a port is alive or not.
#[derive(Clone, Copy, Debug)]
struct PortHealth {
    is_link_up: bool,
    is_enabled: bool,
}

impl PortHealth {
    const fn is_alive(self) -> bool {
        self.is_link_up && self.is_enabled
    }
}

/// What the agent counts itself.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    samples: u64,
    late_samples: u64,
    expired: u64,
    evicted: u64,
}

impl<'a> Agent<'a> {
    fn start(config: &'a AgentConfig) -> Result<Self, SwitchdError> {
        let links = LinkWatch::open()?;
        let up = interfaces()?;
        let is_up = |interface: &str| up.get(interface).copied().unwrap_or(false);
        let ports: Vec<_> = config
            .ports
            .iter()
            .map(|port| PortHealth {
                is_link_up: is_up(&port.interface),
                is_enabled: true,
            })
            .collect();
        let ifindexes = ifindexes(config)?;
        let slots = Slots::new(&config.ports);
        let mut program = Program::load(config.flow_table_entries)?;
        let rows: Vec<_> = ifindexes
            .iter()
            .zip(&ports)
            .map(|(&ifindex, port)| (ifindex, port.is_alive()))
            .collect();
        program.set_table(&install::switch_table(config, &rows))?;
        for destination in &config.destinations {
            let (prefix, row) = install::destination(destination, &slots);
            program.set_destination(prefix, &row)?;
        }
        let mut qdiscs = Qdiscs::open();
        let interfaces: Vec<_> = config
            .ports
            .iter()
            .zip(&ifindexes)
            .map(|(port, &ifindex)| (port.interface.as_str(), i32::try_from(ifindex).unwrap_or(0)))
            .collect();
        // The first sample is taken before the first packet can be decided.
        let started = now()?;
        let mut sampler = Sampler::new(config, &ifindexes, started);
        sampler.take_in(started, &qdiscs.roots()?);
        program.table.set_sampled_at(started.get());
        let attached = attach(&mut program, &interfaces, config.attach, &mut qdiscs)?;
        let started = now()?;
        Ok(Self {
            config,
            slots,
            attached,
            program,
            qdiscs,
            links,
            alarm: Alarm::new()?,
            sleeper: Sleeper::new()?,
            wants_to_write: false,
            sampler,
            ports,
            sampling: Periodic::new(sampling_interval(config), started),
            recording: Periodic::new(config.record_interval_ns, started),
            collecting: Periodic::new(config.gc_interval_ns, started),
            tally: Tally::default(),
        })
    }

    /// Works until the controller is gone or says so, then takes the program off the ports.
    fn serve(
        mut self,
        signals: &SignalFd,
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
        while self.turn(signals, controller)? {}
        self.finish(controller)
    }

    fn ready(&self) -> Result<Ready, SwitchdError> {
        Ok(Ready {
            time_ns: now()?.get(),
            dc: self.config.dc.clone(),
            pid: std::process::id(),
            attachment: self.attached.attachment(),
            ports: u32::try_from(self.config.ports.len()).unwrap_or(u32::MAX),
            load_ns: self.program.load_ns,
        })
    }

    /// Sleeps, then does what has come and what is due; false when it is over.
    fn turn(
        &mut self,
        signals: &SignalFd,
        controller: &mut Controller,
    ) -> Result<bool, SwitchdError> {
        let due = self
            .sampling
            .due()
            .min(self.recording.due())
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
                    if is_told_to_end(signals)? {
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
            controller.send(&AgentMessage::Queues(self.sampler.report()));
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

    fn send_decisions(&mut self, controller: &mut Controller) {
        let records = decisions::drain(&mut self.program.decisions);
        if records.is_empty() {
            return;
        }
        let reports = records
            .iter()
            .map(|record| decisions::report(record, &self.slots))
            .collect();
        controller.send(&AgentMessage::Decisions(reports));
    }

    fn set_port(
        &mut self,
        port: PortId,
        is_enabled: bool,
        controller: &mut Controller,
    ) -> Result<(), SwitchdError> {
        let slot = self.slot(port)?;
        let health = PortHealth {
            is_enabled,
            ..self.ports[slot]
        };
        self.set_health(slot, health, controller)
    }

    fn slot(&self, port: PortId) -> Result<usize, SwitchdError> {
        let slot = self.slots.of(port);
        slot.ok_or(SwitchdError::UnknownPort { port })
    }

    fn refresh_links(&mut self, controller: &mut Controller) -> Result<(), SwitchdError> {
        let up = interfaces()?;
        for (slot, port) in self.config.ports.iter().enumerate() {
            let health = PortHealth {
                is_link_up: up.get(&port.interface).copied().unwrap_or(false),
                ..self.ports[slot]
            };
            self.set_health(slot, health, controller)?;
        }
        Ok(())
    }

    /// Publishes a port's liveness to the program first, then to the controller.
    fn set_health(
        &mut self,
        slot: usize,
        health: PortHealth,
        controller: &mut Controller,
    ) -> Result<(), SwitchdError> {
        let was_alive = self.ports[slot].is_alive();
        self.ports[slot] = health;
        let is_alive = health.is_alive();
        if is_alive == was_alive {
            return Ok(());
        }
        let levels = self.sampler.levels_of(slot);
        self.program.table.set_port(slot, levels, is_alive);
        controller.send(&AgentMessage::PortState(PortLiveness {
            time_ns: now()?.get(),
            port: self.config.ports[slot].id,
            is_alive,
        }));
        Ok(())
    }

    /// Takes out idle flows, and tells of them and of the counters.
    fn collect(&mut self, now: Nanos, controller: &mut Controller) -> Result<(), SwitchdError> {
        let counters = self.program.counters()?;
        let (idle, busy) = flows::expire(
            &mut self.program.flows,
            self.config.flow_table_entries,
            now,
            self.config.idle_timeout_ns,
        )?;
        self.tally.expired += count(idle.len());
        let stats = self.stats(counters, busy, now, controller);
        self.send_flows(idle, controller);
        controller.send(&AgentMessage::Stats(stats));
        Ok(())
    }

    /// The counters, with the table's occupancy as it was found after they were read.
    ///
    /// The kernel does not count what it evicts; but who was entered, is not there and was not
    /// taken out has been evicted. A flow entered while the table was read hides one that was
    /// evicted until the next time.
    fn stats(
        &mut self,
        counters: Counters,
        occupancy: usize,
        now: Nanos,
        controller: &Controller,
    ) -> Stats {
        let occupancy = count(occupancy);
        let entered = counters.new_flows - counters.not_pinned;
        let evicted = entered.saturating_sub(self.tally.expired + occupancy);
        self.tally.evicted = self.tally.evicted.max(evicted);
        Stats {
            time_ns: now.get(),
            received: counters.received,
            hits: counters.hits,
            new_flows: counters.new_flows,
            failovers: counters.failovers,
            fallbacks: counters.fallbacks,
            passed: counters.passed,
            ttl_expired: counters.ttl_expired,
            no_destination: counters.no_destination,
            not_pinned: counters.not_pinned,
            occupancy,
            expired: self.tally.expired,
            evicted: self.tally.evicted,
            records_lost: counters.records_lost,
            messages_lost: controller.messages_lost,
            samples: self.tally.samples,
            late_samples: self.tally.late_samples,
        }
    }

    fn send_flows(&self, rows: Vec<(FlowKey, FlowEntry)>, controller: &mut Controller) {
        if rows.is_empty() {
            return;
        }
        let reports = rows
            .into_iter()
            .map(|(key, entry)| flows::report(key, entry, &self.slots))
            .collect();
        controller.send(&AgentMessage::Flows(reports));
    }

    /// Takes the program off the ports and tells what is left to tell.
    fn finish(mut self, controller: &mut Controller) -> Result<(), SwitchdError> {
        let detached = self.attached.detach(&mut self.program, &mut self.qdiscs);
        let ended = now()?;
        self.sampler.take_in(ended, &self.qdiscs.roots()?);
        self.send_decisions(controller);
        controller.send(&AgentMessage::Queues(self.sampler.report()));
        let rows = flows::all(&self.program.flows, self.config.flow_table_entries)?;
        let stats = self.stats(self.program.counters()?, rows.len(), ended, controller);
        self.send_flows(rows, controller);
        controller.send(&AgentMessage::Stats(stats));
        detached
    }
}

fn ifindexes(config: &AgentConfig) -> Result<Vec<u32>, SwitchdError> {
    config
        .ports
        .iter()
        .map(|port| {
            if_nametoindex(port.interface.as_str()).map_err(|_| SwitchdError::NoInterface {
                port: port.id,
                interface: port.interface.clone(),
            })
        })
        .collect()
}

fn count(rows: usize) -> u64 {
    u64::try_from(rows).unwrap_or(u64::MAX)
}

/// Only LCMP decides by samples; else a sample is a record's and nobody's else.
fn sampling_interval(config: &AgentConfig) -> Nanos {
    match config.policy {
        PolicyConfig::Ecmp => config.record_interval_ns,
        PolicyConfig::Lcmp(_) => config.sample_interval_ns,
    }
}

fn is_told_to_end(signals: &SignalFd) -> Result<bool, SwitchdError> {
    let mut is_over = false;
    while let Some(signal) = signals
        .read_signal()
        .map_err(SwitchdError::io("receive signals"))?
    {
        is_over |= i32::try_from(signal.ssi_signo) == Ok(Signal::SIGTERM as i32);
    }
    Ok(is_over)
}
