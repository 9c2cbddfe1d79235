//! Values whose statistics are asked for again and again, each sample by how often it has each cell.

use super::blocks::{Blocks, float, up};

/// p50, p95, p99 and mean.
pub type Statistics = [f64; 4];

/// Values in the order of the flows' arrival. Of a sample's percentiles only the values close to the measured
/// ones are looked at: those under them are counted by cell.
pub struct Values {
    values: Vec<f64>,
    /// Places of the values, from the least value to the largest.
    order: Vec<usize>,
    /// Cell of each value.
    cell_of: Vec<usize>,
    cells: Vec<Cell>,
    zones: [Zone; 3],
}

/// Consecutive values that are drawn together.
#[derive(Clone, Default)]
struct Cell {
    count: u64,
    sum: f64,
    /// Number of values under each zone.
    under: [u64; 3],
}

/// Ranks where a percentile of a sample is to be expected.
struct Zone {
    /// First rank, from 0.
    first: usize,
    /// Cell of the value of each rank from the first.
    cells: Vec<usize>,
}

impl Values {
    /// Returns `values` for samples of `blocks`.
    pub fn new(values: Vec<f64>, blocks: Blocks) -> Self {
        // The values are sorted with their places: places alone would send each comparison to memory.
        let mut order: Vec<(f64, usize)> = values.iter().copied().zip(0..).collect();
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let order: Vec<usize> = order.iter().map(|&(_, place)| place).collect();
        let cell_of: Vec<usize> = blocks.cells().collect();
        let mut cells = vec![Cell::default(); blocks.cell_count()];
        for (value, &cell) in values.iter().zip(&cell_of) {
            cells[cell].count += 1;
            cells[cell].sum += value;
        }
        let zones = [0, 1, 2].map(|at| {
            let rank = (values.len() * PERCENTS[at])
                .div_ceil(100)
                .saturating_sub(1);
            let mut under = vec![0.0; cells.len()];
            for &place in &order[..rank.min(order.len())] {
                under[cell_of[place]] += 1.0;
            }
            let reach = REACH + up(SPREADS * deviation(&under, blocks.window()));
            let first = rank.saturating_sub(reach);
            let end = rank.saturating_add(reach).min(order.len());
            for &place in &order[..first] {
                cells[cell_of[place]].under[at] += 1;
            }
            Zone {
                first,
                cells: order[first..end]
                    .iter()
                    .map(|&place| cell_of[place])
                    .collect(),
            }
        });
        Self {
            values,
            order,
            cell_of,
            cells,
            zones,
        }
    }

    /// Returns statistics of the values themselves; `None` if there are none.
    pub fn measured(&self) -> Option<Statistics> {
        self.statistics(&vec![1; self.cells.len()])
    }

    /// Returns statistics of the values, those of each cell taken as often as `counts` says; `None` if there
    /// are none.
    pub fn statistics(&self, counts: &[u32]) -> Option<Statistics> {
        let (mut drawn, mut sum, mut under) = (0, 0.0, [0; 3]);
        for (cell, &count) in self.cells.iter().zip(counts) {
            drawn += cell.count * u64::from(count);
            sum += cell.sum * f64::from(count);
            for (under, of_cell) in under.iter_mut().zip(cell.under) {
                *under += of_cell * u64::from(count);
            }
        }
        if drawn == 0 {
            return None;
        }
        let at = |at: usize| {
            let rank = (drawn * PERCENTS[at] as u64).div_ceil(100);
            let place = self.zones[at].find(rank, under[at], counts);
            let place = place.or_else(|| self.find(rank, counts))?;
            Some(self.values[self.order[place]])
        };
        #[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 values")]
        let mean = sum / drawn as f64;
        Some([at(0)?, at(1)?, at(2)?, mean])
    }

    /// Returns the rank of the value, from 0, that has `rank` in a sample, from 1.
    fn find(&self, rank: u64, counts: &[u32]) -> Option<usize> {
        let mut seen = 0;
        self.order.iter().position(|&place| {
            seen += u64::from(counts[self.cell_of[place]]);
            seen >= rank
        })
    }
}

