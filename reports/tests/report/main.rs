//! Reports of made-up runs.

mod page;
mod synthetic;
