//! Format numbers of files that several crates write and read.

/// Format of `plan.json`, stored under its key `format`. The number rises whenever a key or the meaning of a key
/// changes; `lab-records` compares the number before it reads anything else in a plan.
///
/// - 1: the original plans
/// - 2: the window of measured flows, listed flows in the load, and the reasons for an automatic scale
pub const PLAN_FORMAT: u32 = 2;
