//! Defaults of keys that a scenario omits; the defaults of policy, link and transport parameters are in
//! `lab-parameters`.

use lab_parameters::{LinkConfig, TransportConfig};
pub use lab_topologies::network::{DEFAULT_HOSTS, DEFAULT_RATE, KM_PER_MS};
use lab_units::{BitsPerSec, Nanos, Ratio};

use crate::{
    limits,
    model::{Generator, Measure, ScaleSpec, Tool},
};

/// Default of a host's link to a leaf or to the DCI switch: 100 Gb/s, like the paper's servers with one NIC.
pub const HOST_LINK: LinkConfig = LinkConfig::PAPER;

/// Default of a link between leaf and spine: 100 Gb/s, as in the paper's fabric.
pub const LEAF_SPINE: LinkConfig = LinkConfig::PAPER;

/// Default of a link between spine and DCI switch: 400 Gb/s, as in the paper's fabric.
pub const SPINE_DCI: LinkConfig = LinkConfig {
    rate_bps: BitsPerSec::new(400_000_000_000).expect("a link has a rate"),
    ..LinkConfig::PAPER
};

/// Default of an inter-DC link: 6 GB of buffer, like the paper's deep-buffer switches. A scenario must set rate and
/// delay.
pub const INTER_DC: LinkConfig = LinkConfig {
    buffer_bytes: TransportConfig::PAPER.dci_buffer_bytes,
    ..LinkConfig::PAPER
};

/// Default bound on the delay of a candidate's path under `downhill-delay`: one and a half times the least delay, which
/// excludes few candidates on wide-area networks.
pub const STRETCH: Ratio = Ratio::new(3, 2).expect("a fraction");

/// Default maximum number of candidates for one destination: as many as a switch can choose among.
pub const MAX_CANDIDATES: u8 = limits::MAX_CANDIDATES;

/// Default maximum number of tunnels for a pair of datacenters, as in published traffic engineering (such as NCFlow).
pub const TUNNELS: u8 = 4;

/// Default seed of all random numbers.
pub const SEED: u64 = 1;

/// Default number of runs per policy.
pub const REPETITIONS: u32 = 1;

/// Default scale: chosen automatically to fit the capacity of the machine or guest that runs the lab.
pub const SCALE: ScaleSpec = ScaleSpec::Auto;

/// Default settings of the traffic generator: the largest RoCE MTU, which gives the fewest packets, and DSCP 26 with
/// ECT(0), a class that RoCE networks commonly treat as lossless and ECN-capable.
pub const GENERATOR: Generator = Generator {
    tool: Tool::SendBw,
    mtu: 4096,
    traffic_class: 0x6a,
};

/// Default recording intervals, short enough to show how a queue on a 5 ms path builds up and drains.
pub const MEASURE: Measure = Measure {
    from: Nanos::ZERO,
    to: None,
    queues: Nanos::from_millis(10),
    links: Nanos::from_millis(10),
    switches: Nanos::from_millis(100),
};

/// Default maximum age of a switch's tables and queue samples: a thousand of LCMP's sample intervals. An agent on a
/// busy machine is never that late; if an agent stops, its switch stops using old samples after this time.
pub const MAX_TABLE_AGE: Nanos = Nanos::from_millis(1_000);
