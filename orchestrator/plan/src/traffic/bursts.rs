//! Bursts of a workload: times at which two datacenters exchange a multiple of their mean rate.
//!
//! Time is divided into slots of one burst's length, with a random phase for every pair; [`lab_units::bursts`] has their
//! rates. The mean over time is the workload's load.

use std::collections::BTreeMap;

use lab_units::{DcId, Nanos, bursts::SLOTS_PER_BURST};

use crate::{
    network::Network,
    sample::{Sampling, Stream, StreamName},
};

/// Bursts of all pairs of a workload in one repetition.
pub(crate) struct Bursts {
    length: Nanos,
    pairs: BTreeMap<(DcId, DcId), BurstSlots>,
}

struct BurstSlots {
    /// End of the first slot.
    phase: Nanos,
    /// True for each slot that is a burst, in order of time.
    is_burst: Vec<bool>,
}

impl Bursts {
    /// Draws the bursts of `length` for each of `pairs` until `duration`.
    pub fn draw(
        network: &Network,
        pairs: impl Iterator<Item = (DcId, DcId)>,
        (length, duration): (Nanos, Nanos),
        sampling: Sampling<'_>,
    ) -> Self {
        let slots = duration.get() / length.get() + 2;
        let draw = |(from, to): (DcId, DcId)| {
            let name = |dc: DcId| &network.dcs[dc.index()].name;
            let mut stream = Stream::named(StreamName {
                seed: sampling.seed,
                repetition: sampling.repetition,
                traffic: sampling.traffic,
                host: &format!("{}-{}", name(from), name(to)),
                quantity: "bursts",
            });
            let pair = BurstSlots {
                phase: stream.phase(length.get() as f64),
                is_burst: (0..slots)
                    .map(|_| stream.below(SLOTS_PER_BURST as usize) == 0)
                    .collect(),
            };
            ((from, to), pair)
        };
        Self {
            length,
            pairs: pairs.map(draw).collect(),
        }
    }

    /// Returns true if the pair bursts at `time`.
    pub fn is_burst(&self, from: DcId, to: DcId, time: Nanos) -> bool {
        let Some(pair) = self.pairs.get(&(from, to)) else {
            return false;
        };
        let since = time.get() + self.length.get() - pair.phase.get().min(self.length.get());
        let slot = usize::try_from(since / self.length.get()).unwrap_or(usize::MAX);
        pair.is_burst.get(slot).copied().unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use lab_scenario::SizeCdf;

    use super::*;
    use crate::{
        demands,
        model::Scale,
        topology,
        workload::{Sampled, sample},
    };

    const TEXT: &str = "
name: bursts
topology:
  dcs: [{ name: dc1, hosts: 2 }, { name: dc2, hosts: 1 }, { name: dc3, hosts: 1 }]
  links:
    - { between: [dc1, dc2], rate: 100 Gbit, delay: 1 ms }
    - { between: [dc1, dc3], rate: 100 Gbit, delay: 1 ms }
traffic:
  - workload: { sizes: s.csv, pairs: all-to-all, load: 0.2, duration: 60 s, bursts: 300 ms }
policies: [ecmp]
";

    const SAMPLING: Sampling<'static> = Sampling {
        seed: 1,
        repetition: 0,
        traffic: 0,
        path: "traffic[0]",
    };

    fn network() -> Network {
        let scenario = lab_scenario::parse("bursts.yaml", TEXT.as_bytes()).expect("it is valid");
        topology::build(&scenario.topology, &Scale::PAPER).expect("it is consistent")
    }

    fn bursts(duration: Nanos) -> Bursts {
        let pairs = [(DcId(0), DcId(1)), (DcId(0), DcId(2))];
        let length = Nanos::from_millis(300);
        Bursts::draw(&network(), pairs.into_iter(), (length, duration), SAMPLING)
    }

    #[test]
    fn a_tenth_of_the_slots_is_a_burst_and_a_slot_has_its_length() {
        let found = bursts(Nanos::from_millis(3_000_000));
        let at = |to, millis| found.is_burst(DcId(0), DcId(to), Nanos::from_millis(millis));
        for to in [1, 2] {
            // 10,000 slots, of which 1,000 ± 95 (3.2 standard deviations) burst.
            let share = (0..10_000).filter(|slot| at(to, 300 * slot)).count();
            assert!((905..=1_095).contains(&share), "{share}");
            // Within a slot nothing changes: all changes are at one phase of 300 ms.
            let changes = (1..30_000).filter(|&millis| at(to, millis) != at(to, millis - 1));
            let phases: std::collections::BTreeSet<u64> = changes.map(|it| it % 300).collect();
            assert_eq!(phases.len(), 1, "{phases:?}");
        }
        assert!((0..10_000).any(|slot| at(1, 300 * slot) != at(2, 300 * slot)));
    }

    /// While dc1 bursts towards dc2, its hosts start 11 times as many flows as otherwise. The mean rate stays: with
    /// flows of 1 MB, 20 % of 100 Gbit/s are 2,500 flows per second from each of the four hosts.
    #[test]
    fn flows_follow_the_bursts_and_keep_the_load() {
        let network = network();
        let scenario = lab_scenario::parse("bursts.yaml", TEXT.as_bytes()).expect("it is valid");
        let lab_scenario::Traffic::Workload(workload) = &scenario.traffic[0] else {
            panic!("the scenario has a workload");
        };
        let sizes =
            SizeCdf::parse("s.csv", "bytes,percent\n999999,0\n1000001,100\n").expect("one size");
        // A load of NICs needs no candidates.
        let demands = demands::of_scenario(&scenario, &network, &[]).expect("the pairs have hosts");
        let process = (&workload.process, demands[&0].hosts.as_slice());
        let Sampled { drafts, .. } =
            sample(&network, process, &sizes, SAMPLING, usize::MAX).expect("few enough");
        let expected = 4.0 * 2_500.0 * 60.0;
        let found = drafts.len() as f64 / expected;
        // Six pairs of 200 slots each: the mean factor is 1 ± 1.5 / √1200, about 0.043.
        assert!((0.87..1.13).contains(&found), "{found}");
        let own = bursts(Nanos::from_millis(60_000));
        let dc_of = |node| network.node(node).dc;
        let to_dc2 = drafts
            .iter()
            .filter(|draft| (dc_of(draft.src), dc_of(draft.dst)) == (DcId(0), DcId(1)));
        let (mut burst, mut lull) = (0.0, 0.0);
        for draft in to_dc2 {
            if own.is_burst(DcId(0), DcId(1), draft.start) {
                burst += 1.0;
            } else {
                lull += 1.0;
            }
        }
        let time = (0..60_000)
            .filter(|&millis| own.is_burst(DcId(0), DcId(1), Nanos::from_millis(millis)))
            .count() as f64;
        let ratio = (burst / time) / (lull / (60_000.0 - time));
        assert!((10.5..11.5).contains(&ratio), "{ratio}");
    }
}
