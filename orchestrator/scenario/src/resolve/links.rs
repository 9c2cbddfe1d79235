//! Resolution of inter-DC links and faults.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use lab_units::{Nanos, Twin};

use super::{
    context::{Context, one_key},
    graph::{MadeTopology, TopologyForm, TopologySource},
    topology::{IndexedTopology, link},
};
use crate::{
    defaults,
    error::{ProblemKind, Unit},
    limits,
    model::{Fault, FaultSpec, FaultyLink, InterDcLink, LinkConfig, LinkKey},
    raw::{self, SetsParameters},
    suggest::did_you_mean,
    yaml::{At, Text, WordOr},
};

/// Indices of a link's two datacenters, the lower one first.
type Ends = (usize, usize);

/// Resolves the links of a topology.
pub(super) fn links(
    context: &mut Context<'_>,
    network: &IndexedTopology,
    form: &TopologyForm<'_>,
) -> Vec<InterDcLink> {
    let base = form.defaults.and_then(|base| base.inter_dc.as_ref());
    let base = match base {
        Some(raw) => link(context, &raw.texts, &raw.own.ecn, defaults::INTER_DC),
        None => defaults::INTER_DC,
    };
    match &form.source {
        TopologySource::Written {
            links,
            keeps_parallel,
            ..
        } => written(context, network, (links, *keeps_parallel), base),
        TopologySource::Made(made) => self::made(context, network, made, base),
    }
}

/// Returns the links that were made of a graph; their other parameters are those of `base`.
fn made(
    context: &mut Context<'_>,
    network: &IndexedTopology,
    made: &MadeTopology,
    base: LinkConfig,
) -> Vec<InterDcLink> {
    let links = &made.network.links;
    let bounds = 1..=limits::MAX_LINKS;
    context.counted(
        &made.range,
        "the list of links",
        Unit::Entries,
        links.len(),
        bounds,
    );
    let mut resolved = Vec::new();
    for link in links {
        let between = link.ends.map(|index| network.name(index).to_owned());
        let rates = limits::MIN_RATE..=limits::MAX_RATE;
        let delays = Nanos::ZERO..=limits::MAX_DELAY;
        let wrong = if !rates.contains(&link.rate) {
            let bounds = format!("{} to {}", rates.start(), rates.end());
            Some(("rate", link.rate.to_string(), bounds))
        } else if !delays.contains(&link.delay) {
            let bounds = format!("{} to {}", delays.start(), delays.end());
            Some(("delay", link.delay.to_string(), bounds))
        } else {
            None
        };
        if let Some((what, found, bounds)) = wrong {
            let link = between.join("-");
            let kind = ProblemKind::LinkOutOfRange {
                link,
                what,
                found,
                bounds,
            };
            context.problem(&made.range, kind);
        }
        let wire = LinkConfig {
            rate_bps: link.rate,
            delay_ns: link.delay,
            ..base
        };
        resolved.push(InterDcLink { between, wire });
    }
    resolved
}

/// Resolves the links that a scenario lists; `keeps_parallel` is true if some may have the same datacenters.
fn written(
    context: &mut Context<'_>,
    network: &IndexedTopology,
    (raw, keeps_parallel): (&At<Vec<At<raw::With<raw::Link>>>>, bool),
    base: LinkConfig,
) -> Vec<InterDcLink> {
    context.count(&raw.range, raw.value.len(), 1..=limits::MAX_LINKS);
    let mut ranges: BTreeMap<Ends, &Range<usize>> = BTreeMap::new();
    let mut links = Vec::new();
    let mut all_known = true;
    for At { value: raw, .. } in raw.value.iter().take(limits::MAX_LINKS) {
        let wire = link(context, &raw.texts, &raw.own.ecn, base);
        let range = &raw.own.between.range;
        let Some(Between { names, ends }) =
            between(context, network, range, &raw.own.between.value)
        else {
            all_known = false;
            continue;
        };
        if let Some(first) = ranges.get(&ends)
            && !keeps_parallel
        {
            let kind = ProblemKind::DuplicateLink {
                between: names.clone(),
                first_line: context.line(first),
            };
            context.problem(range, kind);
        }
        ranges.entry(ends).or_insert(range);
        links.push(InterDcLink {
            between: names,
            wire,
        });
    }
    // A link with an unknown end may be the one that is missing, so connectivity is checked only if all ends are known.
    if all_known {
        connected(context, network, raw, ranges.keys().copied());
    }
    links
}

