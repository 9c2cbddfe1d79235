//! Flows sampled from a size distribution and an arrival process.
//!
//! As in the artifact's generator, every sending host is an independent source: its gaps between flows have a mean of 8
//! · mean size / (rate · load), where `load` is a share of `rate`, and each flow goes to a uniformly chosen host of a
//! uniformly chosen destination datacenter. With a demand matrix, every pair of a sending host and a destination
//! datacenter is a source of its own.
//!
//! `target_flows` ends the arrivals sooner, but not before `min_duration`, so that networks of different rates have runs of
//! similar size.
//!
//! `max_flows` keeps a subset of the arrivals, spread over the whole duration. The load is reduced by the share of
//! dropped flows, and the plan warns of it.

use std::{cmp::Reverse, collections::BinaryHeap};

use lab_scenario::{Arrivals, FlowProcess, SizeCdf, limits};
use lab_units::{
    Nanos,
    bursts::{BURST, OVER_LULL},
};

use super::bursts::Bursts;
use crate::{
    demand::Demand,
    drafts::Draft,
    error::PlanError,
    network::Network,
    sample::{Sampling, Stream, StreamName, float, nearest, quotient},
};

/// Flows sampled for one repetition of a process.
pub(crate) struct Sampled {
    /// Flows that are kept, sorted by start.
    pub drafts: Vec<Draft>,
    /// Number of arrivals within the duration; `max_flows` may drop some.
    pub arrivals: usize,
}

/// Samples the flows of `process`, whose hosts have `demands`. Fails if more than `room` flows are kept, the number of
/// flows for which the plan still has room.
pub(crate) fn sample(
    network: &Network,
    (process, demands): (&FlowProcess, &[Demand]),
    sizes: &SizeCdf,
    sampling: Sampling<'_>,
    room: usize,
) -> Result<Sampled, PlanError> {
    let arrived = arrivals(network, (process, demands), sizes, sampling)?;
    let arrivals = arrived.len();
    let wanted = process.max_flows.map_or(usize::MAX, |most| {
        usize::try_from(most).unwrap_or(usize::MAX)
    });
    let mut stream = Stream::named(StreamName {
        seed: sampling.seed,
        repetition: sampling.repetition,
        traffic: sampling.traffic,
        host: "",
        quantity: "thinning",
    });
    let drafts = thin(arrived, wanted, process.arrivals, &mut stream);
    if drafts.len() > room {
        return Err(too_many(sampling));
    }
    Ok(Sampled { drafts, arrivals })
}

/// Samples all flows of `process` that start within its duration, sorted by start.
fn arrivals(
    network: &Network,
    (process, demands): (&FlowProcess, &[Demand]),
    sizes: &SizeCdf,
    sampling: Sampling<'_>,
) -> Result<Vec<Draft>, PlanError> {
    let mut sources = sources(network, (process, demands), sizes, sampling);
    let bursts = process.bursts.map(|length| {
        let pairs = sources.iter().flat_map(|source| {
            let from = network.node(source.demand.host).dc;
            source.demand.to.iter().map(move |&to| (from, to))
        });
        Bursts::draw(network, pairs, (length, process.duration), sampling)
    });
    let mut drafts = Vec::new();
    let mut next: BinaryHeap<_> = (0..sources.len())
        .map(|index| Reverse((sources[index].next, index)))
        .collect();
    while let Some(Reverse((start, index))) = next.pop() {
        if start >= process.duration {
            break;
        }
        if drafts.len() >= limits::MAX_FLOWS {
            return Err(too_many(sampling));
        }
        let source = &mut sources[index];
        drafts.extend(source.draw(network, sizes, start, bursts.as_ref()));
        source.advance(process.arrivals);
        next.push(Reverse((source.next, index)));
    }
    Ok(drafts)
}

/// Keeps `wanted` of the flows, in the order of their starts.
///
/// Of Poisson arrivals, every subset with `wanted` flows is equally likely (selection sampling: Knuth, TAOCP 2, 3.4.2,
/// algorithm S), so that the kept flows are Poisson arrivals with a lower rate. Even arrivals are kept at equal
/// distances, starting with a random one.
fn thin(
    mut drafts: Vec<Draft>,
    wanted: usize,
    arrivals: Arrivals,
    stream: &mut Stream,
) -> Vec<Draft> {
    let all = drafts.len();
    if all <= wanted {
        return drafts;
    }
    match arrivals {
        Arrivals::Poisson => {
            let mut left = all;
            let mut needed = wanted;
            drafts.retain(|_| {
                let is_kept = stream.below(left) < needed;
                left -= 1;
                needed -= usize::from(is_kept);
                is_kept
            });
        }
        Arrivals::Even => {
            let mut phase = stream.below(all);
            drafts.retain(|_| {
                phase += wanted;
                let is_kept = phase >= all;
                phase -= if is_kept { all } else { 0 };
                is_kept
            });
        }
    }
    drafts
}

