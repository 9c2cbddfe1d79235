//! The bounds of what a scenario may say. Beyond them a scenario is refused, with the bound.

pub use lab_parameters::limits::{
    MAX_BUFFER, MAX_INTERVAL, MAX_RATE, MAX_TIMER, MIN_INTERVAL, MIN_RATE, MIN_TIMER,
};
use lab_units::{Bytes, Nanos};

/// Largest scenario text in bytes; it keeps a wrong file (a log, an image) from being parsed.
pub const MAX_SCENARIO_BYTES: usize = 1 << 20;
/// Largest size distribution or flow file in bytes; a flow file of [`MAX_FLOWS`] rows fits.
pub const MAX_FILE_BYTES: usize = 64 << 20;
/// Problems shown at once; more would hide the first.
pub const MAX_PROBLEMS: usize = 20;
/// YAML nodes after aliases are expanded, so that a short text cannot grow without bound.
pub const MAX_YAML_NODES: usize = 250_000;
/// Depth of YAML lists and mappings; scenarios have eight.
pub const MAX_YAML_DEPTH: usize = 32;

/// Longest single value in characters: descriptions and paths; the rest is far shorter.
pub const MAX_VALUE: usize = 1_000;
/// Longest scenario name, which is part of file and namespace names.
pub const MAX_NAME: usize = 32;
/// What the names of scenarios and the labels of policies look like.
pub const NAME_PATTERN: &str = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$";
/// Most runs of a policy.
pub const MAX_REPETITIONS: u32 = 1_000;

/// Most datacenters; the switch program's tables have a row for each.
pub const MAX_DCS: usize = 64;
/// Longest datacenter name: interface names have 15 characters, of which the plan needs seven.
pub const MAX_DC_NAME: usize = 8;
/// What datacenter names look like. They have no dash: it stands between the datacenters of a path
/// in records, `dc1-dc4-dc8`, and between a datacenter and its node in namespace names, `dc1-h1`.
pub const DC_NAME_PATTERN: &str = "^[a-z][a-z0-9]*$";
/// Datacenter names that mean something else in namespace names or on the command line.
pub const RESERVED_NAMES: &[&str] = &["all", "any", "ecmp", "fiber", "lcmp", "none", "root"];
/// Most hosts in all; each is a network namespace.
pub const MAX_HOSTS: u32 = 4_096;
/// Most spine switches, and most leaf switches, of a datacenter.
pub const MAX_FABRIC_SWITCHES: u32 = 64;
/// Most inter-DC links.
pub const MAX_LINKS: usize = 1_024;

/// Longest one-way delay of a link.
pub const MAX_DELAY: Nanos = Nanos::from_millis(10_000);
/// Least egress queue: two packets of the largest MTU, with headers.
pub const MIN_BUFFER: Bytes = Bytes::new(10_000);

/// Most sources of flows.
pub const MAX_TRAFFIC: usize = 256;
/// Most flows of a flow list, a flow file or a workload.
pub const MAX_FLOWS: usize = 1_000_000;
/// Largest flow.
pub const MAX_FLOW_SIZE: Bytes = Bytes::new(100_000_000_000);
/// Most points of a size distribution.
pub const MAX_CDF_POINTS: usize = 10_000;
/// Highest load: far past full links every scenario is the same queue.
pub const MAX_LOAD: u64 = 4;
/// Latest start of a flow and latest fault.
pub const MAX_DURATION: Nanos = Nanos::from_millis(3_600_000);
/// Most faults.
pub const MAX_FAULTS: usize = 1_000;

/// Most policies to compare.
pub const MAX_POLICIES: usize = 32;
/// Longest label of a policy.
pub const MAX_LABEL: usize = 16;

/// Largest factor a scale may divide by or multiply with.
pub const MAX_SCALE: u64 = 1_000_000;
/// RoCE path MTUs that leave room for headers on every kind of link and are worth their packets.
pub const MTUS: &[u32] = &[1024, 2048, 4096];

/// Least payload of a full packet in the simulator; less is mostly headers.
pub const MIN_PAYLOAD: u32 = 64;
/// Largest payload of a full packet in the simulator: a jumbo frame's.
pub const MAX_PAYLOAD: u32 = 9_000;
