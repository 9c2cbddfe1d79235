//! Blocks of flows that arrive one after the other, for the bootstrap.
//!
//! Flows that meet in a queue slow each other down, so a sample of single flows would show less spread
//! than another run has. The circular block bootstrap draws windows of consecutive arrivals instead,
//! with the flows of a window together. The length of the windows is the one that Politis and White
//! choose from the data (Econometric Reviews 23, 2004, corrected by Patton, Politis and White, 28,
//! 2009), the longest of those for the slowdowns themselves and for which flows are beyond the median,
//! the 95th and the 99th percentile. Flows of a run without queues get windows of one flow.
//!
//! Of more than [`MAX_CELLS`] flows, a few consecutive ones make a cell, and windows are of cells: so the
//! work for a sample has a bound, at the cost of windows that may be longer than they need to be.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::nearest_rank;

/// Windows of consecutive arrivals.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Blocks {
    /// Number of flows.
    pub flows: usize,
    /// Number of flows of a window, a multiple of those of a cell.
    pub length: usize,
    /// Number of flows of a cell, which are drawn together.
    cell: usize,
}

impl Blocks {
    /// Returns the windows for statistics of each of `series`: values of the same flows in the order of
    /// their arrival.
    pub fn of(series: &[&[f64]]) -> Self {
        let blocks = Self::single(series.first().map_or(0, |values| values.len()));
        let means = |values: &[f64]| -> Vec<f64> {
            let cells = values.chunks(blocks.cell);
            cells
                .map(|cell| cell.iter().sum::<f64>() / float(cell.len()))
                .collect()
        };
        let lengths = series.iter().flat_map(|values| {
            let beyond = PERCENTS
                .iter()
                .map(|&percent| means(&beyond(values, percent)));
            beyond.chain([means(values)]).map(|it| length(&it))
        });
        Self {
            length: lengths.max().unwrap_or(1) * blocks.cell,
            ..blocks
        }
    }

    /// Returns windows of one cell: for values without an order.
    pub fn single(flows: usize) -> Self {
        let cell = flows.div_ceil(MAX_CELLS).max(1);
        Self {
            flows,
            length: cell,
            cell,
        }
    }

    /// Returns the cell of each flow in turn.
    pub fn cells(&self) -> impl Iterator<Item = usize> {
        let cell = self.cell;
        (0..self.cell_count())
            .flat_map(move |number| std::iter::repeat_n(number, cell))
            .take(self.flows)
    }

    /// Returns the number of cells.
    pub fn cell_count(&self) -> usize {
        self.flows.div_ceil(self.cell)
    }

    /// Returns the number of cells of a window.
    pub fn window(&self) -> usize {
        self.length / self.cell
    }
}

/// Samples of windows with replacement, each sample with as many cells as there are.
pub struct Resampler {
    rng: Pcg64Mcg,
    blocks: Blocks,
    counts: Vec<u32>,
}

impl Resampler {
    /// Returns the same samples each time.
    pub fn new(blocks: Blocks) -> Self {
        Self::seeded(blocks, SEED)
    }

    /// Returns other samples than [`Resampler::new`] and than those of other numbers, the same each
    /// time.
    pub fn independent(blocks: Blocks, number: u64) -> Self {
        Self::seeded(blocks, !SEED - number)
    }

    fn seeded(blocks: Blocks, seed: u64) -> Self {
        Self {
            rng: Pcg64Mcg::seed_from_u64(seed),
            blocks,
            counts: vec![0; blocks.cell_count()],
        }
    }

    /// Returns how often each cell is in the next sample. After the last cell comes the first.
    pub fn draw(&mut self) -> &[u32] {
        self.counts.fill(0);
        let cells = self.counts.len();
        let mut left = cells;
        while left > 0 {
            let start = below(self.rng.next_u64(), cells);
            let taken = self.blocks.window().clamp(1, left);
            let past_last = (start + taken).saturating_sub(cells);
            let (first, rest) = self.counts.split_at_mut(start);
            let window = rest[..taken - past_last].iter_mut();
            window
                .chain(&mut first[..past_last])
                .for_each(|count| *count += 1);
            left -= taken;
        }
        &self.counts
    }
}