/// Two ends of a link, as written and resolved.
struct Between {
    names: [String; 2],
    ends: Ends,
}

fn between(
    context: &mut Context<'_>,
    network: &IndexedTopology,
    range: &Range<usize>,
    raw: &[Text<String>],
) -> Option<Between> {
    let [first, second] = raw else {
        context.count(range, raw.len(), 2..=2);
        return None;
    };
    let a = network.dc(context, first);
    let b = network.dc(context, second);
    let a = a?;
    let b = b?;
    if a == b {
        let name = network.name(a).to_owned();
        context.problem(&second.range(), ProblemKind::SelfLink { name });
        return None;
    }
    Some(Between {
        names: [a, b].map(|index| network.name(index).to_owned()),
        ends: (a.min(b), a.max(b)),
    })
}

/// Checks that every datacenter can be reached from the first one.
fn connected(
    context: &mut Context<'_>,
    network: &IndexedTopology,
    raw: &At<Vec<At<raw::With<raw::Link>>>>,
    links: impl Iterator<Item = Ends> + Clone,
) {
    let dcs = network.model.dcs.len();
    let mut reached = BTreeSet::from([0]);
    let mut grown = true;
    while grown {
        let before = reached.len();
        for (a, b) in links.clone() {
            if reached.contains(&a) || reached.contains(&b) {
                reached.extend([a, b]);
            }
        }
        grown = reached.len() > before;
    }
    if reached.len() < dcs {
        let missing = (0..dcs).filter(|index| !reached.contains(index));
        let kind = ProblemKind::Disconnected {
            from: network.name(0).to_owned(),
            unreachable: missing
                .map(|index| network.name(index).to_owned())
                .collect(),
        };
        context.problem(&raw.range, kind);
    }
}

/// Resolves the entries of the list `faults` that change links at a given time; the modules `agents` and `random_faults`
/// resolve the others.
pub(super) fn faults(
    context: &mut Context<'_>,
    network: &IndexedTopology,
    raw: Option<&At<Vec<At<raw::With<raw::Fault>>>>>,
) -> Vec<Fault> {
    let Some(raw) = raw else {
        return Vec::new();
    };
    context.count(&raw.range, raw.value.len(), 0..=limits::MAX_FAULTS);
    let known = KnownLinks::of(network);
    let mut faults = Vec::new();
    for (entry, raw) in raw.value.iter().enumerate() {
        let own = &raw.value.own;
        if own.random.as_ref().is_some() || own.agent.as_ref().is_some() {
            continue;
        }
        let at = time(context, raw);
        let links = fault_links(context, &known, raw);
        let change = change(context, raw);
        if let (Some(at), Some(change)) = (at, change) {
            let fault = |link: FaultyLink| Fault {
                entry,
                at,
                link: link.between,
                twin: link.twin,
                change,
            };
            faults.extend(links.into_iter().map(|link| (raw, fault(link))));
        }
    }
    // An entry may change several links; the bound is on the changes, because each costs time in a run.
    if faults.len() > limits::MAX_FAULTS && raw.value.len() <= limits::MAX_FAULTS {
        let bounds = 0..=limits::MAX_FAULTS;
        let what = "the list, counted by links,";
        context.counted(&raw.range, what, Unit::Entries, faults.len(), bounds);
    }
    cuts_alternate(context, &faults);
    faults.into_iter().map(|(_, fault)| fault).collect()
}

