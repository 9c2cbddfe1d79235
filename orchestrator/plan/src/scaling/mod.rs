//! Scaling from paper units to emulated units, and the estimated cost of a run, from which `scale: auto` chooses the
//! scale.

pub(crate) mod auto_scale;
pub(crate) mod capacity;
pub(crate) mod estimate;
pub(crate) mod paper_units;
mod scale;
