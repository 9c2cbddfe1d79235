//! A run, opened once for all that judge it.
//!
//! - `run`: its records, and the reasons not to trust them
//! - `origin`: where a compared run comes from
mod origin;
mod run;

pub use origin::RunOrigin;
pub use run::RunFacts;
