//! Decision to explain, with the states of links and queues.

use lab_policy::FlowTuple;
use lab_units::{BitsPerSec, DcId, Ratio};

use super::levels::QueueState;

/// Flow, switch and policy for which a decision is explained, with the states of links and queues.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// Index of the policy in [`Plan::policies`](crate::model::Plan::policies).
    pub policy: usize,
    /// Datacenter of the switch that decides.
    pub from: DcId,
    /// Destination datacenter of the flow.
    pub to: DcId,
    pub flow: FlowTuple,
    /// States of the egress queues towards neighbouring datacenters; queues that are not listed are empty.
    pub queues: &'a [(DcId, QueueState)],
    /// Neighbouring datacenters to which the link is down.
    pub dead: &'a [DcId],
    /// Utilisations of the links to neighbouring datacenters in the previous interval, for trained weights; links that
    /// are not listed are unused.
    pub utilisations: &'a [(DcId, Ratio)],
    /// Demands of the switch's own datacenter in the previous interval, by destination; destinations that are not
    /// listed have no demand.
    pub demands: &'a [(DcId, BitsPerSec)],
}

impl Question<'_> {
    /// Returns the state of the egress queue towards a neighbour.
    pub(super) fn queue(&self, to: DcId) -> QueueState {
        given(self.queues, to).unwrap_or_default()
    }

    /// Returns true if the link to a neighbour is up.
    pub(super) fn is_alive(&self, to: DcId) -> bool {
        !self.dead.contains(&to)
    }

    /// Returns the utilisation of the link to a neighbour.
    pub(super) fn utilisation(&self, to: DcId) -> Ratio {
        given(self.utilisations, to).unwrap_or(Ratio::ZERO)
    }

    /// Returns the demand to a destination; `None` if there is none.
    pub(super) fn demand(&self, to: DcId) -> Option<BitsPerSec> {
        given(self.demands, to)
    }
}

/// Returns the value that `list` gives for a datacenter; the last of several.
fn given<T: Copy>(list: &[(DcId, T)], dc: DcId) -> Option<T> {
    let found = list.iter().rev().find(|(of, _)| *of == dc);
    found.map(|(_, value)| *value)
}
