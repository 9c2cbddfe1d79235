//! UCMP's flow ageing: the bytes that each flow has sent, and the hash buckets for its size.

use lab_plan::PaperUnits;
use lab_policy::{
    UcmpConfig,
    ucmp::{self, SizeThresholds},
};
use lab_units::Bytes;
use rustc_hash::FxHashMap;

use crate::world::PortCandidate;

/// Flow sizes that a DCI switch has counted.
pub(super) struct FlowAgeing {
    config: UcmpConfig,
    paper: PaperUnits,
    /// Size thresholds by destination datacenter.
    thresholds: Vec<SizeThresholds>,
    /// Bytes sent, by flow key.
    sent: FxHashMap<u64, Bytes>,
}

impl FlowAgeing {
    pub fn new(config: UcmpConfig, paper: PaperUnits, candidates: &[&[PortCandidate]]) -> Self {
        let thresholds = candidates.iter().map(|row| thresholds(row, &config));
        Self {
            config,
            paper,
            thresholds: thresholds.collect(),
            sent: FxHashMap::default(),
        }
    }

    /// Recomputes the size thresholds for the datacenter `to_dc` from new candidates.
    pub fn provision(&mut self, to_dc: u32, candidates: &[PortCandidate]) {
        self.thresholds[to_dc as usize] = thresholds(candidates, &self.config);
    }

    /// Counts a packet of a flow to `to_dc`; returns true if the flow crosses a size threshold with this packet.
    pub fn count(&mut self, key: u64, to_dc: u32, bytes: u64) -> bool {
        let sent = self.sent.entry(key).or_default();
        let before = self.paper.size(*sent).get();
        *sent = sent.saturating_add(Bytes::new(bytes));
        let after = self.paper.size(*sent).get();
        let thresholds = self.thresholds[to_dc as usize].as_slice();
        thresholds
            .iter()
            .any(|threshold| (before + 1..=after).contains(&threshold.from.get()))
    }

    /// Discards the count of a flow that is no longer in the flow table.
    pub fn forget(&mut self, key: u64) {
        self.sent.remove(&key);
    }

    /// Returns the hash buckets of the candidate at `index` for the current size of flow `key`.
    pub fn buckets_of(&self, key: u64, to_dc: u32, index: usize) -> u16 {
        let sent = self.sent.get(&key).copied().unwrap_or_default();
        let sent = self.paper.size(sent);
        let thresholds = self.thresholds[to_dc as usize].as_slice();
        let crossed = thresholds.iter().rev().find(|row| row.from <= sent);
        let buckets = crossed.and_then(|threshold| threshold.buckets.get(index));
        buckets.copied().unwrap_or(0)
    }
}

fn thresholds(candidates: &[PortCandidate], config: &UcmpConfig) -> SizeThresholds {
    let paths: Vec<_> = candidates.iter().map(|candidate| candidate.path).collect();
    ucmp::size_thresholds(&paths, config)
}