fn too_many(sampling: Sampling<'_>) -> PlanError {
    PlanError::TooManyFlows {
        path: sampling.path.to_owned(),
        max: limits::MAX_FLOWS,
    }
}

/// Sending host with the state of its arrival process.
struct SendingHost {
    demand: Demand,
    /// Mean gap between two flows in nanoseconds; with bursts, the gap while all destinations burst.
    gap: f64,
    /// Start of the host's next flow.
    next: Nanos,
    gaps: Stream,
    sizes: Stream,
    targets: Stream,
    /// Stream that chooses which arrivals between bursts become flows.
    lulls: Stream,
}

impl SendingHost {
    /// Returns the flow that arrives at `start`; `None` if its pair does not burst then and the arrival belongs to the
    /// share that only bursts have.
    fn draw(
        &mut self,
        network: &Network,
        sizes: &SizeCdf,
        start: Nanos,
        bursts: Option<&Bursts>,
    ) -> Option<Draft> {
        let to = &self.demand.to;
        let dc = to[self.targets.below(to.len())];
        let from = network.node(self.demand.host).dc;
        if bursts.is_some_and(|bursts| !bursts.is_burst(from, dc, start))
            && self.lulls.below(OVER_LULL as usize) != 0
        {
            return None;
        }
        let hosts = &network.dcs[dc.index()].hosts;
        Some(Draft {
            src: self.demand.host,
            dst: hosts[self.targets.below(hosts.len())],
            size: sizes.quantile(self.sizes.uniform()),
            start,
            is_listed: false,
        })
    }

    fn advance(&mut self, arrivals: Arrivals) {
        let gap = match arrivals {
            Arrivals::Poisson => self.gaps.exponential(self.gap),
            Arrivals::Even => nearest(self.gap),
        };
        self.next = self.next.saturating_add(gap);
    }
}

/// Returns each sending host's state before its first flow.
fn sources(
    network: &Network,
    (process, demands): (&FlowProcess, &[Demand]),
    sizes: &SizeCdf,
    sampling: Sampling<'_>,
) -> Vec<SendingHost> {
    let sources = demands.iter().map(|demand| {
        let host = &network.node(demand.host).name;
        let source = match demand.to.first() {
            Some(to) if demand.is_of_pair => format!("{host}>{}", network.dcs[to.index()].name),
            _ => host.clone(),
        };
        let stream = |quantity| {
            Stream::named(StreamName {
                seed: sampling.seed,
                repetition: sampling.repetition,
                traffic: sampling.traffic,
                host: &source,
                quantity,
            })
        };
        let factor = process.bursts.map_or(1.0, |_| quotient(BURST));
        let gap = mean_gap(demand, sizes) / factor;
        let mut gaps = stream("gaps");
        let first = match process.arrivals {
            Arrivals::Poisson => gaps.exponential(gap),
            Arrivals::Even => gaps.phase(gap),
        };
        SendingHost {
            gap,
            next: first,
            gaps,
            sizes: stream("sizes"),
            targets: stream("targets"),
            lulls: stream("lulls"),
            demand: demand.clone(),
        }
    });
    sources.collect()
}

/// Returns the time span in which flows of `process` start: its duration, or less if its number of target flows arrives
/// sooner on average, but not less than its minimum.
pub(crate) fn span(process: &FlowProcess, demands: &[Demand], sizes: &SizeCdf) -> Nanos {
    let Some(target) = process.target_flows else {
        return process.duration;
    };
    let rate: f64 = demands.iter().map(|it| 1.0 / mean_gap(it, sizes)).sum();
    let enough: Nanos = nearest(float(target.into()) / rate);
    let least = process.min_duration.unwrap_or(Nanos::ZERO);
    enough.max(least).min(process.duration)
}

/// Returns the mean gap between two flows of one host, in nanoseconds.
fn mean_gap(demand: &Demand, sizes: &SizeCdf) -> f64 {
    let mean = sizes.mean();
    let mean_bits = 8.0 * float(mean.numerator()) / float(mean.denominator());
    let load = quotient(demand.load);
    let full_rate = float(demand.full_bps) / float(demand.sharers);
    mean_bits * NANOS_PER_SECOND / (full_rate * load)
}

const NANOS_PER_SECOND: f64 = 1e9;
