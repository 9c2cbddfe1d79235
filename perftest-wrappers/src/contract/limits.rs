//! Limits on the number and size of a job's messages.

use lab_units::Bytes;

/// Minimum number of messages (`-n`) that every version of perftest accepts.
pub const MIN_MESSAGES: u32 = 5;

/// Maximum message size of an rxe port (`max_msg_sz`, 0x800000).
pub const MAX_MESSAGE: Bytes = Bytes::new(8 << 20);
