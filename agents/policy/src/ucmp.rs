//! UCMP: hash over the next hops with the lowest uniform cost.
//!
//! Li et al., "Uniform-Cost Multi-Path Routing for Reconfigurable Data Center Networks" (SIGCOMM '24), combines the
//! latency of a path and the load that a flow puts on its links into one cost:
//!
//! ```text
//! C_i(f) = d_i + α · h_i · f / c_i
//! ```
//!
//! for a flow of f bytes on path i with latency d, h links and capacity c. In a static wide-area network, d is the
//! one-way delay (no packet waits for a circuit), c is the lowest link capacity on the path, and the hash spreads
//! flows over all paths whose costs are within a quantum q of the lowest:
//!
//! ```text
//! n_i = 1 if C_i(f) ≤ C_j(f) + q for all j, else 0
//! ```
//!
//! A switch does not know the final size of a flow, so f is the number of bytes sent so far (flow ageing); at the
//! first packet only the delay counts. With flow ageing enabled, a flow past a size threshold ([`size_thresholds`])
//! is re-routed if its next hop is no longer among the cheapest. As f grows, the cheapest paths have more capacity
//! and more delay. Packets on the old path therefore arrive before packets on the new path, unless they queue for
//! longer than the difference in delay.
//!
//! The comparison is exact: rates are in whole kbit/s, products have 128 bits, and there is no division.

use lab_abi::rows::{MAX_CANDIDATES, MAX_SIZE_THRESHOLDS};
pub use lab_parameters::UcmpConfig;
use lab_parameters::Value;
use lab_units::{BitsPerSec, Bytes};

use crate::{
    candidate::Path,
    policy::{BuiltInPolicy, Mechanism},
};

/// UCMP with flow ageing.
pub const POLICY: BuiltInPolicy = BuiltInPolicy {
    word: "ucmp",
    key: Some("ucmp"),
    doc: "5-tuple hash over the candidates with the lowest uniform cost: the sum of the one-way delay\n\
          and of the load that the flow puts on the links. With `ageing: false` the label\n\
          of the policy is `min-delay`.",
    sets: None,
    mechanism: Mechanism::UniformCost,
};

/// UCMP without flow ageing: only the delay counts.
pub const MIN_DELAY: BuiltInPolicy = BuiltInPolicy {
    word: "min-delay",
    key: None,
    doc: "5-tuple hash over the candidates of minimum one-way delay.",
    sets: Some(("ageing", Value::Flag(false))),
    mechanism: Mechanism::UniformCost,
};

/// Cheapest next hops of a flow that has sent a given number of bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SizeThreshold {
    /// Number of bytes that a flow must have sent for these buckets to apply.
    pub from: Bytes,
    /// One bucket for each of the cheapest next hops.
    pub buckets: [u16; MAX_CANDIDATES],
}

/// Size thresholds of a flow in increasing order; the first is 0 bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SizeThresholds {
    rows: [SizeThreshold; MAX_SIZE_THRESHOLDS],
    count: usize,
}

/// Returns one bucket for each of the `paths` that are cheapest for a flow that has sent `sent`
/// bytes.
///
/// Paths past [`MAX_CANDIDATES`] are ignored.
///
/// ```
/// use lab_policy::{Path, UcmpConfig, ucmp};
/// use lab_units::{Bytes, Nanos};
///
/// let path = |ms, rate: &str| Path {
///     delay: Nanos::from_millis(ms),
///     capacity: rate.parse().unwrap(),
///     link_rate: rate.parse().unwrap(),
///     hops: 2,
/// };
/// let paths = [path(10, "40 Gbit"), path(20, "100 Gbit")];
/// let buckets = |sent| ucmp::buckets(&paths, Bytes::new(sent), &UcmpConfig::DEFAULT);
/// assert_eq!(buckets(0)[..2], [1, 0]);
/// assert_eq!(buckets(100_000_000)[..2], [0, 1]);
/// ```
#[must_use]
pub fn buckets(paths: &[Path], sent: Bytes, config: &UcmpConfig) -> [u16; MAX_CANDIDATES] {
    let paths = &paths[..paths.len().min(MAX_CANDIDATES)];
    let mut buckets = [0; MAX_CANDIDATES];
    for (slot, path) in buckets.iter_mut().zip(paths) {
        let is_cheapest = paths
            .iter()
            .all(|other| CostDifference::of(path, other, config).is_within_quantum(sent));
        *slot = u16::from(is_cheapest);
    }
    buckets
}