/// Returns the time of a fault.
pub(super) fn time(context: &mut Context<'_>, raw: &At<raw::With<raw::Fault>>) -> Option<Nanos> {
    let Some(at) = raw.value.own.at.as_ref() else {
        context.problem(&raw.range, ProblemKind::MissingKey { key: "at" });
        return None;
    };
    context.within(at, Nanos::ZERO..=limits::MAX_DURATION)
}

/// Links that a fault may name.
pub(super) struct KnownLinks<'a> {
    network: &'a IndexedTopology,
    /// All links of the topology, in its order.
    pub(super) links: Vec<FaultyLink>,
}

impl<'a> KnownLinks<'a> {
    pub(super) fn of(network: &'a IndexedTopology) -> Self {
        Self {
            network,
            links: network.model.named_links(),
        }
    }

    /// Copies the links for which `is_asked` is true.
    fn those(&self, is_asked: impl Fn(&FaultyLink) -> bool) -> Vec<FaultyLink> {
        let links = self.links.iter().filter(|link| is_asked(link));
        links.cloned().collect()
    }
}

/// Returns the links that a fault changes, each once.
fn fault_links(
    context: &mut Context<'_>,
    known: &KnownLinks<'_>,
    raw: &At<raw::With<raw::Fault>>,
) -> Vec<FaultyLink> {
    let own = &raw.value.own;
    one_key!(context, &raw.range, own, "link": link, "links": links, "dc": dc, "agent": agent);
    if let Some(link) = own.link.as_ref() {
        fault_link(context, known, link).into_iter().collect()
    } else if let Some(links) = own.links.as_ref() {
        shared_risk(context, known, links)
    } else if let Some(dc) = own.dc.as_ref() {
        links_of(context, known, dc)
    } else {
        Vec::new()
    }
}

/// Returns the links in a list of links that change together.
pub(super) fn shared_risk(
    context: &mut Context<'_>,
    known: &KnownLinks<'_>,
    raw: &At<Vec<raw::LinkOfFault>>,
) -> Vec<FaultyLink> {
    context.count(&raw.range, raw.value.len(), 1..=limits::MAX_FAULTS);
    let mut links: Vec<FaultyLink> = Vec::new();
    for raw in &raw.value {
        let Some(link) = fault_link(context, known, raw) else {
            continue;
        };
        if links.iter().any(|listed| listed.key() == link.key()) {
            let kind = match raw.value {
                WordOr::Word(..) => ProblemKind::FaultTwinTwice { link: link.name() },
                WordOr::Body(_) => ProblemKind::FaultLinkTwice {
                    between: link.between,
                },
            };
            context.problem(&raw.range, kind);
        } else {
            links.push(link);
        }
    }
    links
}

/// Returns the links of the datacenter that `raw` names to other datacenters.
fn links_of(
    context: &mut Context<'_>,
    known: &KnownLinks<'_>,
    raw: &Text<String>,
) -> Vec<FaultyLink> {
    let Some(index) = known.network.dc(context, raw) else {
        return Vec::new();
    };
    let name = known.network.name(index);
    known.those(|link| link.between.iter().any(|end| end == name))
}

/// Returns the link that a fault names: by its own name, or by its two datacenters if they have only one.
fn fault_link(
    context: &mut Context<'_>,
    known: &KnownLinks<'_>,
    raw: &raw::LinkOfFault,
) -> Option<FaultyLink> {
    match &raw.value {
        WordOr::Word(name, _) => named(context, known, &raw.range, name),
        WordOr::Body(ends) => {
            let Between { names, .. } = between(context, known.network, &raw.range, ends)?;
            let links = known.those(|link| same(&link.between, &names));
            if links.len() > 1 {
                let kind = ProblemKind::SeveralLinks {
                    between: names,
                    names: links.iter().map(FaultyLink::name).collect(),
                };
                context.problem(&raw.range, kind);
                return None;
            }
            if links.is_empty() {
                let between = names.clone();
                context.problem(&raw.range, ProblemKind::UnknownLink { between });
            }
            Some(FaultyLink {
                between: names,
                twin: Twin::FIRST,
            })
        }
    }
}

