//! Congestion point: marks of an egress queue.

pub use lab_abi::dcqcn::CongestionPoint;

/// Returns true if a packet that meets `queue` is marked; `dice` is uniform over all numbers of its type.
///
/// No packet is marked up to Kmin, and every packet above Kmax; in between, the marked share grows linearly to Pmax
/// (section 3.1, figure 5). That share is `p_max_q32 · (queue - k_min) / (k_max - k_min)`, rounded down; the
/// comparison multiplies in 128 bits instead of dividing, so that no threshold is too large.
#[must_use]
pub const fn is_marked(point: &CongestionPoint, queue: u64, dice: u32) -> bool {
    if queue <= point.k_min {
        return false;
    }
    if queue > point.k_max {
        return true;
    }
    // The queue is above Kmin, so Kmax is too.
    let met = queue - point.k_min;
    let span = point.k_max - point.k_min;
    (dice as u128 + 1) * span as u128 <= point.p_max_q32 as u128 * met as u128
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINT: CongestionPoint = CongestionPoint {
        k_min: 1_000,
        k_max: 3_000,
        p_max_q32: (1 << 32) / 4,
    };

    #[test]
    fn the_share_of_marks_grows_between_the_thresholds() {
        // A quarter of 2^32 at Kmax, 2,000 above Kmin.
        let quarter = 1 << 30;
        let least_unmarked = [
            (1_001, quarter / 2_000),
            (2_000, quarter / 2),
            (3_000, quarter),
        ];
        for (queue, dice) in least_unmarked {
            assert!(is_marked(&POINT, queue, dice - 1), "{queue}");
            assert!(!is_marked(&POINT, queue, dice), "{queue}");
        }
    }

    /// A 3.5 GB queue between thresholds at 3 and 4 GB is marked with half of Pmax = 1/4: 2^29 of 2^32.
    #[test]
    fn thresholds_of_gigabytes_are_kept() {
        let point = CongestionPoint {
            k_min: 3_000_000_000,
            k_max: 4_000_000_000,
            ..POINT
        };
        assert!(!is_marked(&point, 3_000_000_000, 0));
        assert!(is_marked(&point, 3_500_000_000, (1 << 29) - 1));
        assert!(!is_marked(&point, 3_500_000_000, 1 << 29));
        assert!(is_marked(&point, 4_000_000_001, u32::MAX));
    }

    #[test]
    fn outside_the_thresholds_nothing_or_everything_is_marked() {
        assert!(!is_marked(&POINT, 1_000, 0));
        assert!(is_marked(&POINT, 3_001, u32::MAX));
        let step = CongestionPoint {
            k_max: 1_000,
            ..POINT
        };
        assert!(!is_marked(&step, 1_000, 0));
        assert!(is_marked(&step, 1_001, u32::MAX));
    }
}
