//! Memory of an outbox, which both ends map.

use std::{
    fs::File,
    io,
    sync::atomic::{AtomicU8, AtomicU64, Ordering},
};

use memmap2::{MmapOptions, MmapRaw};
use nix::{
    fcntl::{FcntlArg, SealFlag, fcntl},
    sys::memfd::{MFdFlags, memfd_create},
};

/// Memory of an outbox: two positions in the first page, and a ring of bytes after it.
///
/// Positions count bytes since the start and never decrease. Only the guest advances `written`, after it has stored the
/// bytes; only the host advances `taken`, after it has read them.
#[derive(Debug)]
pub(super) struct Shared {
    memory: MmapRaw,
}

impl Shared {
    /// Creates shared memory of `bytes` bytes, and the file through which others map it. The file is sealed: its length
    /// is final, so that no access to the mapping can raise SIGBUS, even if other processes have the file open.
    pub(super) fn create(bytes: usize) -> io::Result<(Self, File)> {
        let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
        let file = File::from(memfd_create(c"lcmp-lab-outbox", flags)?);
        file.set_len(u64::try_from(bytes).map_err(io::Error::other)?)?;
        let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
        fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
        Ok((Self::map(&file, bytes)?, file))
    }

    /// Maps the first `bytes` bytes of a file from [`Shared::create`], or of a device. The length of the file or device
    /// cannot change.
    pub(super) fn map(file: &File, bytes: usize) -> io::Result<Self> {
        let length = file.metadata()?.len();
        if bytes <= RING_AT || u64::try_from(bytes).unwrap_or(u64::MAX) > length {
            let what = format!("cannot map {bytes} B as an outbox: the memory has {length} B");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let memory = MmapOptions::new().len(bytes).map_raw(file)?;
        Ok(Self { memory })
    }

    /// Returns the size of the ring in bytes.
    pub(super) fn capacity(&self) -> usize {
        self.memory.len() - RING_AT
    }

    /// Returns the number of bytes that the guest has written since the start.
    pub(super) fn written(&self) -> u64 {
        self.position(WRITTEN_AT).load(Ordering::Acquire)
    }

    /// Publishes the number of bytes that the guest has written.
    pub(super) fn set_written(&self, position: u64) {
        self.position(WRITTEN_AT).store(position, Ordering::Release);
    }

    /// Returns the number of bytes that the host has taken since the start.
    pub(super) fn taken(&self) -> u64 {
        self.position(TAKEN_AT).load(Ordering::Acquire)
    }

    /// Publishes the number of bytes that the host has taken.
    pub(super) fn set_taken(&self, position: u64) {
        self.position(TAKEN_AT).store(position, Ordering::Release);
    }

    /// Stores `bytes` in the ring, beginning at `position`.
    #[expect(unsafe_code, reason = "shared memory is reached by pointer")]
    pub(super) fn store(&self, position: u64, bytes: &[u8]) {
        let (at, before_end) = self.place(position, bytes.len());
        let (first, rest) = bytes.split_at(before_end);
        let ring = self.memory.as_mut_ptr();
        // SAFETY: `place` keeps both parts inside the ring, which is inside the mapping; `bytes` belong to this process
        // alone. No other process writes in the ring, and the host reads bytes only once `written` covers them.
        unsafe {
            let ring = ring.add(RING_AT);
            ring.add(at)
                .copy_from_nonoverlapping(first.as_ptr(), first.len());
            ring.copy_from_nonoverlapping(rest.as_ptr(), rest.len());
        }
    }

    /// Copies bytes of the ring, beginning at `position`, into `bytes`.
    pub(super) fn load(&self, position: u64, bytes: &mut [u8]) {
        let (at, before_end) = self.place(position, bytes.len());
        let (first, rest) = bytes.split_at_mut(before_end);
        for (part, at) in [(first, at), (rest, 0)] {
            for (to, at) in part.iter_mut().zip(at..) {
                *to = self.byte(at).load(Ordering::Relaxed);
            }
        }
    }

    /// Returns the offset of `position` in the ring, and the number of the `count` bytes that lie before the ring's
    /// end.
    fn place(&self, position: u64, count: usize) -> (usize, usize) {
        let capacity = self.capacity();
        assert!(count <= capacity, "{count} bytes in a ring of {capacity}");
        let ring = u64::try_from(capacity).unwrap_or(u64::MAX);
        let at = usize::try_from(position % ring).unwrap_or(0);
        (at, count.min(capacity - at))
    }

    /// Returns the byte at an offset in the ring. An untrusted guest may write it at any time; the value read is then
    /// wrong, but nothing else is affected.
    #[expect(unsafe_code, reason = "shared memory is reached by pointer")]
    fn byte(&self, at: usize) -> &AtomicU8 {
        assert!(at < self.capacity(), "byte {at} of {}", self.capacity());
        // SAFETY: the offset is inside the mapping, which lives as long as `self`; other processes may write atomics at
        // any time.
        unsafe {
            &*self
                .memory
                .as_mut_ptr()
                .add(RING_AT + at)
                .cast::<AtomicU8>()
        }
    }

    #[expect(unsafe_code, reason = "shared memory is reached by pointer")]
    fn position(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: both offsets are in the first page of the mapping, which lives as long as `self`, and are multiples
        // of 8 from its page-aligned start; other processes may write atomics at any time.
        unsafe { &*self.memory.as_mut_ptr().add(offset).cast::<AtomicU64>() }
    }
}

/// Offset in bytes of the position `written`; `written` and `taken` are in separate cache lines.
const WRITTEN_AT: usize = 0;
/// Offset in bytes of the position `taken`.
const TAKEN_AT: usize = 64;

/// Offset in bytes of the ring, which begins after the first page.
const RING_AT: usize = 4096;
