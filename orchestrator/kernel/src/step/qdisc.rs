//! Queueing disciplines and their parameters.

use std::fmt;

use lab_units::{BitsPerSec, Bytes, Nanos, Ratio};
use serde::{Deserialize, Serialize};

/// A queueing discipline.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Qdisc {
    /// Rate and byte queue.
    Tbf(Tbf),
    /// ECN marks by queue length.
    Red(Red),
    /// Delay, exact serialisation and loss.
    Netem(Netem),
    /// Hooks for classifiers.
    Clsact,
}

/// A token bucket filter. It lets a packet go at the start of its time on the wire.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Tbf {
    /// Rate.
    pub rate: BitsPerSec,
    /// Depth of the bucket, at least one frame.
    pub burst: Bytes,
    /// Bytes the queue holds.
    pub limit: Bytes,
}

/// RED on the queue's length itself instead of an average, marking only: a packet that cannot be
/// marked is queued, and only a full queue drops.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Red {
    /// Bytes the queue holds.
    pub limit: Bytes,
    /// No marks below.
    pub min: Bytes,
    /// All packets are marked above.
    pub max: Bytes,
    /// Marking probability at `max`.
    pub probability: Ratio,
}

/// A delay line: `delay` after the last bit has been sent at `rate`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Netem {
    /// Propagation delay.
    pub delay: Nanos,
    /// Serialisation rate.
    pub rate: BitsPerSec,
    /// Packets it holds, waiting and in flight.
    pub limit: u32,
    /// Share of packets lost at random.
    pub loss: Ratio,
}

/// The number of a queueing discipline: `1:` is 1.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Handle(pub u16);

/// What a queueing discipline hangs below.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Parent {
    /// The interface's egress.
    Root,
    /// The first class of another discipline.
    Of(Handle),
    /// The classifier hooks' place.
    Clsact,
}

impl Qdisc {
    /// Its name in the kernel.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Tbf(_) => "tbf",
            Self::Red(_) => "red",
            Self::Netem(_) => "netem",
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
            // `tc` knows no way to say weight 0, the queue's length itself; the rest is its own.
            Self::Red(red) => {
                let (limit, min, max) = (red.limit.get(), red.min.get(), red.max.get());
                let probability = Decimal(red.probability);
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
                    write!(f, " loss {}%", Percent(netem.loss))?;
                }
                Ok(())
            }
            Self::Clsact => f.write_str("clsact"),
        }
    }
}

/// A fraction as a decimal number of six places, rounded to nearest.
struct Decimal(Ratio);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millionths = self.0.scale_nearest(1_000_000);
        let (whole, part) = (millionths / 1_000_000, millionths % 1_000_000);
        write!(f, "{whole}.{part:06}")
    }
}

/// A fraction as a percentage of six places, rounded to nearest.
struct Percent(Ratio);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millionths = self.0.scale_nearest(100_000_000);
        let (whole, part) = (millionths / 1_000_000, millionths % 1_000_000);
        write!(f, "{whole}.{part:06}")
    }
}
