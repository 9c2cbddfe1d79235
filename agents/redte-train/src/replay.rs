//! Prioritised experience replay (Schaul et al., ICLR '16).

use crate::{
    number::{float, narrow},
    random::Random,
};

/// Ring of the latest transitions: rows of floats, so that a checkpoint can contain it.
#[derive(Clone, Debug)]
pub(crate) struct ReplayBuffer {
    width: usize,
    rows: Vec<f32>,
    priorities: Vec<f32>,
}

impl ReplayBuffer {
    /// Creates an empty ring for rows of `width` floats.
    pub fn new(width: usize) -> Self {
        Self {
            width,
            rows: vec![0.0; width * CAPACITY],
            priorities: vec![0.0; CAPACITY],
        }
    }

    /// Replaces the oldest row by the row of step `step`, with the largest priority in the ring.
    pub fn push(&mut self, step: u64, row: &[f32]) {
        let place = usize::try_from(step).unwrap_or(usize::MAX) % CAPACITY;
        let start = place * self.width;
        self.rows[start..start + self.width].copy_from_slice(row);
        let largest = self.priorities.iter().copied().fold(0.0, f32::max);
        self.priorities[place] = if largest > 0.0 { largest } else { 1.0 };
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.priorities.iter().filter(|it| **it > 0.0).count()
    }

    /// Draws `count` places with probabilities in proportion to priority^α. Each place has a weight that corrects this
    /// bias: (rows · probability)^−β, divided by the largest weight drawn.
    pub fn draw(&self, count: usize, beta: f64, random: &mut Random) -> Vec<(usize, f32)> {
        let powers: Vec<f64> = self
            .priorities
            .iter()
            .map(|it| libm::pow(f64::from(*it), ALPHA))
            .collect();
        let total: f64 = powers.iter().sum();
        let drawn = (0..count).map(|_| {
            let mut left = random.fraction() * total;
            let found = powers.iter().position(|power| {
                left -= power;
                left < 0.0
            });
            found.unwrap_or(0)
        });
        let places: Vec<usize> = drawn.collect();
        let rows = float(self.len());
        let weight = |place: usize| libm::pow(rows * powers[place] / total, -beta);
        let weights: Vec<f64> = places.iter().map(|&place| weight(place)).collect();
        let largest = weights.iter().copied().fold(0.0, f64::max);
        let weights = weights.iter().map(|weight| narrow(weight / largest));
        places.into_iter().zip(weights).collect()
    }

    /// Returns the row at a place.
    pub fn row(&self, place: usize) -> &[f32] {
        &self.rows[place * self.width..][..self.width]
    }

    /// Sets the priority of a place from the absolute error of its value.
    pub fn set_priority(&mut self, place: usize, error: f32) {
        self.priorities[place] = error + MIN_PRIORITY;
    }

    /// Returns the vectors of the state.
    pub fn vectors(&mut self) -> [&mut Vec<f32>; 2] {
        [&mut self.rows, &mut self.priorities]
    }
}

/// Number of rows, as in RedTE's public code.
pub(crate) const CAPACITY: usize = 300;

/// Exponent of priorities, as in RedTE's public code.
pub(crate) const ALPHA: f64 = 0.6;

/// Priority of a row without error.
const MIN_PRIORITY: f32 = 1e-6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_rows_are_replaced() {
        let mut replay = ReplayBuffer::new(1);
        for step in 0..301_u16 {
            replay.push(u64::from(step), &[f32::from(step)]);
        }
        assert_eq!(replay.len(), CAPACITY);
        assert_eq!(replay.row(0), [300.0]);
        assert_eq!(replay.row(1), [1.0]);
    }

    #[test]
    fn rows_are_drawn_by_priority_and_weighted_against_it() {
        let mut replay = ReplayBuffer::new(1);
        replay.push(0, &[0.0]);
        replay.push(1, &[1.0]);
        replay.set_priority(0, 1.0);
        // 32^0.6 = 8: eight of nine draws.
        replay.set_priority(1, 32.0);
        let drawn = replay.draw(9_000, 1.0, &mut Random::of(&[5]));
        let often = drawn.iter().filter(|(place, _)| *place == 1).count();
        assert!(often.abs_diff(8_000) < 150, "{often}");
        let rare = drawn.iter().find(|(place, _)| *place == 0).unwrap();
        let common = drawn.iter().find(|(place, _)| *place == 1).unwrap();
        assert!(
            (rare.1 - 1.0).abs() < 1e-6 && (common.1 - 0.125).abs() < 1e-3,
            "{rare:?} {common:?}"
        );
    }
}
