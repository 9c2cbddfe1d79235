//! Limits on a scenario's values; the message about a rejected value states the limit.

pub use lab_parameters::limits::{MAX_DELAY, MAX_INTERVAL, MAX_RATE, MIN_INTERVAL, MIN_RATE};
use std::ops::RangeInclusive;

use lab_units::{Bytes, Nanos, Ratio};

/// Maximum size of a scenario text in bytes. A wrong file, such as a log or an image, is rejected without being parsed.
pub const MAX_SCENARIO_BYTES: usize = 1 << 20;
/// Maximum number of scenarios that one scenario extends, directly or through others.
pub const MAX_EXTENDED: usize = 8;
/// Maximum size in bytes of a flow size distribution or a flow file; a flow file with [`MAX_FLOWS`] rows fits.
pub const MAX_FILE_BYTES: usize = 64 << 20;
/// Maximum number of problems of a scenario that an error lists; a longer list would hide the first problems.
pub const MAX_PROBLEMS: usize = 20;
/// Maximum number of YAML nodes after expansion of aliases, because a short text with aliases can expand without bound.
pub const MAX_YAML_NODES: usize = 250_000;
/// Maximum nesting depth of YAML lists and mappings; scenarios need eight levels.
pub const MAX_YAML_DEPTH: usize = 32;

/// Maximum length of a single value in characters; descriptions and paths are the longest.
pub const MAX_VALUE: usize = 1_000;
/// Maximum length of a scenario name, which is part of file and namespace names.
pub const MAX_NAME: usize = 32;
/// Pattern of scenario names and policy labels.
pub const NAME_PATTERN: &str = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$";
/// Maximum number of runs per policy.
pub const MAX_REPETITIONS: u32 = 1_000;

/// Maximum number of datacenters; a lab may have fewer, see the plan's limits.
pub const MAX_DCS: usize = 1_024;
/// Maximum length of a datacenter name: an interface name has at most 15 characters, and the plan needs seven of them.
pub const MAX_DC_NAME: usize = 8;
/// Pattern of datacenter names. They have no dash, because a dash joins the datacenters of a path in records
/// (`dc1-dc4-dc8`) and a datacenter and its node in namespace names (`dc1-h1`).
pub const DC_NAME_PATTERN: &str = "^[a-z][a-z0-9]*$";
/// Datacenter names that are reserved, because they mean something else in namespace names or on the command line.
pub const RESERVED_NAMES: &[&str] = &["all", "any", "ecmp", "fiber", "lcmp", "none", "root"];
/// Maximum number of hosts in all datacenters together; each host gets a network namespace.
pub const MAX_HOSTS: u32 = 4_096;
/// Maximum number of spine switches, and of leaf switches, in a datacenter.
pub const MAX_FABRIC_SWITCHES: u32 = 64;
/// Maximum number of inter-DC links.
pub const MAX_LINKS: usize = 2_048;

/// Minimum speed of light in fibre, in km per ms.
pub const MIN_KM_PER_MS: u32 = 1;
/// Maximum speed of light in fibre, in km per ms: the speed in vacuum.
pub const MAX_KM_PER_MS: u32 = 300;

/// Maximum number of entries in the list `traffic`.
pub const MAX_TRAFFIC: usize = 256;
/// Maximum number of flows in a flow list, a flow file or a workload.
pub const MAX_FLOWS: usize = 1_000_000;
/// Maximum size of one flow, 100 GB.
pub const MAX_FLOW_SIZE: Bytes = Bytes::new(100_000_000_000);
/// Maximum number of points in a size distribution.
pub const MAX_CDF_POINTS: usize = 10_000;
/// Maximum offered load, as a multiple of capacity. Above it, links are always full and results no longer differ.
pub const MAX_LOAD: u64 = 4;
/// Maximum scale of a demand matrix, enough to turn an old network's kbit/s into Gbit/s.
pub const MAX_DEMAND_SCALE: u64 = 1_000_000;
/// Maximum number of rows in a demand matrix.
pub const MAX_DEMANDS: usize = lab_topologies::graph::MAX_DEMANDS;
/// Maximum rate from one datacenter to another in a demand matrix, in bits per second: 1 Pbit/s.
pub const MAX_DEMAND_BPS: u64 = 1_000_000_000_000_000;

/// Returns the permitted range, as text with a hint, if `load` is outside that range; otherwise `None`. `text` is the
/// load as written.
#[must_use]
pub fn beyond_load(load: Ratio, text: &str) -> Option<String> {
    let whole = |number| Ratio::new(number, 1).expect("one is not zero");
    if load != Ratio::ZERO && load <= whole(MAX_LOAD) {
        return None;
    }
    let is_percentage = load.denominator() == 1 && load <= whole(100) && !text.ends_with('%');
    let hint = if is_percentage && load > Ratio::ONE {
        format!(" (hint: did you mean `{load}%`?)")
    } else {
        String::new()
    };
    Some(format!(
        "above 0 and at most {MAX_LOAD}, which is {} %{hint}",
        MAX_LOAD * 100
    ))
}

/// Maximum number of loads in a sweep, a list of loads.
pub const MAX_SWEEP: usize = 16;
/// Maximum number of scenarios of a sweep.
pub const MAX_SCENARIOS: usize = 1_000;
/// Maximum number of cells of a sweep.
pub const MAX_CELLS: u64 = 1_000_000;
/// Maximum start time of flows and faults in paper time, one hour.
pub const MAX_DURATION: Nanos = Nanos::from_millis(3_600_000);
/// Maximum number of assertions in a scenario.
pub const MAX_EXPECTATIONS: usize = 1_000;
/// Maximum number of faults in a scenario, written and drawn.
pub const MAX_FAULTS: usize = 1_000;
/// Maximum mean time between random faults, one year: the mean time between failures of real links is weeks to months.
pub const MAX_MEAN_TIME: Nanos = Nanos::from_millis(365 * 24 * 3_600_000);

/// Maximum number of policies in a scenario.
pub const MAX_POLICIES: usize = 32;
/// Maximum length of a policy's label in characters.
pub const MAX_LABEL: usize = 16;

/// Maximum number of candidates for one destination: as many as a switch can choose among.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a handful; more would not fit the switch program's tables"
)]
pub const MAX_CANDIDATES: u8 = lab_policy::MAX_CANDIDATES as u8;
/// Minimum number of candidates, or tunnels, that a scenario can ask for; one would leave nothing to choose.
pub const MIN_CANDIDATES: u8 = 2;
/// Maximum ratio of a candidate's delay to the least delay; a larger one excludes no path.
pub const MAX_STRETCH: u64 = 1_000;

/// Returns the permitted ratios of a candidate's delay to the least delay.
#[must_use]
pub fn stretches() -> RangeInclusive<Ratio> {
    Ratio::ONE..=Ratio::new(MAX_STRETCH, 1).expect("one is not zero")
}

/// Maximum scale factor; its inverse is the minimum scale factor.
pub const MAX_SCALE: u64 = 1_000_000;

/// Returns the permitted scale factors of rates: at most 1, because a lab cannot be faster than the paper's network.
#[must_use]
pub fn rate_factors() -> RangeInclusive<Ratio> {
    *time_factors().start()..=Ratio::ONE
}

/// Returns the permitted scale factors of times.
#[must_use]
pub fn time_factors() -> RangeInclusive<Ratio> {
    let max = Ratio::new(MAX_SCALE, 1).expect("one is not zero");
    max.inverse().expect("it is not zero")..=max
}
/// RoCE path MTUs, in bytes, that the traffic generator supports.
pub const MTUS: &[u32] = &[1024, 2048, 4096];
