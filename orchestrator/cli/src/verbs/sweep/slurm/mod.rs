//! Cells of a sweep as tasks of Slurm.
//!
//! - `commands`: the commands of Slurm
//! - `controller`: submits tasks, watches them, and tries those again that Slurm lost
//! - `task`: the process of one task

mod commands;
mod controller;
mod task;

use lab_sweep::{Store, slurm::TaskState};
use lab_units::show::counted;

pub use self::{controller::Controller, task::task};
use crate::{failure::Failure, terminal::note};

/// Ends all Slurm tasks of the sweep in `store`.
/// Fails if Slurm cannot be asked; the tasks then stay known.
pub fn cancel(store: &Store) -> Result<(), Failure> {
    let arrays = store.arrays()?;
    if arrays.is_empty() {
        return Err(Failure::usage(format_args!(
            "the sweep in `{}` has no Slurm tasks (hint: Ctrl-C ends a sweep that runs on this machine)",
            store.dir().display()
        )));
    }
    for array in arrays {
        let job = match array.job {
            Some(job) => Some(job),
            None => commands::job_of(&array)?,
        };
        if let Some(job) = job {
            commands::cancel(job)?;
            note(&format!("Slurm job {job} is cancelled"));
        }
        store.remove_array(&array.name)?;
    }
    Ok(())
}

/// Says how many Slurm tasks of the sweep in `store` run and wait, if there are any.
pub fn describe(store: &Store) -> Result<(), Failure> {
    let arrays = store.arrays()?;
    if arrays.is_empty() {
        return Ok(());
    }
    let counts = match commands::states() {
        Ok(states) => {
            let jobs: Vec<u64> = arrays.iter().filter_map(|array| array.job).collect();
            let own = states.iter().filter(|((job, _), _)| jobs.contains(job));
            TaskCounts::of(own.map(|(_, state)| state)).to_string()
        }
        Err(failure) => failure.message,
    };
    note(&format!("Slurm: {counts}"));
    Ok(())
}

/// Checks that no Slurm task may still run cells of the sweep in `store`.
/// Fails with exit code 2.
pub fn refuse_tasks(store: &Store) -> Result<(), Failure> {
    let arrays = store.arrays()?;
    if arrays.is_empty() {
        return Ok(());
    }
    let dir = store.dir().display();
    Err(Failure::usage(format_args!(
        "cells of the sweep in `{dir}` run on Slurm (hint: `--on slurm` goes on with them, `lcmp-lab sweep cancel {dir}` ends them)"
    )))
}

/// Numbers of tasks that have not ended.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct TaskCounts {
    running: usize,
    waiting: usize,
    /// Slurm's reason for the last waiting task.
    reason: String,
}

impl TaskCounts {
    fn of<'a>(states: impl Iterator<Item = &'a TaskState>) -> Self {
        let mut counts = Self::default();
        for state in states {
            match state {
                TaskState::Running => counts.running += 1,
                TaskState::Waiting(reason) => {
                    counts.waiting += 1;
                    counts.reason.clone_from(reason);
                }
                TaskState::Ended(_) => {}
            }
        }
        counts
    }
}

impl std::fmt::Display for TaskCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let running = counted(self.running as u64, "task");
        write!(f, "{running} running, {} waiting", self.waiting)?;
        match self.reason.as_str() {
            "" | "None" => Ok(()),
            reason => write!(f, " ({reason})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use lab_sweep::slurm::TaskEnd;

    use super::*;

    #[test]
    fn waiting_tasks_have_slurms_reason() {
        let states = [
            TaskState::Running,
            TaskState::Waiting("Resources".to_owned()),
            TaskState::Ended(TaskEnd::Completed),
            TaskState::Waiting("Resources".to_owned()),
        ];
        let all = TaskCounts::of(states.iter()).to_string();
        assert_eq!(all, "1 task running, 2 waiting (Resources)");
        let one = TaskCounts::of(states[..1].iter()).to_string();
        assert_eq!(one, "1 task running, 0 waiting");
    }
}
