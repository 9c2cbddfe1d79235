//! Cells of a sweep as tasks of Slurm.
//!
//! - `commands`: the commands of Slurm
//! - `controller`: submits tasks, watches them, and tries those again that Slurm lost
//! - `task`: the process of one task

mod commands;
mod controller;
mod task;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, thread,
    time::{Duration, Instant},
};

use lab_sweep::{
    Manifest, Store,
    slurm::{TaskArray, TaskId, TaskState},
};
use lab_units::show::counted;

pub use self::{controller::Controller, task::task};
use crate::{failure::Failure, terminal::note};

/// Ends all Slurm tasks of the sweep in `store`, and waits until they have ended. `is_watched` is true if another process
/// watches them, which then removes their records.
/// Fails if Slurm cannot be asked; the tasks then stay known.
pub fn cancel(store: &Store, is_watched: bool) -> Result<(), Failure> {
    let arrays = store.arrays()?;
    if arrays.is_empty() {
        return Err(Failure::usage(format_args!(
            "the sweep in `{}` has no Slurm tasks (hint: Ctrl-C ends a sweep that runs on this machine)",
            store.dir().display()
        )));
    }
    store.ask_to_cancel()?;
    let jobs = commands::jobs_of(store, &arrays)?;
    let since = Instant::now();
    while commands::cancel(&jobs)? {
        if since.elapsed() > PATIENCE {
            let message = "some Slurm tasks have been cancelled and have not ended yet";
            return Err(Failure::environment(message));
        }
        thread::sleep(BETWEEN);
    }
    let numbers: Vec<String> = jobs.iter().map(u64::to_string).collect();
    note(&format!("cancelled Slurm jobs: {}", numbers.join(", ")));
    if !is_watched {
        forget(store)?;
    }
    Ok(())
}

/// Removes the records of all tasks, which have ended, and the request to end them.
fn forget(store: &Store) -> Result<(), Failure> {
    for array in store.arrays()? {
        store.remove_array(&array.name)?;
    }
    Ok(store.forget_cancel()?)
}

/// Maximum time until cancelled tasks have ended, and time between two looks at them.
const PATIENCE: Duration = Duration::from_secs(120);
const BETWEEN: Duration = Duration::from_secs(1);

/// Says how many Slurm tasks of the sweep in `store` run and wait, if there are any.
pub fn describe(store: &Store) -> Result<(), Failure> {
    let arrays = store.arrays()?;
    if arrays.is_empty() {
        return Ok(());
    }
    let counts = match commands::states() {
        Ok(states) => TaskCounts::in_arrays(&arrays, &states).to_string(),
        Err(failure) => failure.message,
    };
    note(&format!("Slurm: {counts}"));
    Ok(())
}

/// Checks that no Slurm task runs cells of another definition of the sweep in `store` than `manifest`, or, unless
/// `is_on_slurm`, any cells.
/// Fails with exit code 2.
pub fn check_tasks(store: &Store, manifest: &Manifest, is_on_slurm: bool) -> Result<(), Failure> {
    if store.arrays()?.is_empty() {
        return Ok(());
    }
    let dir = store.dir().display();
    if !is_on_slurm {
        return Err(Failure::usage(format_args!(
            "the sweep in `{dir}` has tasks on Slurm (hint: `--on slurm` watches them, `lcmp-lab sweep cancel {dir}` ends them)"
        )));
    }
    // Of a damaged manifest, nobody knows which cells the tasks run.
    let earlier = store.manifest().ok().flatten();
    if earlier.as_ref() != Some(manifest) {
        return Err(Failure::usage(format_args!(
            "Slurm tasks run cells of an earlier definition of the sweep in `{dir}` (hint: `lcmp-lab sweep cancel {dir}` ends them; results stay)"
        )));
    }
    Ok(())
}

/// Numbers of tasks that have not ended.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct TaskCounts {
    running: usize,
    waiting: usize,
    /// Slurm's reasons for waiting tasks, with their numbers.
    reasons: BTreeMap<String, usize>,
}

/// Reasons that no other job's end removes.
const NEVER: [&str; 7] = [
    "AssocMaxWallDurationPerJobLimit",
    "BadConstraints",
    "JobHeldAdmin",
    "JobHeldUser",
    "PartitionTimeLimit",
    "QOSMaxWallDurationPerJobLimit",
    "launch_failed_requeued_held",
];

impl TaskCounts {
    /// Counts the tasks in `arrays`; `states` has all of the user's tasks.
    fn in_arrays(arrays: &[TaskArray], states: &BTreeMap<TaskId, TaskState>) -> Self {
        let jobs: BTreeSet<u64> = arrays.iter().filter_map(|array| array.job).collect();
        let own = states.iter().filter(|((job, _), _)| jobs.contains(job));
        Self::of(own.map(|(_, state)| state))
    }

    fn of<'a>(states: impl Iterator<Item = &'a TaskState>) -> Self {
        let mut counts = Self::default();
        for state in states {
            match state {
                TaskState::Running => counts.running += 1,
                TaskState::Waiting(reason) => {
                    counts.waiting += 1;
                    *counts.reasons.entry(reason.clone()).or_default() += 1;
                }
                TaskState::Ended(_) => {}
            }
        }
        counts
    }

    /// Returns the reason why a task will never start by itself; `None` if there is none.
    fn obstacle(&self) -> Option<&str> {
        let mut reasons = self.reasons.keys().map(String::as_str);
        reasons.find(|reason| NEVER.contains(&&*reason.replace(' ', "_")))
    }
}

impl fmt::Display for TaskCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let running = counted(self.running as u64, "task");
        write!(f, "{running} running, {} waiting", self.waiting)?;
        match self.reasons.iter().max_by_key(|(_, count)| **count) {
            Some((reason, _)) if reason != "None" => write!(f, " ({reason})"),
            _ => Ok(()),
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
        let one = TaskCounts::of(states[..1].iter());
        assert_eq!(one.to_string(), "1 task running, 0 waiting");
        assert_eq!(one.obstacle(), None);
    }

    #[test]
    fn a_task_that_never_starts_is_told_from_one_that_waits() {
        let waits = |reason: &str| TaskState::Waiting(reason.to_owned());
        let states = [
            waits("Priority"),
            waits("Priority"),
            waits("PartitionTimeLimit"),
        ];
        let counts = TaskCounts::of(states.iter());
        assert_eq!(counts.to_string(), "0 tasks running, 3 waiting (Priority)");
        assert_eq!(counts.obstacle(), Some("PartitionTimeLimit"));
    }
}
