//! Congestion point: ECN marking at an egress queue.

pub use lab_abi::dcqcn::CongestionPoint;

/// Returns true if a packet that arrives at a queue of length `queue` is marked. `dice` is a uniform random `u32`.
///
/// Up to Kmin no packet is marked, and above Kmax every packet; in between, the marked share grows linearly to Pmax
/// (section 3.1, figure 5). This share is `p_max_q32 · (queue - k_min) / (k_max - k_min)`, rounded down. The comparison
/// multiplies in 128 bits instead of dividing, so that thresholds of any size work.
#[must_use]
pub const fn is_marked(point: &CongestionPoint, queue: u64, dice: u32) -> bool {
    if queue <= point.k_min {
        return false;
    }
    if queue > point.k_max {
        return true;
    }
    // Here the queue is longer than Kmin and not longer than Kmax, so Kmax is above Kmin.
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
        // Pmax is a quarter of 2^32; Kmax is 2,000 above Kmin.
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

    /// Between thresholds at 3 and 4 GB, a 3.5 GB queue is marked at half of Pmax = 1/4: 2^29 ÷ 2^32.
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
