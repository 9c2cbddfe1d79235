//! Start of an agent, which reads all inputs before it writes to the kernel.

use std::{borrow::Cow, os::unix::fs::MetadataExt, path::Path};

use lab_abi::{
    rows::SwitchTable,
    wire::{AgentConfig, PolicyConfig, ValidAgentConfig},
};
use lab_units::Nanos;
use nix::net::if_::if_nametoindex;

use super::{Agent, Timers, actor::SwitchActor, demands::DemandMeter};
use crate::{
    SwitchdError,
    attach::attach,
    clock::{Alarm, Periodic, now},
    failover::{LinkWatch, PortLiveness, interfaces},
    flow_gc::{self, Evictor, FlowCounts},
    install::{Slots, SwitchTables},
    maps::flow_map_rows,
    object::read_object,
    pins::Pins,
    program::{OBJECT, Program},
    qdisc::Qdiscs,
    sampler::Sampler,
    wait::Sleeper,
};

/// All inputs of an agent, read before anything is written to the kernel.
pub(super) struct Setup {
    config: ValidAgentConfig,
    object: Cow<'static, [u8]>,
    actor: Option<SwitchActor>,
    ifindexes: Vec<u32>,
    links: LinkWatch,
    ports: PortLiveness,
}

impl Setup {
    /// Reads interfaces, link states and the program's eBPF object.
    pub(super) fn read(config: ValidAgentConfig) -> Result<Self, SwitchdError> {
        // Link changes after this point wake the agent.
        let links = LinkWatch::open()?;
        Ok(Self {
            ports: PortLiveness::new(&config.ports, &interfaces()?),
            ifindexes: ifindexes(&config)?,
            object: object(&config)?,
            actor: config
                .actor
                .as_ref()
                .map(|actor| SwitchActor::new(&config, actor))
                .transpose()?,
            links,
            config,
        })
    }

    /// Fills the tables, takes the first sample of the queues, and then attaches a program. This is `kept`,
    /// unless the policy has a program of its own or needs a flow table of another size.
    ///
    /// A newly loaded program takes over the flow table, counters and attachments of a killed agent.
    pub(super) fn start(self, kept: Option<Program>) -> Result<Agent, SwitchdError> {
        let Self {
            config,
            ports,
            mut actor,
            ..
        } = self;
        let entries = config.flow_table_entries;
        let mut program = match (&config.policy, kept) {
            (PolicyConfig::Buckets | PolicyConfig::Lcmp(_), Some(kept)) if kept.fits(entries) => {
                kept
            }
            (_, kept) => {
                // Its pinned maps are removed before new ones take their names.
                drop(kept);
                load(&config, &self.object)?
            }
        };
        let is_inherited = program.is_inherited();
        let before = if is_inherited {
            program.table()?
        } else {
            SwitchTable::default()
        };
        let links: Vec<_> = self
            .ifindexes
            .iter()
            .enumerate()
            .map(|(slot, &ifindex)| (ifindex, ports.is_alive(slot)))
            .collect();
        let mut tables = SwitchTables::new(&config, &links, &before);
        tables.switch.netns = netns()?;
        program.install(&tables)?;
        program.table.set_tables_at(now()?.get());
        let found = flow_gc::all(&program.flows, flow_map_rows(entries))?.len();
        let found = u64::try_from(found).unwrap_or(u64::MAX);
        let flow_counts = FlowCounts::inherited(&before, &program.counters()?, found);
        // The first sample is taken before the program can decide on the first packet.
        let mut qdiscs = Qdiscs::open()?;
        let started = now()?;
        let sampler = Sampler::new(&config, &self.ifindexes, started, &qdiscs.roots()?);
        sampler.publish(&program.table);
        if let Some(actor) = &mut actor {
            // Bytes from an earlier repetition, or from before this agent's restart, do not count in its first
            // interval.
            actor.take_sent(&sampler.links(|_| None));
        }
        let demands = DemandMeter::start(started, config.destinations.len(), &program)?;
        let names = config.ports.iter().map(|port| port.interface.as_str());
        let indices = self.ifindexes.iter();
        let interfaces: Vec<_> = names
            .zip(indices.map(|&ifindex| i32::try_from(ifindex).unwrap_or(0)))
            .collect();
        let attached = attach(&mut program, &interfaces, config.attach, &mut qdiscs)?;
        Ok(Agent {
            slots: Slots::new(&config.ports),
            attached,
            program,
            qdiscs,
            links: self.links,
            alarm: Alarm::new()?,
            sleeper: Sleeper::new()?,
            wants_to_write: false,
            sampler,
            ports,
            timers: Timers::new(&config, now()?),
            flow_counts,
            evictor: Evictor::default(),
            demands,
            actor,
            samples: 0,
            late_samples: 0,
            adopted: is_inherited.then_some(found),
            config,
        })
    }
}

