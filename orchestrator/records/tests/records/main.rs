//! Run directories, written and read.

mod conduct;
mod damaged;
mod formats;
mod hostile;
mod laws;
mod listing;
mod parquet;
mod run_dir;
mod verdict;
