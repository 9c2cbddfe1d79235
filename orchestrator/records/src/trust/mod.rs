//! Trust in a run: the bounds of its figures, and the verdict by them.
//!
//! A run is **valid** if every figure is within its bound, **doubtful** if one is not, with the figure and
//! the bound as the reason, and **invalid** if one is so far out that the results are not those of the
//! scenario, or none.
//!
//! - [`bounds`][]: every bound, with its reason
//! - `conduct`: figures of the lab and its machine
//! - `verdict`, `grade`: the judgement; `reason`, `code`: codes and figures, which whoever shows them puts into words

pub mod bounds;
mod code;
mod conduct;
mod grade;
mod reason;
mod verdict;

pub use bounds::{LinkBounds, Place};
pub use code::ReasonCode;
pub use conduct::{Certification, Conduct, CpuWatch, Deviation, Recovery, Watch};
pub use grade::Grade;
pub use reason::Reason;
pub use verdict::Verdict;
