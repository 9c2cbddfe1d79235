//! UCMP: the next hops of least uniform cost.
//!
//! Li et al., "Uniform-Cost Multi-Path Routing for Reconfigurable Data Center Networks" (SIGCOMM
//! '24), brings the latency of a path and what a flow takes of its links into one cost,
//!
//! ```text
//! C_i(f) = d_i + α · h_i · f / c_i
//! ```
//!
//! of a path of latency d, h links and capacity c for a flow of f bytes. Taken over to a static
//! wide-area network: d is the one-way delay (nothing waits for a circuit), c the least capacity on
//! the way, and ties within a quantum q are hashed over:
//!
//! ```text
//! n_i = 1 if C_i(f) ≤ C_j(f) + q for all j, else 0
//! ```
//!
//! A switch does not know how long a flow will be. f is what it has sent so far (flow ageing), so
//! the first packet sees delays alone. Whether a flow that has grown may be moved is the policy's
//! own decision ([`Ages`]); a flow is moved only where its next hop is no longer among the cheapest.
//! As f grows the cheapest have ever more capacity, hence ever more delay: what is under way on the
//! old path is ahead of what follows on the new one unless it queued for longer than the difference.
//!
//! The comparison is exact: rates in whole kbit/s, products in 128 bits, no division.

use lab_abi::rows::{MAX_AGES, MAX_CANDIDATES};
pub use lab_parameters::UcmpConfig;
use lab_units::{BitsPerSec, Bytes, Nanos};

/// A path, in paper units.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Way {
    /// d: one-way delay from end to end.
    pub delay: Nanos,
    /// c: the least capacity on the way.
    pub capacity: BitsPerSec,
    /// h: links on the way.
    pub hops: u32,
}

/// From so many bytes on, these buckets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Age {
    /// Bytes a flow has sent.
    pub from: Bytes,
    /// One bucket for each of the cheapest.
    pub buckets: [u16; MAX_CANDIDATES],
}

/// Which next hops are the cheapest as a flow grows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ages {
    ages: [Age; MAX_AGES],
    count: usize,
}

/// Buckets of each next hop, in the order of `ways`, for a flow that has sent so much.
///
/// Those past [`MAX_CANDIDATES`] do not fit.
///
/// ```
/// use lab_policy::ucmp::{self, UcmpConfig, Way};
/// use lab_units::{Bytes, Nanos};
///
/// let way = |ms, rate: &str| Way {
///     delay: Nanos::from_millis(ms),
///     capacity: rate.parse().unwrap(),
///     hops: 2,
/// };
/// let ways = [way(10, "40 Gbit"), way(20, "100 Gbit")];
/// let buckets = |sent| ucmp::buckets(&ways, Bytes::new(sent), &UcmpConfig::DEFAULT);
/// assert_eq!(buckets(0)[..2], [1, 0]);
/// assert_eq!(buckets(100_000_000)[..2], [0, 1]);
/// ```
#[must_use]
pub fn buckets(ways: &[Way], sent: Bytes, config: &UcmpConfig) -> [u16; MAX_CANDIDATES] {
    let ways = &ways[..ways.len().min(MAX_CANDIDATES)];
    let mut buckets = [0; MAX_CANDIDATES];
    for (slot, way) in buckets.iter_mut().zip(ways) {
        let is_cheapest = ways
            .iter()
            .all(|other| Lead::of(way, other, config).holds_at(sent));
        *slot = u16::from(is_cheapest);
    }
    buckets
}

/// The ages of a flow over `ways`, the first of which begins at 0 bytes.
#[must_use]
pub fn ages(ways: &[Way], config: &UcmpConfig) -> Ages {
    let ways = &ways[..ways.len().min(MAX_CANDIDATES)];
    let begin = |from| Age {
        from,
        buckets: buckets(ways, from, config),
    };
    let mut ages = Ages {
        ages: [begin(Bytes::ZERO); MAX_AGES],
        count: 1,
    };
    // Between two of the changes nothing changes, and there are at most as many as ages.
    while ages.count < MAX_AGES {
        let last = ages.ages[ages.count - 1];
        let pairs = ways
            .iter()
            .flat_map(|way| ways.iter().map(move |other| (way, other)));
        let changes = pairs.filter_map(|(way, other)| Lead::of(way, other, config).changes_at());
        let later = changes
            .filter(|&at| at > last.from)
            .map(begin)
            .filter(|age| age.buckets != last.buckets);
        let Some(next) = later.min_by_key(|age| age.from) else {
            break;
        };
        ages.ages[ages.count] = next;
        ages.count += 1;
    }
    ages
}

