//! Run directories, written and read.

mod laws;
mod parquet;
mod run_dir;
