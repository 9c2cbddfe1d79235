//! What is asked of the rows: of flows groups, joins and sorts, as polars queries; of the tables
//! that may have many millions of rows only what can be added up on the way.
//!
//! Sums are of integers and every result is sorted by its keys, so that neither depends on the
//! number of threads.

mod flows;
mod links;
mod pauses;
mod series;

pub use flows::{FlowFrame, Pair, RouteShare};
pub use links::{LinkTally, LinkUse};
pub use pauses::{PauseTally, Pauses};
pub use series::{LinkSeries, SeriesTally, time_around};

/// One value of each row.
fn values<'a, R, T>(rows: &'a [R], value: impl Fn(&'a R) -> T) -> Vec<T> {
    rows.iter().map(value).collect()
}
