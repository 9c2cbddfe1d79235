//! Batches: a run directory for each wanted run, in the order of the wanted runs.
//!
//! An ended run in the results directory serves for a wanted one if both have the same identity, which can be computed
//! before the run. So an interrupted batch needs no stored state: when it is started again, it makes only the missing
//! runs.
//!
//! - `wanted`: a wanted run as plain data, with the identity of runs that may serve instead
//! - `found`: index of the ended runs in a results directory
//! - `make`: makers of runs; today this process
//! - `answers`: the batch itself
//! - `progress`: its line on standard error
//!
//! Runs share no memory. Another maker, such as one that starts a process or a cluster job, implements [`Make`]: it
//! gets a [`Wanted`], which serde can write to a file, and returns a directory in the results directory. A run counts
//! only once `run.json` has its outcome, which is written last, by rename; a maker that copies the directory from
//! another machine must rename it into place as a whole. To perform several runs at once, a maker needs one function
//! that starts a run and one that waits for it: [`RunBatch::answers`] knows all wanted runs beforehand and returns the
//! answers in their order.

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
