//! Cells as tasks of Slurm: arrays of tasks with limits, and the states that Slurm reports.
//!
//! - `limits`: limits of a task from estimates
//! - `array`: tasks with equal limits, as the sweep's directory has them
//! - `state`: states of tasks, and their ends

mod array;
mod limits;
mod state;

pub use array::{TaskArray, TaskCell, TaskHistory, TaskPlan};
pub use limits::TaskLimits;
pub use state::{FORMAT, TaskEnd, TaskId, TaskState, task_states};
