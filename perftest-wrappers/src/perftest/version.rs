//! Version of perftest.

/// Version whose handshake was recorded, so that the last message before the data is known.
pub const KNOWN_VERSION: &str = "6.06";
