//! Tests that write and read run directories.

mod arrival_use;
mod conduct;
mod damaged;
mod ends;
mod formats;
mod hostile;
mod laws;
mod link_rates;
mod listing;
mod parquet;
mod request;
mod run_dir;
