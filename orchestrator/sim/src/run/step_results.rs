//! Results of a thread's part of a step.

use crate::partition::Work;

/// Work of a thread in a step, and the partitions that need attention after the step.
#[derive(Default)]
pub(super) struct StepResults {
    /// Counters of the work done.
    pub work: Work,
    /// Partitions whose inbox was empty and received packets.
    pub received: Vec<u32>,
    /// Partitions that have trace events.
    pub traced: Vec<u32>,
}

impl StepResults {
    /// Moves the results of `other` to these.
    pub fn append(&mut self, other: &mut Self) {
        self.work.add(&std::mem::take(&mut other.work));
        self.received.append(&mut other.received);
        self.traced.append(&mut other.traced);
    }
}

impl Work {
    /// Adds other counters to these.
    pub(super) const fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.packet_hops += other.packet_hops;
        self.drops += other.drops;
        self.queue_drops += other.queue_drops;
        self.buffer_drops += other.buffer_drops;
        self.reroutes += other.reroutes;
        self.data_packets += other.data_packets;
        self.go_backs += other.go_backs;
        self.timeouts += other.timeouts;
        self.finished += other.finished;
        self.not_pinned += other.not_pinned;
    }
}
