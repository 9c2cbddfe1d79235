//! Use of links while flows start.

use std::collections::BTreeMap;

use lab_units::{Bytes, Nanos};

use crate::{BusyLink, FlowFields, LinkRates, RunInfo};

/// Link use under one policy while flows start. In each repetition, the measured time begins at the repetition's start
/// and ends at the first counter sample that is not earlier than the last flow's start or, without such a sample, at
/// the last sample.
///
/// A link direction's use is the mean over the repetitions. Flows and counter samples may be added in any order.
#[derive(Clone, Debug, Default)]
pub struct ArrivalUse {
    /// Start of the last flow, by repetition.
    last_starts: BTreeMap<u32, Nanos>,
    /// Byte counters in order of time, by link direction and repetition.
    counters: BTreeMap<DirectionName, BTreeMap<u32, Vec<Counter>>>,
}

/// Link direction: link name, sending datacenter, receiving datacenter.
type DirectionName = [String; 3];

#[derive(Clone, Copy, Debug)]
struct Counter {
    time: Nanos,
    bytes: Bytes,
}

/// Use of one link direction while flows start.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionUse {
    /// Name of the link.
    pub link: String,
    /// Datacenter that sends in this direction.
    pub from_dc: String,
    /// Datacenter that receives in this direction.
    pub to_dc: String,
    /// Bytes carried ÷ bytes that the link could carry, mean over the repetitions.
    pub utilisation: f64,
}

impl ArrivalUse {
    /// Adds a flow, whose start may extend the measured time.
    pub fn flow(&mut self, flow: FlowFields<'_>) {
        if flow.has_started() {
            let last = self.last_starts.entry(flow.repetition).or_default();
            *last = flow.start_ns.max(*last);
        }
    }

    /// Adds a sample of a link direction's byte counter. Samples of a direction must come in order of time; one at time
    /// zero or of the same time as the previous one has no effect.
    pub fn counter(&mut self, repetition: u32, direction: [&str; 3], time: Nanos, bytes: Bytes) {
        let of_direction = self.counters.entry(direction.map(str::to_owned));
        let counters = of_direction.or_default().entry(repetition).or_default();
        let latest = counters.last().map_or(Nanos::ZERO, |counter| counter.time);
        if time <= latest {
            return;
        }
        // Once there is a later sample, one before a flow's start cannot end the measured time.
        let last_start = self.last_starts.get(&repetition);
        counters.pop_if(|counter| last_start.is_some_and(|&start| counter.time < start));
        counters.push(Counter { time, bytes });
    }

    /// Returns the sample at the end of the measured time of `repetition`; `None` without a flow or a sample.
    fn at_end(&self, repetition: u32, counters: &[Counter]) -> Option<Counter> {
        let last_start = *self.last_starts.get(&repetition)?;
        // If all flows start at time zero, the measured time is the first interval between samples.
        let is_after = |counter: &&Counter| counter.time >= last_start;
        counters.iter().find(is_after).or(counters.last()).copied()
    }

    /// Returns the use of each link direction with a sample, ordered by link and direction; `info` gives the links'
    /// rates.
    #[must_use]
    pub fn uses(&self, info: &RunInfo) -> Vec<DirectionUse> {
        let of = |(direction, counters): (&DirectionName, &BTreeMap<u32, Vec<Counter>>)| {
            let [link, from_dc, to_dc] = direction.clone();
            let rates = LinkRates::of(info, &link)?;
            let ends = counters
                .iter()
                .filter_map(|(&repetition, counters)| self.at_end(repetition, counters));
            let shares: Vec<f64> = ends.map(|at| at.share(&rates)).collect();
            (!shares.is_empty()).then(|| DirectionUse {
                link,
                from_dc,
                to_dc,
                utilisation: mean(&shares),
            })
        };
        self.counters.iter().filter_map(of).collect()
    }

    /// Returns the busiest link direction; `None` without a counter sample after time zero.
    #[must_use]
    pub fn busiest(&self, info: &RunInfo) -> Option<BusyLink> {
        let busiest = self
            .uses(info)
            .into_iter()
            .max_by(|a, b| a.utilisation.total_cmp(&b.utilisation))?;
        Some(BusyLink {
            from_dc: busiest.from_dc,
            to_dc: busiest.to_dc,
            utilisation: busiest.utilisation,
        })
    }
}

impl Counter {
    /// Returns the bytes counted ÷ the bytes that the link could have carried until the counter's sample.
    #[expect(
        clippy::cast_precision_loss,
        reason = "reports show fewer digits than a float has"
    )]
    fn share(&self, rates: &LinkRates) -> f64 {
        let sent = self.bytes.get() as f64 * 8e9;
        sent / rates.capacity_until(self.time).max(1) as f64
    }
}

#[expect(clippy::cast_precision_loss, reason = "a run has few repetitions")]
fn mean(shares: &[f64]) -> f64 {
    shares.iter().sum::<f64>() / shares.len() as f64
}
