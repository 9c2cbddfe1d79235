//! Interface of a user-defined policy.

use core::fmt;

use lab_units::{BitsPerSec, Bytes, Nanos};

/// Next hop with the properties that a user-defined policy can use, at the paper's scale (before scaling for
/// emulation).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NextHop {
    /// One-way end-to-end delay of the path.
    pub delay: Nanos,
    /// Lowest capacity of the path's links.
    pub capacity: BitsPerSec,
    /// Rate of the path's first link.
    pub link_rate: BitsPerSec,
    /// Bytes waiting in the egress queue of the first link.
    pub queue: Bytes,
}

impl NextHop {
    /// Returns the time in which the queue drains, in whole nanoseconds.
    #[must_use]
    pub fn queueing_delay(&self) -> Nanos {
        let nanos = u128::from(self.queue.get()) * 8_000_000_000 / u128::from(self.link_rate.get());
        Nanos::new(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// Routing policy that a user defines and compiles in.
pub trait OwnPolicy: fmt::Debug + Sync {
    /// Returns the policy's name in scenarios: lowercase letters, digits and dashes.
    fn name(&self) -> &'static str;

    /// Returns a description in a few words, for the plan's table.
    fn about(&self) -> &'static str;

    /// Returns the index of the chosen next hop for a flow whose hash is `hash`.
    ///
    /// `next_hops` are the 1 to [`MAX_CANDIDATES`](lab_abi::rows::MAX_CANDIDATES) live next hops, sorted by
    /// increasing delay. If the returned index is past the end, the flow is hashed over all next hops and counted as
    /// a fallback.
    fn choose(&self, next_hops: &[NextHop], hash: u32) -> usize;
}
