//! Arrays of Slurm tasks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    limits::{TaskLimits, mebibytes},
    state::TaskEnd,
};
use crate::queue::CellCost;

/// Array of Slurm tasks with equal limits, as the sweep's directory has it until all of its cells have ended.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct TaskArray {
    /// Name, unique for all time in the sweep's directory, so that a submission whose answer was lost is found again.
    pub name: String,
    /// Slurm's number of the job; `None` until `sbatch` has answered.
    pub job: Option<u64>,
    pub limits: TaskLimits,
    /// Cells of each task, by the task's index.
    pub tasks: Vec<Vec<TaskCell>>,
    #[serde(flatten)]
    pub history: TaskHistory,
}

/// Earlier tasks of the same cells.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct TaskHistory {
    /// True if a task ended without results.
    pub has_failed: bool,
    /// Number of tasks that Slurm or their node lost.
    pub losses: u32,
}

/// Cell of a task.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct TaskCell {
    /// Number of the cell in the grid.
    pub number: usize,
    pub identity: String,
}

/// Task that has not been submitted.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TaskPlan {
    pub limits: TaskLimits,
    /// Cells that the task runs in this order.
    pub cells: Vec<TaskCell>,
}

/// Maximum estimated time of a task of several cells, in seconds, so that starting it costs little beside its cells.
const MAX_SECONDS: f64 = 60.0;

/// Number of tasks over which a sweep is spread at least: no shared task is longer than this fraction of all time.
const MIN_TASKS: f64 = 64.0;

/// Maximum number of tasks of a cell that may be lost.
const MAX_LOSSES: u32 = 3;

impl TaskHistory {
    /// Returns the history and limits of another try after a task with `limits` ended as `end` without all results; `None`
    /// if its cell has failed. Of several cells, it is not known which one ended the task, so none has failed.
    #[must_use]
    pub fn again(
        self,
        limits: TaskLimits,
        end: TaskEnd,
        is_alone: bool,
    ) -> Option<(Self, TaskLimits)> {
        let more = match end {
            // Such an end says nothing of the cells.
            TaskEnd::NodeLost | TaskEnd::Forgotten => {
                let losses = self.losses + 1;
                return (losses <= MAX_LOSSES).then_some((Self { losses, ..self }, limits));
            }
            TaskEnd::TimedOut => limits.with_more_time(),
            _ => limits.with_more_memory(),
        };
        let next = Self {
            has_failed: is_alone,
            ..self
        };
        (!self.has_failed).then_some((next, more))
    }
}

impl TaskPlan {
    /// Distributes cells to tasks; cells whose memory has the same limit may share a task.
    #[must_use]
    pub fn of_cells(cells: Vec<(TaskCell, CellCost)>) -> Vec<Self> {
        let all: f64 = cells.iter().map(|(_, cost)| cost.seconds).sum();
        let most = MAX_SECONDS.min(all / MIN_TASKS);
        let mut by_memory: BTreeMap<u64, Vec<(TaskCell, CellCost)>> = BTreeMap::new();
        for (cell, cost) in cells {
            let alike = by_memory.entry(mebibytes(cost.memory)).or_default();
            alike.push((cell, cost));
        }
        let mut plans = Vec::new();
        for mut alike in by_memory.into_values() {
            alike.sort_by(|(a, one), (b, other)| {
                let order = other.seconds.total_cmp(&one.seconds);
                order.then(a.number.cmp(&b.number))
            });
            let mut rest = alike.into_iter().peekable();
            while let Some((cell, mut cost)) = rest.next() {
                let mut cells = vec![cell];
                let fits = |sum: f64, (_, next): &(TaskCell, CellCost)| sum + next.seconds <= most;
                while let Some((cell, next)) = rest.next_if(|next| fits(cost.seconds, next)) {
                    cost.seconds += next.seconds;
                    cells.push(cell);
                }
                let limits = TaskLimits::of(cost);
                plans.push(Self { limits, cells });
            }
        }
        plans
    }

    /// Distributes tasks to arrays of equal limits with at most `size` tasks each; the longest come first.
    #[must_use]
    pub fn into_arrays(plans: Vec<Self>, size: usize) -> Vec<(TaskLimits, Vec<Vec<TaskCell>>)> {
        let mut classes: BTreeMap<TaskLimits, Vec<Vec<TaskCell>>> = BTreeMap::new();
        for plan in plans {
            classes.entry(plan.limits).or_default().push(plan.cells);
        }
        let mut arrays = Vec::new();
        for (limits, tasks) in classes.into_iter().rev() {
            arrays.extend(tasks.chunks(size).map(|part| (limits, part.to_vec())));
        }
        arrays
    }
}

#[cfg(test)]
mod tests {
    use lab_units::Bytes;

    use super::*;