/// Returns 1 for each value beyond the percentile and 0 for the others.
fn beyond(values: &[f64], percent: u32) -> Vec<f64> {
    // Of indices in order, the nearest rank is the percentile's index.
    let places: Vec<usize> = (0..values.len()).collect();
    let Some(place) = nearest_rank(&places, percent) else {
        return Vec::new();
    };
    let mut parted = values.to_vec();
    let (_, &mut percentile, _) = parted.select_nth_unstable_by(place, f64::total_cmp);
    let is_beyond = |&value: &f64| f64::from(u8::from(value > percentile));
    values.iter().map(is_beyond).collect()
}

/// Returns the length of windows for the mean of `values`, by the rule of Politis and White for the
/// circular block bootstrap, in whole flows.
fn length(values: &[f64]) -> usize {
    let count = values.len();
    let covariances = Covariances::of(values);
    let Some(variance) = covariances.at(0).filter(|&variance| variance > 0.0) else {
        return 1;
    };
    let n = float(count);
    // Lags from which the autocorrelations are noise: a run of `quiet` that are under the bound.
    let quiet = up((n.log10().sqrt()).max(MIN_QUIET));
    let most = up(n.sqrt()) + quiet;
    let bound = 2.0 * (n.log10() / n).sqrt() * variance;
    let is_noise = |lag: usize| covariances.at(lag).is_none_or(|it| it.abs() < bound);
    let (mut last, mut quiet_lags) = (most, 0);
    for lag in 1..=most + quiet {
        quiet_lags = if is_noise(lag) { quiet_lags + 1 } else { 0 };
        if quiet_lags == quiet {
            last = lag - quiet;
            break;
        }
    }
    let window = (2 * last).min(most);
    if window == 0 {
        return 1;
    }
    let (mut weighted, mut spectrum) = (0.0, variance);
    for lag in 1..=window {
        let share = float(lag) / float(window);
        let taper = if share <= 0.5 {
            1.0
        } else {
            2.0 * (1.0 - share)
        };
        let covariance = taper * covariances.at(lag).unwrap_or(0.0);
        weighted += 2.0 * float(lag) * covariance;
        spectrum += 2.0 * covariance;
    }
    let noise = 4.0 / 3.0 * spectrum * spectrum;
    if noise <= 0.0 {
        return 1;
    }
    let best = (2.0 * weighted * weighted / noise * n).cbrt();
    let longest = (3.0 * n.sqrt()).min(n / 3.0);
    up(best.min(longest)).max(1)
}

/// Autocovariances of values.
struct Covariances {
    deviations: Vec<f64>,
}

impl Covariances {
    fn of(values: &[f64]) -> Self {
        let mean = values.iter().sum::<f64>() / float(values.len());
        Self {
            deviations: values.iter().map(|value| value - mean).collect(),
        }
    }

    /// Returns the autocovariance at a lag; `None` if there are no two values so far apart.
    fn at(&self, lag: usize) -> Option<f64> {
        let later = self.deviations.get(lag..).filter(|it| !it.is_empty())?;
        let products = later.iter().zip(&self.deviations).map(|(a, b)| a * b);
        Some(products.sum::<f64>() / float(self.deviations.len()))
    }
}

/// Returns `random` scaled to `0..len`. The bias, at most `len / 2^64`, is far below the estimated quantities.
fn below(random: u64, len: usize) -> usize {
    let product = u128::from(random) * (len as u128);
    usize::try_from(product >> 64).unwrap_or(0)
}

#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 flows")]
pub(super) fn float(count: usize) -> f64 {
    count as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and no length or deviation is negative"
)]
pub(super) fn up(value: f64) -> usize {
    value.ceil() as usize
}

/// Percentiles whose flows beyond decide the length.
const PERCENTS: [u32; 3] = [50, 95, 99];

/// Largest number of cells.
pub const MAX_CELLS: usize = 10_000;

