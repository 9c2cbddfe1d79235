//! `tbf`: queueing discipline that gives a switch's egress port its rate and queue.

use std::fmt;

use lab_units::{BitsPerSec, Bytes};
use netlink_bindings::tc::{IterableTbfAttrs, PushAttrs, TcRatespec, TcTbfQopt};
use serde::{Deserialize, Serialize};

use super::units::{bytes_per_sec, clamp, narrow, ticks};

/// Token bucket filter. It releases a packet at the start of the packet's serialisation time.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Tbf {
    pub rate: BitsPerSec,
    /// Size of the token bucket in bytes, at least one frame.
    pub burst: Bytes,
    /// Maximum size of the queue, bytes.
    pub limit: Bytes,
}

impl fmt::Display for Tbf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.rate.get();
        let burst = self.burst.get();
        let limit = self.limit.get();
        write!(f, "tbf rate {rate}bit burst {burst} limit {limit}")
    }
}

/// Attributes of `tbf` in the kernel's units.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Attributes {
    bytes_per_sec: u64,
    burst_ticks: u32,
    limit: u32,
}

impl From<&Tbf> for Attributes {
    fn from(tbf: &Tbf) -> Self {
        let bytes_per_sec = bytes_per_sec(tbf.rate);
        Self {
            bytes_per_sec,
            burst_ticks: ticks(bytes_per_sec, tbf.burst),
            limit: clamp(tbf.limit),
        }
    }
}

impl Tbf {
    /// Appends the discipline's kind and attributes to a netlink message. The size of the bucket is sent in bytes, and
    /// the kernel converts it to ticks.
    pub(super) fn push(&self, message: PushAttrs<&mut Vec<u8>>) {
        let attributes = Attributes::from(self);
        let mut parms = TcTbfQopt::new();
        parms.rate = ratespec(attributes.bytes_per_sec);
        parms.limit = attributes.limit;
        let options = message.nested_options_tbf().push_parms(parms);
        options
            .push_rate64(attributes.bytes_per_sec)
            .push_burst(clamp(self.burst));
    }
}

impl Attributes {
    /// Reads the attributes from the kernel's listing; `None` if one is missing.
    pub(super) fn read(tbf: &IterableTbfAttrs<'_>) -> Option<Self> {
        let parms = tbf.get_parms().ok()?;
        let wide = tbf.get_rate64().ok();
        Some(Self {
            bytes_per_sec: wide.unwrap_or(u64::from(parms.rate.rate)),
            burst_ticks: parms.buffer,
            limit: parms.limit,
        })
    }
}

impl fmt::Display for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            bytes_per_sec,
            burst_ticks,
            limit,
        } = self;
        write!(
            f,
            "tbf rate {bytes_per_sec} B/s, burst {burst_ticks} ticks, limit {limit} B"
        )
    }
}

fn ratespec(bytes_per_sec: u64) -> TcRatespec {
    let mut spec = TcRatespec::new();
    spec.linklayer = TC_LINKLAYER_ETHERNET;
    spec.rate = narrow(bytes_per_sec);
    spec
}

const TC_LINKLAYER_ETHERNET: u8 = 1;
