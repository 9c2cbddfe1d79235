//! Similitude, and the estimated cost of a run, by which `scale: auto` picks it.

pub(crate) mod auto_scale;
pub(crate) mod capacity;
pub(crate) mod estimate;
pub(crate) mod paper_units;
mod scale;
