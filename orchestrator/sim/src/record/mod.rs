//! Records of a simulation: the rows of a run directory, made during the run.
//!
//! - `windows`: observer that hands over the trace events of each window of virtual time
//! - `recorder`: conversion of trace events to rows, which keeps the state of active flows
//! - `rows`: conversion of single events
//! - `story`: the events of single flows, where repetitions of an event share one row

mod recorder;
mod rows;
mod story;
mod windows;

use std::{panic::resume_unwind, sync::mpsc::sync_channel, thread};

use lab_records::RecordsError;

pub use self::recorder::Sink;
use self::{
    recorder::Recorder,
    windows::{ProgressWatch, Windows},
};
use crate::{
    error::SimError,
    run::{Outcome, RunOptions},
    simulate::{Job, Run, simulate_with},
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

/// Simulates `job` and passes its rows to `sink` after each window in virtual time: a flow's row when the flow ends, or
/// with the last window if it does not. `watch` is called with the progress after each window; if it returns false, the
/// run stops.
///
/// # Errors
/// Fails if the plan cannot be simulated or `sink` fails, which ends the run.
pub fn record(
    job: Job<'_>,
    options: &RunOptions,
    sink: Sink<'_>,
    watch: ProgressWatch<'_>,
) -> Result<Outcome, RecordError> {
    let written = simulate_with(job, options, |context, run| {
        let mut recorder = Recorder::new(context, options, sink);
        let (recorder, outcome) = if options.threads > 1 {
            with_thread(recorder, run, watch)
        } else {
            let outcome = run(&mut Windows::new(
                &mut |events| recorder.window(events),
                watch,
            ));
            (recorder, outcome)
        };
        recorder.close(&outcome).map(|()| outcome)
    });
    Ok(written??)
}

/// Runs a simulation with `recorder` in a thread of its own, and returns both.
fn with_thread<'w>(
    mut recorder: Recorder<'w>,
    run: Run<'_>,
    watch: ProgressWatch<'_>,
) -> (Recorder<'w>, Outcome) {
    thread::scope(|scope| {
        let (sender, windows) = sync_channel(MAX_WAITING);
        let thread = scope.spawn(move || {
            // The sender learns of a failed sink from the closed channel.
            windows.into_iter().all(|events| recorder.window(events));
            recorder
        });
        let mut hand_over = move |events| sender.send(events).is_ok();
        let outcome = run(&mut Windows::new(&mut hand_over, watch));
        drop(hand_over);
        match thread.join() {
            Ok(recorder) => (recorder, outcome),
            Err(panic) => resume_unwind(panic),
        }
    })
}

/// Maximum number of windows whose events wait for the recorder's thread; then the simulation waits, so that memory is
/// bounded.
const MAX_WAITING: usize = 4;