impl Ages {
    /// The ages in order.
    #[must_use]
    pub fn as_slice(&self) -> &[Age] {
        &self.ages[..self.count]
    }
}

/// How far a way is behind another: base + slope · f is at most 0 where it is not behind by more
/// than the quantum. Both are in units of 10^-9 s / (100 · c_i · c_j), positive factors left out.
struct Lead {
    base: i128,
    slope: i128,
}

impl Lead {
    fn of(way: &Way, other: &Way, config: &UcmpConfig) -> Self {
        let (own, others) = (kilobits(way.capacity), kilobits(other.capacity));
        let behind = i128::from(way.delay.get())
            - i128::from(other.delay.get())
            - i128::from(config.quantum_ns.get());
        // Bytes over kbit/s, in nanoseconds: f · 8 · 10^6 / c.
        let per_byte = i128::from(config.alpha_percent.0) * 8_000_000;
        let slope = i128::from(way.hops) * others - i128::from(other.hops) * own;
        Self {
            base: (100 * own * others).saturating_mul(behind),
            slope: per_byte.saturating_mul(slope),
        }
    }

    fn holds_at(&self, sent: Bytes) -> bool {
        let grown = self.slope.saturating_mul(i128::from(sent.get()));
        self.base.saturating_add(grown) <= 0
    }

