//! Load of a plan's workloads and flows.

use std::{collections::BTreeMap, fmt};

use lab_scenario::{LoadBase, Scenario};
use lab_units::{Bytes, DcId, Nanos, show::about_rate};
use serde::{Deserialize, Serialize};

/// Load that a plan's workloads request and offer; `listed` counts the flows of lists and flow files, which do not
/// contribute to the load.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct LoadPlan {
    /// Longest duration of a workload, in paper time; zero without workloads.
    pub paper_duration_ns: Nanos,
    /// Start of the last workload flow in paper time, the minimum over all repetitions.
    pub paper_last_start_ns: Nanos,
    /// Number of arrivals that the workloads sample within their durations, over all repetitions.
    pub arrivals: u64,
    /// Number of arrivals that became flows of the plan; the other arrivals exceed `max_flows`.
    pub kept: u64,
    /// Workloads of whose arrivals `max_flows` leaves out some, in the order of `traffic`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thinned: Vec<Arrivals>,
    /// Load of each datacenter that sends workload flows, by id.
    pub senders: Vec<SenderLoad>,
    /// Flows from lists and flow files.
    #[serde(default)]
    pub listed: ListedFlows,
    /// Links whose utilisation is a workload's load, for each workload with such a load, in the order of `traffic`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<NetworkLoad>,
    /// Number of concurrent flows if each took its ideal FCT. Flows take longer under load, so more are concurrent.
    pub ideal_concurrency: Concurrency,
}

/// Numbers of arrivals of one workload or demand matrix, over all repetitions.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Arrivals {
    /// Position in the scenario's `traffic`, from 0.
    pub traffic: usize,
    /// Number of arrivals within the duration.
    pub all: u64,
    /// Number of arrivals that became flows of the plan.
    pub kept: u64,
}

impl Arrivals {
    /// Returns no arrivals of the entry `traffic`.
    pub(crate) const fn none(traffic: usize) -> Self {
        Self {
            traffic,
            all: 0,
            kept: 0,
        }
    }
}

/// Load of one sending datacenter.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct SenderLoad {
    pub dc: DcId,
    /// Rate that counts as a load of 1, from the workload's `load_base`, in bits per second.
    pub capacity_bps: u64,
    /// Mean rate that the datacenter's workloads request over their duration, in bits per second.
    pub requested_bps: u64,
    /// Mean rate of the datacenter's workload flows: their bytes ÷ the duration, averaged over repetitions, in bits per
    /// second.
    pub offered_bps: u64,
}

/// Inter-DC links that a load of 1 of one workload fills, by this workload's mean demands alone.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct NetworkLoad {
    /// Position of the workload in the scenario's `traffic`, from 0.
    pub traffic: usize,
    pub base: LoadBase,
    /// Names of the links.
    pub links: Vec<String>,
    /// Datacenter at which the link's direction begins; `None` for a cut.
    pub from: Option<String>,
    /// Total rate of the links, in bits per second.
    pub capacity_bps: u64,
}

impl fmt::Display for NetworkLoad {
    /// Writes a clause without a full stop.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match &self.from {
            Some(_) => "the busiest inter-DC link if every switch splits them evenly",
            None => "the tightest cut that they must cross",
        };
        let links = self.links.iter().take(MAX_LINKS);
        let names: Vec<String> = links.map(|link| format!("`{link}`")).collect();
        write!(
            f,
            "a load of 1 in `traffic[{}]` fills, by its flows alone, {what}: {} over {}",
            self.traffic,
            about_rate(self.capacity_bps),
            names.join(", "),
        )?;
        match self.links.len().saturating_sub(MAX_LINKS) {
            0 => {}
            more => write!(f, " and {more} more")?,
        }
        match &self.from {
            Some(from) => write!(f, " from `{from}`"),
            None => Ok(()),
        }
    }
}

/// Flows from lists and flow files, over all repetitions.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct ListedFlows {
    /// Number of listed flows.
    pub flows: u64,
    /// Sum of the flows' sizes at the paper's scale, in bytes.
    pub paper_bytes: Bytes,
}

impl SenderLoad {
    /// Returns the requested load in percent of the capacity, rounded.
    #[must_use]
    pub fn requested_percent(&self) -> u64 {
        percent(self.requested_bps, self.capacity_bps)
    }

    /// Returns the offered load in percent of the capacity, rounded.
    #[must_use]
    pub fn offered_percent(&self) -> u64 {
        percent(self.offered_bps, self.capacity_bps)
    }

    /// Returns true if the flows offer less than 80 % of the rate that the workloads request.
    #[must_use]
    pub fn is_short(&self) -> bool {
        u128::from(self.offered_bps) * 100
            < u128::from(self.requested_bps) * u128::from(MIN_OFFERED_PERCENT)
    }
}

impl LoadPlan {
    /// Returns the key that sets the rate of the sampled traffic, for hints. Once `max_flows` leaves out arrivals, a lower
    /// load has fewer arrivals to leave out, but the same flows.
    pub(crate) fn key(&self, scenario: &Scenario) -> &'static str {
        if self.thinned.is_empty() {
            scenario.load_key()
        } else {
            "`max_flows`"
        }
    }

    /// Returns the percentage of the duration that has passed at the last flow's start, rounded down.
    #[must_use]
    pub fn covered_percent(&self) -> u64 {
        let last = u128::from(self.paper_last_start_ns.get()) * 100;
        let covered = last / u128::from(self.paper_duration_ns.get().max(1));
        u64::try_from(covered).unwrap_or(u64::MAX)
    }

    /// Returns true if the last workload flow starts before 90 % of the duration.
    #[must_use]
    pub fn ends_early(&self) -> bool {
        !self.senders.is_empty() && self.kept > 0 && self.covered_percent() < MIN_COVERED_PERCENT
    }
}

