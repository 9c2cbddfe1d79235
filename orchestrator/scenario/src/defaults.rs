//! Defaults for what a scenario leaves out; parameters have theirs in `lab-parameters`.

use lab_parameters::{LinkConfig, TransportConfig};
use lab_units::{BitsPerSec, Nanos};

use crate::model::{Generator, Measure, ScaleSpec, Tool};

/// Host to leaf, or to the DCI switch: the paper's servers have one 100 Gb/s NIC.
pub const HOST_LINK: LinkConfig = LinkConfig::PAPER;

/// Leaf to spine: 100 Gb/s, as in the paper's fabric.
pub const LEAF_SPINE: LinkConfig = LinkConfig::PAPER;

/// Spine to DCI switch: 400 Gb/s, as in the paper's fabric.
pub const SPINE_DCI: LinkConfig = LinkConfig {
    rate_bps: BitsPerSec::new(400_000_000_000).expect("a link has a rate"),
    ..LinkConfig::PAPER
};

/// Between datacenters: the 6 GB of the paper's deep-buffer switches. A scenario sets rate and delay.
pub const INTER_DC: LinkConfig = LinkConfig {
    buffer_bytes: TransportConfig::PAPER.dci_buffer_bytes,
    ..LinkConfig::PAPER
};

/// Seed of all random streams.
pub const SEED: u64 = 1;

/// Number of runs per policy.
pub const REPETITIONS: u32 = 1;

/// Scale chosen by the capacity of the place.
pub const SCALE: ScaleSpec = ScaleSpec::Auto;

/// Traffic generator: the largest RoCE MTU, for the fewest packets; DSCP 26 with ECT(0), the class
/// that RoCE networks commonly treat as lossless and ECN-capable.
pub const GENERATOR: Generator = Generator {
    tool: Tool::SendBw,
    mtu: 4096,
    traffic_class: 0x6a,
};

/// Recording intervals, fine enough to see a queue of a 5 ms path build up and drain.
pub const MEASURE: Measure = Measure {
    from: Nanos::ZERO,
    to: None,
    queues: Nanos::from_millis(10),
    links: Nanos::from_millis(10),
    switches: Nanos::from_millis(100),
};

/// Maximum age of a switch's tables: a thousand of LCMP's samples. A busy machine causes far less, and
/// a switch without its agent does not decide by old queues for longer.
pub const MAX_TABLE_AGE: Nanos = Nanos::from_millis(1_000);
