//! The network that is trained for.

use lab_te::Topology;
use lab_units::{BitsPerSec, Nanos};

/// Network of switches with its control interval. Rates and times are in paper units.
#[derive(Clone, Debug)]
pub struct Problem {
    pub topology: Topology,
    /// Capacity by directed link; `None` for a link that does not join two switches.
    pub capacities: Vec<Option<BitsPerSec>>,
    pub interval: Nanos,
    /// WCMP's buckets by switch, row and next hop.
    pub provisioned: Vec<Vec<Vec<u16>>>,
    /// Number of hash buckets per destination.
    pub buckets: u16,
}

impl Problem {
    /// Returns the largest capacity of a link, which is the unit of demands.
    #[must_use]
    pub fn largest_rate(&self) -> Option<BitsPerSec> {
        self.capacities.iter().copied().flatten().max()
    }
}
