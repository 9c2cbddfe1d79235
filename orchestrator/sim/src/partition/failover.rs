//! Fast failover (Sec. 3.4): a flow leaves its dead port lazily, with its next packet.
//!
//! When a link goes down, only a flag of its port changes ([`super::faults`]). The next packet of each flow that is
//! pinned to this port gets a decision among the live candidates, like a first packet, and the flow is pinned to the
//! new port.

use lab_policy::{Trigger, failover};

use super::Partition;
use crate::{cc::CongestionControl, semantics::SemanticsRules};

impl<S: SemanticsRules, C: CongestionControl> Partition<'_, S, C> {
    /// Returns true if the switch sends packets through `port`: its link is up, and the port is not marked dead.
    #[inline]
    pub(super) fn is_up(&self, port: u32) -> bool {
        let port = &self.ports[(port - self.first_port) as usize];
        port.is_up && !port.is_marked_dead
    }

    /// Returns why a packet needs a decision, given the port to which its flow is pinned; `None` if the packet takes
    /// that port.
    ///
    /// `must_reroute` returns true if flow ageing moves the flow away from a live port; it is called only if the pinned
    /// port is alive.
    #[inline]
    pub(super) fn failover(
        &self,
        pinned: Option<u32>,
        must_reroute: impl FnOnce() -> bool,
    ) -> Option<Trigger> {
        failover::trigger(pinned.map(|port| self.is_up(port)), must_reroute)
    }
}
