//! Spread of percentiles between repetitions: what another seed gives.
//!
//! The flows of a repetition share queues, so an interval over flows is too narrow for what another
//! seed would measure; the repetitions themselves are independent.

use serde::Serialize;

use super::nearest_rank;

/// Smallest and largest percentiles of the repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Number of repetitions with finished flows.
    pub repetitions: usize,
    /// Medians.
    pub p50: Range,
    /// 95th percentiles.
    pub p95: Range,
    /// 99th percentiles.
    pub p99: Range,
}

/// Smallest and largest of a few values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Range {
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
}

/// Returns the spread between the sorted values of each repetition; `None` for fewer than two
/// repetitions with values.
pub fn spread(repetitions: &[Vec<f64>]) -> Option<Spread> {
    let measured = repetitions.iter().filter(|sorted| !sorted.is_empty());
    let count = measured.clone().count();
    let range = |percent: u32| {
        let values = measured
            .clone()
            .filter_map(|sorted| nearest_rank(sorted, percent));
        values.fold(None, |range: Option<Range>, value| {
            let range = range.unwrap_or(Range {
                min: value,
                max: value,
            });
            Some(Range {
                min: range.min.min(value),
                max: range.max.max(value),
            })
        })
    };
    if count < 2 {
        return None;
    }
    Some(Spread {
        repetitions: count,
        p50: range(50)?,
        p95: range(95)?,
        p99: range(99)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_that_of_the_repetitions_percentiles() {
        let one = vec![1.0, 2.0, 9.0];
        let other = vec![1.5, 4.0, 5.0];
        assert_eq!(spread(std::slice::from_ref(&one)), None);
        assert_eq!(spread(&[one.clone(), Vec::new()]), None);
        let found = spread(&[one, Vec::new(), other]).unwrap();
        assert_eq!(found.repetitions, 2);
        assert_eq!((found.p50.min, found.p50.max), (2.0, 4.0));
        assert_eq!((found.p99.min, found.p99.max), (5.0, 9.0));
    }
}
