//! Interface of an own policy.

use core::fmt;

use lab_units::{BitsPerSec, Bytes, Nanos};

/// Next hop as an own policy sees it, in paper units.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NextHop {
    /// One-way delay of the path from end to end.
    pub delay: Nanos,
    /// Least capacity of the path.
    pub capacity: BitsPerSec,
    /// Rate of the first link.
    pub link_rate: BitsPerSec,
    /// Present egress queue of the first link.
    pub queue: Bytes,
}

impl NextHop {
    /// Returns the time that the queue takes to drain, in whole nanoseconds.
    #[must_use]
    pub fn queueing_delay(&self) -> Nanos {
        let nanos = u128::from(self.queue.get()) * 8_000_000_000 / u128::from(self.link_rate.get());
        Nanos::new(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// Own routing policy.
pub trait OwnPolicy: fmt::Debug + Sync {
    /// Returns the name in scenarios: lowercase letters, digits and dashes.
    fn name(&self) -> &'static str;

    /// Describes the policy in a few words, for the plan's table.
    fn about(&self) -> &'static str;

    /// Returns the index of the chosen next hop for a flow of `hash`.
    ///
    /// `next_hops` are the live ones, 1 to [`MAX_CANDIDATES`](lab_abi::rows::MAX_CANDIDATES), nearest first. For
    /// an index past the end the flow is hashed over all of them and counted as a fallback.
    fn choose(&self, next_hops: &[NextHop], hash: u32) -> usize;
}
