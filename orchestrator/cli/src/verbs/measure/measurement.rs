//! Result of a measurement of a place.

use lab_plan::{Capacity, MeasuredLoad};
use serde::{Deserialize, Serialize};

/// Measured speed of this kernel or of a guest.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// Release of the kernel that forwarded the packets.
    pub kernel_release: String,
    /// Number of links on the path between the two hosts of the measurement.
    pub links: u32,
    /// Capacity computed from both loads.
    pub capacity: Capacity,
    /// Value for `--scale-for` that stands for this capacity.
    pub scale_for: String,
    /// Measurements with the two loads.
    #[serde(flatten)]
    pub loads: Loads,
}

/// Measurements with the two kinds of load.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Loads {
    /// Load of many flows with one packet each.
    pub small: MeasuredLoad,
    /// Load of a few flows with many packets each.
    pub bulk: MeasuredLoad,
}