    /// The number of bytes from which on the answer is the other one, if it is ever.
    fn changes_at(&self) -> Option<Bytes> {
        let (base, slope) = (self.base, self.slope);
        let at = if slope > 0 && base <= 0 {
            // It holds up to -base / slope.
            (-base).div_euclid(slope) + 1
        } else if slope < 0 && base > 0 {
            // It holds from base / -slope on.
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

    use super::*;

    fn way(delay_ms: u64, gbit: u64) -> Way {
        Way {
            delay: Nanos::from_millis(delay_ms),
            capacity: BitsPerSec::new(gbit * 1_000_000_000).expect("not zero"),
            hops: 2,
        }
    }

    /// DC1 to DC8 in order of delay: via DC6, DC4, DC2, DC7, DC5, DC3.
    fn testbed() -> [Way; 6] {
        [
            way(10, 40),
            way(20, 100),
            way(50, 200),
            way(100, 40),
            way(200, 100),
            way(500, 200),
        ]
    }

    #[test]
    fn a_first_packet_sees_delay_alone() {
        let first = buckets(&testbed(), Bytes::ZERO, &UcmpConfig::DEFAULT);
        assert_eq!(first[..6], [1, 0, 0, 0, 0, 0]);
        assert_eq!(
            buckets(&[], Bytes::ZERO, &UcmpConfig::DEFAULT),
            [0; MAX_CANDIDATES]
        );
    }

    /// C(f) = d + 0.5 · 2 · 8f/c: DC6 and DC4 meet where 10 ms = 8f · (1/40G − 1/100G), at 83.3 MB;
    /// DC4 and DC2 where 30 ms = 8f · (1/100G − 1/200G), at 750 MB. The quantum of 0.1 ms lets the
    /// next one in 1 % earlier, and the last one out 1 % later.
    #[test]
    fn the_testbeds_switch_over_sizes_by_hand() {
        let ages = ages(&testbed(), &UcmpConfig::DEFAULT);
        let rows: Vec<_> = ages
            .as_slice()
            .iter()
            .map(|age| (age.from.get(), age.buckets[..3].to_vec()))
            .collect();
        let expected = [
            (0, [1, 0, 0]),
            (82_500_000, [1, 1, 0]),
            (84_166_667, [0, 1, 0]),
            (747_500_000, [0, 1, 1]),
            (752_500_001, [0, 0, 1]),
        ];
        assert!(
            rows.iter()
                .map(|(from, buckets)| (*from, &buckets[..]))
                .eq(expected.iter().map(|(from, buckets)| (*from, &buckets[..]))),
            "{rows:?}"
        );
    }

    #[test]
    fn equals_share() {
        let ways = [way(10, 100), way(10, 100), way(11, 100)];
        let first = buckets(&ways, Bytes::ZERO, &UcmpConfig::DEFAULT);
        assert_eq!(first[..3], [1, 1, 0]);
        assert_eq!(ages(&ways, &UcmpConfig::DEFAULT).as_slice().len(), 1);
    }

    #[test]
    fn without_weight_size_does_not_count() {
        let config = UcmpConfig {
            alpha_percent: Hundredths(0),
            ..UcmpConfig::DEFAULT
        };
        assert_eq!(ages(&testbed(), &config).as_slice().len(), 1);
    }

    #[test]
    fn more_links_cost_a_large_flow_more() {
        let short = Way {
            hops: 1,
            ..way(20, 100)
        };
        let ways = [way(10, 100), short];
        let small = buckets(&ways, Bytes::ZERO, &UcmpConfig::DEFAULT);
        let large = buckets(&ways, Bytes::new(1_000_000_000), &UcmpConfig::DEFAULT);
        assert_eq!(
            (small[..2].to_vec(), large[..2].to_vec()),
            ([1, 0].into(), [0, 1].into())
        );
    }

    prop_compose! {
        fn any_way()(delay in 0..20_000_000_000u64, rate in 1_000..=100_000_000_000_000u64, hops in 1..8u32) -> Way {
            Way {
                delay: Nanos::new(delay),
                capacity: BitsPerSec::new(rate).expect("not zero"),
                hops,
            }
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
        fn some_way_is_always_the_cheapest(
            ways in prop::collection::vec(any_way(), 1..=8),
            sent in 0..=100_000_000_000_u64,
            config in any_config(),
        ) {
            let kept: u16 = buckets(&ways, Bytes::new(sent), &config).iter().sum();
            prop_assert!(kept > 0);
        }

        #[test]
        fn ages_are_the_buckets_at_every_size(
            ways in prop::collection::vec(any_way(), 1..=8),
            sizes in prop::collection::vec(0..=100_000_000_000_u64, 1..20),
            config in any_config(),
        ) {
            let ages = ages(&ways, &config);
            let ages = ages.as_slice();
            prop_assert!(ages.windows(2).all(|pair| pair[0].from < pair[1].from));
            // At random sizes, and on both sides of every change.
            let edges = ages.iter().flat_map(|age| [age.from.get(), age.from.get().saturating_sub(1)]);
            for size in sizes.into_iter().chain(edges) {
                let age = ages.iter().rev().find(|age| age.from.get() <= size);
                prop_assert_eq!(
                    age.expect("the first begins at 0").buckets,
                    buckets(&ways, Bytes::new(size), &config),
                    "{} B", size
                );
            }
        }

        #[test]
        fn the_choice_does_not_depend_on_the_order(
            ways in prop::collection::vec(any_way(), 1..=8),
            sent in 0..=100_000_000_000_u64,
            config in any_config(),
            turn: usize,
        ) {
            let mut turned = ways.clone();
            let turn = turn % ways.len();
            turned.rotate_left(turn);
            let before = buckets(&ways, Bytes::new(sent), &config);
            let mut after = buckets(&turned, Bytes::new(sent), &config)[..ways.len()].to_vec();
            after.rotate_right(turn);
            prop_assert_eq!(&before[..ways.len()], &after[..]);
        }

        #[test]
        fn less_delay_or_more_capacity_never_loses_a_bucket(
            ways in prop::collection::vec(any_way(), 1..=8),
            sent in 0..=100_000_000_000_u64,
            config in any_config(),
            better in any_way(),
        ) {
            let before = buckets(&ways, Bytes::new(sent), &config);
            let mut ways = ways;
            ways[0].delay = ways[0].delay.min(better.delay);
            ways[0].capacity = ways[0].capacity.max(better.capacity);
            prop_assert!(buckets(&ways, Bytes::new(sent), &config)[0] >= before[0]);
        }
    }
}
