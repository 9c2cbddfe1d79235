//! Batches: from wanted runs to run directories, in the order of the wishes.
//!
//! An ended run in the results directory serves for a wanted one if both have the same identity, which is known before
//! the run. So an interrupted batch needs no state of its own: started again, it makes only the missing runs.
//!
//! - `wanted`: a wanted run as plain data, with the identity of runs that may serve instead
//! - `found`: index of the ended runs in a results directory
//! - `make`: makers of runs; today this process
//! - `answers`: the batch itself
//! - `progress`: its line on standard error
//!
//! Runs share no memory. A maker elsewhere (a process of its own, a job of a cluster) implements [`Make`]: it gets a
//! [`Wanted`], which is plain data, and returns the directory of the run in the results directory. A run counts only
//! once `run.json` has its outcome, which is written last, by rename; a maker that copies the directory from another
//! machine renames it into place as a whole. To run several at once, a maker needs one function that starts a run and
//! one that waits for it: [`RunBatch::answers`] gets all wishes beforehand and returns the answers in their order.

mod answers;
mod found;
mod make;
mod progress;
mod wanted;

pub use self::{
    answers::RunBatch,
    found::FoundRuns,
    make::{Here, Make},
    progress::BatchProgress,
    wanted::{DerivedScenario, Reuse, Wanted},
};
