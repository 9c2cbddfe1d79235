//! Version of perftest that the gate knows.

/// Version whose handshake was recorded, so that its last message before the data is known.
pub const KNOWN_VERSION: &str = "6.06";