/// Number of flows that run at the same time: mean and maximum.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Concurrency {
    /// Mean number from the first start to the last end, in hundredths of a flow.
    pub mean_hundredths: u64,
    /// Maximum number of flows that run at the same time.
    pub peak: u64,
}

impl Concurrency {
    /// Computes the concurrency of flows, each given as its repetition, start and end. Flows of different repetitions
    /// are never concurrent.
    #[must_use]
    pub fn of(spans: impl IntoIterator<Item = (u32, Nanos, Nanos)>) -> Self {
        let mut by_repetition: BTreeMap<u32, Vec<(Nanos, Nanos)>> = BTreeMap::new();
        for (repetition, start, end) in spans {
            by_repetition
                .entry(repetition)
                .or_default()
                .push((start, end));
        }
        let mut busy = 0u128;
        let mut time = 0u128;
        let mut peak = 0;
        for spans in by_repetition.values() {
            let first = spans.iter().map(|span| span.0.get()).min().unwrap_or(0);
            let last = spans.iter().map(|span| span.1.get()).max().unwrap_or(0);
            time += u128::from(last.saturating_sub(first));
            let lengths = spans.iter().map(|(start, end)| end.saturating_sub(*start));
            busy += lengths.map(|length| u128::from(length.get())).sum::<u128>();
            peak = peak.max(largest(spans));
        }
        let mean = busy * 100 / time.max(1);
        Self {
            mean_hundredths: u64::try_from(mean).unwrap_or(u64::MAX),
            peak,
        }
    }
}

/// Returns the maximum number of spans that overlap at one instant; a span that ends when another starts does not
/// overlap it.
fn largest(spans: &[(Nanos, Nanos)]) -> u64 {
    let mut starts: Vec<Nanos> = spans.iter().map(|span| span.0).collect();
    let mut ends: Vec<Nanos> = spans.iter().map(|span| span.1).collect();
    starts.sort_unstable();
    ends.sort_unstable();
    let mut ended = 0;
    let mut peak = 0;
    for (begun, start) in (1..).zip(&starts) {
        while ends.get(ended).is_some_and(|end| end <= start) {
            ended += 1;
        }
        peak = peak.max(begun - ended);
    }
    u64::try_from(peak).unwrap_or(u64::MAX)
}

fn percent(part: u64, whole: u64) -> u64 {
    let whole = u128::from(whole.max(1));
    saturating((u128::from(part) * 100 + whole / 2) / whole)
}

pub(crate) fn saturating(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// Maximum number of links that the text of a load names.
const MAX_LINKS: usize = 4;

/// Minimum share of the requested load that the flows must offer for a representative run, in percent.
const MIN_OFFERED_PERCENT: u64 = 80;

/// Minimum share of the duration that flow starts must cover, in percent.
const MIN_COVERED_PERCENT: u64 = 90;

#[cfg(test)]
mod tests {
    use super::*;

    fn span(repetition: u32, start: u64, end: u64) -> (u32, Nanos, Nanos) {
        (repetition, Nanos::new(start), Nanos::new(end))
    }

    #[test]
    fn concurrency_counts_flows_of_one_repetition() {
        let one_by_one = Concurrency::of([span(0, 0, 10), span(0, 10, 20)]);
        assert_eq!((one_by_one.mean_hundredths, one_by_one.peak), (100, 1));
        let together = [span(0, 0, 10), span(0, 0, 10), span(0, 5, 10)];
        let together = Concurrency::of(together);
        assert_eq!((together.mean_hundredths, together.peak), (250, 3));
        let apart = Concurrency::of([span(0, 0, 10), span(1, 0, 10)]);
        assert_eq!((apart.mean_hundredths, apart.peak), (100, 1));
        assert_eq!(Concurrency::of([]), Concurrency::default());
    }

    #[test]
    fn under_four_fifths_of_the_requested_load_is_short() {
        let load = |offered_bps| SenderLoad {
            dc: DcId(0),
            capacity_bps: 1_000,
            requested_bps: 300,
            offered_bps,
        };
        assert!(load(239).is_short() && !load(240).is_short());
        assert_eq!(load(239).offered_percent(), 24);
        assert_eq!(load(0).requested_percent(), 30);
    }

    #[test]
    fn starts_cover_the_duration_from_nine_tenths_on() {
        let load = |last: u64| LoadPlan {
            paper_duration_ns: Nanos::new(1_000),
            paper_last_start_ns: Nanos::new(last),
            kept: 5,
            senders: vec![SenderLoad {
                dc: DcId(0),
                capacity_bps: 1,
                requested_bps: 1,
                offered_bps: 1,
            }],
            ..LoadPlan::default()
        };
        assert!(load(899).ends_early() && !load(900).ends_early());
        assert!(!LoadPlan::default().ends_early());
    }
}