/// Returns the link called `name`; its two datacenters may be in either order.
fn named(
    context: &mut Context<'_>,
    known: &KnownLinks<'_>,
    range: &Range<usize>,
    name: &str,
) -> Option<FaultyLink> {
    let (ends, twin) = Twin::split(name);
    let wanted = ends.split_once('-').map(|(a, b)| FaultyLink {
        between: [a, b].map(str::to_owned),
        twin,
    });
    let is_wanted = |link: &&FaultyLink| wanted.as_ref().is_some_and(|it| it.key() == link.key());
    let found = known.links.iter().find(is_wanted).cloned();
    if found.is_none() {
        let names: Vec<String> = known.links.iter().map(FaultyLink::name).collect();
        let kind = ProblemKind::UnknownLinkName {
            name: name.to_owned(),
            suggestion: did_you_mean(name, names.iter().map(String::as_str)),
        };
        context.problem(range, kind);
    }
    found
}

fn same(a: &[String; 2], b: &[String; 2]) -> bool {
    a == b || (a[0] == b[1] && a[1] == b[0])
}

fn change(context: &mut Context<'_>, raw: &At<raw::With<raw::Fault>>) -> Option<FaultSpec> {
    let raw::With { own, texts } = &raw.value;
    let flags =
        [("down", &own.down), ("up", &own.up)].map(|(key, flag)| (key, flag.as_ref().is_some()));
    let names = raw::Fault::parameters().map(|parameter| parameter.name);
    let parameters = names.map(|name| (name, texts.of(name).is_some()));
    let keys: Vec<_> = flags.into_iter().chain(parameters).collect();
    context.one_key(&raw.range, &keys);
    match (own.down.as_ref(), own.up.as_ref()) {
        (Some(text), _) => is_true(context, text, "down", "up").then_some(FaultSpec::Down),
        (_, Some(text)) => is_true(context, text, "up", "down").then_some(FaultSpec::Up),
        (None, None) => {
            let (parameter, text) = texts.0.first()?;
            let value = context.parameter(parameter, text)?;
            let parameter = parameter.name;
            Some(FaultSpec::Set { parameter, value })
        }
    }
}

/// Returns true if the value of `key`, a key that has no other value, is `true`.
pub(super) fn is_true(
    context: &mut Context<'_>,
    text: &Text<bool>,
    key: &'static str,
    opposite: &'static str,
) -> bool {
    let value = context.read(text);
    if value == Some(false) {
        context.problem(&text.range(), ProblemKind::FaultNotTrue { key, opposite });
    }
    value == Some(true)
}

/// Checks that a link is cut only while it is up, and restored only while it is down.
fn cuts_alternate(context: &mut Context<'_>, faults: &[(&At<raw::With<raw::Fault>>, Fault)]) {
    let mut in_time: Vec<_> = faults.iter().collect();
    in_time.sort_by_key(|(_, fault)| fault.at);
    let mut down: BTreeSet<LinkKey<'_>> = BTreeSet::new();
    for (raw, fault) in in_time {
        let state = match fault.change {
            FaultSpec::Down => (!down.insert(fault.key())).then_some("down"),
            FaultSpec::Up => (!down.remove(&fault.key())).then_some("up"),
            FaultSpec::Set { .. } => None,
        };
        if let Some(state) = state {
            let kind = match raw.value.own.link.as_ref() {
                Some(_) => ProblemKind::FaultChangesNothing { state },
                None => ProblemKind::FaultChangesNothingAt {
                    link: fault.link_name(),
                    state,
                },
            };
            context.problem(&raw.range, kind);
        }
    }
}
