//! Records of a simulation: an observer that writes the rows of a run directory during the run.
//!
//! - `rows`: conversion of trace events to rows
//! - `story`: the events of single flows, where repetitions of an event share one row
//! - `recorder`: the observer

mod recorder;
mod rows;
mod story;

use lab_records::{RecordsError, RunWriter};

use self::recorder::Recorder;
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
    /// The records cannot be written.
    #[error(transparent)]
    Records(#[from] RecordsError),
}

/// Simulates `job` and writes its rows: a flow's row when the flow ends, and rows of unfinished flows at the end of the
/// run. `watch` is called with the progress after each window of virtual time; if it returns false, the run stops.
///
/// # Errors
/// Fails if the plan cannot be simulated or a row cannot be written; rows that were written before are kept.
pub fn record(
    job: Job<'_>,
    options: &RunOptions,
    writer: &mut RunWriter,
    watch: &mut dyn FnMut(Progress) -> bool,
) -> Result<Outcome, RecordError> {
    let written = simulate_with(job, options, |context, run| {
        let mut recorder = Recorder::new(context, &options.trace_filter, writer, watch);
        let outcome = run(&mut recorder);
        recorder.close(&outcome).map(|()| outcome)
    });
    Ok(written??)
}
