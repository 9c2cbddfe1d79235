//! Seeded random choices, and random rows of the tables.

use lab_abi::rows::{
    CandidateRow, DestinationRow, MAX_CANDIDATES, MAX_PORTS, MAX_SIZE_THRESHOLDS, PORT_ALIVE,
    PortRow, SizeThresholdRow,
};
use lab_policy::{BucketPolicy, Mechanism, POLICIES, Path, UcmpConfig, ucmp};
use lab_units::{BitsPerSec, Nanos};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Generator of test values, repeatable through its seed.
pub(super) struct Random(Pcg64Mcg);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    /// Returns a random number below `bound`, which must not be 0; the small bias is irrelevant for tests.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        u32::try_from(self.0.next_u64() % u64::from(bound)).unwrap_or(0)
    }

    /// Returns true with probability 1/`times`.
    pub(super) fn once_in(&mut self, times: u32) -> bool {
        self.below(times) == 0
    }

    pub(super) fn byte(&mut self) -> u8 {
        self.0.next_u64().to_le_bytes()[0]
    }

    pub(super) fn word16(&mut self) -> u16 {
        let [low, high, ..] = self.0.next_u64().to_le_bytes();
        u16::from_le_bytes([low, high])
    }

    pub(super) fn word32(&mut self) -> u32 {
        self.0.next_u32()
    }
}

/// State of all ports in one random table; rare rules apply often in some of the states.
#[derive(Clone, Copy, Debug)]
pub(super) enum PortStates {
    /// Ports with arbitrary congestion.
    Mixed,
    /// Ports that are all highly congested, which leads to fallbacks.
    Congested,
    /// Ports without congestion, which leads to many ties.
    Idle,
    /// Ports that are mostly dead.
    Dying,
}

impl PortStates {
    /// Returns a random state, most often `Mixed`.
    pub(super) fn any(random: &mut Random) -> Self {
        match random.below(8) {
            0 => Self::Congested,
            1 | 2 => Self::Idle,
            3 => Self::Dying,
            _ => Self::Mixed,
        }
    }
}

/// Returns a random port for `slot`; its Ethernet addresses identify the port in forwarded frames.
pub(super) fn random_port(slot: usize, states: PortStates, random: &mut Random) -> PortRow {
    let congestion = match states {
        PortStates::Mixed | PortStates::Dying => random.byte(),
        PortStates::Congested => random.byte() | 0xcc,
        PortStates::Idle => 0,
    };
    let is_alive = match states {
        PortStates::Dying => random.once_in(5),
        PortStates::Mixed | PortStates::Congested | PortStates::Idle => !random.once_in(8),
    };
    let levels = u32::from_le_bytes([random.byte(), random.byte(), random.byte(), congestion]);
    let slot = u8::try_from(slot).unwrap_or(u8::MAX);
    PortRow {
        state: u64::from(levels) | if is_alive { PORT_ALIVE } else { 0 },
        ifindex: 1000 + u32::from(slot),
        src_mac: [2, 1, 0, 0, 0, slot],
        dst_mac: [2, 2, 0, 0, 0, slot],
    }
}

/// Mechanism that determines a destination's buckets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Buckets {
    /// Bucket policy, applied to random paths.
    Policy(&'static BucketPolicy),
    /// UCMP's uniform cost of random paths, with flow ageing.
    FlowAgeing,
    /// TE weights: random shares of a hundred buckets.
    TeWeights,
}

impl Buckets {
    /// Returns a random mechanism; all are equally likely.
    pub(super) fn any(random: &mut Random) -> Self {
        let defaults = POLICIES.iter().filter(|policy| policy.sets.is_none());
        let tables: Vec<_> = defaults
            .filter_map(|policy| match policy.mechanism {
                Mechanism::Buckets(policy) => Some(Self::Policy(policy)),
                Mechanism::UniformCost => Some(Self::FlowAgeing),
                Mechanism::Splits => Some(Self::TeWeights),
                // Trained weights install buckets, as traffic engineering does.
                Mechanism::Trained(_) | Mechanism::Scores => None,
            })
            .collect();
        let count = u32::try_from(tables.len()).unwrap_or(1);
        tables[usize::try_from(random.below(count)).unwrap_or(0)]
    }