/// Returns the flow sizes at which the set of cheapest `paths` changes (flow ageing).
#[must_use]
pub fn size_thresholds(paths: &[Path], config: &UcmpConfig) -> SizeThresholds {
    let paths = &paths[..paths.len().min(MAX_CANDIDATES)];
    let row = |from| SizeThreshold {
        from,
        buckets: buckets(paths, from, config),
    };
    let mut thresholds = SizeThresholds {
        rows: [row(Bytes::ZERO); MAX_SIZE_THRESHOLDS],
        count: 1,
    };
    while thresholds.count < MAX_SIZE_THRESHOLDS {
        let last = thresholds.rows[thresholds.count - 1];
        let pairs = paths
            .iter()
            .flat_map(|path| paths.iter().map(move |other| (path, other)));
        let changes =
            pairs.filter_map(|(path, other)| CostDifference::of(path, other, config).changes_at());
        let later = changes
            .filter(|&at| at > last.from)
            .map(row)
            .filter(|row| row.buckets != last.buckets);
        let Some(next) = later.min_by_key(|row| row.from) else {
            break;
        };
        thresholds.rows[thresholds.count] = next;
        thresholds.count += 1;
    }
    thresholds
}

impl SizeThresholds {
    /// Returns the thresholds in increasing order.
    #[must_use]
    pub fn as_slice(&self) -> &[SizeThreshold] {
        &self.rows[..self.count]
    }
}

/// Difference of two paths' costs minus the quantum (tolerated difference), as base + slope · f after f sent bytes, in
/// units of 1 ns / (100 · c_i · c_j), where c_i and c_j are the paths' capacities in kbit/s.
struct CostDifference {
    base: i128,
    slope: i128,
}

impl CostDifference {
    fn of(path: &Path, other: &Path, config: &UcmpConfig) -> Self {
        let own = kilobits(path.capacity);
        let others = kilobits(other.capacity);
        let behind = i128::from(path.delay.get())
            - i128::from(other.delay.get())
            - i128::from(config.quantum_ns.get());
        // Nanoseconds to send f bytes at c kbit/s: f · 8 · 10^6 / c.
        let per_byte = i128::from(config.alpha_percent.0) * 8_000_000;
        let slope = i128::from(path.hops) * others - i128::from(other.hops) * own;
        Self {
            base: (100 * own * others).saturating_mul(behind),
            slope: per_byte.saturating_mul(slope),
        }
    }

    fn is_within_quantum(&self, sent: Bytes) -> bool {
        let grown = self.slope.saturating_mul(i128::from(sent.get()));
        self.base.saturating_add(grown) <= 0
    }

    /// Returns the number of sent bytes at which [`Self::is_within_quantum`] changes its result; `None` if it never
    /// does.
    fn changes_at(&self) -> Option<Bytes> {
        let base = self.base;
        let slope = self.slope;
        let at = if slope > 0 && base <= 0 {
            // The condition holds up to -base / slope.
            (-base).div_euclid(slope) + 1
        } else if slope < 0 && base > 0 {
            // The condition holds from base / -slope on.
            (base - slope - 1).div_euclid(-slope)
        } else {
            return None;
        };
        u64::try_from(at).ok().map(Bytes::new)
    }
}