/// Smallest number of lags without correlation that end the search.
const MIN_QUIET: f64 = 5.0;

/// Seed of the samples; fixed, so that the report of a run is always the same.
const SEED: u64 = 0x1c4b;

#[cfg(test)]
mod tests {
    use super::*;

    /// Independent values, uniform in [0, 1).
    fn noise(count: usize, seed: u64) -> Vec<f64> {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let share = |random: u64| float(below(random, 1 << 30)) / float(1 << 30);
        (0..count).map(|_| share(rng.next_u64())).collect()
    }

    /// Returns x(t) = r · x(t − 1) + noise.
    fn autoregressive(count: usize, r: f64, seed: u64) -> Vec<f64> {
        let mut last = 0.0;
        let noise = noise(count, seed).into_iter();
        let next = noise.map(|noise| {
            last = r * last + noise - 0.5;
            last
        });
        next.collect()
    }

    #[test]
    fn independent_flows_have_short_windows_and_queues_long_ones() {
        let mean_length = |r: f64| {
            let lengths = (0..10).map(|seed| length(&autoregressive(2_000, r, seed)));
            float(lengths.sum()) / 10.0
        };
        let (alone, some, many) = (mean_length(0.0), mean_length(0.5), mean_length(0.9));
        assert!(alone < 4.0, "{alone}");
        assert!(some > alone && many > 2.0 * some, "{alone} {some} {many}");
        // Politis and White: 2 · r / (1 − r²) ^ (2/3) · n ^ (1/3) in theory, 45 for 0.9.
        assert!((25.0..90.0).contains(&many), "{many}");
    }

    #[test]
    fn few_or_equal_values_have_windows_of_one() {
        assert_eq!(length(&[]), 1);
        assert_eq!(length(&[2.0]), 1);
        assert_eq!(length(&[2.0; 100]), 1);
        assert_eq!(Blocks::of(&[]), Blocks::single(0));
    }

    #[test]
    fn a_sample_has_as_many_items_as_there_are() {
        for length in [1, 7, 44, 100] {
            let blocks = Blocks {
                length,
                ..Blocks::single(44)
            };
            let mut resampler = Resampler::new(blocks);
            for _ in 0..100 {
                assert_eq!(resampler.draw().iter().sum::<u32>(), 44, "{length}");
            }
        }
        assert!(Resampler::new(Blocks::single(0)).draw().is_empty());
    }

    #[test]
    fn flows_of_a_window_are_drawn_together() {
        let blocks = Blocks {
            length: 20,
            ..Blocks::single(40)
        };
        let mut resampler = Resampler::new(blocks);
        for _ in 0..50 {
            let counts = resampler.draw();
            let borders = (0..40).filter(|&at| counts[at] != counts[(at + 1) % 40]);
            assert!(borders.count() <= 4);
        }
    }

    #[test]
    fn many_flows_are_drawn_by_cells_of_consecutive_ones() {
        let blocks = Blocks::single(2 * MAX_CELLS + 1);
        assert_eq!((blocks.cell_count(), blocks.window()), (6_667, 1));
        let cells: Vec<usize> = blocks.cells().collect();
        assert_eq!((cells.len(), cells[2], cells[3]), (blocks.flows, 0, 1));
        assert_eq!(cells.last(), Some(&6_666));
        assert_eq!(Resampler::new(blocks).draw().len(), 6_667);
        // Windows are as long as those of the same flows one by one, to a cell or so.
        let values = autoregressive(3 * MAX_CELLS, 0.9, 1);
        let (by_cells, alone) = (Blocks::of(&[&values]), length(&values));
        assert!(by_cells.length.is_multiple_of(3));
        assert!(
            (alone / 2..alone * 2).contains(&by_cells.length),
            "{by_cells:?} {alone}"
        );
    }

    #[test]
    fn the_draws_are_these_on_every_machine() {
        let golden = [0, 2, 2, 1, 0, 0, 1, 2, 2, 0];
        assert_eq!(Resampler::new(Blocks::single(10)).draw(), golden);
    }
}
