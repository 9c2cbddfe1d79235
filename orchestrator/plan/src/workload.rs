//! Flows sampled from a size distribution and an arrival process.
//!
//! As in the artifact's generator, every sending host is a source of its own: its gaps have a mean
//! of 8 · mean size / (rate · load), where `rate` is what the load is a share of, and each flow goes
//! to a uniform host of a uniform one of the datacenters its own sends to. So the load is a host's,
//! over all pairs that its datacenter is in.

use std::{cmp::Reverse, collections::BinaryHeap};

use lab_scenario::{Arrivals, LoadBase, Pairs, SizeCdf, Workload, limits};
use lab_units::{DcId, Nanos, NodeId};

use crate::{
    error::PlanError,
    model::Role,
    network::Network,
    sample::{Stream, StreamName, float, nearest},
    schedule::Draft,
};

/// Which of the scenario's workloads, in which repetition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drawing<'a> {
    pub seed: u64,
    pub repetition: u32,
    /// Position in the scenario's `traffic`.
    pub traffic: usize,
    /// That position as a path.
    pub path: &'a str,
}

/// Samples `workload`, flows by start, if they are at most `room`.
pub(crate) fn sample(
    network: &Network,
    workload: &Workload,
    sizes: &SizeCdf,
    drawing: Drawing<'_>,
    room: usize,
) -> Result<Vec<Draft>, PlanError> {
    let destinations = destinations(network, &workload.pairs, drawing.path)?;
    let mut sources = sources(network, workload, sizes, drawing, &destinations);
    let wanted = workload.max_flows.map_or(usize::MAX, |most| {
        usize::try_from(most).unwrap_or(usize::MAX)
    });
    let mut drafts = Vec::new();
    let mut next: BinaryHeap<_> = (0..sources.len())
        .map(|index| Reverse((sources[index].next, index)))
        .collect();
    while let Some(Reverse((start, index))) = next.pop() {
        if start >= workload.duration || drafts.len() >= wanted {
            break;
        }
        if drafts.len() >= room {
            return Err(PlanError::TooManyFlows {
                path: drawing.path.to_owned(),
                most: limits::MAX_FLOWS,
            });
        }
        let source = &mut sources[index];
        drafts.push(source.draw(network, sizes, &destinations[source.dc.index()], start));
        source.advance(workload.arrivals);
        next.push(Reverse((source.next, index)));
    }
    Ok(drafts)
}

/// A sending host.
struct Source {
    host: NodeId,
    dc: DcId,
    /// Mean gap in nanoseconds.
    gap: f64,
    /// When its next flow starts.
    next: Nanos,
    gaps: Stream,
    sizes: Stream,
    targets: Stream,
}

impl Source {
    fn draw(&mut self, network: &Network, sizes: &SizeCdf, to: &[DcId], start: Nanos) -> Draft {
        let dc = to[self.targets.below(to.len())];
        let hosts = &network.dcs[dc.index()].hosts;
        Draft {
            src: self.host,
            dst: hosts[self.targets.below(hosts.len())],
            size: sizes.quantile(self.sizes.uniform()),
            start,
        }
    }

    fn advance(&mut self, arrivals: Arrivals) {
        let gap = match arrivals {
            Arrivals::Poisson => self.gaps.exponential(self.gap),
            Arrivals::Even => nearest(self.gap),
        };
        self.next = self.next.saturating_add(gap);
    }
}

/// Every host of every datacenter that sends, waiting for its first flow.
fn sources(
    network: &Network,
    workload: &Workload,
    sizes: &SizeCdf,
    drawing: Drawing<'_>,
    destinations: &[Vec<DcId>],
) -> Vec<Source> {
    let mut sources = Vec::new();
    for (dc, to) in (0u32..).map(DcId).zip(destinations) {
        let hosts = &network.dcs[dc.index()].hosts;
        for &host in hosts.iter().filter(|_| !to.is_empty()) {
            let stream = |quantity| {
                Stream::named(StreamName {
                    seed: drawing.seed,
                    repetition: drawing.repetition,
                    traffic: drawing.traffic,
                    host: &network.node(host).name,
                    quantity,
                })
            };
            let gap = mean_gap(network, workload, sizes, host);
            let mut gaps = stream("gaps");
            let first = match workload.arrivals {
                Arrivals::Poisson => gaps.exponential(gap),
                Arrivals::Even => gaps.phase(gap),
            };
            sources.push(Source {
                host,
                dc,
                gap,
                next: first,
                gaps,
                sizes: stream("sizes"),
                targets: stream("targets"),
            });
        }
    }
    sources
}

