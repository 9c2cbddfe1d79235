//! Congestion point: marks of an egress queue.

pub use lab_abi::dcqcn::{CongestionPoint, MAX_THRESHOLD};

/// Returns true if a packet that meets `queue` is marked; `dice` is uniform over all numbers of its type.
///
/// No packet is marked up to Kmin, every one above Kmax, and in between a share that grows evenly to Pmax
/// (section 3.1, figure 5).
#[must_use]
pub const fn is_marked(point: &CongestionPoint, queue: u64, dice: u32) -> bool {
    if queue <= point.k_min {
        return false;
    }
    if queue > point.k_max {
        return true;
    }
    // The queue is above Kmin, so Kmax is too.
    let share = point.p_max_q32 * (queue - point.k_min) / (point.k_max - point.k_min);
    (dice as u64) < share
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