impl Timers {
    /// Returns the timers for `config`, each due at the next multiple of its interval.
    pub(super) fn new(config: &AgentConfig, now: Nanos) -> Self {
        Self::of(config, |interval| {
            Periodic::new(interval, config.start_ns, now)
        })
    }

    /// Returns the timers for `config`, each first due at a multiple of its interval: from `until` on, or from one
    /// interval before the run's start if that is earlier.
    pub(super) fn resting(config: &AgentConfig, until: Nanos) -> Self {
        let start = config.start_ns;
        Self::of(config, |interval| {
            let last = start.saturating_sub(interval);
            // A multiple of the interval that equals `until` is itself the first due time.
            let before = until.min(last).saturating_sub(Nanos::new(1));
            Periodic::new(interval, start, before)
        })
    }

    fn of(config: &AgentConfig, periodic: impl Fn(Nanos) -> Periodic) -> Self {
        // Without congestion signals, samples are needed only for records, and so taken at the records' interval.
        let sample = match config.policy {
            PolicyConfig::Buckets => config.record_interval_ns.min(config.link_interval_ns),
            PolicyConfig::Lcmp(_) | PolicyConfig::Own(_) => config.sample_interval_ns,
        };
        Self {
            sample: periodic(sample),
            records: periodic(config.record_interval_ns),
            links: periodic(config.link_interval_ns),
            stats: periodic(config.stats_interval_ns),
            demands: config.demand_interval_ns.map(&periodic),
            flow_gc: periodic(config.gc_interval_ns),
            eviction: periodic(config.sample_interval_ns),
        }
    }

    /// Returns the earliest time at which a timer is due.
    pub(super) fn due(&self) -> Nanos {
        let timers = [
            &self.sample,
            &self.records,
            &self.links,
            &self.stats,
            &self.flow_gc,
            &self.eviction,
        ];
        let due = timers.into_iter().chain(&self.demands).map(Periodic::due);
        due.min().unwrap_or(Nanos::ZERO)
    }
}

/// Returns the eBPF object of the switch program: the agent's own object or the user's.
fn object(config: &AgentConfig) -> Result<Cow<'static, [u8]>, SwitchdError> {
    match &config.policy {
        PolicyConfig::Buckets | PolicyConfig::Lcmp(_) => Ok(Cow::Borrowed(OBJECT)),
        PolicyConfig::Own(own) => {
            let object = read_object(Path::new(&own.object));
            object
                .map(Cow::Owned)
                .map_err(|source| SwitchdError::Object {
                    path: own.object.clone(),
                    source,
                })
        }
    }
}

/// Loads the program, with the maps pinned in the configuration's directory if there are any.
fn load(config: &AgentConfig, object: &[u8]) -> Result<Program, SwitchdError> {
    let entries = config.flow_table_entries;
    let pins = config
        .pin_dir
        .as_deref()
        .map(|dir| Pins::open(dir, entries));
    Program::load_object(object, entries, pins.transpose()?)
}

/// Returns the inode of the calling thread's network namespace.
fn netns() -> Result<u64, SwitchdError> {
    let file =
        std::fs::metadata("/proc/thread-self/ns/net").map_err(|source| SwitchdError::Io {
            action: "find the network namespace",
            source,
        })?;
    Ok(file.ino())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_rest_but_are_due_once_in_the_interval_before_the_start() {
        let second = Nanos::from_millis(1_000);
        let start_ns = Nanos::new(77_000_000_123);
        let config = AgentConfig {
            start_ns,
            gc_interval_ns: Nanos::from_millis(5_000),
            ..crate::example::config(PolicyConfig::Buckets)
        };
        let before = |millis| start_ns.saturating_sub(Nanos::from_millis(millis));
        let timers = Timers::resting(&config, start_ns.saturating_sub(second));
        assert_eq!(timers.records.due(), before(1_000));
        assert_eq!(timers.flow_gc.due(), before(5_000));
        let timers = Timers::new(&config, before(1_000));
        assert_eq!(timers.records.due(), before(990));
        assert_eq!(timers.flow_gc.due(), start_ns);
    }
}
