//! From the configuration to an agent at work.

use lab_abi::wire::{AgentConfig, PolicyConfig};
use lab_units::Nanos;
use nix::net::if_::if_nametoindex;

use super::{Agent, PortHealth, Tally};
use crate::{
    SwitchdError,
    attach::attach,
    clock::{Alarm, Periodic, now},
    install,
    install::Slots,
    links::{LinkWatch, interfaces},
    program::Program,
    qdisc::Qdiscs,
    sampler::Sampler,
    wait::Sleeper,
};

impl<'a> Agent<'a> {
    /// Fills the tables, samples the queues, and only then attaches the program.
    pub(super) fn start(config: &'a AgentConfig) -> Result<Self, SwitchdError> {
        config.validate()?;
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
            reporting_links: Periodic::new(config.link_interval_ns, started),
            collecting: Periodic::new(config.gc_interval_ns, started),
            tally: Tally::default(),
        })
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

/// Only LCMP decides by samples; else a sample is for records, and as frequent as these.
fn sampling_interval(config: &AgentConfig) -> Nanos {
    match config.policy {
        PolicyConfig::Buckets => config.record_interval_ns.min(config.link_interval_ns),
        PolicyConfig::Lcmp(_) => config.sample_interval_ns,
    }
}
