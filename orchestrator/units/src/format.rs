//! Format numbers of files that several crates write and read.

/// Format of `plan.json`, in its key `format`. The number rises with every change of a key or of a key's meaning;
/// `lab-records` compares it before it reads anything else of a plan.
///
/// - 1: the first plans
/// - 2: the window of measured flows, listed flows in the load, and the reasons for an automatic scale
pub const PLAN_FORMAT: u32 = 2;