fn kilobits(rate: BitsPerSec) -> i128 {
    i128::from((rate.get() / 1_000).max(1))
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use proptest::prelude::*;

    use lab_parameters::Hundredths;
    use lab_units::Nanos;

    use super::*;
    use crate::candidate::tests::path;

    /// Returns the testbed's paths from DC1 to DC8, sorted by delay: via DC6, DC4, DC2, DC7, DC5, DC3.
    fn testbed() -> [Path; 6] {
        let paths = [
            (10, 40),
            (20, 100),
            (50, 200),
            (100, 40),
            (200, 100),
            (500, 200),
        ];
        paths.map(|(delay_ms, gbit)| path(delay_ms, gbit))
    }

    #[test]
    fn for_a_first_packet_delay_alone_counts() {
        let first = buckets(&testbed(), Bytes::ZERO, &UcmpConfig::DEFAULT);
        assert_eq!(first[..6], [1, 0, 0, 0, 0, 0]);
        let none = buckets(&[], Bytes::ZERO, &UcmpConfig::DEFAULT);
        assert_eq!(none, [0; MAX_CANDIDATES]);
    }

    /// C(f) = d + 0.5 · 2 · 8f/c. DC6 and DC4 have equal costs where 10 ms = 8f · (1/40G − 1/100G), at 83.3 MB; DC4 and
    /// DC2 where 30 ms = 8f · (1/100G − 1/200G), at 750 MB. Because of the quantum of 0.1 ms, the next path joins the
    /// cheapest ones 1 % earlier, and the previous path leaves them 1 % later.
    #[test]
    fn the_testbeds_size_thresholds_by_hand() {
        let thresholds = size_thresholds(&testbed(), &UcmpConfig::DEFAULT);
        let row = |row: &SizeThreshold| (row.from.get(), [0, 1, 2].map(|index| row.buckets[index]));
        let rows: Vec<_> = thresholds.as_slice().iter().map(row).collect();
        let expected = [
            (0, [1, 0, 0]),
            (82_500_000, [1, 1, 0]),
            (84_166_667, [0, 1, 0]),
            (747_500_000, [0, 1, 1]),
            (752_500_001, [0, 0, 1]),
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn paths_of_equal_cost_share() {
        let paths = [path(10, 100), path(10, 100), path(11, 100)];
        let first = buckets(&paths, Bytes::ZERO, &UcmpConfig::DEFAULT);
        assert_eq!(first[..3], [1, 1, 0]);
        let thresholds = size_thresholds(&paths, &UcmpConfig::DEFAULT);
        assert_eq!(thresholds.as_slice().len(), 1);
    }

    #[test]
    fn without_weight_size_does_not_count() {
        let config = UcmpConfig {
            alpha_percent: Hundredths(0),
            ..UcmpConfig::DEFAULT
        };
        assert_eq!(size_thresholds(&testbed(), &config).as_slice().len(), 1);
    }

    #[test]
    fn more_links_cost_a_large_flow_more() {
        let short = Path {
            hops: 1,
            ..path(20, 100)
        };
        let paths = [path(10, 100), short];
        for (sent, expected) in [(0, [1, 0]), (1_000_000_000, [0, 1])] {
            let found = buckets(&paths, Bytes::new(sent), &UcmpConfig::DEFAULT);
            assert_eq!(found[..2], expected);
        }
    }

    prop_compose! {
        fn any_path()(delay in 0..20_000_000_000u64, rate in 1_000..=100_000_000_000_000u64, hops in 1..8u32) -> Path {
            let rate = BitsPerSec::new(rate).expect("a rate above zero");
            Path { delay: Nanos::new(delay), capacity: rate, link_rate: rate, hops }
        }
    }

    prop_compose! {
        fn any_config()(alpha_percent in 0..=1_000u16, quantum in 0..1_000_000_000u64) -> UcmpConfig {
            UcmpConfig {
                alpha_percent: Hundredths(alpha_percent),
                quantum_ns: Nanos::new(quantum),
                ageing: false,
            }
        }
    }

    proptest! {
        #[test]
        fn some_path_is_always_the_cheapest(
            paths in prop::collection::vec(any_path(), 1..=MAX_CANDIDATES),
            sent in 0..=100_000_000_000_u64,
            config in any_config(),
        ) {
            let kept: u16 = buckets(&paths, Bytes::new(sent), &config).iter().sum();
            prop_assert!(kept > 0);
        }

        #[test]
        fn size_thresholds_have_the_buckets_of_every_size(
            paths in prop::collection::vec(any_path(), 1..=MAX_CANDIDATES),
            sizes in prop::collection::vec(0..=100_000_000_000_u64, 1..20),
            config in any_config(),
        ) {
            let thresholds = size_thresholds(&paths, &config);
            let rows = thresholds.as_slice();
            prop_assert!(rows.windows(2).all(|pair| pair[0].from < pair[1].from));
            // Compare at random sizes and on both sides of every threshold.
            let edges = rows.iter().flat_map(|row| [row.from.get(), row.from.get().saturating_sub(1)]);
            for size in sizes.into_iter().chain(edges) {
                let row = rows.iter().rev().find(|row| row.from.get() <= size);
                prop_assert_eq!(
                    row.expect("the first threshold is 0 bytes").buckets,
                    buckets(&paths, Bytes::new(size), &config),
                    "{} B", size
                );
            }
        }

        #[test]
        fn the_choice_does_not_depend_on_the_order(
            paths in prop::collection::vec(any_path(), 1..=MAX_CANDIDATES),
            sent in 0..=100_000_000_000_u64,
            config in any_config(),
            shift: usize,
        ) {
            let mut rotated = paths.clone();
            let shift = shift % paths.len();
            rotated.rotate_left(shift);
            let before = buckets(&paths, Bytes::new(sent), &config);
            let mut after = buckets(&rotated, Bytes::new(sent), &config)[..paths.len()].to_vec();
            after.rotate_right(shift);
            prop_assert_eq!(&before[..paths.len()], &after[..]);
        }

        #[test]
        fn less_delay_or_more_capacity_never_loses_a_bucket(
            mut paths in prop::collection::vec(any_path(), 1..=MAX_CANDIDATES),
            sent in 0..=100_000_000_000_u64,
            config in any_config(),
            better in any_path(),
        ) {
            let before = buckets(&paths, Bytes::new(sent), &config);
            paths[0].delay = paths[0].delay.min(better.delay);
            paths[0].capacity = paths[0].capacity.max(better.capacity);
            prop_assert!(buckets(&paths, Bytes::new(sent), &config)[0] >= before[0]);
        }
    }
}
