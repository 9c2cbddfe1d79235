//! First hops: where the switches sent one direction of a flow first.

use lab_plan::model::Plan;
use lab_records::DcPath;
use lab_units::{DcId, PortId};

/// First hops of one direction of a flow: the datacenter that each of its switches chose first.
///
/// Fast failover and flow ageing re-route a flow under way; its path stays the one on which it began.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct FirstHops(Vec<(DcId, DcId)>);

impl FirstHops {
    /// Adds the hop from one datacenter to another, unless a hop from there is known.
    ///
    /// A hop inside a datacenter is none.
    pub fn add(&mut self, from: DcId, to: DcId) {
        if from != to && self.after(from).is_none() {
            self.0.push((from, to));
        }
    }

    /// Returns the path from one datacenter to another.
    ///
    /// A switch with one candidate needs no hop of its own. There is no path if the hop of a switch
    /// with several is unknown, or if the hops lead back.
    #[must_use]
    pub fn path(&self, plan: &Plan, from: DcId, to: DcId) -> Option<DcPath> {
        let crossed = self.walk(from, to, |at| only_hop(plan, at, to))?;
        let name = |dc: DcId| plan.dcs[dc.index()].name.as_str();
        Some(DcPath::new(crossed.into_iter().map(name)))
    }

    fn walk(
        &self,
        from: DcId,
        to: DcId,
        only_hop: impl Fn(DcId) -> Option<DcId>,
    ) -> Option<Vec<DcId>> {
        let mut crossed = vec![from];
        while let Some(&at) = crossed.last().filter(|at| **at != to) {
            let next = self.after(at).or_else(|| only_hop(at))?;
            if crossed.contains(&next) {
                return None;
            }
            crossed.push(next);
        }
        Some(crossed)
    }

    fn after(&self, dc: DcId) -> Option<DcId> {
        let hop = self.0.iter().find(|(from, _)| *from == dc);
        hop.map(|(_, to)| *to)
    }
}

/// Returns the datacenter at the other end of a port's link.
#[must_use]
pub fn next_dc(plan: &Plan, port: PortId) -> DcId {
    plan.nodes[plan.ports[port.peer().index()].node.index()].dc
}

fn only_hop(plan: &Plan, at: DcId, to: DcId) -> Option<DcId> {
    let row = plan.switches.get(at.index())?.towards(to)?;
    match row.candidates.as_slice() {
        [only] => Some(next_dc(plan, only.port)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Path from 1 to 4 over 2, 3 or both, which have one hop each, after `hops`.
    fn path(hops: &[(u32, u32)]) -> Option<Vec<u32>> {
        let mut first = FirstHops::default();
        for &(from, to) in hops {
            first.add(DcId(from), DcId(to));
        }
        let only_hop = |at| (at != DcId(1)).then_some(DcId(4));
        let crossed = first.walk(DcId(1), DcId(4), only_hop)?;
        Some(crossed.into_iter().map(|dc| dc.0).collect())
    }

    #[test]
    fn a_path_follows_the_first_hop_of_each_switch_with_a_choice() {
        for (hops, crossed) in [
            (&[][..], None),
            (&[(1, 2)], Some(vec![1, 2, 4])),
            (&[(1, 2), (2, 3)], Some(vec![1, 2, 3, 4])),
            // Re-routed after its start.
            (&[(1, 2), (1, 3), (3, 4)], Some(vec![1, 2, 4])),
            (&[(1, 1), (1, 3), (4, 4)], Some(vec![1, 3, 4])),
            (&[(1, 2), (2, 1)], None),
        ] {
            assert_eq!(path(hops), crossed, "{hops:?}");
        }
    }
}
