//! Result of a measurement.

use lab_plan::{Capacity, MeasuredLoad};
use serde::{Deserialize, Serialize};

/// Measurement of a place.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// Release of the kernel that carried the packets.
    pub kernel_release: String,
    /// Links between the two hosts.
    pub links: u32,
    /// Measured capacity of the place.
    pub capacity: Capacity,
    /// Value of `--scale-for` that names the capacity.
    pub scale_for: String,
    /// The two loads.
    #[serde(flatten)]
    pub loads: Loads,
}

/// Loads of a measurement.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Loads {
    /// Flows of one packet.
    pub small: MeasuredLoad,
    /// Few flows of many packets.
    pub bulk: MeasuredLoad,
}
