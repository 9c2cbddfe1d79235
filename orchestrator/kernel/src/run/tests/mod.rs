//! Tests of several modules of [`super`].
//!
//! - `live`: switches on this kernel
//! - `replay`: recorded runs
//! - `settings`: effects of every key in a scenario

mod live;
mod replay;
mod settings;
