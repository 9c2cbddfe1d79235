//! Outbox of a guest: bytes that reach the host while the command runs, at no cost to the virtual clock.
//!
//! The outbox is a ring buffer in memory that the host lends the guest as a PCI device. The guest stores
//! bytes and continues; the host polls for them. A serial port would interrupt the guest every few bytes, and
//! the 9p file system makes the virtual clock jump by the time that the host takes; a store in the outbox is a
//! store in memory, which takes the same number of instructions in every run. The stored bytes also survive the
//! end of QEMU.
//!
//! - `shared`: the shared memory: positions and bytes
//! - `outgoing`: the guest's end
//! - `incoming`: the host's end

mod incoming;
mod outgoing;
mod shared;

pub(crate) use incoming::Incoming;
pub use outgoing::Outbox;

/// Size of the device, bytes: a power of two, as required by PCI. A guest under emulation writes records at a few
/// megabytes a second, so the host may fall behind by seconds.
pub(crate) const DEVICE_BYTES: usize = 16 << 20;