    /// Returns the name of the policy that uses the mechanism.
    pub(super) const fn policy(self) -> &'static str {
        match self {
            Self::Policy(policy) => policy.name,
            Self::FlowAgeing => "ucmp",
            Self::TeWeights => "traffic engineering",
        }
    }

    /// Writes the buckets of a row's candidates and, for flow ageing, its size thresholds.
    pub(super) fn fill(self, row: &mut DestinationRow, random: &mut Random) {
        let count = usize::try_from(row.count).unwrap_or(MAX_CANDIDATES);
        let paths: Vec<_> = (0..count).map(|_| random_path(random)).collect();
        let buckets = match self {
            Self::Policy(policy) => policy.law.map_or([1; MAX_CANDIDATES], |law| law(&paths)),
            Self::FlowAgeing => return fill_size_thresholds(row, &paths),
            Self::TeWeights => shares(count, random),
        };
        for (candidate, buckets) in row.candidates[..count].iter_mut().zip(buckets) {
            candidate.buckets = buckets;
        }
        row.size_thresholds = [SizeThresholdRow::NEVER; MAX_SIZE_THRESHOLDS];
    }
}

/// Returns a random path. The delays of all paths are so similar that flows reach their size thresholds within a few
/// packets.
fn random_path(random: &mut Random) -> Path {
    let rates = [25, 40, 100, 200].map(|gbit| BitsPerSec::new(gbit * 1_000_000_000));
    let rate = rates[usize::from(random.byte() % 4)].expect("not zero");
    Path {
        delay: Nanos::new(random.below(300).into()),
        capacity: rate,
        link_rate: rate,
        hops: 1 + random.below(3),
    }
}

fn fill_size_thresholds(row: &mut DestinationRow, paths: &[Path]) {
    let config = UcmpConfig {
        quantum_ns: Nanos::new(1),
        ..UcmpConfig::DEFAULT
    };
    let thresholds = ucmp::size_thresholds(paths, &config);
    let first = thresholds.as_slice()[0].buckets;
    for (candidate, buckets) in row.candidates.iter_mut().zip(first).take(paths.len()) {
        candidate.buckets = buckets;
    }
    row.size_thresholds = [SizeThresholdRow::NEVER; MAX_SIZE_THRESHOLDS];
    for (slot, found) in row.size_thresholds.iter_mut().zip(thresholds.as_slice()) {
        *slot = SizeThresholdRow::of(found.from.get(), found.buckets.map(|buckets| buckets > 0));
    }
}

/// Assigns a hundred buckets to candidates at random; a candidate may get no bucket.
fn shares(count: usize, random: &mut Random) -> [u16; MAX_CANDIDATES] {
    let mut buckets = [0; MAX_CANDIDATES];
    let mut left = 100;
    for slot in &mut buckets[..count - 1] {
        *slot = u16::from(random.byte()) % (left + 1);
        left -= *slot;
    }
    buckets[count - 1] = left;
    buckets
}

/// Returns a destination with one to [`MAX_CANDIDATES`] candidates through different ports; path costs take few or many
/// different values.
pub(super) fn random_destination(buckets: Buckets, random: &mut Random) -> DestinationRow {
    let max = u32::try_from(MAX_CANDIDATES).unwrap_or(u32::MAX);
    let ports = u32::try_from(MAX_PORTS).unwrap_or(u32::MAX);
    let mut row = DestinationRow {
        count: 1 + random.below(max),
        ..DestinationRow::default()
    };
    let has_ties = random.once_in(2);
    let first = random.below(ports);
    for (index, candidate) in (0..row.count).zip(&mut row.candidates) {
        *candidate = CandidateRow {
            port: (first + index * 7) % ports,
            buckets: 0,
            path: if has_ties {
                random.byte() % 3
            } else {
                random.byte()
            },
            pad: 0,
        };
    }
    buckets.fill(&mut row, random);
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_of_a_destination_are_through_different_ports() {
        let mut random = Random::new(1);
        for _ in 0..200 {
            let buckets = Buckets::any(&mut random);
            let row = random_destination(buckets, &mut random);
            let count = usize::try_from(row.count).expect("at most 16");
            let mut ports: Vec<_> = row.candidates[..count].iter().map(|row| row.port).collect();
            ports.sort_unstable();
            ports.dedup();
            assert_eq!(ports.len(), count);
        }
    }
}
