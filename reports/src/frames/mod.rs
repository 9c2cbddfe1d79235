//! Queries on a run's tables with polars.
//!
//! A large table is reduced batch by batch, so memory depends on the size of the result, not of the table. Only
//! integers are summed, and every result is sorted by its keys, so results do not depend on the number of threads.

mod chosen;
mod extent;
mod flows;
mod grid;
mod in_flight;
mod interned;
mod links;
mod of_policy;
mod over_time;
mod pauses;
mod ports;
mod rates;
mod series;
mod stories;
mod unfinished;

use lab_records::{Batch, DecisionRow, Row, Values};
use polars::prelude::*;

use crate::{error::ReportError, facts::RunFacts};
pub use chosen::badness;
pub use flows::{Flows, Span};
pub use grid::TimeGrid;
pub use in_flight::{FlowsOverTime, flows_over_time};
pub use links::{LinkUse, links};
pub use of_policy::RouteShare;
pub use over_time::DirectionSeries;
pub use pauses::{Pauses, pauses};
pub use ports::{PortTotal, ports};
pub use rates::{FlowRates, RateSeries, Rates, jains_index, rates};
pub use series::{LinkSeries, time_around};
pub use stories::{Decision, Stories, stories};
pub use unfinished::Unfinished;

/// Reads the named columns of `R`'s table and reduces them with each of `queries`.
///
/// A query is applied to every batch, and again to the concatenated results of several batches. Its result must
/// therefore have the columns of its input, and reducing parts first must not change the result, which holds for
/// filters, maxima and sums. The column [`ROWS`] is 1 in every row that is read, so its sum is the number of rows.
pub fn reduce<R: Row, const N: usize>(
    run: &RunFacts,
    columns: &[&str],
    queries: [&dyn Fn(LazyFrame) -> LazyFrame; N],
) -> Result<[DataFrame; N], ReportError> {
    let mut reduced: [Option<DataFrame>; N] = std::array::from_fn(|_| None);
    let mut unmerged = 0;
    run.visit_batches::<R, ReportError>(columns, |batch| {
        let batch = frame_of(batch)?;
        unmerged = (unmerged + 1) % MAX_UNMERGED;
        for (frame, query) in reduced.iter_mut().zip(queries) {
            let part = query(batch.clone().lazy()).collect()?;
            let mut whole = match frame.take() {
                Some(whole) => whole.vstack(&part)?,
                None => part,
            };
            if unmerged == 0 {
                whole = query(whole.lazy()).collect()?;
            }
            *frame = Some(whole);
        }
        Ok(())
    })?;
    let mut frames = Vec::new();
    for (frame, query) in reduced.into_iter().zip(queries) {
        let frame = frame.map_or_else(|| empty::<R>(columns), Ok)?;
        frames.push(query(frame.lazy()).collect()?);
    }
    let frames = frames.try_into();
    Ok(frames.expect("a frame for each query"))
}

/// Number of decisions under one policy for one reason.
pub struct DecisionCount {
    /// Label of the policy.
    pub policy: String,
    /// Trigger and rule of the decisions, such as `new_flow/scored`.
    pub reason: String,
    /// Number of decisions.
    pub count: u64,
}

/// Reads the number of decisions for each policy and reason, sorted by both.
pub fn decisions(run: &RunFacts) -> Result<Vec<DecisionCount>, ReportError> {
    let count = |frame: LazyFrame| {
        let keys = [col("policy"), col("reason")];
        frame.group_by(keys).agg([col(ROWS).sum()])
    };
    let [frame] = reduce::<DecisionRow, 1>(run, &["policy", "reason"], [&count])?;
    let frame = frame.sort(["policy", "reason"], SortMultipleOptions::default())?;
    let policies = texts(&frame, "policy")?;
    let reasons = texts(&frame, "reason")?;
    let rows = policies.zip(reasons).zip(numbers(&frame, ROWS)?);
    let count = |((policy, reason), count)| DecisionCount {
        policy,
        reason,
        count,
    };
    Ok(rows.map(count).collect())
}

fn frame_of(batch: &Batch) -> PolarsResult<DataFrame> {
    let column = |(column, values): (&lab_records::Column, &Values)| {
        let name = column.name.into();
        match values {
            Values::Integers(numbers) => Column::new(name, numbers),
            Values::Floats(numbers) => Column::new(name, numbers),
            Values::Texts(texts) => {
                let texts: StringChunked = texts.iter().collect();
                texts.with_name(name).into_column()
            }
        }
    };
    let ones = Column::new(ROWS.into(), vec![1u64; batch.len()]);
    let columns = batch.columns().map(column).chain([ones]);
    DataFrame::new(batch.len(), columns.collect())
}

fn empty<R: Row>(columns: &[&str]) -> PolarsResult<DataFrame> {
    let named = R::COLUMNS.iter().filter(|it| columns.contains(&it.name));
    let column = |column: &lab_records::Column| {
        let kind = match column.kind {
            lab_records::Kind::Integer => DataType::UInt64,
            lab_records::Kind::Float => DataType::Float64,
            lab_records::Kind::Text => DataType::String,
        };
        Column::new_empty(column.name.into(), &kind)
    };
    let rows = Column::new_empty(ROWS.into(), &DataType::UInt64);
    DataFrame::new(0, named.map(column).chain([rows]).collect())
}

/// Returns the texts of a column, with an empty text for a missing value.
fn texts(frame: &DataFrame, name: &str) -> PolarsResult<impl Iterator<Item = String>> {
    let texts = frame.column(name)?.str()?.iter();
    Ok(texts.map(|text| text.unwrap_or_default().to_owned()))
}

/// Returns the numbers of a column, with 0 for a missing value.
fn numbers(frame: &DataFrame, name: &str) -> PolarsResult<impl Iterator<Item = u64>> {
    let numbers = frame.column(name)?.u64()?.iter();
    Ok(numbers.map(Option::unwrap_or_default))
}

/// Name of a column of ones that each batch gets, to count rows.
const ROWS: &str = "rows";

/// Maximum number of batches whose results are kept before they are reduced to one.
const MAX_UNMERGED: u32 = 4;
