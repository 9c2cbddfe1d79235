//! Format numbers of files that several crates write and read.

/// Format of `plan.json`, in its `format`. It grows with every change of a key or of a key's meaning; `lab-records`
/// compares it before anything else of a plan is read.
///
/// - 1: the first plans
/// - 2: the window of measured flows, flows of lists in the load, and the reasons of an automatic scale
pub const PLAN_FORMAT: u32 = 2;
