//! A simulation as a run directory's rows, written while it goes.
//!
//! - `rows`: a note as a row
//! - `paths`: the datacenters a flow crosses
//! - `story`: events of single flows, repeated events in one row
//! - `recorder`: the observer that writes all of them

mod paths;
mod recorder;
mod rows;
mod story;

use lab_records::{RecordsError, RunWriter};

use self::recorder::Recorder;
use crate::{
    error::SimError,
    run::{Observer, Outcome, Progress, RunOptions},
    simulate::{Audience, Job, Scene, perform},
};

/// Why a run was not recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It cannot be simulated.
    #[error(transparent)]
    Sim(#[from] SimError),
    /// A row could not be written.
    #[error(transparent)]
    Records(#[from] RecordsError),
}

/// Simulates `job` and writes its rows: a finished flow's when it ends, and in the end one for
/// every other. `watch` hears how far it is; false stops the simulation.
///
/// # Errors
/// When it cannot be simulated, or a row cannot be written; rows that were stay.
pub fn record(
    job: Job<'_>,
    options: &RunOptions,
    writer: &mut RunWriter,
    watch: &mut dyn FnMut(Progress) -> bool,
) -> Result<Outcome, RecordError> {
    let recorded = Recorded {
        options,
        writer,
        watch,
    };
    Ok(perform(job, options, recorded)??)
}

struct Recorded<'a> {
    options: &'a RunOptions,
    writer: &'a mut RunWriter,
    watch: &'a mut dyn FnMut(Progress) -> bool,
}

impl Audience for Recorded<'_> {
    type Output = Result<Outcome, RecordsError>;

    fn attend(
        self,
        scene: Scene<'_>,
        play: &mut dyn FnMut(&mut dyn Observer) -> Outcome,
    ) -> Self::Output {
        let mut recorder = Recorder::new(scene, &self.options.told, self.writer, self.watch);
        let outcome = play(&mut recorder);
        recorder.close(&outcome)?;
        Ok(outcome)
    }
}
