//! Mean traffic demand of a sending host.

use lab_units::{DcId, NodeId, Ratio};

/// Traffic demand of one workload at one sending host, or of a demand matrix from one host to one datacenter, at the
/// paper's scale (before scaling for emulation).
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Demand {
    pub host: NodeId,
    /// Destination datacenters, each of which gets the same share of the host's flows.
    pub to: Vec<DcId>,
    /// Rate that counts as a load of 1, in bits per second.
    pub full_bps: u64,
    /// Number of hosts that share `full_bps` equally.
    pub sharers: u64,
    pub load: Ratio,
    /// True if the host has a demand of its own for each destination, so that its random numbers are named after both.
    pub is_of_pair: bool,
}

impl Demand {
    /// Returns the host's mean rate in bits per second, rounded down.
    pub fn mean_bps(&self) -> u64 {
        let all = u128::from(self.full_bps) * u128::from(self.load.numerator());
        let share = all / (u128::from(self.load.denominator()) * u128::from(self.sharers));
        u64::try_from(share).unwrap_or(u64::MAX)
    }

    /// Returns the mean rate that the host sends to each destination, in bits per second, rounded down.
    pub fn shares(&self) -> impl Iterator<Item = (DcId, u64)> {
        let shares = u64::try_from(self.to.len()).unwrap_or(u64::MAX);
        let each = self.mean_bps() / shares.max(1);
        self.to.iter().map(move |&to| (to, each))
    }
}