/// Mean gap between two flows of `host`, in nanoseconds.
fn mean_gap(network: &Network, workload: &Workload, sizes: &SizeCdf, host: NodeId) -> f64 {
    let mean = sizes.mean();
    let mean_bits = 8.0 * float(mean.numerator()) / float(mean.denominator());
    let load = float(workload.load.numerator()) / float(workload.load.denominator());
    mean_bits * NANOS_PER_SECOND / (full_rate(network, workload.load_base, host) * load)
}

/// What one host sends at a load of one, in bits per second.
fn full_rate(network: &Network, base: LoadBase, host: NodeId) -> f64 {
    match base {
        LoadBase::HostNic => {
            let nics = network.node(host).ports.iter();
            float(
                nics.map(|nic| network.link(nic.link()).paper.rate_bps.get())
                    .sum(),
            )
        }
        LoadBase::DciEgress => {
            let dc = &network.dcs[network.node(host).dc.index()];
            let hosts = u64::try_from(dc.hosts.len()).unwrap_or(u64::MAX);
            let uplinks = network.ports_to(dc.dci, Role::DciSwitch);
            let rates = uplinks.map(|port| network.link(port.link()).paper.rate_bps.get());
            float(rates.sum()) / float(hosts)
        }
    }
}

/// For each datacenter, those it sends to, uniformly.
fn destinations(network: &Network, pairs: &Pairs, path: &str) -> Result<Vec<Vec<DcId>>, PlanError> {
    match pairs {
        Pairs::AllToAll => all_to_all(network, path),
        Pairs::Listed(pairs) => {
            let mut destinations = vec![Vec::new(); network.dcs.len()];
            for (index, pair) in pairs.iter().enumerate() {
                let path = format!("{path}.workload.pairs[{index}]");
                let from = with_hosts(network, &path, "from", &pair.from)?;
                let to = with_hosts(network, &path, "to", &pair.to)?;
                destinations[from.index()].push(to);
                if pair.both_ways {
                    destinations[to.index()].push(from);
                }
            }
            Ok(destinations)
        }
    }
}

fn all_to_all(network: &Network, path: &str) -> Result<Vec<Vec<DcId>>, PlanError> {
    let dcs = (0u32..).map(DcId).zip(&network.dcs);
    let talking: Vec<DcId> = dcs
        .filter(|(_, dc)| !dc.hosts.is_empty())
        .map(|(id, _)| id)
        .collect();
    if talking.len() < 2 {
        return Err(PlanError::NoPairs {
            path: format!("{path}.workload.pairs"),
        });
    }
    let mut destinations = vec![Vec::new(); network.dcs.len()];
    for &from in &talking {
        let others = talking.iter().copied().filter(|to| *to != from);
        destinations[from.index()] = others.collect();
    }
    Ok(destinations)
}

fn with_hosts(network: &Network, path: &str, key: &str, name: &str) -> Result<DcId, PlanError> {
    let path = format!("{path}.{key}");
    let Some(dc) = network.dc_named(name) else {
        return Err(PlanError::Unknown {
            path,
            what: "datacenter",
            name: name.to_owned(),
            hint: String::new(),
        });
    };
    if network.dcs[dc.index()].hosts.is_empty() {
        let dc = name.to_owned();
        return Err(PlanError::NoHosts { path, dc });
    }
    Ok(dc)
}

const NANOS_PER_SECOND: f64 = 1e9;
