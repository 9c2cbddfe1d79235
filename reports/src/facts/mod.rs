//! A run, opened once for all that judge it.
mod origin;

pub use origin::RunOrigin;
