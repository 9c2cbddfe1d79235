//! Fast failover (section 3.4): a flow leaves its dead port with its next packet.
//!
//! Marking a port dead costs one write, however many flows are pinned to the port. When the next packet of such a
//! flow finds the port dead, a new decision among the live candidates is made, as for a first packet, and the flow's
//! entry is overwritten in place. `failover.bpf.h` mirrors this rule.

use lab_abi::Trigger;

/// Returns the reason why a packet needs a decision; `None` if the packet follows its flow's table entry.
///
/// `is_pinned_port_alive` states whether the egress port in the flow-table entry is up; `None` if the flow has no
/// entry. `must_reroute` returns true if flow ageing moves the flow away from a live port; it is called only if the
/// port is alive.
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
