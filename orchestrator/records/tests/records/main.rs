//! Run directories, written and read.

mod conduct;
mod damaged;
mod formats;
mod hostile;
mod laws;
mod listing;
mod parquet;
mod request;
mod run_dir;
