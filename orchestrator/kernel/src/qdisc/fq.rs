//! `fq`: queueing discipline that paces the hosts' QPs.

use std::fmt;

use lab_units::Nanos;
use netlink_bindings::tc::{IterableFqAttrs, PushAttrs};
use serde::{Deserialize, Serialize};

use super::units::micros;

/// Fair queue for packets with departure times.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Fq {
    /// Maximum number of packets in the discipline.
    pub limit: u32,
    /// Maximum number of packets in the queue of one flow.
    pub flow_limit: u32,
    /// Mask that is applied to packets' hashes. Packets whose masked hashes are equal belong to one flow, whose packets
    /// leave in order.
    pub orphan_mask: u32,
    /// Maximum time for which a packet is kept, even if its departure time is later.
    pub horizon: Nanos,
}

impl fmt::Display for Fq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = self.limit;
        let flow_limit = self.flow_limit;
        let mask = self.orphan_mask;
        let horizon = micros(self.horizon);
        write!(
            f,
            "fq limit {limit} flow_limit {flow_limit} orphan_mask {mask} timer_slack 0 horizon \
             {horizon}us horizon_cap"
        )
    }
}

/// Attributes of `fq` in the kernel's units.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Attributes {
    limit: u32,
    flow_limit: u32,
    orphan_mask: u32,
    timer_slack: u32,
    horizon_micros: u32,
    /// True if packets whose departure time is beyond the horizon are dropped.
    drops: bool,
}

impl From<&Fq> for Attributes {
    fn from(fq: &Fq) -> Self {
        Self {
            limit: fq.limit,
            flow_limit: fq.flow_limit,
            orphan_mask: fq.orphan_mask,
            timer_slack: 0,
            horizon_micros: micros(fq.horizon),
            drops: false,
        }
    }
}

impl Fq {
    /// Appends the discipline's kind and attributes to a netlink message.
    pub(super) fn push(&self, message: PushAttrs<&mut Vec<u8>>) {
        let attributes = Attributes::from(self);
        let options = message.nested_options_fq().push_plimit(attributes.limit);
        options
            .push_flow_plimit(attributes.flow_limit)
            .push_timer_slack(attributes.timer_slack)
            .push_orphan_mask(attributes.orphan_mask)
            .push_horizon(attributes.horizon_micros)
            .push_horizon_drop(attributes.drops.into());
    }
}

impl Attributes {
    /// Reads the attributes from the kernel's listing; `None` if one is missing.
    pub(super) fn read(fq: &IterableFqAttrs<'_>) -> Option<Self> {
        Some(Self {
            limit: fq.get_plimit().ok()?,
            flow_limit: fq.get_flow_plimit().ok()?,
            orphan_mask: fq.get_orphan_mask().ok()?,
            timer_slack: fq.get_timer_slack().ok()?,
            horizon_micros: fq.get_horizon().ok()?,
            drops: fq.get_horizon_drop().ok()? != 0,
        })
    }
}

impl fmt::Display for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            limit,
            flow_limit,
            orphan_mask,
            timer_slack,
            horizon_micros,
            drops,
        } = self;
        write!(
            f,
            "fq limit {limit} packets, {flow_limit} per flow, orphan mask {orphan_mask}, timer \
             slack {timer_slack} ns, horizon {horizon_micros} µs{}",
            if *drops {
                ", packets beyond it dropped"
            } else {
                ""
            }
        )
    }
}
