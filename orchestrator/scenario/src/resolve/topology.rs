//! Datacenters, and what their links are like.

use std::collections::BTreeMap;

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

/// A topology, and its datacenters by name.
pub(super) struct Network {
    pub model: Topology,
    indices: BTreeMap<String, usize>,
}

impl Network {
    /// The position of the datacenter `text` names.
    pub fn dc(&self, context: &mut Context<'_>, text: &Text<String>) -> Option<usize> {
        let name = text.as_str();
        let index = self.indices.get(name).copied();
        if index.is_none() {
            let names = || self.model.dcs.iter().map(|dc| dc.name.as_str());
            let kind = ProblemKind::UnknownDc {
                name: name.to_owned(),
                known: names().map(str::to_owned).collect(),
                suggestion: did_you_mean(name, names()),
            };
            context.problem(&text.range(), kind);
        }
        index
    }

    /// The name of the datacenter at `index`.
    pub fn name(&self, index: usize) -> &str {
        &self.model.dcs[index].name
    }

    /// The number of hosts of the datacenter at `index`.
    pub fn hosts(&self, index: usize) -> u64 {
        hosts(&self.model.dcs[index].fabric)
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
    context.count(&raw.range, "the list", raw.value.len(), 2..=limits::MAX_DCS);
    let mut indices = BTreeMap::new();
    let mut places = BTreeMap::new();
    let mut model = Topology {
        dcs: Vec::new(),
        links: Vec::new(),
    };
    let mut total = 0;
    for (index, At { value: raw, range }) in raw.value.iter().take(limits::MAX_DCS).enumerate() {
        let dc = Dc {
            name: names::dc(context, &raw.name),
            fabric: fabric(context, raw, host_link),
            agent: context.read_or(&raw.agent, Agent::default()),
        };
        let place = raw.name.range();
        if let Some(first) = places.get(&dc.name) {
            let kind = ProblemKind::DuplicateDc {
                name: dc.name.clone(),
                first_line: context.line(first),
            };
            context.problem(&place, kind);
        } else {
            places.insert(dc.name.clone(), place);
            indices.insert(dc.name.clone(), index);
        }
        let before = total;
        total += hosts(&dc.fabric);
        let most = u64::from(limits::MAX_HOSTS);
        if total > most && before <= most {
            context.problem(range, ProblemKind::TooManyHosts { found: total });
        }
        model.dcs.push(dc);
    }
    Network { model, indices }
}

fn hosts(fabric: &Fabric) -> u64 {
    match *fabric {
        Fabric::Direct { hosts, .. } => u64::from(hosts),
        Fabric::LeafSpine {
            leaves,
            hosts_per_leaf,
            ..
        } => u64::from(leaves) * u64::from(hosts_per_leaf),
    }
}

fn fabric(context: &mut Context<'_>, raw: &raw::Dc, host_link: Wire) -> Fabric {
    let Some(At {
        value: fabric,
        range,
    }) = raw.fabric.as_ref()
    else {
        let hosts = context.within_or(&raw.hosts, 0..=limits::MAX_HOSTS, 0);
        return Fabric::Direct { hosts, host_link };
    };
    if raw.hosts.as_ref().is_some() {
        let name = raw.name.as_str().to_owned();
        context.problem(range, ProblemKind::HostsAndFabric { name });
    }
    let switches = 1..=limits::MAX_FABRIC_SWITCHES;
    let mut tier = |raw: &Maybe<raw::HostWire>, base: Wire| match raw.as_ref() {
        Some(raw) => wire(context, raw, base),
        None => base,
    };
    let host_link = tier(&fabric.host_link, host_link);
    let leaf_spine = tier(&fabric.leaf_spine, defaults::LEAF_SPINE);
    let spine_dci = tier(&fabric.spine_dci, defaults::SPINE_DCI);
    Fabric::LeafSpine {
        spines: context
            .within(&fabric.spines, switches.clone())
            .unwrap_or(1),
        leaves: context.within(&fabric.leaves, switches).unwrap_or(1),
        hosts_per_leaf: context
            .within(&fabric.hosts_per_leaf, 0..=limits::MAX_HOSTS)
            .unwrap_or(1),
        host_link,
        leaf_spine,
        spine_dci,
    }
}

fn wire(context: &mut Context<'_>, raw: &raw::HostWire, base: Wire) -> Wire {
    let queue = Queue {
        buffer: &raw.buffer,
        loss: &raw.loss,
        ecn: &raw.ecn,
    };
    let base = queue.over(context, base);
    Wire {
        rate: context.within_or(&raw.rate, limits::MIN_RATE..=limits::MAX_RATE, base.rate),
        delay: context.within_or(&raw.delay, Nanos::ZERO..=limits::MAX_DELAY, base.delay),
        ..base
    }
}

/// What every kind of link may say about its queue and its losses.
pub(super) struct Queue<'a> {
    pub buffer: &'a Maybe<Text<Bytes>>,
    pub loss: &'a Maybe<Text<Ratio>>,
    pub ecn: &'a Maybe<At<WordOr<raw::NoEcn, raw::Ecn>>>,
}

impl Queue<'_> {
    /// `base` with what is said here.
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
            // Where the smaller buffer was written, or else where the thresholds were.
            let place = self.buffer.as_ref().map(Text::range);
            let place = place.or_else(|| self.ecn.as_ref().map(|raw| raw.range.clone()));
            if let Some(range) = place {
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
