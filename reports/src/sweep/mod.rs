//! Results of a sweep: what each policy changes at each point, as values, text and page.
//!
//! - `numbers`: results of a cell, the summary that a sweep keeps of a run
//! - `effects`: changes of each policy against a baseline, and their significance
//! - `point`: cells that differ in the seed alone
//! - `sensitivity`: how much each axis moves the p99
//! - `answer`, `document`, `figures`: the sweep's results as values, text and page

mod answer;
mod document;
mod effects;
mod figures;
mod numbers;
mod point;
mod sensitivity;
#[cfg(test)]
pub(crate) mod testing;

pub use answer::{CellProblem, CellRun, SweepAnswer, SweepTitle};
pub use effects::{Effect, EffectOutcome, FALSE_DISCOVERIES};
pub(crate) use effects::{P50, P99, Percentile, distinct, effects};
pub use numbers::{CellNetwork, CellNumbers, CellPolicy, DrawSlowdowns, Slice};
pub use point::{Point, PointCells, PolicyLevel};
pub use sensitivity::Sensitivity;
