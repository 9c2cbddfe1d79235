//! Lengths of trains.

use lab_policy::{UcmpConfig, ucmp};
use lab_units::Bytes;

use super::{RunPolicy, SwitchFacts};

/// Minimum number of packets in a turn of a shared round. With fewer, a NIC with a hundred QPs would have an event for
/// every packet.
const MIN_TURN: u32 = 32;

/// Rules for the lengths of trains, in packets.
#[derive(Clone, Debug)]
pub struct Trains {
    /// Maximum length; 1 if every packet is an event.
    pub max: u32,
    /// True if the QPs of a NIC share a round of `max` packets; false if each sends as many in its turn.
    pub shares_round: bool,
    /// Numbers of the packets with which a flow crosses a size at which a switch may choose again, ascending, by
    /// destination datacenter: each begins a train.
    cuts: Vec<Vec<u32>>,
}

impl Trains {
    /// Creates the rules for trains of at most `max` packets of `full_bytes`.
    pub(super) fn new(
        max: u32,
        switches: &[SwitchFacts],
        policy: &RunPolicy,
        full_bytes: u32,
    ) -> Self {
        // UCMP with flow ageing moves a flow to another path while it sends. After longer turns, more packets arrive before
        // those that were sent earlier on a slower path, and the sender goes back for all of them.
        let (shares_round, cuts) = match policy {
            RunPolicy::FlowAgeing(config) if max > 1 => (true, cuts(switches, config, full_bytes)),
            _ => (false, Vec::new()),
        };
        Self {
            max,
            shares_round,
            cuts,
        }
    }

    /// Returns how many packets a QP sends in its turn if `qps` QPs share a round. Together they send a train of the
    /// maximum length; many QPs send a few packets each.
    #[inline]
    pub fn shared_turn(&self, qps: usize) -> u32 {
        let qps = u32::try_from(qps).unwrap_or(u32::MAX).max(1);
        (self.max / qps).max(self.max.min(MIN_TURN))
    }

    /// Returns the number of the first packet after `next` that must begin a train of a flow to `to_dc`; `MAX` if none
    /// must.
    #[inline]
    pub fn next_cut(&self, to_dc: u32, next: u32) -> u32 {
        let cuts = self.cuts.get(to_dc as usize);
        let later = cuts.and_then(|cuts| cuts.iter().find(|cut| **cut > next));
        later.copied().unwrap_or(u32::MAX)
    }
}

fn cuts(switches: &[SwitchFacts], config: &UcmpConfig, full_bytes: u32) -> Vec<Vec<u32>> {
    let towards = |to_dc: usize| {
        let rows = switches.iter().map(|switch| &switch.candidates[to_dc]);
        let crossings = rows.flat_map(|row| {
            let paths: Vec<_> = row.iter().map(|candidate| candidate.path).collect();
            let thresholds = ucmp::size_thresholds(&paths, config);
            let sizes = thresholds.as_slice().iter().map(|row| row.from);
            sizes
                .filter(|from| *from > Bytes::ZERO)
                .map(|from| from.get().div_ceil(full_bytes.into()).saturating_sub(1))
                .collect::<Vec<_>>()
        });
        let mut cuts: Vec<u32> = crossings.filter_map(|it| u32::try_from(it).ok()).collect();
        cuts.sort_unstable();
        cuts.dedup();
        cuts
    };
    (0..switches.len()).map(towards).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn trains(max: u32, cuts: Vec<Vec<u32>>) -> Trains {
        Trains {
            max,
            shares_round: true,
            cuts,
        }
    }

    #[test]
    fn qps_share_a_round_and_send_a_minimum() {
        let turns = |max, qps: [usize; 4]| {
            let trains = trains(max, Vec::new());
            qps.map(|qps| trains.shared_turn(qps))
        };
        assert_eq!(turns(128, [0, 1, 3, 1_000]), [128, 128, 42, 32]);
        assert_eq!(turns(4, [1, 2, 3, 1_000]), [4, 4, 4, 4]);
        assert_eq!(turns(1, [0, 1, 2, 1_000]), [1, 1, 1, 1]);
    }

    #[test]
    fn only_ucmp_with_flow_ageing_shares_rounds() {
        let shares = |max, policy: &RunPolicy| Trains::new(max, &[], policy, 4_154).shares_round;
        let ageing = RunPolicy::FlowAgeing(UcmpConfig::DEFAULT);
        assert!(shares(64, &ageing) && !shares(1, &ageing));
        assert!(!shares(64, &RunPolicy::Buckets));
    }

    #[test]
    fn a_train_ends_before_the_next_packet_that_must_begin_one() {
        let trains = trains(64, vec![vec![3, 10], Vec::new()]);
        let next = |next| trains.next_cut(0, next);
        assert_eq!([0, 2, 3, 9, 10].map(next), [3, 3, 10, 10, u32::MAX]);
        assert_eq!([1, 2].map(|dc| trains.next_cut(dc, 0)), [u32::MAX; 2]);
    }
}
