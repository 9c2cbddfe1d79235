//! Datacenters and the properties of their links.

use std::{collections::BTreeMap, ops::Range};

use lab_units::{Bytes, Nanos, Ratio};

use super::{context::Context, links, names};
use crate::{
    defaults,
    error::ProblemKind,
    limits,
    model::{Agent, Dc, Ecn, Fabric, Topology, Wire},
    raw,
    suggest::did_you_mean,
    yaml::{At, Maybe, Text, WordOr},
};

/// A topology with its index of names, for checks of the rest of a scenario.
pub(super) struct Network {
    pub model: Topology,
    /// Position in the topology and byte range of each name.
    by_name: BTreeMap<String, (usize, Range<usize>)>,
    hosts: Vec<Option<u64>>,
}

impl Network {
    /// Returns the position of the datacenter named `text`.
    pub fn dc(&self, context: &mut Context<'_>, text: &Text<String>) -> Option<usize> {
        self.dc_called(context, text.as_str(), &text.range())
    }

    /// Returns the position of the datacenter `name`, which is written at `range`.
    pub fn dc_called(
        &self,
        context: &mut Context<'_>,
        name: &str,
        range: &Range<usize>,
    ) -> Option<usize> {
        let found = self.by_name.get(name);
        if found.is_none() {
            let names = self.by_name.keys();
            let kind = ProblemKind::UnknownDc {
                name: name.to_owned(),
                known: names.clone().cloned().collect(),
                suggestion: did_you_mean(name, names.map(String::as_str)),
            };
            context.problem(range, kind);
        }
        found.map(|(index, _)| *index)
    }

    /// Returns the name of the datacenter at `index`.
    pub fn name(&self, index: usize) -> &str {
        &self.model.dcs[index].name
    }

    /// Returns the number of hosts of the datacenter at `index`; `None` if not readable.
    pub fn hosts(&self, index: usize) -> Option<u64> {
        self.hosts[index]
    }
}

/// Resolves a topology.
pub(super) fn topology(context: &mut Context<'_>, raw: &raw::Topology) -> Network {
    let base = raw.defaults.as_ref().cloned().unwrap_or_default();
    let host_link = match base.host_link.as_ref() {
        Some(raw) => wire(context, raw, defaults::HOST_LINK),
        None => defaults::HOST_LINK,
    };
    let mut network = dcs(context, &raw.dcs, host_link);
    let inter_dc = base.inter_dc.as_ref().cloned().unwrap_or_default();
    network.model.links = links::links(context, &network, &raw.links, &inter_dc);
    network
}

fn dcs(context: &mut Context<'_>, raw: &At<Vec<At<raw::Dc>>>, host_link: Wire) -> Network {
    context.count(&raw.range, raw.value.len(), 2..=limits::MAX_DCS);
    let mut network = Network {
        model: Topology {
            dcs: Vec::new(),
            links: Vec::new(),
        },
        by_name: BTreeMap::new(),
        hosts: Vec::new(),
    };
    let mut total = 0;
    for (index, At { value: raw, range }) in raw.value.iter().take(limits::MAX_DCS).enumerate() {
        let name = names::dc(context, &raw.name);
        let name_range = raw.name.range();
        if let Some((_, first)) = network.by_name.get(&name) {
            let name = name.clone();
            let first_line = context.line(first);
            context.problem(&name_range, ProblemKind::DuplicateDc { name, first_line });
        } else {
            network.by_name.insert(name.clone(), (index, name_range));
        }
        let (fabric, hosts) = fabric(context, raw, host_link);
        let before = total;
        total += hosts.unwrap_or(0);
        let max = u64::from(limits::MAX_HOSTS);
        if total > max && before <= max {
            context.problem(range, ProblemKind::TooManyHosts { found: total });
        }
        network.hosts.push(hosts);
        network.model.dcs.push(Dc {
            name,
            fabric,
            agent: context.read_or(&raw.agent, Agent::default()),
        });
    }
    network
}

