//! Version of perftest that the gate knows.

/// perftest version whose recorded handshake shows which message is the last one before the data.
pub const KNOWN_VERSION: &str = "6.06";
