//! `netem`: queueing discipline that acts as a delay line.

use std::fmt;

use lab_plan::model::WirePlan;
use lab_units::{BitsPerSec, Nanos, Ratio};
use netlink_bindings::tc::{IterableNetemAttrs, PushAttrs, TcNetemQopt, TcNetemRate};
use serde::{Deserialize, Serialize};

use super::units::{Decimal, bytes_per_sec, narrow, of_all_ones, signed};

/// Delay line: each packet is serialised at `rate` and leaves `delay` after its last bit.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Netem {
    pub delay: Nanos,
    pub rate: BitsPerSec,
    /// Maximum number of packets, both waiting and in flight.
    pub limit: u32,
    /// Share of packets dropped at random.
    pub loss: Ratio,
}

/// Converts the parameters of a link between datacenters to its delay line.
impl From<&WirePlan> for Netem {
    fn from(wire: &WirePlan) -> Self {
        Self {
            delay: wire.delay_ns,
            rate: wire.rate_bps,
            limit: wire.delay_line_packets,
            loss: wire.loss,
        }
    }
}

impl fmt::Display for Netem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = self.limit;
        let delay = self.delay.get();
        let rate = self.rate.get();
        write!(f, "netem limit {limit} delay {delay}ns rate {rate}bit")?;
        if self.loss.numerator() != 0 {
            write!(f, " loss {}%", Decimal(self.loss, 100))?;
        }
        Ok(())
    }
}

/// Attributes of `netem` in the kernel's units.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Attributes {
    delay: i64,
    bytes_per_sec: u64,
    limit: u32,
    loss: u32,
    /// True if jitter, duplication, reordering or corruption is configured, which no lab uses.
    disturbs: bool,
}

impl From<&Netem> for Attributes {
    fn from(netem: &Netem) -> Self {
        Self {
            delay: signed(netem.delay),
            bytes_per_sec: bytes_per_sec(netem.rate),
            limit: netem.limit,
            loss: of_all_ones(netem.loss),
            disturbs: false,
        }
    }
}

impl Netem {
    /// Appends the discipline's kind and attributes to a netlink message.
    pub(super) fn push(&self, message: PushAttrs<&mut Vec<u8>>) {
        let attributes = Attributes::from(self);
        let mut head = TcNetemQopt::new();
        head.limit = attributes.limit;
        head.loss = attributes.loss;
        let mut rate = TcNetemRate::new();
        rate.rate = narrow(attributes.bytes_per_sec);
        let options = message.nested_options_netem(&head).push_rate(rate);
        options
            .push_rate64(attributes.bytes_per_sec)
            .push_latency64(attributes.delay);
    }
}

impl Attributes {
    /// Reads the attributes from the kernel's listing; `None` if one is missing.
    pub(super) fn read(head: &TcNetemQopt, netem: &IterableNetemAttrs<'_>) -> Option<Self> {
        let rate = netem.get_rate().map_or(0, |rate| u64::from(rate.rate));
        Some(Self {
            delay: netem.get_latency64().ok()?,
            bytes_per_sec: netem.get_rate64().unwrap_or(rate),
            limit: head.limit,
            loss: head.loss,
            disturbs: disturbs(head, netem),
        })
    }
}

impl fmt::Display for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            delay,
            bytes_per_sec,
            limit,
            loss,
            disturbs,
        } = self;
        write!(
            f,
            "netem delay {delay} ns, rate {bytes_per_sec} B/s, limit {limit} packets, loss {loss}/2^32"
        )?;
        if *disturbs {
            f.write_str(", and jitter, duplicates, reordering or corruption")?;
        }
        Ok(())
    }
}

/// Returns true if netem does anything to packets other than delaying and losing them.
fn disturbs(head: &TcNetemQopt, netem: &IterableNetemAttrs<'_>) -> bool {
    let jitter = head.jitter > 0 || netem.get_jitter64().is_ok_and(|jitter| jitter > 0);
    let reorders = netem.get_reorder().is_ok_and(|it| it.probability > 0);
    let corrupts = netem.get_corrupt().is_ok_and(|it| it.probability > 0);
    jitter || reorders || corrupts || head.duplicate > 0 || head.gap > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    /// The rate, 100 Mbit/s, is 12,500,000 B/s; the loss, 1/2, is 2^31 in units of 2^-32.
    #[test]
    fn a_delay_line_does_what_its_link_does() {
        let mut wire = testing::wire("100 Mbit", "25 ms", "620 kB");
        wire.loss = Ratio::new(1, 2).unwrap();
        let expected = Attributes {
            delay: 25_000_000,
            bytes_per_sec: 12_500_000,
            limit: 4_096,
            loss: 1 << 31,
            disturbs: false,
        };
        assert_eq!(Attributes::from(&Netem::from(&wire)), expected);
    }
}
