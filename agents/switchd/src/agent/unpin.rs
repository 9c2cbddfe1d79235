//! Flows that leave their next hop because it is no longer a candidate of their destination.
//!
//! After a reconvergence, a flow that kept such a next hop could loop: the next switch could send its packets back.

use core::net::Ipv4Addr;

use lab_abi::{
    rows::{FlowEntry, FlowKey},
    wire::{AgentConfig, DestinationConfig},
};

use crate::install::Slots;

/// Destinations that have lost candidates, each with the slots of the candidates that it has now.
#[derive(Debug, Default)]
pub(super) struct LostCandidates(Vec<(Ipv4Addr, u8, Vec<usize>)>);

impl LostCandidates {
    /// Returns all destinations of a configuration, for flows that a killed agent may have left.
    pub(super) fn all(config: &AgentConfig, slots: &Slots) -> Self {
        let mut lost = Self::default();
        for row in &config.destinations {
            lost.push(row, slots);
        }
        lost
    }

    /// Adds the destination of `row`, which replaces its row in `config`, if it loses a candidate.
    pub(super) fn add(&mut self, config: &AgentConfig, row: &DestinationConfig, slots: &Slots) {
        let Some(index) = config.destination_index(row.addr, row.prefix_len) else {
            return;
        };
        let mut before = config.destinations[index].candidates.iter();
        let is_kept = |port| {
            row.candidates
                .iter()
                .any(|candidate| candidate.port == port)
        };
        if before.any(|candidate| !is_kept(candidate.port)) {
            self.push(row, slots);
        }
    }

    fn push(&mut self, row: &DestinationConfig, slots: &Slots) {
        self.0
            .retain(|(addr, len, _)| (*addr, *len) != (row.addr, row.prefix_len));
        let candidates = row.candidates.iter();
        let slots = candidates.filter_map(|candidate| slots.of(candidate.port));
        self.0.push((row.addr, row.prefix_len, slots.collect()));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if the flow's port is not a candidate of its destination, which is one of these.
    pub(super) fn is_stale(&self, flow: &FlowKey, entry: &FlowEntry) -> bool {
        let to = flow.destination().to_bits();
        let contains = |addr: &Ipv4Addr, len: u8| {
            let mask = u32::MAX
                .checked_shl(u32::BITS - u32::from(len))
                .unwrap_or(0);
            addr.to_bits() & mask == to & mask
        };
        let mut rows = self.0.iter();
        rows.find(|(addr, len, _)| contains(addr, *len))
            .is_some_and(|(.., slots)| !slots.contains(&usize::from(entry.port)))
    }
}

#[cfg(test)]
mod tests {
    use lab_abi::wire::{CandidateConfig, PolicyConfig, PortConfig};
    use lab_units::PortId;

    use super::*;

    /// Returns a switch with the ports 7, 8 and 9 in slots 0 to 2, and the destinations 10.8.0.0/16 and 10.9.0.0/16 over
    /// ports 7 and 8.
    fn config() -> AgentConfig {
        let mut config = crate::example::config(PolicyConfig::Buckets);
        let port = config.ports[0].clone();
        config.ports = [7, 8, 9]
            .map(|id| PortConfig {
                id: PortId(id),
                ..port.clone()
            })
            .into();
        config.destinations = [8, 9].map(|net| row(net, &[7, 8])).into();
        config
    }

    fn row(net: u8, ports: &[u32]) -> DestinationConfig {
        let candidate = |port: &u32| CandidateConfig {
            port: PortId(*port),
            c_path: 0,
            buckets: 1,
        };
        DestinationConfig {
            addr: Ipv4Addr::new(10, net, 0, 0),
            prefix_len: 16,
            candidates: ports.iter().map(candidate).collect(),
            size_thresholds: Vec::new(),
        }
    }

    fn is_stale(lost: &LostCandidates, net: u8, slot: u16) -> bool {
        let flow = FlowKey::new(
            Ipv4Addr::new(10, 1, 0, 1),
            Ipv4Addr::new(10, net, 3, 1),
            1,
            2,
            17,
        );
        let entry = FlowEntry {
            port: slot,
            ..FlowEntry::default()
        };
        lost.is_stale(&flow, &entry)
    }

    #[test]
    fn only_flows_to_the_destination_on_a_lost_port_leave_it() {
        let config = config();
        let slots = Slots::new(&config.ports);
        let mut lost = LostCandidates::default();
        lost.add(&config, &row(8, &[9, 8]), &slots);
        let found = [0, 1, 2].map(|slot| is_stale(&lost, 8, slot));
        assert_eq!(found, [true, false, false]);
        let others = [0, 1, 2].map(|slot| is_stale(&lost, 9, slot));
        assert_eq!(others, [false; 3]);
    }

    #[test]
    fn more_candidates_or_other_costs_move_no_flow() {
        let config = config();
        let slots = Slots::new(&config.ports);
        let mut lost = LostCandidates::default();
        lost.add(&config, &row(8, &[9, 8, 7]), &slots);
        lost.add(&config, &row(9, &[8, 7]), &slots);
        assert!(lost.is_empty());
    }

    #[test]
    fn the_latest_row_of_a_destination_counts() {
        let config = config();
        let slots = Slots::new(&config.ports);
        let mut lost = LostCandidates::default();
        lost.add(&config, &row(8, &[9]), &slots);
        lost.add(&config, &row(8, &[7]), &slots);
        assert!(!is_stale(&lost, 8, 0) && is_stale(&lost, 8, 2));
        assert!(is_stale(&LostCandidates::all(&config, &slots), 9, 2));
    }
}
