//! Run directories, written and read.

mod columnar;
mod common;
mod laws;
mod run_dir;
