//! Memory of an outbox, which both of its ends have mapped.

use std::{
    fs::File,
    io,
    sync::atomic::{AtomicU64, Ordering},
};

use memmap2::{MmapOptions, MmapRaw};

/// Memory of an outbox: two positions, and a ring of bytes after the first page.
///
/// Positions count bytes since the start and never go back. The guest alone moves `written`, after it has
/// stored the bytes; the host alone moves `taken`.
#[derive(Debug)]
pub(super) struct Shared {
    memory: MmapRaw,
}

impl Shared {
    /// Maps `bytes` of a file or device.
    pub(super) fn map(file: &File, bytes: usize) -> io::Result<Self> {
        if bytes <= RING_AT {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let memory = MmapOptions::new().len(bytes).map_raw(file)?;
        Ok(Self { memory })
    }

    /// Returns the number of bytes that the ring holds.
    pub(super) fn capacity(&self) -> usize {
        self.memory.len() - RING_AT
    }

    /// Returns the number of bytes that the guest has written.
    pub(super) fn written(&self) -> u64 {
        self.position(WRITTEN_AT).load(Ordering::Acquire)
    }

    /// Publishes the number of bytes that the guest has written.
    pub(super) fn set_written(&self, position: u64) {
        self.position(WRITTEN_AT).store(position, Ordering::Release);
    }

    /// Returns the number of bytes that the host has taken.
    pub(super) fn taken(&self) -> u64 {
        self.position(TAKEN_AT).load(Ordering::Acquire)
    }

    /// Publishes the number of bytes that the host has taken.
    pub(super) fn set_taken(&self, position: u64) {
        self.position(TAKEN_AT).store(position, Ordering::Release);
    }

    /// Stores `bytes` from `position` on.
    #[expect(unsafe_code, reason = "shared memory is reached by pointer")]
    pub(super) fn store(&self, position: u64, bytes: &[u8]) {
        let (at, before_end) = self.place(position, bytes.len());
        let (first, rest) = bytes.split_at(before_end);
        let ring = self.memory.as_mut_ptr();
        // SAFETY: `place` keeps both parts inside the ring, which is inside the mapping; `bytes` are this
        // process's own, and no other process writes where the guest does.
        unsafe {
            let ring = ring.add(RING_AT);
            ring.add(at)
                .copy_from_nonoverlapping(first.as_ptr(), first.len());
            ring.copy_from_nonoverlapping(rest.as_ptr(), rest.len());
        }
    }

    /// Copies the bytes from `position` on into `bytes`.
    #[expect(unsafe_code, reason = "shared memory is reached by pointer")]
    pub(super) fn load(&self, position: u64, bytes: &mut [u8]) {
        let (at, before_end) = self.place(position, bytes.len());
        let (first, rest) = bytes.split_at_mut(before_end);
        let ring = self.memory.as_mut_ptr().cast_const();
        // SAFETY: `place` keeps both parts inside the ring, which is inside the mapping; `bytes` are this
        // process's own. The guest does not write where the host has not taken yet; if it did, the copy
        // would hold wrong bytes and nothing else.
        unsafe {
            let ring = ring.add(RING_AT);
            first
                .as_mut_ptr()
                .copy_from_nonoverlapping(ring.add(at), first.len());
            rest.as_mut_ptr().copy_from_nonoverlapping(ring, rest.len());
        }
    }

    /// Returns the offset in the ring of `position`, and how many of `count` bytes lie before its end.
    fn place(&self, position: u64, count: usize) -> (usize, usize) {
        let capacity = self.capacity();
        assert!(count <= capacity, "{count} bytes in a ring of {capacity}");
        let ring = u64::try_from(capacity).unwrap_or(u64::MAX);
        let at = usize::try_from(position % ring).unwrap_or(0);
        (at, count.min(capacity - at))
    }

    #[expect(unsafe_code, reason = "shared memory is reached by pointer")]
    fn position(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: both offsets are in the first page of the mapping, which lives as long as `self`, and are
        // multiples of 8 from its page-aligned start; atomics may be written by others at any time.
        unsafe { &*self.memory.as_mut_ptr().add(offset).cast::<AtomicU64>() }
    }
}

/// Offsets of the positions, in cache lines of their own.
const WRITTEN_AT: usize = 0;
const TAKEN_AT: usize = 64;

/// Offset of the ring.
const RING_AT: usize = 4096;
