//! Fast failover (section 3.4): a flow leaves its dead port lazily, by its own next packet.
//!
//! A dead port costs one write, however many flows are pinned to it. The next packet of each flow finds
//! its port dead, is decided among the live candidates like a first packet, and overwrites the flow's
//! entry in place. `failover.bpf.h` mirrors the rule.

use lab_abi::Trigger;

/// Returns the cause for a decision on a packet whose flow is pinned to a port, or to none; `None` if the packet
/// follows the flow's entry.
///
/// `must_reroute` returns true if flow ageing moves a flow whose port is alive; called only then.
#[must_use]
pub fn trigger(
    is_pinned_port_alive: Option<bool>,
    must_reroute: impl FnOnce() -> bool,
) -> Option<Trigger> {
    match is_pinned_port_alive {
        None => Some(Trigger::NewFlow),
        Some(false) => Some(Trigger::Failover),
        Some(true) => must_reroute().then_some(Trigger::FlowAgeing),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_port_goes_before_flow_ageing() {
        for (is_alive, must_reroute, expected) in [
            (None, true, Some(Trigger::NewFlow)),
            (Some(false), true, Some(Trigger::Failover)),
            (Some(true), true, Some(Trigger::FlowAgeing)),
            (Some(true), false, None),
        ] {
            assert_eq!(trigger(is_alive, || must_reroute), expected);
        }
    }
}
