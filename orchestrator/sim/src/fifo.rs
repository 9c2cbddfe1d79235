//! Queues of packets, out of one pool.
//!
//! A long link holds hundreds of thousands of packets and the next moment none. A ring buffer per
//! queue would keep the most it ever held, and twice that while it grows; here queues are chains of
//! blocks that go back to a pool, so memory follows what is under way.

use crate::{network::count, packet::Packet, prefetch::prefetch, time::SimTime};

/// A packet on a wire: 28 bytes. In an egress queue it is a [`Packet`] alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Queued {
    /// When it is there, in two halves, since a whole one would be aligned to 32 bytes.
    at: [u32; 2],
    /// What.
    pub packet: Packet,
}

const _: () = assert!(size_of::<Queued>() == 28);

impl Queued {
    /// `packet`, which will be there at `at`.
    #[inline]
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the halves")]
    pub const fn new(at: SimTime, packet: Packet) -> Self {
        let picos = at.picos();
        Self {
            at: [(picos >> 32) as u32, picos as u32],
            packet,
        }
    }

    /// When it is there.
    #[inline]
    #[must_use]
    pub const fn at(&self) -> SimTime {
        SimTime::from_picos((self.at[0] as u64) << 32 | self.at[1] as u64)
    }
}

/// How many packets ahead memory is asked for: two are in a line of the cache.
const AHEAD: usize = 3;

const SLOTS: usize = 32;
const NONE: u32 = u32::MAX;

#[derive(Clone)]
struct Block<T> {
    slots: [T; SLOTS],
    next: u32,
}

/// The blocks of all queues of one kind in a shard.
pub struct Pool<T> {
    /// Megabytes grow by moving pages, not bytes, and what is reserved ahead is no memory yet.
    blocks: Vec<Block<T>>,
    free: Vec<u32>,
}

/// A queue of packets, first in, first out. It is empty when made and must be given back empty.
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
    /// An empty queue.
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

    /// Whether nothing is in it.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Packets in it.
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Puts `queued` at the end.
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

    /// What is at the front.
    #[inline]
    pub fn front<T: Copy + Default>(&self, pool: &mut Pool<T>) -> Option<T> {
        (self.len > 0).then(|| pool.block(self.head).slots[usize::from(self.first) % SLOTS])
    }

    /// Takes what is at the front.
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

    /// Has the processor fetch what will be at the front soon: it was put in milliseconds ago and is
    /// in no cache by now.
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

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;
    use crate::packet::Kind;

    fn queued(number: u32) -> Queued {
        let at = SimTime::from_picos(u64::from(number) << 20);
        Queued::new(at, Packet::new(Kind::Data, 3, number, 0, 1, 0))
    }

    proptest! {
        #[test]
        fn queues_of_one_pool_are_what_a_deque_is(
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
                        let at = |one: Option<Queued>| one.map(|one| one.at());
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
    fn emptied_queues_give_their_blocks_back() {
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
