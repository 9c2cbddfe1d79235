//! Percentiles by the nearest-rank rule.

/// The `percent`th percentile of `sorted` by the nearest-rank rule: the smallest value that at
/// least `percent` % of the values do not exceed, so always one of the values. Nothing for no
/// values, and for a `percent` outside 1 to 100.
///
/// The rank is ⌈percent · n / 100⌉ in integers: in floats 7 % of 100 values would be the eighth.
pub fn nearest_rank<T: Copy>(sorted: &[T], percent: u32) -> Option<T> {
    if !(1..=100).contains(&percent) {
        return None;
    }
    let percent = usize::try_from(percent).ok()?;
    let rank = sorted.len().checked_mul(percent)?.div_ceil(100);
    sorted.get(rank.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ranks_of_small_sets() {
        let values = [10, 20, 30, 40, 50];
        let at = |percent| nearest_rank(&values, percent);
        assert_eq!(at(1), Some(10));
        assert_eq!(at(20), Some(10));
        assert_eq!(at(21), Some(20));
        assert_eq!(at(50), Some(30));
        assert_eq!(at(99), Some(50));
        assert_eq!(at(100), Some(50));
    }

    #[test]
    fn seven_percent_of_a_hundred_is_the_seventh() {
        let values: Vec<u32> = (1..=100).collect();
        assert_eq!(nearest_rank(&values, 7), Some(7));
    }

    #[test]
    fn nothing_has_no_percentile_and_percents_have_bounds() {
        assert_eq!(nearest_rank::<u32>(&[], 50), None);
        assert_eq!(nearest_rank(&[1], 0), None);
        assert_eq!(nearest_rank(&[1], 101), None);
    }

    proptest! {
        #[test]
        fn it_is_the_smallest_value_that_enough_do_not_exceed(
            mut values in prop::collection::vec(0u32..50, 1..200),
            percent in 1u32..=100,
        ) {
            values.sort_unstable();
            let found = nearest_rank(&values, percent).unwrap();
            let enough = |value: u32| {
                let not_above = values.iter().filter(|&&other| other <= value).count();
                not_above * 100 >= values.len() * percent as usize
            };
            prop_assert!(enough(found));
            let smaller = values.iter().filter(|&&value| value < found);
            prop_assert!(smaller.into_iter().all(|&value| !enough(value)));
        }
    }
}
