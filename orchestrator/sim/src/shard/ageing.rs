//! Flows that have grown: what they have sent, and the buckets that are for so much.

use lab_policy::{
    UcmpConfig,
    ucmp::{self, SizeThresholds},
};
use lab_units::{Bytes, Ratio};
use rustc_hash::FxHashMap;

use crate::world::Way;

/// What a DCI switch knows of its flows' sizes.
pub(super) struct Ageing {
    config: UcmpConfig,
    /// Paper bytes for one here.
    paper_size: Ratio,
    /// By datacenter.
    ages: Vec<SizeThresholds>,
    /// By flow key, bytes so far.
    sent: FxHashMap<u64, Bytes>,
}

impl Ageing {
    pub fn new(config: UcmpConfig, paper_size: Ratio, ways: &[&[Way]]) -> Self {
        Self {
            config,
            paper_size,
            ages: ways.iter().map(|ways| ages(ways, &config)).collect(),
            sent: FxHashMap::default(),
        }
    }

    /// The ways to a datacenter are provisioned otherwise.
    pub fn provision(&mut self, to_dc: u32, ways: &[Way]) {
        self.ages[to_dc as usize] = ages(ways, &self.config);
    }

    /// Counts a packet of a flow to `to_dc`; whether it begins another age.
    pub fn grow(&mut self, key: u64, to_dc: u32, bytes: u32) -> bool {
        let sent = self.sent.entry(key).or_default();
        let before = self.paper_size.scale_nearest(sent.get());
        *sent = sent.saturating_add(Bytes::new(bytes.into()));
        let after = self.paper_size.scale_nearest(sent.get());
        let ages = self.ages[to_dc as usize].as_slice();
        let begun = |age: &&ucmp::SizeThreshold| (before + 1..=after).contains(&age.from.get());
        ages.iter().any(|age| begun(&age))
    }

    /// A flow that the switch has forgotten is a new one.
    pub fn forget(&mut self, key: u64) {
        self.sent.remove(&key);
    }

    /// Buckets of the way at `place` for a flow that has sent what this one has.
    pub fn buckets_of(&self, key: u64, to_dc: u32, place: usize) -> u16 {
        let sent = self.sent.get(&key).copied().unwrap_or_default();
        let sent = self.paper_size.scale_nearest(sent.get());
        let ages = self.ages[to_dc as usize].as_slice();
        let age = ages.iter().rev().find(|age| age.from.get() <= sent);
        let buckets = age.and_then(|age| age.buckets.get(place));
        buckets.copied().unwrap_or(0)
    }
}

fn ages(ways: &[Way], config: &UcmpConfig) -> SizeThresholds {
    let way = |way: &Way| ucmp::Path {
        delay: way.delay,
        capacity: way.capacity,
        hops: way.hops,
    };
    let ways: Vec<ucmp::Path> = ways.iter().map(way).collect();
    ucmp::size_thresholds(&ways, config)
}
