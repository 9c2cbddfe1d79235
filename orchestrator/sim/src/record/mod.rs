//! Records of a simulation: an observer that makes the rows of a run directory during the run.
//!
//! - `rows`: conversion of trace events to rows
//! - `story`: the events of single flows, where repetitions of an event share one row
//! - `recorder`: the observer

mod recorder;
mod rows;
mod story;

use lab_records::RecordsError;

use self::recorder::Recorder;
pub use self::recorder::Sink;
use crate::{
    error::SimError,
    run::{Outcome, Progress, RunOptions},
    simulate::{Job, simulate_with},
};

/// Reason why a recorded simulation failed.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The plan cannot be simulated.
    #[error(transparent)]
    Sim(#[from] SimError),
    /// The receiver of rows failed.
    #[error(transparent)]
    Records(#[from] RecordsError),
}

/// Simulates `job` and passes its rows to `sink` after each window of virtual time: a flow's row when the flow ends, and
/// rows of unfinished flows at the end of the run. `watch` is called with the progress after each window; if it returns
/// false, the run stops.
///
/// # Errors
/// Fails if the plan cannot be simulated or `sink` fails, which ends the run.
pub fn record(
    job: Job<'_>,
    options: &RunOptions,
    sink: Sink<'_>,
    watch: &mut dyn FnMut(Progress) -> bool,
) -> Result<Outcome, RecordError> {
    let written = simulate_with(job, options, |context, run| {
        let mut recorder = Recorder::new(context, &options.trace_filter, sink, watch);
        let outcome = run(&mut recorder);
        recorder.close(&outcome).map(|()| outcome)
    });
    Ok(written??)
}
