//! Demands of consecutive intervals, sampled from workloads.
//!
//! Flows of a pair of datacenters arrive as a Poisson process, and all bytes of a flow count in the interval of its
//! start. In bursty traffic, slots of one burst's length are drawn independently, with a random phase for every pair;
//! [`lab_units::bursts`] has their rates.

use lab_units::{
    Bytes,
    bursts::{BURST, LULL, SLOTS_PER_BURST},
};

use crate::{
    number::{float, ratio},
    problem::Problem,
    random::Random,
};

/// Workloads of a network.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// Sources of each load; the demands of each load are one trace.
    pub loads: Vec<Vec<Source>>,
    /// Size distributions of the sources.
    pub sizes: Vec<Sizes>,
}

/// Flows of one workload from one datacenter to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Source {
    /// Index of the sending datacenter's switch.
    pub switch: usize,
    /// Index of the destination in the switch's rows.
    pub row: usize,
    /// Mean bytes per interval.
    pub mean_bytes: f64,
    /// Index of the size distribution in [`Traffic::sizes`].
    pub sizes: usize,
    /// Length of a burst in intervals; `None` for a steady rate.
    pub burst: Option<u32>,
}

/// Size distribution of flows: sizes of equal probability.
#[derive(Clone, Debug)]
pub struct Sizes(Vec<u64>);

impl Sizes {
    /// Returns the distribution with the quantiles that `quantile` returns for u · 2⁶⁴.
    #[must_use]
    pub fn of(quantile: impl Fn(u64) -> Bytes) -> Self {
        let width = u64::MAX / QUANTILES + 1;
        let middles = (0..QUANTILES).map(|at| at * width + width / 2);
        Self(middles.map(|u| quantile(u).get()).collect())
    }

    /// Returns the mean in bytes.
    #[expect(clippy::cast_precision_loss, reason = "sizes are below 2^53 bytes")]
    fn mean(&self) -> f64 {
        let total: f64 = self.0.iter().map(|&size| size as f64).sum();
        (total / float(self.0.len().max(1))).max(1.0)
    }

    fn draw(&self, random: &mut Random) -> u64 {
        self.0[random.below(self.0.len())]
    }
}

/// Use of demands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DataSplit {
    Training,
    /// Demands that choose the best weights, and end a training that no longer improves.
    Validation,
    /// Demands for the scores; the same for every seed.
    HeldOut,
}

impl DataSplit {
    /// Returns the number of intervals in a trace without long bursts.
    #[must_use]
    const fn intervals(self) -> usize {
        match self {
            Self::Training => 600,
            Self::Validation => 200,
            // The first two are not scored: policies that are two intervals late have no measurement.
            Self::HeldOut => 302,
        }
    }
}

/// Demands of consecutive intervals, by switch and row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Intervals(pub Vec<Vec<Vec<Bytes>>>);

impl Intervals {
    /// Returns one interval's demands in bytes by row number.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "demands are below 2^53 bytes")]
    pub fn flat(demands: &[Vec<Bytes>]) -> Vec<f64> {
        let rows = demands.iter().flatten();
        rows.map(|bytes| bytes.get() as f64).collect()
    }
}

impl Traffic {
    /// Samples the demands of a load, for one use.
    #[must_use]
    pub fn sample(&self, problem: &Problem, seed: u64, split: DataSplit, load: usize) -> Intervals {
        let rows = problem.topology.rows().iter();
        let none: Vec<Vec<Bytes>> = rows.map(|rows| vec![Bytes::ZERO; rows.len()]).collect();
        let mut intervals = vec![none; self.trace(split, load)];
        let (seed, number) = match split {
            DataSplit::Training => (seed, 1),
            DataSplit::Validation => (seed, 2),
            DataSplit::HeldOut => (0, 3),
        };
        let position = |index: usize| u64::try_from(index).unwrap_or(u64::MAX);
        for (index, source) in self.loads[load].iter().enumerate() {
            let mut random = Random::of(&[seed, number, position(load), position(index)]);
            let sizes = &self.sizes[source.sizes];
            let flows = source.mean_bytes / sizes.mean();
            let mut modulation = Modulation::new(source.burst, &mut random);
            for interval in &mut intervals {
                let mean = flows * modulation.next(&mut random);
                let cell = &mut interval[source.switch][source.row];
                let sent = arrivals(mean, sizes, &mut random);
                *cell = Bytes::new(cell.get().saturating_add(sent));
            }
        }
        Intervals(intervals)
    }

    /// Returns the number of intervals of all loads, for one use.
    #[must_use]
    pub fn intervals(&self, split: DataSplit) -> usize {
        let loads = 0..self.loads.len();
        loads.map(|load| self.trace(split, load)).sum()
    }

    /// Returns the number of intervals of a load, for one use.
    fn trace(&self, split: DataSplit, load: usize) -> usize {
        split.intervals() * self.stretch(load)
    }

    /// Returns the factor by which a load's traces are longer than [`DataSplit::intervals`], so that they contain
    /// enough of its longest bursts: a training on few bursts learns only these.
    fn stretch(&self, load: usize) -> usize {
        let bursts = self.loads[load].iter().filter_map(|source| source.burst);
        let longest = bursts.max().unwrap_or(0);
        usize::try_from(longest.div_ceil(SHORT_BURST)).map_or(1, |factor| factor.max(1))
    }
}

