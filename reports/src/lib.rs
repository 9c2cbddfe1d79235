//! Run directories to figures, tables and one self-contained HTML page.
//!
//! [`render`] reads a run directory, and nothing else, and writes `figures/` and `report.html` into
//! it. The same records give the same bytes, on every machine.
//!
//! Must not contain: engines, the plan, clocks, anything that needs root.
//!
//! - `run`: facts, flows and query results; `route`, `size_bins`: groups of flows
//! - `frames`: queries on the tables, by polars
//! - `stats`: percentiles, means and their changes, with intervals over repetitions
//! - `answer`: the answer of a run in words
//! - `closing`, `path_shares`, `at_work`: the tables at the end of a run
//! - `departures`: parameters that are not the paper's, for tables and legends
//! - `report`, `summary`: the report of a run, and its results in a few numbers
//! - `figures`, `figure`: the data of each figure, drawn by plotters as SVG and PNG
//! - `page`: the HTML page of a run
//! - [`check`]: results of judging; `document`: answers for terminals, pages and Markdown
//! - `facts`: a run, opened once for all that judge it
//! - [`fidelity`]: two runs of one plan, flow by flow
//! - [`compare`]: runs with a stated difference, per policy and size
//! - [`coverage`]: how often intervals hold the true value
//! - `learning`: the learning curve of a training
//! - `published`: published values beside those of runs
//! - `text`: quantities as text; [`words`]: codes and figures of records in words
//! - `parallel`: work on several threads
//!
//! ```no_run
//! let report = lab_reports::render("results/latest".as_ref())?;
//! println!("{}", report.html.display());
//! # Ok::<(), lab_reports::ReportError>(())
//! ```
mod answer;
mod at_work;
pub mod check;
mod closing;
pub mod compare;
pub mod coverage;
mod departures;
pub mod document;
mod error;
pub mod facts;
pub mod fidelity;
mod figure;
mod figures;
mod frames;
mod learning;
mod page;
mod parallel;
mod path_shares;
mod population;
mod published;
mod report;
mod route;
mod run;
mod size_bins;
mod stats;
mod summary;
#[cfg(test)]
mod testing;
mod text;
pub mod words;

pub use closing::{closing_answer, closing_table};
pub use error::{DrawError, ReportError};
pub use learning::draw_learning;
pub use page::frame::document as bare_page;
pub use published::{Series, draw_published};
pub use report::{Report, render};
pub use stats::{
    Change, Effect, Estimate, Interval, Intervals, Meaning, Pair, Paired, PaperReductions,
    Slowdowns, Statistic, change, change_between, nearest_rank, paired, paper_bins, reductions,
    replicates, slowdowns, student, welch,
};
pub use summary::{PolicySummary, Summary};
