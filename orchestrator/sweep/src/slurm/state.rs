//! States of Slurm tasks, as `squeue` prints them.

use std::{collections::BTreeMap, fmt};

/// Task of an array: Slurm's number of the job, and the task's index.
pub type TaskId = (u64, usize);

/// State of a task.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum TaskState {
    /// Not started, with Slurm's reason.
    Waiting(String),
    Running,
    Ended(TaskEnd),
}

/// End of a task.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TaskEnd {
    /// The program ended by itself.
    Completed,
    /// The program ended with an error or by a signal.
    Failed,
    TimedOut,
    OutOfMemory,
    /// A user or an administrator ended the task.
    Cancelled,
    /// The task's node failed, or had to be given to another job.
    NodeLost,
    /// Slurm no longer knows the task.
    Forgotten,
}

impl TaskState {
    /// Parses a state of Slurm, with Slurm's reason for it. Other states, such as those that later versions may add,
    /// count as running, so that no task is given up that may still write its results.
    fn parse(state: &str, reason: &str) -> Self {
        match state {
            "PENDING" | "CONFIGURING" | "REQUEUED" | "REQUEUE_HOLD" | "REQUEUE_FED"
            | "RESV_DEL_HOLD" | "SPECIAL_EXIT" | "SUSPENDED" | "STOPPED" => {
                Self::Waiting(reason.to_owned())
            }
            "COMPLETED" => Self::Ended(TaskEnd::Completed),
            "FAILED" => Self::Ended(TaskEnd::Failed),
            "TIMEOUT" | "DEADLINE" => Self::Ended(TaskEnd::TimedOut),
            "OUT_OF_MEMORY" => Self::Ended(TaskEnd::OutOfMemory),
            "CANCELLED" => Self::Ended(TaskEnd::Cancelled),
            "NODE_FAIL" | "BOOT_FAIL" | "PREEMPTED" => Self::Ended(TaskEnd::NodeLost),
            _ => Self::Running,
        }
    }
}

/// Format of a line of `squeue` that [`task_states`] reads.
pub const FORMAT: &str = "%i|%T|%r";

/// Reads the states of tasks from the output of `squeue` with [`FORMAT`]. Lines of jobs that are no arrays are left out.
#[must_use]
pub fn task_states(output: &str) -> BTreeMap<TaskId, TaskState> {
    let of_line = |line: &str| {
        let mut fields = line.trim().splitn(3, '|');
        let (job, index) = fields.next()?.split_once('_')?;
        let id = (job.parse().ok()?, index.parse().ok()?);
        let state = fields.next()?;
        Some((
            id,
            TaskState::parse(state, fields.next().unwrap_or_default()),
        ))
    };
    output.lines().filter_map(of_line).collect()
}

impl fmt::Display for TaskEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Completed => "ended without results",
            Self::Failed => "failed",
            Self::TimedOut => "reached its time limit",
            Self::OutOfMemory => "ran out of memory",
            Self::Cancelled => "was cancelled",
            Self::NodeLost => "lost its node",
            Self::Forgotten => "is no longer known to Slurm",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines that Slurm 22.05 printed for an array whose task 2 was killed and whose task 4 lost its node.
    #[test]
    fn states_are_read_from_the_lines_of_squeue() {
        let states = task_states(
            "1_4|PENDING|BeginTime\n1_0|COMPLETED|None\n1_2|FAILED|JobLaunchFailure\n1_5|RUNNING|None\n\n7|RUNNING|None\n",
        );
        let expected = [
            ((1, 0), TaskState::Ended(TaskEnd::Completed)),
            ((1, 2), TaskState::Ended(TaskEnd::Failed)),
            ((1, 4), TaskState::Waiting("BeginTime".to_owned())),
            ((1, 5), TaskState::Running),
        ];
        assert_eq!(states, BTreeMap::from(expected));
    }

    #[test]
    fn ends_of_tasks_are_told_apart() {
        let end = |state| match TaskState::parse(state, "") {
            TaskState::Ended(end) => Some(end),
            _ => None,
        };
        assert_eq!(end("TIMEOUT"), Some(TaskEnd::TimedOut));
        assert_eq!(end("OUT_OF_MEMORY"), Some(TaskEnd::OutOfMemory));
        assert_eq!(end("CANCELLED"), Some(TaskEnd::Cancelled));
        assert_eq!(end("NODE_FAIL"), Some(TaskEnd::NodeLost));
        assert_eq!(end("PREEMPTED"), Some(TaskEnd::NodeLost));
        assert_eq!(end("COMPLETING"), None);
        // In a federation, such a job runs on another cluster.
        assert_eq!(end("REVOKED"), None);
        assert_eq!(end("A_STATE_OF_A_LATER_VERSION"), None);
        assert_eq!(
            TaskState::parse("REQUEUED", "Resources"),
            TaskState::Waiting("Resources".to_owned())
        );
    }
}