/// Resolves the inside of a datacenter, and its number of hosts if readable.
fn fabric(context: &mut Context<'_>, raw: &raw::Dc, host_link: Wire) -> (Fabric, Option<u64>) {
    let all_hosts = 0..=limits::MAX_HOSTS;
    let Some(fabric) = raw.fabric.as_ref() else {
        let hosts = match raw.hosts.as_ref() {
            Some(text) => context.within(text, all_hosts),
            None => Some(0),
        };
        let fabric = Fabric::Direct {
            hosts: hosts.unwrap_or(0),
            host_link,
        };
        return (fabric, hosts.map(u64::from));
    };
    if raw.hosts.as_ref().is_some() {
        let name = raw.name.as_str().to_owned();
        context.problem(&fabric.range, ProblemKind::HostsAndFabric { name });
    }
    let fabric = &fabric.value;
    let mut tier = |raw: &Maybe<raw::HostWire>, base: Wire| match raw.as_ref() {
        Some(raw) => wire(context, raw, base),
        None => base,
    };
    let host_link = tier(&fabric.host_link, host_link);
    let leaf_spine = tier(&fabric.leaf_spine, defaults::LEAF_SPINE);
    let spine_dci = tier(&fabric.spine_dci, defaults::SPINE_DCI);
    let all_switches = 1..=limits::MAX_FABRIC_SWITCHES;
    let spines = context.within(&fabric.spines, all_switches.clone());
    let leaves = context.within(&fabric.leaves, all_switches);
    let hosts_per_leaf = context.within(&fabric.hosts_per_leaf, all_hosts);
    let hosts = leaves.zip(hosts_per_leaf);
    let fabric = Fabric::LeafSpine {
        spines: spines.unwrap_or(1),
        leaves: leaves.unwrap_or(1),
        hosts_per_leaf: hosts_per_leaf.unwrap_or(0),
        host_link,
        leaf_spine,
        spine_dci,
    };
    (
        fabric,
        hosts.map(|(leaves, each)| u64::from(leaves) * u64::from(each)),
    )
}

fn wire(context: &mut Context<'_>, raw: &raw::HostWire, base: Wire) -> Wire {
    let base = queue!(raw).over(context, base);
    Wire {
        rate: context.within_or(&raw.rate, limits::MIN_RATE..=limits::MAX_RATE, base.rate),
        delay: context.within_or(&raw.delay, Nanos::ZERO..=limits::MAX_DELAY, base.delay),
        ..base
    }
}

/// Queue and loss settings of every kind of link.
pub(super) struct Queue<'a> {
    pub buffer: &'a Maybe<Text<Bytes>>,
    pub loss: &'a Maybe<Text<Ratio>>,
    pub ecn: &'a Maybe<At<WordOr<raw::NoEcn, raw::Ecn>>>,
}

/// Queue and loss settings of a raw link.
macro_rules! queue {
    ($raw:expr) => {
        $crate::resolve::topology::Queue {
            buffer: &$raw.buffer,
            loss: &$raw.loss,
            ecn: &$raw.ecn,
        }
    };
}
pub(super) use queue;

impl Queue<'_> {
    /// Returns `base` with these settings.
    pub fn over(&self, context: &mut Context<'_>, base: Wire) -> Wire {
        let bounds = limits::MIN_BUFFER..=limits::MAX_BUFFER;
        let buffer = context.within_or(self.buffer, bounds, base.buffer);
        let loss = self.loss.as_ref().and_then(|text| loss(context, text));
        let ecn = match self.ecn.as_ref() {
            Some(raw) => ecn(context, raw),
            None => base.ecn,
        };
        if let Some(Ecn { k_max, .. }) = ecn
            && k_max > buffer
        {
            // The smaller buffer if written, else the thresholds.
            let range = self.buffer.as_ref().map(Text::range);
            let range = range.or_else(|| self.ecn.as_ref().map(|raw| raw.range.clone()));
            if let Some(range) = range {
                context.problem(&range, ProblemKind::EcnAboveBuffer { k_max, buffer });
            }
        }
        Wire {
            buffer,
            loss: loss.unwrap_or(base.loss),
            ecn,
            ..base
        }
    }
}

/// Reads a share of lost packets.
pub(super) fn loss(context: &mut Context<'_>, text: &Text<Ratio>) -> Option<Ratio> {
    let loss = context.read(text)?;
    if loss >= Ratio::ONE {
        context.out_of_range(text, "at least 0 and below 1");
        return None;
    }
    Some(loss)
}

fn ecn(context: &mut Context<'_>, raw: &At<WordOr<raw::NoEcn, raw::Ecn>>) -> Option<Ecn> {
    let ecn = match &raw.value {
        WordOr::Word(word, _) => {
            context.word::<raw::NoEcn>(&raw.range, word);
            return None;
        }
        WordOr::Body(ecn) => ecn,
    };
    let p_max = context.read(&ecn.p_max);
    if p_max.is_some_and(|p_max| p_max == Ratio::ZERO || p_max > Ratio::ONE) {
        context.out_of_range(&ecn.p_max, "above 0 and at most 1");
    }
    let k_min = context.within(&ecn.k_min, Bytes::ZERO..=limits::MAX_BUFFER);
    let k_max = context.within(&ecn.k_max, Bytes::new(1)..=limits::MAX_BUFFER);
    let (k_min, k_max) = (k_min?, k_max?);
    if k_min > k_max {
        let kind = ProblemKind::EcnOrder { k_min, k_max };
        context.problem(&ecn.k_min.range(), kind);
    }
    let p_max = p_max?;
    Some(Ecn {
        k_min,
        k_max,
        p_max,
    })
}
