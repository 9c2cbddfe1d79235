//! Correlation coefficients.

use statrs::statistics::{Data, OrderStatistics, RankTieBreaker, Statistics};

/// Returns Pearson's correlation coefficient of the pairs; `None` if the first or the second values do not vary.
pub fn pearson(pairs: &[[f64; 2]]) -> Option<f64> {
    let [first, second] = sides(pairs);
    let spread = (&first).std_dev() * (&second).std_dev();
    let coefficient = (&first).covariance(&second) / spread;
    // Rounding may yield a value slightly outside −1 to 1.
    coefficient
        .is_finite()
        .then(|| coefficient.clamp(-1.0, 1.0))
}

/// Returns Spearman's rank correlation coefficient of the pairs; equal values get their mean rank. `None` if the first
/// or the second values do not vary.
pub fn spearman(pairs: &[[f64; 2]]) -> Option<f64> {
    let [first, second] =
        sides(pairs).map(|values| Data::new(values).ranks(RankTieBreaker::Average));
    let ranks: Vec<[f64; 2]> = first
        .into_iter()
        .zip(second)
        .map(<[f64; 2]>::from)
        .collect();
    pearson(&ranks)
}

fn sides(pairs: &[[f64; 2]]) -> [Vec<f64>; 2] {
    [0, 1].map(|side| pairs.iter().map(|pair| pair[side]).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn near(found: Option<f64>, expected: f64) -> bool {
        found.is_some_and(|found| (found - expected).abs() < 1e-12)
    }

    #[test]
    fn pearson_is_of_values_and_spearman_of_ranks() {
        let cubes = [[1.0, 1.0], [2.0, 8.0], [3.0, 27.0], [4.0, 64.0]];
        // Calculated by hand: 104 ÷ √(5 · 2,390).
        assert!(near(pearson(&cubes), 104.0 / (5.0f64 * 2_390.0).sqrt()));
        assert!(near(spearman(&cubes), 1.0));
        let down = cubes.map(|[x, y]| [x, -y]);
        assert!(near(spearman(&down), -1.0));
    }

    #[test]
    fn equal_values_share_their_mean_rank() {
        // The ranks are 1.5, 1.5, 3 and 1, 2, 3, so the covariance is 1.5 ÷ 2, and the variances are 1.5 ÷ 2 and 2 ÷ 2.
        let ties = [[5.0, 1.0], [5.0, 2.0], [7.0, 3.0]];
        assert!(near(spearman(&ties), 1.5 / (1.5f64 * 2.0).sqrt()));
    }

    #[test]
    fn values_that_do_not_vary_have_no_correlation() {
        assert_eq!(pearson(&[]), None);
        assert_eq!(pearson(&[[1.0, 2.0]]), None);
        assert_eq!(pearson(&[[1.0, 2.0], [1.0, 3.0]]), None);
        assert_eq!(spearman(&[]), None);
        assert_eq!(spearman(&[[1.0, 2.0], [1.0, 3.0]]), None);
    }

    proptest! {
        #[test]
        fn equal_sides_correlate_fully_whatever_their_order(
            values in prop::collection::vec(1.0f64..1e3, 2..200).prop_shuffle(),
        ) {
            prop_assume!(values.iter().any(|value| *value != values[0]));
            let pairs: Vec<[f64; 2]> = values.iter().map(|&value| [value, 3.0 * value + 1.0]).collect();
            for found in [pearson(&pairs), spearman(&pairs)] {
                prop_assert!((found.unwrap() - 1.0).abs() < 1e-9, "{found:?}");
            }
        }
    }
}
