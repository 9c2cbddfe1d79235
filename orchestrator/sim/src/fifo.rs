//! Queues of packets, out of one pool.
//!
//! A long link holds hundreds of thousands of packets and the next moment none. A ring buffer per
//! queue would keep the most it ever held, and twice that while it grows; here queues are chains of
//! blocks that go back to a pool, so memory follows what is under way.

use crate::{packet::Packet, time::SimTime};

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

const SLOTS: usize = 32;
const BLOCKS: usize = 256;
const NONE: u32 = u32::MAX;

#[derive(Clone)]
struct Block<T> {
    slots: [T; SLOTS],
    next: u32,
}

/// The blocks of all queues of one kind in a shard.
pub struct Pool<T> {
    /// Blocks are made in bunches, so that no growth copies them.
    bunches: Vec<Box<[Block<T>]>>,
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
            bunches: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T: Copy + Default> Pool<T> {
    fn block(&mut self, index: u32) -> &mut Block<T> {
        let index = index as usize;
        &mut self.bunches[index / BLOCKS][index % BLOCKS]
    }

    fn take(&mut self) -> u32 {
        if self.free.is_empty() {
            self.grow();
        }
        self.free.pop().unwrap_or(NONE)
    }

    #[cold]
    fn grow(&mut self) {
        let block = Block {
            slots: [T::default(); SLOTS],
            next: NONE,
        };
        let first = self.bunches.len() * BLOCKS;
        self.bunches.push(vec![block; BLOCKS].into_boxed_slice());
        let indices = (first..first + BLOCKS).rev();
        self.free
            .extend(indices.filter_map(|index| u32::try_from(index).ok()));
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
        pool.block(self.tail).slots[usize::from(self.end)] = queued;
        self.end += 1;
        self.len += 1;
    }

    /// When what is at the front of a wire is there.
    #[inline]
    pub fn front_at(&self, pool: &mut Pool<Queued>) -> Option<SimTime> {
        (self.len > 0).then(|| pool.block(self.head).slots[usize::from(self.first)].at())
    }

    /// Takes what is at the front.
    #[inline]
    pub fn pop<T: Copy + Default>(&mut self, pool: &mut Pool<T>) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let block = pool.block(self.head);
        let queued = block.slots[usize::from(self.first)];
        let next = block.next;
        self.first += 1;
        self.len -= 1;
        if self.len == 0 {
            pool.free.push(self.head);
        } else if usize::from(self.first) == SLOTS {
            pool.free.push(self.head);
            (self.head, self.first) = (next, 0);
        }
        Some(queued)
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
                        let front = queues[which].front_at(&mut pool);
                        let popped = queues[which].pop(&mut pool);
                        prop_assert_eq!(front, popped.map(|one| one.at()));
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
        assert_eq!(pool.bunches.len(), 1, "4,000 packets are 125 blocks");
        assert_eq!(pool.free.len(), BLOCKS);
    }
}
