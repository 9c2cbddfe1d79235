//! Benchmark of event queues on the simulator's access pattern.
//!
//! ```text
//! cargo bench -p lab-sim --bench event_queue
//! ```
//!
//! Of the packets on a wire, only the first is in the queue. When it arrives, the next packet on the wire replaces it
//! in the queue, usually one serialisation time later. So the smallest key is replaced by a later one, and the queue's
//! length is the number of busy ports. One such replacement is a step of this benchmark.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    hint::black_box,
    time::{Duration, Instant},
};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use dary_heap::QuaternaryHeap;
use lab_sim::{event::Tournament, time::SimTime};
use radix_heap::RadixHeapMap;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Numbers of busy ports: in a transit datacenter, in the largest datacenter of Figure 1, and in a much larger network.
const PENDING: [u64; 3] = [8, 64, 4_096];

/// Number of steps per measurement.
const STEPS: u64 = 100_000;

/// Sort key of an event: time, kind and index in one number.
type Key = u128;

/// Priority queue that returns the smallest key first.
trait Queue: Sized {
    fn for_pending(pending: u64) -> Self;

    fn push(&mut self, key: Key);

    /// Replaces the smallest key by the result of `later`, which is called with that key.
    fn replace_min(&mut self, later: impl FnOnce(Key) -> Key);
}

/// The standard library's heap; a replacement is a pop and a push.
#[derive(Default)]
struct Binary(BinaryHeap<Reverse<Key>>);

impl Queue for Binary {
    fn for_pending(_: u64) -> Self {
        Self::default()
    }

    fn push(&mut self, key: Key) {
        self.0.push(Reverse(key));
    }

    fn replace_min(&mut self, later: impl FnOnce(Key) -> Key) {
        if let Some(Reverse(key)) = self.0.pop() {
            self.0.push(Reverse(later(key)));
        }
    }
}

/// The standard library's heap; a replacement changes the top in place.
#[derive(Default)]
struct BinaryInPlace(BinaryHeap<Reverse<Key>>);

impl Queue for BinaryInPlace {
    fn for_pending(_: u64) -> Self {
        Self::default()
    }

    fn push(&mut self, key: Key) {
        self.0.push(Reverse(key));
    }

    fn replace_min(&mut self, later: impl FnOnce(Key) -> Key) {
        if let Some(mut top) = self.0.peek_mut() {
            *top = Reverse(later(top.0));
        }
    }
}

/// Heap with four children per node; a replacement changes the top in place.
#[derive(Default)]
struct Quaternary(QuaternaryHeap<Reverse<Key>>);

impl Queue for Quaternary {
    fn for_pending(_: u64) -> Self {
        Self::default()
    }

    fn push(&mut self, key: Key) {
        self.0.push(Reverse(key));
    }

    fn replace_min(&mut self, later: impl FnOnce(Key) -> Key) {
        if let Some(mut top) = self.0.peek_mut() {
            *top = Reverse(later(top.0));
        }
    }
}

/// The simulator's tournament tree; the index in a key is the key's slot in the tree.
struct Tree(Tournament);

impl Queue for Tree {
    fn for_pending(pending: u64) -> Self {
        Self(Tournament::new(u32::try_from(pending).unwrap_or(0)))
    }

    fn push(&mut self, key: Key) {
        self.0.set(slot_of(key), moment(key));
    }

    fn replace_min(&mut self, later: impl FnOnce(Key) -> Key) {
        let (at, slot) = self.0.earliest();
        let key = Key::from(at.picos()) << 64 | Key::from(slot);
        self.0.set(slot, moment(later(key)));
    }
}

fn slot_of(key: Key) -> u32 {
    u32::try_from(key & Key::from(u32::MAX)).unwrap_or(0)
}

fn moment(key: Key) -> SimTime {
    SimTime::from_picos(u64::try_from(key >> 64).unwrap_or(u64::MAX))
}

/// Radix heap, which requires monotonic times.
#[derive(Default)]
struct Radix(RadixHeapMap<Reverse<Key>, ()>);

impl Queue for Radix {
    fn for_pending(_: u64) -> Self {
        Self::default()
    }

    fn push(&mut self, key: Key) {
        self.0.push(Reverse(key), ());
    }

    fn replace_min(&mut self, later: impl FnOnce(Key) -> Key) {
        if let Some((Reverse(key), ())) = self.0.pop() {
            self.0.push(Reverse(later(key)), ());
        }
    }
}

/// Returns the time until the next packet on a wire, in picoseconds: 1,048 B at 400, 200 or 100 Gbit/s, an ACK, or
/// sometimes a pause between packets.
fn gap(random: &mut Pcg64Mcg) -> Key {
    const GAPS: [Key; 8] = [
        20_960, 41_920, 83_840, 83_840, 83_840, 83_840, 4_960, 1_083_840,
    ];
    GAPS[usize::try_from(random.next_u32() % 8).unwrap_or(0)]
}

/// Returns the time for `steps` steps with `pending` events in the queue.
fn time_of<Q: Queue>(pending: u64, steps: u64) -> Duration {
    let mut random = Pcg64Mcg::seed_from_u64(pending);
    let mut queue = Q::for_pending(pending);
    for index in 0..u128::from(pending) {
        queue.push(gap(&mut random) << 64 | index);
    }
    let began = Instant::now();
    for _ in 0..steps {
        queue.replace_min(|key| black_box(key) + (gap(&mut random) << 64));
    }
    began.elapsed()
}

fn all(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("event_queue");
    group.throughput(Throughput::Elements(STEPS));
    group.sample_size(20);
    group.measurement_time(Duration::from_secs(2));
    group.warm_up_time(Duration::from_millis(200));
    for pending in PENDING {
        let mut bench = |name, time_of: fn(u64, u64) -> Duration| {
            group.bench_function(BenchmarkId::new(name, pending), |bencher| {
                bencher.iter_custom(|rounds| time_of(pending, rounds * STEPS));
            });
        };
        bench("binary", time_of::<Binary>);
        bench("binary in place", time_of::<BinaryInPlace>);
        bench("quaternary", time_of::<Quaternary>);
        bench("radix", time_of::<Radix>);
        bench("tournament", time_of::<Tree>);
    }
    group.finish();
}

criterion_group!(benches, all);
criterion_main!(benches);
