//! Results of a sweep: what each policy changes at each point, as values, text and page.
//!
//! - `numbers`: results of a cell, the summary that a sweep keeps of a run
//! - `effects`: changes of each policy against a baseline, and their significance
//! - `point`: cells that differ in the seed alone
//! - `answer`, `document`, `figures`: the sweep's results as values, text and page

mod answer;
mod document;
mod effects;
mod figures;
mod numbers;
mod point;

pub use answer::{CellProblem, SweepAnswer, SweepTitle};
pub use effects::{Effect, EffectOutcome, FALSE_DISCOVERIES, Slice};
pub use numbers::{CellNumbers, CellPolicy, DrawSlowdowns};
pub use point::{Point, PointCells, PolicyLevel};
