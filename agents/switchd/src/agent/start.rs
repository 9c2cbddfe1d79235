//! From the configuration to an agent at work.

use std::{borrow::Cow, path::Path};

use lab_abi::{
    rows::SwitchTable,
    wire::{AgentConfig, PolicyConfig},
};
use lab_units::Nanos;
use nix::net::if_::if_nametoindex;

use super::{Agent, DemandMeter, PortHealth, Tally};
use crate::{
    SwitchdError,
    attach::attach,
    clock::{Alarm, Periodic, now},
    install,
    install::Slots,
    links::{LinkWatch, interfaces},
    object::read_object,
    pins::Pins,
    program::{OBJECT, Program},
    qdisc::Qdiscs,
    sampler::Sampler,
    wait::Sleeper,
};

impl Agent {
    /// Fills the tables, samples the queues, and only then attaches the program. From an agent that
    /// was killed it takes over the flow table, the counters and the places at the ports.
    pub(super) fn start(config: AgentConfig) -> Result<Self, SwitchdError> {
        config.validate()?;
        let links = LinkWatch::open()?;
        let up = interfaces()?;
        let is_up = |interface: &str| up.get(interface).copied().unwrap_or(false);
        let ports: Vec<_> = config
            .ports
            .iter()
            .map(|port| PortHealth {
                is_link_up: is_up(&port.interface),
                is_enabled: port.is_enabled,
            })
            .collect();
        let ifindexes = ifindexes(&config)?;
        let slots = Slots::new(&config.ports);
        let entries = config.flow_table_entries;
        let pins = config.pin_dir.as_deref();
        let pins = pins.map(|dir| Pins::open(dir, entries)).transpose()?;
        let is_inherited = pins.as_ref().is_some_and(Pins::is_inherited);
        let mut program = Program::load_object(&object(&config)?, entries, pins.as_ref())?;
        let before = if is_inherited {
            program.table()?
        } else {
            SwitchTable::default()
        };
        let rows: Vec<_> = ifindexes
            .iter()
            .zip(&ports)
            .map(|(&ifindex, port)| (ifindex, port.is_alive()))
            .collect();
        program.set_table(&install::switch_table(&config, &rows, &before))?;
        for place in 0..config.destinations.len() {
            let (prefix, row) = install::destination(&config, place, &slots);
            program.set_destination(prefix, &row)?;
        }
        program.table.set_tables_at(now()?.get());
        let mut qdiscs = Qdiscs::open();
        let interfaces: Vec<_> = config
            .ports
            .iter()
            .zip(&ifindexes)
            .map(|(port, &ifindex)| (port.interface.as_str(), i32::try_from(ifindex).unwrap_or(0)))
            .collect();
        // The first sample is taken before the first packet can be decided.
        let started = now()?;
        let mut sampler = Sampler::new(&config, &ifindexes, started);
        sampler.take_in(started, &qdiscs.roots()?);
        program.table.set_sampled_at(started.get());
        let (tally, found) = Tally::start(&before, &program, entries)?;
        let demands = DemandMeter::start(started, config.destinations.len(), &program)?;
        let attached = attach(&mut program, &interfaces, config.attach, pins, &mut qdiscs)?;
        let started = now()?;
        Ok(Self {
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
            sampling: Periodic::new(sampling_interval(&config), started),
            recording: Periodic::new(config.record_interval_ns, started),
            reporting_links: Periodic::new(config.link_interval_ns, started),
            telling: Periodic::new(config.stats_interval_ns, started),
            demanding: config
                .demand_interval_ns
                .map(|interval| Periodic::new(interval, started)),
            collecting: Periodic::new(config.gc_interval_ns, started),
            tally,
            demands,
            adopted: is_inherited.then_some(found),
            config,
        })
    }
}

/// The switch program: the agent's own, or the user's.
fn object(config: &AgentConfig) -> Result<Cow<'static, [u8]>, SwitchdError> {
    match &config.policy {
        PolicyConfig::Buckets | PolicyConfig::Lcmp(_) => Ok(Cow::Borrowed(OBJECT)),
        PolicyConfig::Own(own) => {
            let object =
                read_object(Path::new(&own.object)).map_err(|source| SwitchdError::Object {
                    path: own.object.clone(),
                    source,
                })?;
            Ok(Cow::Owned(object))
        }
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

/// Without a policy that looks at queues a sample is for records, and as frequent as these.
fn sampling_interval(config: &AgentConfig) -> Nanos {
    match config.policy {
        PolicyConfig::Buckets => config.record_interval_ns.min(config.link_interval_ns),
        PolicyConfig::Lcmp(_) | PolicyConfig::Own(_) => config.sample_interval_ns,
    }
}
