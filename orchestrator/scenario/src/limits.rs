//! The bounds of what a scenario may say. Beyond them a scenario is refused, with the bound.

use lab_units::Bytes;

/// Largest scenario text in bytes; it keeps a wrong file (a log, an image) from being parsed.
pub const MAX_SCENARIO_BYTES: usize = 1 << 20;
/// Largest size CDF or flow file in bytes; a flow file of [`MAX_FLOWS`] rows fits.
pub const MAX_FILE_BYTES: usize = 64 << 20;
/// Problems shown at once; the rest would hide the first.
pub const MAX_PROBLEMS: usize = 20;

/// Most datacenters; the switch program's tables have a row for each.
pub const MAX_DCS: usize = 64;
/// Most hosts in all.
pub const MAX_HOSTS: u32 = 4096;
/// Most inter-DC links.
pub const MAX_LINKS: usize = 1024;
/// Longest datacenter name: interface names have 15 characters, of which the plan needs seven.
pub const MAX_DC_NAME: usize = 8;
/// Longest scenario name, which is part of file and namespace names.
pub const MAX_NAME: usize = 32;

/// Most flows of a flow list, a flow file or a workload.
pub const MAX_FLOWS: usize = 1_000_000;
/// Largest flow.
pub const MAX_FLOW_SIZE: Bytes = Bytes::new(100_000_000_000);
/// Most points of a size distribution.
pub const MAX_CDF_POINTS: usize = 10_000;
