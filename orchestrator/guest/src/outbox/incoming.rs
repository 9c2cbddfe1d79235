//! The host's end of an outbox.

use std::{fs::File, io};

use super::{DEVICE_BYTES, shared::Shared};

/// Host's end of a guest's outbox, a ring buffer in shared memory.
#[derive(Debug)]
pub(crate) struct Incoming {
    shared: Shared,
    taken: u64,
}

impl Incoming {
    /// Creates the memory of an outbox; also returns the file through which QEMU maps it.
    pub(crate) fn new() -> io::Result<(Self, File)> {
        let (shared, memory) = Shared::create(DEVICE_BYTES)?;
        Ok((Self::over(shared), memory))
    }

    const fn over(shared: Shared) -> Self {
        Self { shared, taken: 0 }
    }

    /// Passes the bytes that have arrived since the last call to `keep`, and frees their space in the ring once `keep`
    /// has stored them.
    ///
    /// # Errors
    /// If `keep` fails, or the guest has written invalid positions.
    pub(crate) fn take(&mut self, keep: impl FnOnce(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let count = self.shared.written().wrapping_sub(self.taken);
        if count == 0 {
            return Ok(());
        }
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if count > self.shared.capacity() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the guest has written invalid positions into its outbox, the ring buffer in shared memory",
            ));
        }
        let mut bytes = vec![0; count];
        self.shared.load(self.taken, &mut bytes);
        keep(&bytes)?;
        self.taken += count as u64;
        self.shared.set_taken(self.taken);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::{super::Outbox, *};

    /// Size of a small ring in bytes, in which positions wrap often.
    const SMALL: usize = 4096 + 1000;

    fn pair() -> (Outbox, Incoming) {
        let (shared, memory) = Shared::create(SMALL).unwrap();
        let outbox = Outbox::over(Shared::map(&memory, SMALL).unwrap());
        (outbox, Incoming::over(shared))
    }

    fn take(incoming: &mut Incoming) -> Vec<u8> {
        let mut taken = Vec::new();
        incoming
            .take(|bytes| {
                taken.extend_from_slice(bytes);
                Ok(())
            })
            .unwrap();
        taken
    }

    /// Returns `count` bytes that differ from their neighbours in the ring.
    fn bytes(count: usize, seed: usize) -> Vec<u8> {
        let byte = |index: usize| u8::try_from((index * 31 + seed) % 251).unwrap();
        (0..count).map(byte).collect()
    }

    #[test]
    fn bytes_arrive_in_order_however_often_the_ring_wraps() {
        let (mut outbox, mut incoming) = pair();
        let mut sent = Vec::new();
        let mut received = Vec::new();
        for round in 0..400 {
            let more = bytes(round * 37 % 700, round);
            outbox.send(&more);
            sent.extend(more);
            if round % 3 == 0 {
                received.extend(take(&mut incoming));
            }
        }
        let host = thread::spawn(move || {
            while received.len() < sent.len() {
                received.extend(take(&mut incoming));
            }
            assert_eq!(received, sent);
        });
        outbox.drain();
        host.join().unwrap();
    }

    #[test]
    fn a_full_ring_makes_nobody_wait_and_loses_nothing() {
        let (mut outbox, mut incoming) = pair();
        let sent = bytes(5_000, 1);
        outbox.send(&sent);
        outbox.send(b"more");
        let mut received = Vec::new();
        while received.len() < sent.len() + 4 {
            received.extend(take(&mut incoming));
            outbox.send(b"");
        }
        assert_eq!(received, [&sent, b"more".as_slice()].concat());
    }

    #[test]
    fn bytes_of_a_guest_that_has_ended_are_still_there() {
        let (mut outbox, mut incoming) = pair();
        outbox.send(b"last words");
        drop(outbox);
        assert_eq!(take(&mut incoming), b"last words");
        assert_eq!(take(&mut incoming), b"");
    }

    #[test]
    fn bytes_that_cannot_be_kept_stay() {
        let (mut outbox, mut incoming) = pair();
        outbox.send(b"row");
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        assert!(incoming.take(|_| Err(full())).is_err());
        assert_eq!(take(&mut incoming), b"row");
    }

    #[test]
    fn positions_that_no_guest_writes_are_an_error() {
        let (outbox, mut incoming) = pair();
        drop(outbox);
        for position in [2_000, u64::MAX] {
            incoming.shared.set_written(position);
            assert!(incoming.take(|_| Ok(())).is_err(), "{position}");
        }
    }

    /// The memory must not be truncatable, because a process that touches a lost page of a mapped file is killed by
    /// SIGBUS.
    #[test]
    fn memory_cannot_be_taken_from_those_that_have_it_mapped() {
        let (mut incoming, memory) = Incoming::new().unwrap();
        for bytes in [0, DEVICE_BYTES as u64 - 1, DEVICE_BYTES as u64 + 1] {
            let error = memory.set_len(bytes).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{bytes}");
        }
        let mut outbox = Outbox::over(Shared::map(&memory, DEVICE_BYTES).unwrap());
        outbox.send(b"row");
        assert_eq!(take(&mut incoming), b"row");
    }

    #[test]
    fn memory_that_is_shorter_than_the_device_is_not_mapped() {
        let memory = tempfile::tempfile().unwrap();
        memory.set_len(SMALL as u64 - 1).unwrap();
        let error = Shared::map(&memory, SMALL).unwrap_err().to_string();
        let expected = "cannot map 5096 B as an outbox: the memory has 5095 B";
        assert_eq!(error, expected);
    }

    /// A guest may write anything into the memory.
    #[test]
    fn damaged_memory_is_taken_or_refused() {
        use std::os::unix::fs::FileExt;

        let (shared, memory) = Shared::create(SMALL).unwrap();
        Outbox::over(shared).send(&bytes(500, 3));
        let mut good = vec![0; SMALL];
        memory.read_exact_at(&mut good, 0).unwrap();
        lab_fuzz::fuzz("outbox of a guest", &[good], |damaged| {
            let damaged = &damaged[..damaged.len().min(SMALL)];
            memory.write_all_at(damaged, 0).unwrap();
            let mut incoming = Incoming::over(Shared::map(&memory, SMALL).unwrap());
            let taken = incoming.take(|bytes| {
                assert!(bytes.len() <= SMALL);
                Ok(())
            });
            taken.is_ok()
        });
    }
}
