//! Which tools are installed.
/// The version whose handshake was recorded and whose last message before data is known.
pub const KNOWN_VERSION: &str = "6.06";
