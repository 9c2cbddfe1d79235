//! Defaults of keys that a scenario omits; the defaults of parameters are in `lab-parameters`.

use lab_parameters::{LinkConfig, TransportConfig};
use lab_units::{BitsPerSec, Nanos};

use crate::model::{Generator, Measure, ScaleSpec, Tool};

/// Link from a host to a leaf or the DCI switch: the paper's servers have one 100 Gb/s NIC.
pub const HOST_LINK: LinkConfig = LinkConfig::PAPER;

/// Link from leaf to spine: 100 Gb/s, as in the paper's fabric.
pub const LEAF_SPINE: LinkConfig = LinkConfig::PAPER;

/// Link from spine to DCI switch: 400 Gb/s, as in the paper's fabric.
pub const SPINE_DCI: LinkConfig = LinkConfig {
    rate_bps: BitsPerSec::new(400_000_000_000).expect("a link has a rate"),
    ..LinkConfig::PAPER
};

/// Link between datacenters: a buffer of 6 GB, as in the paper's deep-buffer switches. A scenario sets rate and delay.
pub const INTER_DC: LinkConfig = LinkConfig {
    buffer_bytes: TransportConfig::PAPER.dci_buffer_bytes,
    ..LinkConfig::PAPER
};

/// Seed of all random streams.
pub const SEED: u64 = 1;

/// Number of runs per policy.
pub const REPETITIONS: u32 = 1;

/// Scale: chosen to fit the capacity of the place.
pub const SCALE: ScaleSpec = ScaleSpec::Auto;

/// Traffic generator: the largest RoCE MTU, for the fewest packets; DSCP 26 with ECT(0), the class that RoCE networks
/// commonly treat as lossless and ECN-capable.
pub const GENERATOR: Generator = Generator {
    tool: Tool::SendBw,
    mtu: 4096,
    traffic_class: 0x6a,
};

/// Recording intervals, fine enough to show how a queue on a 5 ms path builds up and drains.
pub const MEASURE: Measure = Measure {
    from: Nanos::ZERO,
    to: None,
    queues: Nanos::from_millis(10),
    links: Nanos::from_millis(10),
    switches: Nanos::from_millis(100),
};

/// Maximum age of a switch's tables: a thousand of LCMP's sample intervals. Delays on a busy machine are far shorter,
/// and a switch whose agent has stopped does not use old queue samples for longer.
pub const MAX_TABLE_AGE: Nanos = Nanos::from_millis(1_000);
