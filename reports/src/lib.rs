//! Reports on run directories: figures, tables, and a self-contained HTML page.
//!
//! [`render`] reads a run directory and nothing else, and writes `figures/` and `report.html` into it. The same records
//! give the same bytes on every machine.
//!
//! Must not contain: engines, the plan, clocks, anything that needs root.
//!
//! - `run`: facts, flows and query results; `route`, `size_bins`: groups of flows
//! - `frames`: queries on the tables, by polars
//! - `stats`: percentiles, means and their changes, with intervals over repetitions
//! - `questions`: what a run answers, on its page, in the text at its end and in `summary.json`
//! - `closing`: the text at the end of a run
//! - `departures`: parameters that are not the paper's, for tables and legends
//! - `report`, `summary`: the report of a run, and its results in a few numbers
//! - `series`: quantities over time, for figures and the page
//! - `figures`, `figure`: the data of each figure, drawn by plotters as SVG and PNG
//! - `page`: the HTML page of a run
//! - [`check`]: results of judging verbs; `document`: their form for terminals, pages and Markdown
//! - `facts`: a run, opened once for all code that judges it
//! - [`fidelity`]: comparison of two runs of one plan, flow by flow
//! - [`compare`]: comparison of runs with a stated difference, by policy and flow size
//! - [`coverage`]: how often intervals contain the true value
//! - [`sweep`]: effects of policies at the points of a grid of runs
//! - [`survey`]: what a sweep over many networks says about each policy
//! - `published`: figure of published values next to those of runs
//! - `text`: quantities as text; [`words`]: sentences for the codes and figures in records
//! - `learning`: figure of a training's learning curve
//! - `parallel`: work on several threads
//!
//! ```no_run
//! let report = lab_reports::render("results/latest".as_ref())?;
//! println!("{}", report.html.display());
//! # Ok::<(), lab_reports::ReportError>(())
//! ```
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
mod population;
mod published;
mod questions;
mod report;
mod route;
mod run;
mod series;
mod size_bins;
mod stats;
mod summary;
pub mod survey;
pub mod sweep;
#[cfg(test)]
mod testing;
mod text;
pub mod words;

pub use closing::painted;
pub use error::{DrawError, ReportError};
pub use learning::draw_learning;
pub use page::frame::document as bare_page;
pub use published::{Series, draw_published};
pub use report::{Numbers, Report, render};
pub use stats::{
    Change, Effect, Estimate, Interval, Intervals, Meaning, Pair, Paired, PaperReductions,
    Slowdowns, Statistic, UncertaintyMethod, WINDOWS, change, change_between, nearest_rank, paired,
    paper_bins, reductions, replicates, slowdowns, student, student_margin, welch,
};
pub use summary::{PolicySummary, Summary, WithChoice};