/// Factor of a pair's rate over time.
struct Modulation {
    length: Option<u32>,
    /// Intervals left of the current slot.
    left: u32,
    factor: f64,
}

impl Modulation {
    fn new(length: Option<u32>, random: &mut Random) -> Self {
        let bound = length.unwrap_or(1);
        let phase = random.below(usize::try_from(bound).unwrap_or(1));
        Self {
            length,
            left: u32::try_from(phase).unwrap_or(0),
            factor: Self::draw(length, random),
        }
    }

    fn draw(length: Option<u32>, random: &mut Random) -> f64 {
        match length {
            None => 1.0,
            Some(_) if random.fraction() < 1.0 / f64::from(SLOTS_PER_BURST) => ratio(BURST),
            Some(_) => ratio(LULL),
        }
    }

    /// Returns the factor of the next interval.
    fn next(&mut self, random: &mut Random) -> f64 {
        if self.left == 0 {
            self.left = self.length.unwrap_or(u32::MAX);
            self.factor = Self::draw(self.length, random);
        }
        self.left -= 1;
        self.factor
    }
}

/// Returns the bytes of an interval's flows, `mean` of which arrive on average.
fn arrivals(mean: f64, sizes: &Sizes, random: &mut Random) -> u64 {
    let mut bytes = 0_u64;
    let mut time = random.exponential();
    while time < mean {
        bytes = bytes.saturating_add(sizes.draw(random));
        time += random.exponential();
    }
    bytes
}

/// Burst length in intervals up to which a trace of [`DataSplit::intervals`] contains enough bursts.
const SHORT_BURST: u32 = 3;

/// Number of sizes in a distribution.
const QUANTILES: u64 = 4_096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::diamond;

    fn traffic(burst: Option<u32>, sizes: Sizes) -> Traffic {
        let source = |mean_bytes| Source {
            switch: 0,
            row: 0,
            mean_bytes,
            sizes: 0,
            burst,
        };
        Traffic {
            loads: [50_000.0, 100_000.0]
                .map(|mean| vec![source(mean)])
                .to_vec(),
            sizes: vec![sizes],
        }
    }

    fn series(traffic: &Traffic, seed: u64, load: usize) -> Vec<f64> {
        let intervals = traffic.sample(&diamond(), seed, DataSplit::Training, load);
        intervals
            .0
            .iter()
            .map(|it| Intervals::flat(it)[0])
            .collect()
    }

    fn mean(series: &[f64]) -> f64 {
        series.iter().sum::<f64>() / float(series.len())
    }

    #[test]
    fn steady_demands_have_the_mean_and_spread_of_poisson_arrivals() {
        // 50 flows of 1,000 bytes: σ = √50 flows; the mean of 600 has a standard error of 0.29 flows.
        let steady = traffic(None, Sizes::of(|_| Bytes::new(1_000)));
        let flows: Vec<f64> = series(&steady, 1, 0)
            .iter()
            .map(|bytes| bytes / 1e3)
            .collect();
        assert!((mean(&flows) - 50.0).abs() < 1.2, "{}", mean(&flows));
        let squares: Vec<f64> = flows.iter().map(|flow| (flow - 50.0).powi(2)).collect();
        assert!((mean(&squares) - 50.0).abs() < 12.0, "{}", mean(&squares));
        let twice = series(&steady, 1, 1);
        assert!((mean(&twice) / 1e5 - 1.0).abs() < 0.03);
        assert_ne!(series(&steady, 2, 0), series(&steady, 1, 0));
    }

    #[test]
    fn traces_have_two_hundred_bursts_of_any_length() {
        let length = |burst| {
            let traffic = traffic(burst, Sizes::of(|_| Bytes::new(1_000)));
            series(&traffic, 1, 0).len()
        };
        assert_eq!([None, Some(1), Some(3)].map(length), [600; 3]);
        assert_eq!(
            [4, 6, 30].map(|burst| length(Some(burst))),
            [1_200, 1_200, 6_000]
        );
    }

    #[test]
    fn bursts_keep_the_mean_and_last_their_length() {
        // Flows of one byte, so that the factor is seen with little noise.
        let mut bursty = traffic(Some(3), Sizes::of(|_| Bytes::new(1)));
        bursty.loads[0][0].mean_bytes = 500.0;
        // 40 · 200 slots, whose factors have a standard deviation of 1.5: a standard error of 0.017.
        let all: Vec<f64> = (0..40).flat_map(|seed| series(&bursty, seed, 0)).collect();
        assert!((mean(&all) / 500.0 - 1.0).abs() < 0.06, "{}", mean(&all));
        let is_burst: Vec<bool> = series(&bursty, 1, 0)
            .iter()
            .map(|it| *it > 1_000.0)
            .collect();
        let inner = is_burst.chunk_by(PartialEq::eq).skip(1);
        let mut runs: Vec<usize> = inner.map(<[bool]>::len).collect();
        runs.pop();
        assert!(
            runs.len() > 10 && runs.iter().all(|run| run.is_multiple_of(3)),
            "{runs:?}"
        );
    }

    #[test]
    fn the_held_out_demands_are_the_same_for_every_seed() {
        let traffic = traffic(Some(3), Sizes::of(|u| Bytes::new(1 + (u >> 54))));
        let held_out = |seed| traffic.sample(&diamond(), seed, DataSplit::HeldOut, 0);
        assert_eq!(held_out(1), held_out(2));
    }
}
