//! Switch table in memory that agent and program share.
//!
//! Program and agent read and write a port's state as one word: a decision never sees half of a sample, and publishing
//! a sample needs no system call.

use std::{
    mem::{offset_of, size_of},
    os::fd::{AsFd, AsRawFd},
    sync::atomic::{AtomicU64, Ordering},
};

use aya::maps::Map;
use lab_abi::{
    dcqcn::CongestionPoint,
    rows::{MAX_PORTS, PORT_ALIVE, PortQueueRow, PortRow, SwitchParams, SwitchTable},
};
use lab_loader::LoaderError;
use lab_policy::lcmp::Levels;
use lab_units::Nanos;
use memmap2::{MmapOptions, MmapRaw};

use crate::{
    SwitchdError,
    install::{UNMARKED, port_state},
};

/// Mapped switch table, through which the agent changes single words while the program runs.
pub(crate) struct SharedTable {
    memory: MmapRaw,
}

impl SharedTable {
    /// Maps the memory of the kernel's switch table into this process.
    pub(crate) fn map(table: &Map) -> Result<Self, SwitchdError> {
        let Map::Array(data) = table else {
            return Err(LoaderError::Missing { name: "table" }.into());
        };
        let descriptor = data.fd().as_fd().as_raw_fd();
        let memory = MmapOptions::new()
            .len(size_of::<SwitchTable>())
            .map_raw(descriptor)
            .map_err(|source| SwitchdError::Io {
                action: "map the switch table into memory",
                source,
            })?;
        Ok(Self { memory })
    }

    /// Publishes a port's congestion without changing its liveness, which the kernel may clear at any time.
    pub(crate) fn set_levels(&self, slot: usize, levels: Levels) {
        let word = self.port(slot);
        let with_levels = |state| Some(port_state(levels, state & PORT_ALIVE != 0));
        // The closure always returns `Some`, so this cannot fail.
        let _ = word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, with_levels);
    }

    /// Publishes whether flows may use a port.
    pub(crate) fn set_alive(&self, slot: usize, is_alive: bool) {
        let word = self.port(slot);
        if is_alive {
            word.fetch_or(PORT_ALIVE, Ordering::Relaxed);
        } else {
            word.fetch_and(!PORT_ALIVE, Ordering::Relaxed);
        }
    }

    /// Returns true if flows may use the port.
    pub(crate) fn is_alive(&self, slot: usize) -> bool {
        self.port(slot).load(Ordering::Relaxed) & PORT_ALIVE != 0
    }

    /// Publishes the time at which the latest sample was taken.
    pub(crate) fn set_sampled_at(&self, time_ns: u64) {
        self.word(offset_of!(SwitchTable, sampled_at_ns))
            .store(time_ns, Ordering::Release);
    }

    /// Publishes the time at which the control plane wrote or confirmed the destinations' rows.
    pub(crate) fn set_tables_at(&self, time_ns: u64) {
        self.word(offset_of!(SwitchTable, tables_at_ns))
            .store(time_ns, Ordering::Release);
    }

    /// Stores the numbers of expired and evicted flows for the next agent.
    pub(crate) fn set_gone(&self, expired: u64, evicted: u64) {
        self.word(offset_of!(SwitchTable, expired))
            .store(expired, Ordering::Relaxed);
        self.word(offset_of!(SwitchTable, evicted))
            .store(evicted, Ordering::Relaxed);
    }

    /// Publishes weights and thresholds in 64-bit words, most of which contain two numbers.
    ///
    /// A concurrent decision may combine old and new words; α and β share one word.
    pub(crate) fn set_params(&self, params: &SwitchParams) {
        let words: [u64; size_of::<SwitchParams>() / 8] = bytemuck::cast(*params);
        for (index, word) in words.into_iter().enumerate() {
            self.word(offset_of!(SwitchTable, params) + index * 8)
                .store(word, Ordering::Relaxed);
        }
    }

    /// Publishes the rate and thresholds of a port's virtual queue. The bytes in the queue at `now` stay, and drain at
    /// the new rate. A packet that enters the queue during the change may be timed at either rate.
    pub(crate) fn set_queue(&self, slot: usize, queue: &PortQueueRow, now: Nanos) {
        let byte_time = self.queue_word(slot, offset_of!(PortQueueRow, byte_time_q20));
        let before = byte_time.load(Ordering::Relaxed);
        let words: [u64; size_of::<PortQueueRow>() / 8] = bytemuck::cast(*queue);
        let kept = [
            offset_of!(PortQueueRow, busy_until_ns),
            offset_of!(PortQueueRow, marks),
        ];
        for (index, word) in words.into_iter().enumerate() {
            if !kept.contains(&(index * 8)) {
                self.queue_word(slot, index * 8)
                    .store(word, Ordering::Relaxed);
            }
        }
        let busy_until = self.queue_word(slot, offset_of!(PortQueueRow, busy_until_ns));
        let at_new_rate = |until| retimed(until, now, before, queue.byte_time_q20);
        // The closure returns `None` for an empty queue, and for a queue that had no rate before.
        let _ = busy_until.fetch_update(Ordering::Relaxed, Ordering::Relaxed, at_new_rate);
    }

    /// Empties a port's queue, as the kernel does when its link goes down.
    pub(crate) fn empty_queue(&self, slot: usize) {
        self.queue_word(slot, offset_of!(PortQueueRow, busy_until_ns))
            .store(0, Ordering::Relaxed);
    }

    /// Returns the number of packets that a port has marked; `None` if the port does not mark packets.
    pub(crate) fn marks(&self, slot: usize) -> Option<u64> {
        let read = |field| self.queue_word(slot, field).load(Ordering::Relaxed);
        let has_queue = read(offset_of!(PortQueueRow, byte_time_q20)) != 0;
        let k_min = offset_of!(PortQueueRow, congestion) + offset_of!(CongestionPoint, k_min);
        let marks_any = has_queue && read(k_min) != UNMARKED.k_min;
        marks_any.then(|| read(offset_of!(PortQueueRow, marks)))
    }

    fn queue_word(&self, slot: usize, field: usize) -> &AtomicU64 {
        assert!(slot < MAX_PORTS, "slots are counted from the configuration");
        self.word(offset_of!(SwitchTable, queues) + slot * size_of::<PortQueueRow>() + field)
    }

    fn port(&self, slot: usize) -> &AtomicU64 {
        assert!(slot < MAX_PORTS, "slots are counted from the configuration");
        let row = offset_of!(SwitchTable, ports) + slot * size_of::<PortRow>();
        self.word(row + offset_of!(PortRow, state))
    }

    #[expect(
        unsafe_code,
        reason = "memory shared with the kernel is reached by pointer"
    )]
    fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset + 8 <= size_of::<SwitchTable>());
        // SAFETY: the offset is inside the mapping, which is as long as the table and lives as long as `self`, and a
        // multiple of 8 from its page-aligned start; other threads and the kernel may write atomics at any time.
        unsafe { &*self.memory.as_mut_ptr().add(offset).cast::<AtomicU64>() }
    }
}

/// Returns the time at which a queue becomes empty if, from `now` on, a byte takes the time `after` instead of
/// `before`; at the old rate, the queue would be empty at `busy_until`. `None` for an empty queue, or if `before` is 0.
fn retimed(busy_until: u64, now: Nanos, before: u64, after: u64) -> Option<u64> {
    let rest = u128::from(busy_until.checked_sub(now.get())?);
    let rest = (rest * u128::from(after)).checked_div(u128::from(before))?;
    let rest = u64::try_from(rest).unwrap_or(u64::MAX);
    Some(now.get().saturating_add(rest))
}