impl Zone {
    /// Returns what [`Values::find`] does, if it is in this zone; a sample has `under` values under it.
    fn find(&self, rank: u64, under: u64, counts: &[u32]) -> Option<usize> {
        if under >= rank {
            return None;
        }
        let mut seen = under;
        let found = self.cells.iter().position(|&cell| {
            seen += u64::from(counts[cell]);
            seen >= rank
        });
        Some(self.first + found?)
    }
}

/// Returns the standard deviation of the sum over a sample of circular windows of `window` cells.
fn deviation(cells: &[f64], window: usize) -> f64 {
    let (count, window) = (cells.len(), window.max(1));
    if window >= count {
        return 0.0;
    }
    let mean = cells.iter().sum::<f64>() * float(window) / float(count);
    let mut of_window: f64 = cells[..window].iter().sum();
    let mut squares = 0.0;
    for start in 0..count {
        squares += (of_window - mean).powi(2);
        of_window += cells[(start + window) % count] - cells[start];
    }
    (squares / float(window)).sqrt()
}

/// Percentiles of [`Statistics`].
const PERCENTS: [usize; 3] = [50, 95, 99];

/// Standard deviations of the number of values under a percentile that its zone reaches to either side: a
/// sample whose percentile is beyond is rare, and takes a look at all values.
const SPREADS: f64 = 6.0;

/// Ranks that a zone reaches beyond those.
const REACH: usize = 8;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        super::{blocks::Resampler, nearest_rank},
        *,
    };

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn statistics_of_a_sample_are_those_of_its_values(
            rows in prop::collection::vec((1.0..100.0f64, 0u32..4), 1..80),
        ) {
            let (values, counts): (Vec<f64>, Vec<u32>) = rows.into_iter().unzip();
            let mut drawn: Vec<f64> = values
                .iter()
                .zip(&counts)
                .flat_map(|(&value, &count)| std::iter::repeat_n(value, count as usize))
                .collect();
            drawn.sort_by(f64::total_cmp);
            let found = Values::new(values.clone(), Blocks::single(values.len())).statistics(&counts);
            let expected = [50, 95, 99].map(|percent| nearest_rank(&drawn, percent));
            prop_assert_eq!(found.map(|found| found[..3].to_vec()), expected.into_iter().collect());
        }
    }

    #[test]
    fn nearly_all_samples_have_their_percentiles_in_the_zones() {
        // Values that come and go slowly, as those of flows that share a queue do.
        let wave = |at: u32| {
            (f64::from(at) / 700.0).sin() + f64::from(at.wrapping_mul(2_654_435_761) >> 8) / 1e7
        };
        let values: Vec<f64> = (0..25_000).map(wave).collect();
        let blocks = Blocks::of(&[&values]);
        assert!(
            blocks.window() > 10 && blocks.cell_count() < values.len(),
            "{blocks:?}"
        );
        let values = Values::new(values, blocks);
        let mut resampler = Resampler::new(blocks);
        let mut outside = 0;
        for _ in 0..500 {
            let counts = resampler.draw();
            let drawn = values.cells.iter().zip(counts);
            let drawn: u64 = drawn
                .map(|(cell, &count)| cell.count * u64::from(count))
                .sum();
            for (at, zone) in values.zones.iter().enumerate() {
                let rank = (drawn * PERCENTS[at] as u64).div_ceil(100);
                let under = values.cells.iter().zip(counts);
                let under = under
                    .map(|(cell, &count)| cell.under[at] * u64::from(count))
                    .sum();
                let found = zone.find(rank, under, counts);
                outside += u32::from(found.is_none());
                assert!(found.is_none() || found == values.find(rank, counts));
            }
        }
        assert!(outside <= 10, "{outside} of 1,500");
        // The waves are long, so that half of the values may be in many windows or in few.
        let sizes = values.zones.map(|zone| zone.cells.len());
        assert!(
            sizes[0] < 20_000 && sizes[1] < 5_000 && sizes[2] < 1_000,
            "{sizes:?}"
        );
    }
}