    fn cells(costs: &[(f64, u64)]) -> Vec<(TaskCell, CellCost)> {
        let cell = |(number, &(seconds, mebibytes)): (usize, &(f64, u64))| {
            let identity = number.to_string();
            let memory = Bytes::new(mebibytes << 20);
            (TaskCell { number, identity }, CellCost { seconds, memory })
        };
        costs.iter().enumerate().map(cell).collect()
    }

    fn numbers(tasks: &[Vec<TaskCell>]) -> Vec<Vec<usize>> {
        let of = |cells: &Vec<TaskCell>| cells.iter().map(|cell| cell.number).collect();
        tasks.iter().map(of).collect()
    }

    /// All cells take 6,400 s, so a task may take 60 s.
    #[test]
    fn short_cells_share_a_task_of_a_minute() {
        let plans = TaskPlan::of_cells(cells(&[
            (30.0, 100),
            (6_000.0, 100),
            (50.0, 100),
            (10.0, 900),
            (20.0, 100),
            (10.0, 100),
            (280.0, 100),
        ]));
        let tasks: Vec<_> = plans.iter().map(|plan| plan.cells.clone()).collect();
        let expected: [&[usize]; 5] = [&[1], &[6], &[2], &[0, 4, 5], &[3]];
        assert_eq!(numbers(&tasks), expected);
    }

    /// A 64th of all time is less than a cell.
    #[test]
    fn few_cells_are_spread() {
        let plans = TaskPlan::of_cells(cells(&[(1.0, 100); 40]));
        assert_eq!(plans.len(), 40);
        let plans = TaskPlan::of_cells(cells(&[(1.0, 100); 128]));
        assert_eq!(plans.len(), 64);
    }

    /// 300 s have a limit of 32 minutes, and 900 MiB one of 2,048 MiB.
    #[test]
    fn an_array_has_tasks_of_equal_limits_and_the_longest_come_first() {
        let plans = TaskPlan::of_cells(cells(&[
            (1.0, 100),
            (300.0, 100),
            (1.0, 900),
            (1.0, 100),
            (1.0, 100),
            (280.0, 100),
        ]));
        let arrays = TaskPlan::into_arrays(
            plans
                .into_iter()
                .filter(|plan| plan.cells.len() == 1)
                .collect(),
            2,
        );
        let limits: Vec<_> = arrays
            .iter()
            .map(|(it, _)| (it.minutes, it.mebibytes))
            .collect();
        assert_eq!(limits[0], (32, 256));
        assert_eq!(numbers(&arrays[0].1), [[1], [5]]);
        assert_eq!(limits[1], (8, 2048));
    }

    #[test]
    fn a_task_is_tried_once_more_with_more_of_what_it_lacked() {
        let limits = TaskLimits {
            minutes: 8,
            mebibytes: 256,
        };
        let first = TaskHistory::default();
        for (end, minutes, mebibytes) in [
            (TaskEnd::TimedOut, 32, 256),
            (TaskEnd::OutOfMemory, 8, 1024),
            (TaskEnd::Failed, 8, 1024),
            (TaskEnd::Completed, 8, 1024),
        ] {
            let (history, more) = first.again(limits, end, true).unwrap();
            assert_eq!(
                (more.minutes, more.mebibytes),
                (minutes, mebibytes),
                "{end:?}"
            );
            assert_eq!(history.again(more, end, true), None, "{end:?}");
        }
    }

    #[test]
    fn of_several_cells_none_has_failed() {
        let limits = TaskLimits {
            minutes: 8,
            mebibytes: 256,
        };
        let again = TaskHistory::default().again(limits, TaskEnd::TimedOut, false);
        assert_eq!(
            again,
            Some((TaskHistory::default(), limits.with_more_time()))
        );
    }

    #[test]
    fn three_lost_tasks_say_nothing_of_their_cells() {
        let limits = TaskLimits {
            minutes: 8,
            mebibytes: 256,
        };
        let (mut history, more) = TaskHistory::default()
            .again(limits, TaskEnd::TimedOut, true)
            .unwrap();
        for end in [TaskEnd::NodeLost, TaskEnd::Forgotten, TaskEnd::NodeLost] {
            let (next, same) = history.again(more, end, true).unwrap();
            assert_eq!((same, next.has_failed), (more, true));
            history = next;
        }
        assert_eq!(history.losses, 3);
        assert_eq!(history.again(more, TaskEnd::Forgotten, true), None);
    }

    #[test]
    fn an_array_has_no_more_tasks_than_slurm_takes() {
        let plans = TaskPlan::of_cells(cells(&[(1.0, 100); 5]));
        let arrays = TaskPlan::into_arrays(plans, 2);
        let sizes: Vec<_> = arrays.iter().map(|(_, tasks)| tasks.len()).collect();
        assert_eq!(sizes, [2, 2, 1]);
    }
}
