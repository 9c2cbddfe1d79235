//! Resolution of datacenters and of link parameters.

use std::{collections::BTreeMap, ops::Range};

use super::{
    context::Context,
    graph::{MadeTopology, TopologyForm, TopologySource},
    names, parameters,
};
use crate::{
    defaults,
    error::ProblemKind,
    limits,
    model::{Agent, Dc, EcnConfig, Fabric, LinkConfig, Topology},
    raw::{self, parameters::Texts},
    suggest::did_you_mean,
    yaml::{At, Maybe, Text, WordOr},
};

/// Topology with an index of datacenter names, which the checks of other sections use.
#[derive(Default)]
pub(super) struct IndexedTopology {
    pub model: Topology,
    /// Index of each datacenter in the topology, and byte range of its name, by name.
    by_name: BTreeMap<String, (usize, Range<usize>)>,
    hosts: Vec<Option<u64>>,
    /// Index of the datacenter made from each node in the graph, or `None` for a node that was left out; empty if
    /// the topology is not made of a graph.
    pub dc_of_node: Vec<Option<usize>>,
    /// Sentence on demands of the graph that no traffic uses; `None` if it has no demands.
    pub unused_demands: Option<String>,
}

impl IndexedTopology {
    /// Returns the index of the datacenter named `text`; reports a problem if no datacenter has this name.
    pub fn dc(&self, context: &mut Context<'_>, text: &Text<String>) -> Option<usize> {
        self.dc_called(context, text.as_str(), &text.range())
    }

    /// Returns the index of the datacenter `name`; reports a problem at `range` if no datacenter has this name.
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

    /// Returns the index of the datacenter `name`, or `None` if no datacenter has this name.
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).map(|(index, _)| *index)
    }

    /// Returns the name of the datacenter at `index`.
    pub fn name(&self, index: usize) -> &str {
        &self.model.dcs[index].name
    }

    /// Returns the number of hosts in the datacenter at `index`; `None` if that number could not be parsed.
    pub fn hosts(&self, index: usize) -> Option<u64> {
        self.hosts[index]
    }
}

/// Resolves the datacenters of a topology; links are resolved later.
pub(super) fn topology(context: &mut Context<'_>, form: &TopologyForm<'_>) -> IndexedTopology {
    let base = form.defaults.and_then(|base| base.host_link.as_ref());
    let host_link = match base {
        Some(raw) => link(context, &raw.texts, &raw.own.ecn, defaults::HOST_LINK),
        None => defaults::HOST_LINK,
    };
    match &form.source {
        TopologySource::Written { dcs, .. } => self::dcs(context, dcs, host_link),
        TopologySource::Made(made) => made_dcs(context, made, host_link),
    }
}

/// Returns the datacenters that were made of a graph.
fn made_dcs(
    context: &mut Context<'_>,
    made: &MadeTopology,
    host_link: LinkConfig,
) -> IndexedTopology {
    let mut network = IndexedTopology::default();
    network.model.import.clone_from(&made.import);
    network.dc_of_node.clone_from(&made.network.dc_of_node);
    network.unused_demands = made.network.unused_demands();
    network
        .model
        .assumptions
        .clone_from(&made.network.assumptions);
    let mut total = 0;
    for (index, dc) in made.network.dcs.iter().enumerate() {
        let range = made.range.clone();
        network.by_name.insert(dc.name.clone(), (index, range));
        let hosts = u64::from(dc.hosts);
        total += hosts;
        network.hosts.push(Some(hosts));
        network.model.dcs.push(Dc {
            name: dc.name.clone(),
            label: dc.label.clone(),
            fabric: Fabric::Direct {
                hosts: dc.hosts,
                host_link,
            },
            agent: Agent::default(),
        });
    }
    if total > u64::from(limits::MAX_HOSTS) {
        let kind = ProblemKind::TooManyHosts { found: total };
        context.problem(&made.range, kind);
    }
    network
}

fn dcs(
    context: &mut Context<'_>,
    raw: &At<Vec<At<raw::Dc>>>,
    host_link: LinkConfig,
) -> IndexedTopology {
    context.count(&raw.range, raw.value.len(), 2..=limits::MAX_DCS);
    let mut network = IndexedTopology::default();
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
            label: None,
            fabric,
            agent: context.read_or(&raw.agent, Agent::default()),
        });
    }
    network
}

/// Resolves the fabric inside a datacenter; returns it with the number of hosts, `None` if that number cannot be
/// parsed.
fn fabric(
    context: &mut Context<'_>,
    raw: &raw::Dc,
    host_link: LinkConfig,
) -> (Fabric, Option<u64>) {
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
    let mut tier = |raw: &Maybe<raw::With<raw::HostWire>>, base| match raw.as_ref() {
        Some(raw) => link(context, &raw.texts, &raw.own.ecn, base),
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

/// Returns the link parameters `base`, overridden by the mapping's parameters (`texts`) and ECN thresholds (`marking`).
pub(super) fn link(
    context: &mut Context<'_>,
    texts: &Texts,
    marking: &raw::Marking,
    base: LinkConfig,
) -> LinkConfig {
    let values = parameters::values(context, texts);
    let mut link = parameters::over(base, &values);
    if let Some(raw) = marking.as_ref() {
        link.ecn = ecn(context, raw);
    }
    let buffer = link.buffer_bytes;
    if let Some(EcnConfig { k_max, .. }) = link.ecn
        && k_max > buffer
    {
        // The problem is located at the mapping's buffer if it sets one, else at its thresholds.
        let range = texts
            .of("buffer")
            .map(Text::range)
            .or_else(|| marking.as_ref().map(|raw| raw.range.clone()));
        if let Some(range) = range {
            context.problem(&range, ProblemKind::EcnAboveBuffer { k_max, buffer });
        }
    }
    link
}

fn ecn(
    context: &mut Context<'_>,
    raw: &At<WordOr<raw::NoEcn, raw::Parameters<EcnConfig>>>,
) -> Option<EcnConfig> {
    let ecn = match &raw.value {
        WordOr::Word(word, _) => {
            context.word::<raw::NoEcn>(&raw.range, word);
            return None;
        }
        WordOr::Body(ecn) => ecn,
    };
    let values = parameters::values(context, &ecn.texts);
    let config = parameters::over(EcnConfig::PAPER, &values);
    parameters::check(context, &raw.range, &ecn.texts, &values, &config);
    Some(config)
}
