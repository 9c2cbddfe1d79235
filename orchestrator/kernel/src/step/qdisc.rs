//! Queueing disciplines and their parameters.

use std::fmt;

use lab_units::{BitsPerSec, Bytes, Nanos, Ratio};
use serde::{Deserialize, Serialize};

use super::Namespace;

/// Queueing discipline and its attachment.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct QdiscAt {
    /// Namespace of the interface.
    pub netns: Namespace,
    /// Interface.
    pub dev: String,
    /// Attachment point.
    pub parent: Parent,
    /// Number of the discipline itself.
    pub handle: Handle,
    /// Kind and parameters.
    pub qdisc: Qdisc,
}

/// Kind and parameters of a queueing discipline.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Qdisc {
    /// Rate limit and queue in bytes.
    Tbf(Tbf),
    /// ECN marks by queue length.
    Red(Red),
    /// Delay, exact serialisation and loss.
    Netem(Netem),
    /// Queue per QP, which keeps a packet until the time that a program gave it.
    Fq(Fq),
    /// Ingress and egress hooks for classifiers.
    Clsact,
}

/// Fair queue of packets with times of departure.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Fq {
    /// Capacity in packets.
    pub limit: u32,
    /// Capacity of one QP's queue in packets.
    pub flow_limit: u32,
    /// Bits of a packet's hash that tell flows apart, of which each leaves in order.
    pub orphan_mask: u32,
    /// Longest time that a packet is kept; a later one is kept as long.
    pub horizon: Nanos,
}

/// Token bucket filter. It releases a packet at the start of the packet's serialisation time.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Tbf {
    /// Link rate.
    pub rate: BitsPerSec,
    /// Depth of the bucket, at least one frame.
    pub burst: Bytes,
    /// Capacity of the queue.
    pub limit: Bytes,
}

/// RED on the instantaneous queue length, in marking mode: a packet that cannot be marked is
/// queued, and only a full queue drops.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Red {
    /// Capacity of the queue.
    pub limit: Bytes,
    /// Queue length below which no packet is marked.
    pub min: Bytes,
    /// Queue length above which every packet is marked.
    pub max: Bytes,
    /// Marking probability at `max`.
    pub probability: Ratio,
}

/// Delay line: a packet leaves `delay` after its last bit was serialised at `rate`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Netem {
    /// Propagation delay.
    pub delay: Nanos,
    /// Serialisation rate.
    pub rate: BitsPerSec,
    /// Capacity in packets, waiting and in flight.
    pub limit: u32,
    /// Share of packets dropped at random.
    pub loss: Ratio,
}

/// Major number of a queueing discipline: `1:` is 1.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Handle(pub u16);

/// Attachment point of a queueing discipline.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Parent {
    /// Egress of the interface.
    Root,
    /// First class of another discipline.
    Of(Handle),
    /// Classifier hooks of the interface.
    Clsact,
}

impl Qdisc {
    /// Returns the kernel's name of the kind.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Tbf(_) => "tbf",
            Self::Red(_) => "red",
            Self::Netem(_) => "netem",
            Self::Fq(_) => "fq",
            Self::Clsact => "clsact",
        }
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}:", self.0)
    }
}

impl fmt::Display for Qdisc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tbf(Tbf { rate, burst, limit }) => {
                let (rate, burst, limit) = (rate.get(), burst.get(), limit.get());
                write!(f, "tbf rate {rate}bit burst {burst} limit {limit}")
            }
            // `tc` has no option for weight 0, the instantaneous queue length.
            Self::Red(red) => {
                let (limit, min, max) = (red.limit.get(), red.min.get(), red.max.get());
                let probability = Decimal(red.probability, 1);
                write!(
                    f,
                    "red limit {limit} min {min} max {max} probability {probability} ecn nodrop"
                )
            }
            Self::Netem(netem) => {
                let (limit, rate) = (netem.limit, netem.rate.get());
                let delay = netem.delay.get();
                write!(f, "netem limit {limit} delay {delay}ns rate {rate}bit")?;
                if netem.loss.numerator() != 0 {
                    write!(f, " loss {}%", Decimal(netem.loss, 100))?;
                }
                Ok(())
            }
            Self::Fq(fq) => {
                let (limit, flow_limit, mask) = (fq.limit, fq.flow_limit, fq.orphan_mask);
                let horizon = fq.horizon.get() / 1_000;
                write!(
                    f,
                    "fq limit {limit} flow_limit {flow_limit} orphan_mask {mask} timer_slack 0 \
                     horizon {horizon}us horizon_cap"
                )
            }
            Self::Clsact => f.write_str("clsact"),
        }
    }
}

/// Fraction with six decimal places, rounded to nearest; in percent if the factor is 100.
struct Decimal(Ratio, u64);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millionths = self.0.scale_nearest(1_000_000 * self.1);
        let (whole, part) = (millionths / 1_000_000, millionths % 1_000_000);
        write!(f, "{whole}.{part:06}")
    }
}
