//! Similitude, and the cost of a run that it is picked for.

pub(crate) mod auto_scale;
pub(crate) mod capacity;
pub(crate) mod estimate;
pub(crate) mod paper_units;
mod scale;
