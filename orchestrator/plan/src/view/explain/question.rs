//! Decision to explain, with the states of links and queues.

use lab_policy::FlowTuple;
use lab_units::{BitsPerSec, DcId, PortId, Ratio};

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
    /// States of the switch's egress queues, by port; queues that are not listed are empty.
    pub queues: &'a [(PortId, QueueState)],
    /// Ports of the switch whose link is down.
    pub dead: &'a [PortId],
    /// Utilisations of the links behind the switch's ports in the previous interval, for trained weights; links that are
    /// not listed are unused.
    pub utilisations: &'a [(PortId, Ratio)],
    /// Demands of the switch's own datacenter in the previous interval, by destination; destinations that are not
    /// listed have no demand.
    pub demands: &'a [(DcId, BitsPerSec)],
}

impl Question<'_> {
    /// Returns the state of the egress queue of `port`.
    pub(super) fn queue(&self, port: PortId) -> QueueState {
        given(self.queues, port).unwrap_or_default()
    }

    /// Returns true if the link of `port` is up.
    pub(super) fn is_alive(&self, port: PortId) -> bool {
        !self.dead.contains(&port)
    }

    /// Returns the utilisation of the link that starts at `port`.
    pub(super) fn utilisation(&self, port: PortId) -> Ratio {
        given(self.utilisations, port).unwrap_or(Ratio::ZERO)
    }

    /// Returns the demand to a destination; `None` if there is none.
    pub(super) fn demand(&self, to: DcId) -> Option<BitsPerSec> {
        given(self.demands, to)
    }
}

/// Returns the value that `list` gives for `key`; the last of several.
fn given<K: Eq, T: Copy>(list: &[(K, T)], key: K) -> Option<T> {
    let found = list.iter().rev().find(|(of, _)| *of == key);
    found.map(|(_, value)| *value)
}
