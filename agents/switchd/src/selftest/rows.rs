//! Random rows of the tables.

use lab_abi::rows::{
    CandidateRow, DestinationRow, MAX_CANDIDATES, MAX_PORTS, MAX_SIZE_THRESHOLDS, PORT_ALIVE,
    PortRow, SizeThresholdRow,
};
use lab_policy::{
    ucmp::{self, UcmpConfig},
    ucmp_artifact, wcmp,
};
use lab_units::{BitsPerSec, Nanos};

use super::Random;

/// What the ports of one table have in common, so that rare rules are met often.
#[derive(Clone, Copy, Debug)]
pub(super) enum PortMood {
    /// Any congestion.
    Mixed,
    /// All highly congested: the fallbacks.
    Congested,
    /// None congested: many ties.
    Idle,
    /// Most are dead.
    Dying,
}

impl PortMood {
    /// Mostly mixed.
    pub(super) fn any(random: &mut Random) -> Self {
        match random.below(8) {
            0 => Self::Congested,
            1 | 2 => Self::Idle,
            3 => Self::Dying,
            _ => Self::Mixed,
        }
    }
}

/// A port in `slot` that the frame it leaves by can be told from.
pub(super) fn random_port(slot: usize, mood: PortMood, random: &mut Random) -> PortRow {
    let congestion = match mood {
        PortMood::Mixed | PortMood::Dying => random.byte(),
        PortMood::Congested => random.byte() | 0xcc,
        PortMood::Idle => 0,
    };
    let is_alive = match mood {
        PortMood::Dying => random.once_in(5),
        PortMood::Mixed | PortMood::Congested | PortMood::Idle => !random.once_in(8),
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

/// Who fills the buckets of a destination.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Buckets {
    /// One each.
    Ecmp,
    /// By the capacities of random ways.
    Wcmp,
    /// By the uniform cost of random ways, as flows grow.
    Ucmp,
    /// By the widest of random links.
    UcmpArtifact,
    /// By traffic engineering: any shares of a hundred.
    Engineered,
}

impl Buckets {
    /// All alike often.
    pub(super) fn any(random: &mut Random) -> Self {
        match random.below(5) {
            0 => Self::Ecmp,
            1 => Self::Wcmp,
            2 => Self::Ucmp,
            3 => Self::UcmpArtifact,
            _ => Self::Engineered,
        }
    }

    /// The policy's name.
    pub(super) const fn policy(self) -> &'static str {
        match self {
            Self::Ecmp => "ecmp",
            Self::Wcmp => "wcmp",
            Self::Ucmp => "ucmp",
            Self::UcmpArtifact => "ucmp-artifact",
            Self::Engineered => "traffic engineering",
        }
    }

    /// Fills the buckets of a row's candidates, and its ages.
    pub(super) fn fill(self, row: &mut DestinationRow, random: &mut Random) {
        let count = usize::try_from(row.count).unwrap_or(MAX_CANDIDATES);
        let rates = [25, 40, 100, 200].map(|gbit| BitsPerSec::new(gbit * 1_000_000_000));
        let mut rate = |_| rates[usize::from(random.byte() % 4)].expect("not zero");
        let rates: Vec<_> = (0..count).map(&mut rate).collect();
        let buckets = match self {
            Self::Ecmp => [1; MAX_CANDIDATES],
            Self::Wcmp => wcmp::buckets(&rates),
            Self::Ucmp => return fill_ages(row, &rates, random),
            Self::UcmpArtifact => ucmp_artifact::buckets(&rates),
            Self::Engineered => shares(count, random),
        };
        for (candidate, buckets) in row.candidates[..count].iter_mut().zip(buckets) {
            candidate.buckets = buckets;
        }
        row.size_thresholds = [SizeThresholdRow::NEVER; MAX_SIZE_THRESHOLDS];
    }
}

/// Ways so nearly alike in delay that flows outgrow them within a few packets.
fn fill_ages(row: &mut DestinationRow, rates: &[BitsPerSec], random: &mut Random) {
    let mut way = |&capacity: &BitsPerSec| ucmp::Path {
        delay: Nanos::new(random.below(300).into()),
        capacity,
        hops: 1 + random.below(3),
    };
    let ways: Vec<_> = rates.iter().map(&mut way).collect();
    let config = UcmpConfig {
        quantum_ns: Nanos::new(1),
        ..UcmpConfig::DEFAULT
    };
    let ages = ucmp::size_thresholds(&ways, &config);
    let first = ages.as_slice()[0].buckets;
    for (candidate, buckets) in row.candidates.iter_mut().zip(first).take(ways.len()) {
        candidate.buckets = buckets;
    }
    row.size_thresholds = [SizeThresholdRow::NEVER; MAX_SIZE_THRESHOLDS];
    for (slot, age) in row.size_thresholds.iter_mut().zip(ages.as_slice()) {
        *slot = SizeThresholdRow::of(age.from.get(), age.buckets.map(|buckets| buckets > 0));
    }
}

/// A hundred buckets dealt out at random: some candidates get none.
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

/// One to all candidates through different ports, with few or many different scores.
pub(super) fn random_destination(buckets: Buckets, random: &mut Random) -> DestinationRow {
    let most = u32::try_from(MAX_CANDIDATES).unwrap_or(u32::MAX);
    let ports = u32::try_from(MAX_PORTS).unwrap_or(u32::MAX);
    let mut row = DestinationRow {
        count: 1 + random.below(most),
        ..DestinationRow::default()
    };
    let has_ties = random.once_in(2);
    let first = random.below(ports);
    for (place, candidate) in (0..row.count).zip(&mut row.candidates) {
        *candidate = CandidateRow {
            port: (first + place * 7) % ports,
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
            let count = usize::try_from(row.count).expect("at most 8");
            let mut ports: Vec<_> = row.candidates[..count].iter().map(|row| row.port).collect();
            ports.sort_unstable();
            ports.dedup();
            assert_eq!(ports.len(), count);
        }
    }
}
