//! Outbox of a guest: a buffer whose bytes reach the host while the command runs, without affecting the virtual clock.
//!
//! The outbox is a ring buffer in memory that the host shares with the guest as a PCI device. The guest stores bytes
//! and continues; the host polls for them. A serial port would interrupt the guest every few bytes, and the 9p file
//! system makes the virtual clock jump by the time that the host takes; writing to the outbox is writing to memory,
//! which takes the same number of instructions in every run. The stored bytes also survive the end of QEMU.
//!
//! - `shared`: the shared memory: positions and bytes
//! - `outgoing`: the guest's end
//! - `incoming`: the host's end

mod incoming;
mod outgoing;
mod shared;

pub(crate) use incoming::Incoming;
pub use outgoing::Outbox;

/// Size of the shared-memory device in bytes: a power of two, as PCI requires. A guest under emulation writes records
/// at a few megabytes a second, so the host may fall behind by seconds.
pub(crate) const DEVICE_BYTES: usize = 16 << 20;
