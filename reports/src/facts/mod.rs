//! A run, opened once for all code that judges it.
//!
//! - `run`: records of the run, and reasons to distrust them
//! - `origin`: description of a compared run
mod origin;
mod run;

pub use origin::RunOrigin;
pub use run::RunFacts;
