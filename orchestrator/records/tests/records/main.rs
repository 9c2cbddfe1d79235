//! Run directories, written and read.

mod common;
mod laws;
mod run_dir;
