//! Records of a simulation: an observer that writes a run directory's rows while the run goes.
//!
//! - `rows`: row of a trace event
//! - `story`: events of single flows, repeated events in one row
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

/// Error of a recorded simulation.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The plan cannot be simulated.
    #[error(transparent)]
    Sim(#[from] SimError),
    /// A row cannot be written.
    #[error(transparent)]
    Records(#[from] RecordsError),
}

/// Simulates `job` and writes its rows: a flow's when the flow ends, and at the end of the run one for
/// every unfinished flow. `watch` is called with the progress of each window; false stops the run.
///
/// # Errors
/// A plan that cannot be simulated, or a row that cannot be written; rows written before stay.
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
