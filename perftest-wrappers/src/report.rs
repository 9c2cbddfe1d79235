//! What perftest says about a finished test, and the FCT in it.
//!
//! A bandwidth test divides bytes by the time from its first post to its last completion and says
//! only the quotient: printed with two decimals in its table, with six under `--output=bandwidth`,
//! and as the bits of a double when the two sides of a write or read test exchange their results.
//! Its unit is 2^20 bytes per second, although the table's head says `MB/sec`.

use lab_units::Nanos;

/// A bandwidth as perftest said it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Bandwidth {
    /// Printed: millionths of a MiB per second, exact as text.
    Printed {
        /// The digits without their point.
        micro_mib_per_sec: u64,
    },
    /// Exchanged: the bits of a double, in MiB per second.
    Exchanged {
        /// As sent.
        bits: u64,
    },
}

/// A report that cannot be understood.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ReportError {
    /// No line with a number.
    #[error(
        "the client exited without error and printed no bandwidth (its last line is `{last_line}`)"
    )]
    NoBandwidth {
        /// The last thing it printed.
        last_line: String,
    },
    /// More than one line with a number.
    #[error("the client printed a bandwidth twice, `{first}` and `{second}`")]
    TwoBandwidths {
        /// The first.
        first: String,
        /// The second.
        second: String,
    },
    /// A number out of which no time can be computed: zero, infinite, not a number.
    #[error(
        "the client reported a bandwidth of `{value}` MiB/s, which no flow has (hint: in a guest, boot with tsc=reliable clocksource=tsc)"
    )]
    NoTime {
        /// As printed.
        value: String,
    },
    /// The FCT is longer than the process had.
    #[error("the client reported an FCT of {fct} and took {interval} in all")]
    Impossible {
        /// As computed.
        fct: Nanos,
        /// From the release to the client's next word.
        interval: Nanos,
    },
}
