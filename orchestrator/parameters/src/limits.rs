//! Bounds that several parameters share.

use lab_units::{BitsPerSec, Bytes, Nanos, Ratio};

/// Minimum rate of a link or a congestion control, 1 kbit/s.
pub const MIN_RATE: BitsPerSec = BitsPerSec::new(1_000).expect("not zero");
/// Maximum rate of a link or a congestion control, 100 Tbit/s.
pub const MAX_RATE: BitsPerSec = BitsPerSec::new(100_000_000_000_000).expect("not zero");
/// Maximum value of every parameter that is a size, such as an egress queue.
pub const MAX_BUFFER: Bytes = Bytes::new(1_000_000_000_000);
/// Minimum size of an egress queue: two packets of the largest MTU, with headers.
pub const MIN_BUFFER: Bytes = Bytes::new(10_000);
/// Maximum one-way delay of a link.
pub const MAX_DELAY: Nanos = Nanos::from_millis(10_000);
/// Minimum interval of switch agents and measurements, 1 µs: agents are processes, which cannot wake up more precisely.
pub const MIN_INTERVAL: Nanos = micros(1);
/// Maximum interval of switch agents and measurements.
pub const MAX_INTERVAL: Nanos = Nanos::from_millis(3_600_000);
/// Minimum value of the transport's intervals and timeouts, 100 ns.
pub const MIN_TIMER: Nanos = Nanos::new(100);
/// Maximum value of the transport's intervals and timeouts.
pub const MAX_TIMER: Nanos = Nanos::from_millis(3_600_000);
/// Maximum number of increase stages before a congestion control's larger raises, such as DCQCN's F and HPCC's
/// maxStage.
pub const MAX_STAGES: u64 = 1_000;

pub(crate) const fn micros(time: u64) -> Nanos {
    Nanos::new(time * 1_000)
}

pub(crate) const fn millis(time: u64) -> Nanos {
    Nanos::from_millis(time)
}

pub(crate) const fn megabits(rate: u64) -> BitsPerSec {
    BitsPerSec::new(rate * 1_000_000).expect("a declared rate is not zero")
}

pub(crate) const fn ratio(numerator: u64, denominator: u64) -> Ratio {
    Ratio::new(numerator, denominator).expect("a declared denominator is not zero")
}
