//! Table cells of percentiles and of their changes.

use super::table::Cell;
use crate::{
    stats::{Estimate, Interval},
    text,
};

impl Cell {
    /// Returns the table cell for a slowdown statistic and its interval; `at_least` marks the value as a lower bound.
    pub fn level(estimate: Option<Estimate>, at_least: bool) -> Self {
        let Some(Estimate { value, interval }) = estimate else {
            return Self::none();
        };
        let least = if at_least { "≥ " } else { "" };
        let cell = Self::from(format!("{least}{}", text::slowdown(value)));
        match interval {
            Some(Interval { low, high }) => cell.below(format!(
                "[{}, {}]",
                text::slowdown(low),
                text::slowdown(high)
            )),
            None => cell,
        }
    }

    /// Returns the table cell for a change of `statistic`, computed from `flows` flows. The cell calls the change
    /// better or worse only if `is_ranked`.
    pub fn change(
        estimate: Option<Estimate>,
        flows: usize,
        statistic: &str,
        is_ranked: bool,
    ) -> Self {
        let [value, after] = text::change_parts(estimate, flows, statistic, is_ranked);
        Self::from(value).after(after)
    }
}
