//! The format version and the names inside a run directory.

/// Version of the run directory: the only one this lcmp-lab writes and reads. It grows with every
/// change of a column, a field or a meaning; records are made again in minutes, and a run that is
/// half understood misleads.
///
/// - 1: the kernel's runs
/// - 2: simulated runs: `semantics` of flows, `tx_packets` and `marks` of links, `pfc.csv`,
///   `story.csv`
/// - 3: `switches.csv`, `ports.csv`
pub const FORMAT_VERSION: u32 = 3;

/// What the run was and how it went.
pub const RUN_FILE: &str = "run.json";

/// The scenario as it was read.
pub const SCENARIO_FILE: &str = "scenario.yaml";

/// The plan.
pub const PLAN_FILE: &str = "plan.json";

/// Where figures go.
pub const FIGURES_DIR: &str = "figures";

/// The report.
pub const REPORT_FILE: &str = "report.html";

/// The link to the newest run, beside the run directories.
pub const LATEST: &str = "latest";
