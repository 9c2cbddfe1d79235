//! Limits of a job.

use lab_units::Bytes;

/// Minimum of perftest's `-n` in every version.
pub const MIN_MESSAGES: u32 = 5;

/// Maximum message of an rxe port (`max_msg_sz`, 0x800000).
pub const MAX_MESSAGE: Bytes = Bytes::new(8 << 20);
