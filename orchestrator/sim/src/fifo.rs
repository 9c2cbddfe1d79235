//! Packet queues that allocate from a common pool of blocks.
//!
//! A long link holds hundreds of thousands of packets at one time and none at another. A ring buffer per queue would
//! keep its maximum size forever. Here, a queue is a chain of blocks that return to the pool, so that memory follows
//! the number of packets in flight.

use crate::{network::count, packet::Packet, time::SimTime};

/// Packet on a wire with its arrival time, 32 bytes. An egress queue holds only the [`Packet`].
#[derive(Clone, Copy, Debug, Default)]
pub struct WirePacket {
    at: SimTime,
    pub packet: Packet,
}

const _: () = assert!(size_of::<WirePacket>() == 32);

impl WirePacket {
    /// Creates a packet on a wire that arrives at `at`.
    #[inline]
    #[must_use]
    pub const fn new(at: SimTime, packet: Packet) -> Self {
        Self { at, packet }
    }

    /// Returns the packet's arrival time.
    #[inline]
    #[must_use]
    pub const fn at(&self) -> SimTime {
        self.at
    }
}

/// Distance from the front at which a packet is prefetched, in packets; a cache line holds two packets.
const AHEAD: usize = 3;

const SLOTS: usize = 32;
const NONE: u32 = u32::MAX;

#[derive(Clone)]
struct Block<T> {
    slots: [T; SLOTS],
    next: u32,
}

/// Pool of blocks that all queues of one kind in a partition share.
pub struct Pool<T> {
    /// All blocks in one vector. The allocator grows a vector of megabytes by remapping pages, and unused capacity
    /// takes no physical memory.
    blocks: Vec<Block<T>>,
    free: Vec<u32>,
}

/// First-in, first-out queue of packets in blocks of a [`Pool`]. It must be empty when dropped.
#[derive(Clone, Copy, Debug)]
pub struct Fifo {
    head: u32,
    tail: u32,
    len: u32,
    first: u8,
    end: u8,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self {
            blocks: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T: Copy + Default> Pool<T> {
    #[inline]
    fn block(&mut self, index: u32) -> &mut Block<T> {
        &mut self.blocks[index as usize]
    }

    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| self.grow())
    }

    #[cold]
    fn grow(&mut self) -> u32 {
        self.blocks.push(Block {
            slots: [T::default(); SLOTS],
            next: NONE,
        });
        count(self.blocks.len() - 1)
    }
}

impl Fifo {
    /// Creates an empty queue, without a block.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            head: NONE,
            tail: NONE,
            len: 0,
            first: 0,
            end: 0,
        }
    }

    /// Returns true if the queue is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of packets.
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Appends `queued` at the end.
    #[inline]
    pub fn push<T: Copy + Default>(&mut self, pool: &mut Pool<T>, queued: T) {
        if self.len == 0 {
            let block = pool.take();
            (self.head, self.tail, self.first, self.end) = (block, block, 0, 0);
        } else if usize::from(self.end) == SLOTS {
            let block = pool.take();
            pool.block(self.tail).next = block;
            (self.tail, self.end) = (block, 0);
        }
        pool.block(self.tail).slots[usize::from(self.end) % SLOTS] = queued;
        self.end += 1;
        self.len += 1;
    }

    /// Returns the first packet; `None` if the queue is empty.
    #[inline]
    pub fn front<T: Copy + Default>(&self, pool: &mut Pool<T>) -> Option<T> {
        (self.len > 0).then(|| pool.block(self.head).slots[usize::from(self.first) % SLOTS])
    }

    /// Removes and returns the first packet; `None` if the queue is empty.
    #[inline]
    pub fn pop<T: Copy + Default>(&mut self, pool: &mut Pool<T>) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let block = pool.block(self.head);
        let queued = block.slots[usize::from(self.first) % SLOTS];
        self.first += 1;
        self.len -= 1;
        if self.len == 0 {
            pool.free.push(self.head);
        } else if usize::from(self.first) == SLOTS {
            let next = block.next;
            pool.free.push(self.head);
            (self.head, self.first) = (next, 0);
        }
        Some(queued)
    }

    /// Prefetches a packet near the front. Since its `push`, milliseconds of other work have evicted it from the
    /// caches.
    #[inline]
    pub fn prefetch<T: Copy + Default>(&self, pool: &mut Pool<T>) {
        let soon = usize::from(self.first) + AHEAD;
        if self.len == 0 {
            return;
        }
        let block = pool.block(self.head);
        if let Some(slot) = block.slots.get(soon) {
            prefetch(slot);
        } else if self.head != self.tail {
            let next = block.next;
            prefetch(&pool.block(next).slots[soon - SLOTS]);
        }
    }
}

impl Default for Fifo {
    fn default() -> Self {
        Self::new()
    }
}

/// Prefetches the cache line in which `value` begins; does nothing on processors other than x86-64.
#[inline]
#[cfg_attr(
    target_arch = "x86_64",
    expect(
        unsafe_code,
        reason = "the standard library offers this instruction only as an unsafe function"
    )
)]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction changes no state and never faults, and the address is that of a reference.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;
    use crate::packet::Kind;

    fn queued(number: u32) -> WirePacket {
        let at = SimTime::from_picos(u64::from(number) << 20);
        WirePacket::new(at, Packet::new(Kind::Data, 3, number, 0, 1, 0))
    }

    proptest! {
        #[test]
        fn queues_of_one_pool_equal_deques(
            steps in prop::collection::vec((0..3usize, any::<bool>(), 1..90u32), 1..60),
        ) {
            let mut pool = Pool::default();
            let mut queues = [Fifo::new(); 3];
            let mut deques = [const { VecDeque::new() }; 3];
            let mut number = 0;
            for (which, is_push, count) in steps {
                for _ in 0..count {
                    if is_push {
                        queues[which].push(&mut pool, queued(number));
                        deques[which].push_back(number);
                        number += 1;
                    } else {
                        let front = queues[which].front(&mut pool);
                        let popped = queues[which].pop(&mut pool);
                        let at = |one: Option<WirePacket>| one.map(|one| one.at());
                        prop_assert_eq!(at(front), at(popped));
                        let flow = popped.map(|one| one.packet.flow);
                        prop_assert_eq!(flow, deques[which].pop_front());
                    }
                    prop_assert_eq!(queues[which].len() as usize, deques[which].len());
                }
            }
        }
    }

    #[test]
    fn emptied_queues_return_their_blocks() {
        let mut pool = Pool::default();
        for _ in 0..10 {
            let mut queue = Fifo::new();
            for number in 0..4_000 {
                queue.push(&mut pool, queued(number));
            }
            while queue.pop(&mut pool).is_some() {}
        }
        assert_eq!(pool.blocks.len(), 125, "4,000 packets are 125 blocks");
        assert_eq!(pool.free.len(), 125);
    }
}
