//! Trust in a run's results: bounds on the run's figures, and the resulting verdict.
//!
//! A run is **valid** if every figure is within its bound; **doubtful** if a figure is outside its bound, with the
//! figure and the bound as the reason; and **invalid** if a figure is so far outside that the results are not results
//! of the scenario, or if there are no results.
//!
//! - [`bounds`][]: bounds, each with its reason
//! - `conduct`: figures about the lab and its machine
//! - `verdict`, `grade`: the judgement; `reason`, `code`: its reasons as codes and figures, which `lab-reports` turns
//!   into sentences

pub mod bounds;
mod code;
mod conduct;
mod grade;
mod reason;
mod verdict;

pub use bounds::LinkBounds;
pub use code::ReasonCode;
pub use conduct::{Certification, Conduct, CpuWatch, Deviation, Recovery, Watch};
pub use grade::Grade;
pub use reason::Reason;
pub use verdict::Verdict;
