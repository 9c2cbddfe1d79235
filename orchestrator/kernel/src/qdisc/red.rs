//! `red`: queueing discipline with which legacy switches mark packets (ECN).

use std::fmt;

use lab_units::{Bytes, Ratio};
use netlink_bindings::{
    builtin::BuiltinBitfield32,
    tc::{IterableRedAttrs, PushAttrs, TcRedQopt},
};
use serde::{Deserialize, Serialize};

use super::units::{Decimal, clamp, of_all_ones};

/// RED on the instantaneous queue length, in marking mode: a packet that cannot be marked is queued, and packets are
/// dropped only if the queue is full.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Red {
    /// Maximum size of the queue, bytes.
    pub limit: Bytes,
    /// Queue length in bytes below which no packet is marked.
    pub min: Bytes,
    /// Queue length in bytes above which every packet is marked.
    pub max: Bytes,
    /// Probability with which a packet is marked at queue length `max`.
    pub probability: Ratio,
}

impl fmt::Display for Red {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `tc` has no option for weight 0, with which RED uses the instantaneous queue length.
        let limit = self.limit.get();
        let min = self.min.get();
        let max = self.max.get();
        let probability = Decimal(self.probability, 1);
        write!(
            f,
            "red limit {limit} min {min} max {max} probability {probability} ecn nodrop"
        )
    }
}

/// Attributes of `red` in the kernel's units.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Attributes {
    limit: u32,
    min: u32,
    max: u32,
    weight_log: u8,
    probability: u32,
    flags: u32,
}

impl From<&Red> for Attributes {
    fn from(red: &Red) -> Self {
        Self {
            limit: clamp(red.limit),
            min: clamp(red.min),
            max: clamp(red.max),
            weight_log: WEIGHT_LOG,
            probability: of_all_ones(red.probability),
            flags: RED_FLAGS,
        }
    }
}

impl Red {
    /// Appends the discipline's kind and attributes to a netlink message.
    pub(super) fn push(&self, message: PushAttrs<&mut Vec<u8>>) {
        let attributes = Attributes::from(self);
        let mut parms = TcRedQopt::new();
        parms.limit = attributes.limit;
        parms.qth_min = attributes.min;
        parms.qth_max = attributes.max;
        parms.Wlog = attributes.weight_log;
        let flags = BuiltinBitfield32 {
            value: attributes.flags,
            selector: attributes.flags,
        };
        let options = message
            .nested_options_red()
            .push_parms(parms)
            .push_stab(&FORGET_WHEN_IDLE);
        options.push_max_p(attributes.probability).push_flags(flags);
    }
}

impl Attributes {
    /// Reads the attributes from the kernel's listing; `None` if one is missing.
    pub(super) fn read(red: &IterableRedAttrs<'_>) -> Option<Self> {
        let parms = red.get_parms().ok()?;
        Some(Self {
            limit: parms.limit,
            min: parms.qth_min,
            max: parms.qth_max,
            weight_log: parms.Wlog,
            probability: red.get_max_p().ok()?,
            flags: red.get_flags().ok()?.value,
        })
    }
}

impl fmt::Display for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            limit,
            min,
            max,
            weight_log,
            probability,
            flags,
        } = self;
        write!(
            f,
            "red limit {limit} B, min {min} B, max {max} B, weight 2^-{weight_log}, probability \
             {probability}/2^32, flags {flags:#x}"
        )
    }
}

/// Flags `TC_RED_ECN | TC_RED_NODROP`, which mark packets instead of dropping them.
const RED_FLAGS: u32 = 1 | 8;
/// Exponent of RED's averaging weight, 2^-0: the average is the queue length itself.
const WEIGHT_LOG: u8 = 0;

/// Table by which RED decays its average while the queue is idle. Here the average drops to zero at once, because it is
/// the queue length itself.
const FORGET_WHEN_IDLE: [u8; 256] = [31; 256];
