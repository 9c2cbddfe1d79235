//! Limits of a Slurm task.

use std::fmt;

use lab_units::{Bytes, show::counted};
use serde::{Deserialize, Serialize};

use crate::queue::CellCost;

/// Limits of a Slurm task. Estimated limits are rounded up to powers of two, so that tasks of similar cells share an
/// array.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Ord, PartialOrd, Serialize, Deserialize)]
pub struct TaskLimits {
    /// Wall time in minutes.
    pub minutes: u64,
    /// Memory in MiB.
    pub mebibytes: u64,
}

/// Factor from the estimated time of a task to its limit, for nodes that are slower than the machine of the estimate.
const TIME_MARGIN: f64 = 4.0;

/// Factor from the estimated memory of a cell to the limit of its task.
const MEMORY_MARGIN: f64 = 1.5;

/// Factor by which a limit that was too small is raised.
const RAISE: u64 = 4;

/// Least limits: a node may have to read the program over a slow network first.
const LEAST: TaskLimits = TaskLimits {
    minutes: 8,
    mebibytes: 256,
};

impl TaskLimits {
    /// Returns the limits of a task with the estimate `cost`.
    #[must_use]
    pub fn of(cost: CellCost) -> Self {
        Self {
            minutes: power(cost.seconds * TIME_MARGIN / 60.0).max(LEAST.minutes),
            mebibytes: mebibytes(cost.memory),
        }
    }

    /// Returns the limits with four times the time.
    #[must_use]
    pub const fn with_more_time(self) -> Self {
        Self {
            minutes: self.minutes * RAISE,
            ..self
        }
    }

    /// Returns the limits with four times the memory.
    #[must_use]
    pub const fn with_more_memory(self) -> Self {
        Self {
            mebibytes: self.mebibytes * RAISE,
            ..self
        }
    }
}

/// Returns the limit in MiB for the estimate `memory` of a cell.
pub fn mebibytes(memory: Bytes) -> u64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a power of two near it is enough"
    )]
    let estimate = memory.get() as f64 / f64::from(1 << 20);
    power(estimate * MEMORY_MARGIN).max(LEAST.mebibytes)
}

/// Returns the least power of two that is not below `value`.
fn power(value: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "limits are small and positive"
    )]
    let whole = value.ceil() as u64;
    whole.next_power_of_two()
}

impl fmt::Display for TaskLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minutes = counted(self.minutes, "minute");
        write!(f, "{minutes} and {} MiB", self.mebibytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(seconds: f64, mebibytes: u64) -> (u64, u64) {
        let limits = TaskLimits::of(CellCost {
            seconds,
            memory: Bytes::new(mebibytes << 20),
        });
        (limits.minutes, limits.mebibytes)
    }

    /// 241 s × 4 are 16.07 min, and 343 MiB × 1.5 are 514.5 MiB.
    #[test]
    fn limits_are_the_next_powers_of_two_above_the_estimate_with_its_margin() {
        assert_eq!(of(1.0, 1), (8, 256));
        assert_eq!(of(240.0, 341), (16, 512));
        assert_eq!(of(241.0, 343), (32, 1024));
    }

    #[test]
    fn a_limit_that_was_too_small_is_raised_four_times() {
        let limits = TaskLimits::of(CellCost {
            seconds: 0.0,
            memory: Bytes::ZERO,
        });
        assert_eq!(
            limits.with_more_time().to_string(),
            "32 minutes and 256 MiB"
        );
        assert_eq!(
            limits.with_more_memory().to_string(),
            "8 minutes and 1024 MiB"
        );
    }
}
