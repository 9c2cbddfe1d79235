//! The format version and the names inside a run directory.

/// Version of the run directory. It grows when a reader of the version before would misread; new
/// columns and new fields that can be ignored do not count.
pub const FORMAT_VERSION: u32 = 1;

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
