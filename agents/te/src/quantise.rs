//! Rounding of shares to hash buckets.

use std::cmp::Reverse;

/// Distributes `buckets` in proportion to `weights` by largest remainder; ties go to the first next hop. Returns `None`
/// if the weights sum to less than 10⁻⁹, which is attributed to rounding.
///
/// Shares are rounded to millionths before they are compared, so that float rounding does not influence the result.
#[must_use]
pub fn quantise(weights: &[f64], buckets: u16) -> Option<Vec<u16>> {
    let total: f64 = weights.iter().sum();
    if total < MIN_TOTAL {
        return None;
    }
    let parts: Vec<u64> = weights
        .iter()
        .map(|part| millionths(part / total))
        .collect();
    let whole: u64 = parts.iter().sum();
    let exact: Vec<u64> = parts.iter().map(|part| part * u64::from(buckets)).collect();
    let mut dealt: Vec<u64> = exact.iter().map(|exact| exact / whole).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|&hop| (Reverse(exact[hop] % whole), hop));
    let left = u64::from(buckets) - dealt.iter().sum::<u64>();
    for hop in order.into_iter().take(usize::try_from(left).unwrap_or(0)) {
        dealt[hop] += 1;
    }
    let narrow = |dealt: u64| u16::try_from(dealt).unwrap_or(buckets);
    Some(dealt.into_iter().map(narrow).collect())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share is 0 to 1"
)]
fn millionths(share: f64) -> u64 {
    (share * 1e6).round() as u64
}

/// Sum of weights below which they are attributed to rounding.
const MIN_TOTAL: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn remainders_go_to_the_largest_and_then_to_the_first() {
        // 33.3 buckets each: the first next hop gets the remainder.
        assert_eq!(quantise(&[1.0; 3], 100), Some(vec![34, 33, 33]));
        // 14.3, 28.6 and 57.1 buckets.
        assert_eq!(quantise(&[1.0, 2.0, 4.0], 100), Some(vec![14, 29, 57]));
        assert_eq!(quantise(&[0.0, 0.0], 100), None);
    }

    proptest! {
        #[test]
        fn all_buckets_are_dealt_and_only_to_what_has_traffic(
            traffic in prop::collection::vec(0..1_000_000u32, 1..=8),
            buckets in 1..=200u16,
        ) {
            let traffic: Vec<f64> = traffic.into_iter().map(f64::from).collect();
            match quantise(&traffic, buckets) {
                None => prop_assert!(traffic.iter().all(|&part| part == 0.0)),
                Some(dealt) => {
                    prop_assert_eq!(dealt.iter().sum::<u16>(), buckets);
                    let total: f64 = traffic.iter().sum();
                    for (part, dealt) in traffic.iter().zip(&dealt) {
                        let exact = part / total * f64::from(buckets);
                        prop_assert!((f64::from(*dealt) - exact).abs() < 1.0 + 1e-3, "{exact} {dealt}");
                        prop_assert!(*part > 0.0 || *dealt == 0);
                    }
                }
            }
        }
    }
}
