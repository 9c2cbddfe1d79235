//! What is asked of the rows: groups, joins and sorts, as polars queries.
//!
//! Sums are of integers and every result is sorted by its keys, so that neither depends on the
//! number of threads.

mod flows;
mod links;

pub use flows::{FlowFrame, Pair, RouteShare};
pub use links::{LinkUse, link_uses};

/// One value of each row.
fn values<'a, R, T>(rows: &'a [R], value: impl Fn(&'a R) -> T) -> Vec<T> {
    rows.iter().map(value).collect()
}
