//! Random numbers of a port, in named streams: for packet losses on its wire and for ECN marks in its queue.
//!
//! Each port of each repetition has one stream per purpose, so that another port, repetition or mark does not change
//! any loss. All policies of a repetition use the same streams, as they have the same flows.

use lab_plan::{Plan, generator};
use lab_units::PortId;
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

/// Random number streams of one port.
#[derive(Clone, Debug)]
pub struct Dice {
    loss: Pcg64Mcg,
    mark: Pcg64Mcg,
}

impl Dice {
    /// Creates the streams for `port` in repetition `repetition` of `plan`.
    #[must_use]
    pub fn of(plan: &Plan, repetition: u32, port: PortId) -> Self {
        let node = plan.ports[port.index()].node;
        let link = &plan.links[port.link().index()].name;
        let node = &plan.nodes[node.index()].name;
        let stream = |purpose| {
            let seed = plan.seed;
            generator(&format!(
                "lcmp-lab wires 1|{seed}|{repetition}|{link}|{node}|{purpose}"
            ))
        };
        Self {
            loss: stream("loss"),
            mark: stream("marks"),
        }
    }

    /// Returns the next random number that decides whether a packet is lost.
    #[inline]
    pub fn loss(&mut self) -> u32 {
        self.loss.next_u32()
    }

    /// Returns the next random number that decides whether a packet is marked.
    #[inline]
    pub fn mark(&mut self) -> u32 {
        self.mark.next_u32()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Compares the first numbers in both streams of every port, for two seeds and three repetitions. In an earlier
    /// version, the streams of seed 1 at ports in the upper half of the numbering equalled streams of seed
    /// 12,884,901,889 at other ports.
    #[test]
    fn no_two_ports_repetitions_purposes_or_seeds_share_numbers() {
        let mut seen = BTreeSet::new();
        let mut expected = 0;
        let mut plan = crate::testing::pair("ecmp");
        for seed in [1, 12_884_901_889] {
            plan.seed = seed;
            for repetition in 0..3 {
                for port in (0u32..).map(PortId).take(plan.ports.len()) {
                    let mut dice = Dice::of(&plan, repetition, port);
                    seen.insert([dice.loss(), dice.loss()]);
                    seen.insert([dice.mark(), dice.mark()]);
                    expected += 2;
                }
            }
        }
        assert_eq!(seen.len(), expected);
    }

    /// If these names changed, every recorded loss and mark would change.
    #[test]
    fn the_streams_are_named_by_seed_repetition_link_node_and_purpose() {
        let mut plan = crate::testing::pair("ecmp");
        plan.seed = 7;
        let (index, link) = (0u32..)
            .zip(&plan.links)
            .find(|(_, link)| link.name == "dc1-dc2")
            .expect("the link");
        let port = lab_units::LinkId(index).port_a();
        let node = plan.ports[port.index()].node;
        let [loss, marks] = ["loss", "marks"].map(|purpose| {
            let name = format!(
                "lcmp-lab wires 1|7|2|{}|{}|{purpose}",
                link.name,
                plan.nodes[node.index()].name
            );
            generator(&name).next_u32()
        });
        let mut dice = Dice::of(&plan, 2, port);
        assert_eq!((dice.loss(), dice.mark()), (loss, marks));
    }
}
