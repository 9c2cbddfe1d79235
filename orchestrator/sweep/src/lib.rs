//! Sweeps: grids of simulations over scenarios and values of their keys.
//!
//! A cell of the grid is one scenario, written out with one value of each axis; all policies of a cell meet the same
//! flows. Cells that differ only in the seed are draws of one point. The directory of a sweep has a file for each
//! finished cell, named by a hash of everything that the cell's numbers depend on, so a finished cell is never run
//! again, and a sweep goes on where it was killed.
//!
//! Must not contain: engines, clocks, processes.
//!
//! - `grid`: cells by number, and points
//! - `label`: short names of an axis's values
//! - `manifest`: everything that the cells of a sweep depend on, and each cell's scenario and identity
//! - `queue`: the order in which cells start, and the estimate of the remaining time
//! - `store`: the directory of a sweep
//! - `slurm`: cells as tasks of Slurm
//! - `results`: the results of a sweep from its directory
//! - `table`: the results of all cells as one table

mod grid;
mod label;
mod manifest;
mod queue;
mod results;
pub mod slurm;
mod store;
mod table;

pub use grid::{Grid, TooManyCells};
pub use manifest::{BaseScenario, CellError, Manifest, SweepCell};
pub use queue::{CellCost, CellQueue};
pub use results::{SweepResults, results};
pub use store::{Store, StoreError};
pub use table::CellTable;
