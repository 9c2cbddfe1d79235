//! Windows of virtual time, on one thread or many.
//!
//! Conservative parallel simulation (Chandy, Misra, Bryant): nothing leaves a datacenter that
//! reaches another in less than the shortest inter-DC delay, so from the time of the next event on
//! all datacenters may run for that long without hearing of each other. Then what left is handed
//! over, and the next window begins. One thread does the same, datacenter by datacenter, so the
//! number of threads changes nothing but the time it takes.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Barrier, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use crate::{
    cc::CongestionControl,
    network::count,
    note::Note,
    physics::Physics,
    shard::{Crossing, Shard, Told, Work},
    time::SimTime,
    world::World,
};

/// How a simulation is run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Threads that share the datacenters; at least one.
    pub threads: usize,
    /// When it stops, finished or not.
    pub until: Option<SimTime>,
    /// Whose stories are told.
    pub told: Told,
}

/// Who hears what happens, in order of time.
pub trait Observer {
    /// Something worth a row.
    fn note(&mut self, note: Note);

    /// How far it is; false stops the simulation.
    fn progress(&mut self, progress: Progress) -> bool;
}

/// How far a simulation is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Everything before has happened.
    pub now: SimTime,
    /// Work done so far.
    pub work: Work,
    /// Flows in all.
    pub flows: u64,
}

/// How a simulation ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// When: at the end of the last flow if all finished, at the time limit if that came first, else
    /// when something last happened.
    pub end: SimTime,
    /// Work done.
    pub work: Work,
    /// Why.
    pub reason: EndReason,
    /// Flows that started and did not finish.
    pub unfinished: Vec<u32>,
}

/// Why a simulation ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EndReason {
    /// Every flow has all its ACKs.
    Finished,
    /// Nothing can happen any more: flows wait for packets that were lost.
    Stuck,
    /// The time was up.
    Until,
    /// The observer wanted no more.
    Stopped,
}

/// Runs a world to its end.
///
/// # Panics
/// If a thread panics; the others are ended first.
pub fn run<P: Physics, C: CongestionControl + Send>(
    world: &World<'_, P, C>,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Outcome {
    let teams = teams(world, options.threads);
    let shared = Shared::new(world.network.dcs.len(), teams.len());
    let (first, others) = teams.split_first().expect("at least one thread");
    thread::scope(|scope| {
        for (me, team) in (1..).zip(others) {
            let shared = &shared;
            scope.spawn(move || Member::new(world, options, shared, me, team).work(None));
        }
        Member::new(world, options, &shared, 0, first).work(Some(observer));
    });
    if let Some(panic) = lock(&shared.panic).take() {
        resume_unwind(panic);
    }
    let mut unfinished = std::mem::take(&mut *lock(&shared.unfinished));
    unfinished.sort_unstable();
    let work = *lock(&shared.work);
    let reason = *lock(&shared.reason);
    Outcome {
        end: SimTime::from_picos(shared.end.load(Ordering::Relaxed)),
        work,
        reason: reason.unwrap_or(EndReason::Stopped),
        unfinished,
    }
}

/// Datacenters for each thread: the busiest first, each to the thread with least to do.
fn teams<P: Physics, C: CongestionControl>(
    world: &World<'_, P, C>,
    threads: usize,
) -> Vec<Vec<u32>> {
    let dcs = world.network.dcs.len();
    let mut packets = vec![0u64; dcs];
    let mut all = 0;
    for flow in &world.flows {
        for node in [flow.src, flow.dst] {
            packets[world.network.nodes[node as usize].dc as usize] += u64::from(flow.packets);
        }
        all += u64::from(flow.packets);
    }
    // What a datacenter only passes on is not known before it is; a share of all is a fair guess.
    let transit = all / u64::try_from(dcs).unwrap_or(1).max(1);
    let mut order: Vec<u32> = (0..count(dcs)).collect();
    let load = |dc: u32| packets[dc as usize] * 3 + transit;
    order.sort_by_key(|&dc| std::cmp::Reverse(load(dc)));
    let mut teams = vec![(0u64, Vec::new()); threads.clamp(1, dcs.max(1))];
    for dc in order {
        if let Some(idlest) = teams.iter_mut().min_by_key(|(load, _)| *load) {
            idlest.0 += load(dc);
            idlest.1.push(dc);
        }
    }
    teams.into_iter().map(|(_, team)| team).collect()
}

/// What threads share.
struct Shared {
    barrier: Barrier,
    /// For each datacenter, what is on its way there.
    mail: Vec<Mutex<Vec<Vec<Crossing>>>>,
    /// For each datacenter, what happened there.
    notes: Vec<Mutex<Vec<Note>>>,
    /// For each thread, its next event, and whether it has more than samples.
    next: Vec<AtomicU64>,
    has_work: Vec<AtomicBool>,
    /// For each thread, flows finished there before the window, and whether it knows of an end. Who
    /// asks `work` or `stop` instead may hear of the window that faster threads are in already.
    finished: Vec<AtomicU64>,
    is_ending: Vec<AtomicBool>,
    work: Mutex<Work>,
    unfinished: Mutex<Vec<u32>>,
    reason: Mutex<Option<EndReason>>,
    end: AtomicU64,
    stop: AtomicBool,
    panic: Mutex<Option<Box<dyn std::any::Any + Send>>>,
}

impl Shared {
    fn new(dcs: usize, threads: usize) -> Self {
        Self {
            barrier: Barrier::new(threads),
            mail: (0..dcs).map(|_| Mutex::default()).collect(),
            notes: (0..dcs).map(|_| Mutex::default()).collect(),
            next: (0..threads).map(|_| AtomicU64::new(0)).collect(),
            has_work: (0..threads).map(|_| AtomicBool::new(false)).collect(),
            finished: (0..threads).map(|_| AtomicU64::new(0)).collect(),
            is_ending: (0..threads).map(|_| AtomicBool::new(false)).collect(),
            work: Mutex::default(),
            unfinished: Mutex::default(),
            reason: Mutex::default(),
            end: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            panic: Mutex::default(),
        }
    }
}

/// One thread and its datacenters.
struct Member<'w, P: Physics, C: CongestionControl> {
    world: &'w World<'w, P, C>,
    until: SimTime,
    shared: &'w Shared,
    me: usize,
    shards: Vec<(usize, Shard<'w, P, C>)>,
    /// What was told of the work done.
    told: Work,
}

impl<'w, P: Physics, C: CongestionControl> Member<'w, P, C> {
    fn new(
        world: &'w World<'w, P, C>,
        options: &'w RunOptions,
        shared: &'w Shared,
        me: usize,
        team: &[u32],
    ) -> Self {
        let shard = |&dc: &u32| (dc as usize, Shard::new(world, dc, &options.told));
        Self {
            world,
            until: options.until.unwrap_or(SimTime::MAX),
            shared,
            me,
            shards: team.iter().map(shard).collect(),
            told: Work::default(),
        }
    }

    fn work(&mut self, mut observer: Option<&mut dyn Observer>) {
        let mut horizon = SimTime::ZERO;
        loop {
            self.guarded(Self::take_mail);
            self.report();
            self.shared.barrier.wait();
            let next = self.next_of_all();
            if let Some(reason) = self.end_reason(next) {
                self.close(horizon, reason);
                self.shared.barrier.wait();
                if let Some(observer) = &mut observer {
                    self.pass_on(horizon, *observer);
                }
                return;
            }
            horizon = next.saturating_add(self.world.lookahead).min(self.until);
            self.guarded(|member| member.advance(horizon));
            self.shared.barrier.wait();
            if let Some(observer) = &mut observer {
                self.pass_on(horizon, *observer);
            }
        }
    }

    /// Does `step`; a panic ends all threads instead of leaving them waiting for this one.
    fn guarded(&mut self, step: impl FnOnce(&mut Self)) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| step(self))) {
            *lock(&self.shared.panic) = Some(panic);
            self.shared.stop.store(true, Ordering::Relaxed);
        }
    }

    fn take_mail(&mut self) {
        let mut next = SimTime::MAX;
        let mut has_work = false;
        for (dc, shard) in &mut self.shards {
            let mail = std::mem::take(&mut *lock(&self.shared.mail[*dc]));
            for crossing in mail.into_iter().flatten() {
                shard.deliver(crossing);
            }
            next = next.min(shard.next_time().unwrap_or(SimTime::MAX));
            has_work |= shard.has_work();
        }
        // The barrier makes these visible to all.
        self.shared.next[self.me].store(next.picos(), Ordering::Relaxed);
        self.shared.has_work[self.me].store(has_work, Ordering::Relaxed);
    }

    /// What all threads, behind the barrier, judge the end by.
    fn report(&self) {
        let is_ending = self.shared.stop.load(Ordering::Relaxed);
        self.shared.is_ending[self.me].store(is_ending, Ordering::Relaxed);
        self.shared.finished[self.me].store(self.told.finished, Ordering::Relaxed);
    }

    fn next_of_all(&self) -> SimTime {
        let times = self.shared.next.iter();
        let next = times.map(|time| time.load(Ordering::Relaxed)).min();
        SimTime::from_picos(next.unwrap_or(u64::MAX))
    }

    /// Why it is over, if it is; all threads come to the same answer.
    fn end_reason(&self, next: SimTime) -> Option<EndReason> {
        let flows = self.world.flows.len() as u64;
        let any = |flags: &[AtomicBool]| flags.iter().any(|flag| flag.load(Ordering::Relaxed));
        let finished = self.shared.finished.iter();
        let finished: u64 = finished.map(|count| count.load(Ordering::Relaxed)).sum();
        if any(&self.shared.is_ending) {
            Some(EndReason::Stopped)
        } else if finished == flows {
            Some(EndReason::Finished)
        } else if !any(&self.shared.has_work) {
            Some(EndReason::Stuck)
        } else if next >= self.until {
            Some(EndReason::Until)
        } else {
            None
        }
    }

    fn advance(&mut self, horizon: SimTime) {
        let mut done = Work::default();
        for (dc, shard) in &mut self.shards {
            shard.run_until(horizon);
            for (mail, out) in self.shared.mail.iter().zip(&mut shard.outboxes) {
                if !out.is_empty() {
                    lock(mail).push(std::mem::take(out));
                }
            }
            lock(&self.shared.notes[*dc]).append(&mut shard.notes);
            done.add(&shard.work);
        }
        lock(&self.shared.work).add_difference(&done, &self.told);
        self.told = done;
    }

    /// Everything before `horizon` has happened and nothing more will.
    fn close(&mut self, horizon: SimTime, reason: EndReason) {
        let ends = self.shards.iter().map(|(_, shard)| match reason {
            EndReason::Finished => shard.last_finish(),
            EndReason::Until => self.until,
            EndReason::Stuck | EndReason::Stopped => shard.now(),
        });
        let end = ends.max().unwrap_or(SimTime::ZERO);
        self.shared.end.fetch_max(end.picos(), Ordering::Relaxed);
        for (dc, shard) in &mut self.shards {
            shard.close(horizon.max(end));
            lock(&self.shared.unfinished).extend(shard.unfinished());
            lock(&self.shared.notes[*dc]).append(&mut shard.notes);
        }
        *lock(&self.shared.reason) = Some(reason);
    }

    /// Tells the observer what happened in the window, in order of time, then datacenter.
    fn pass_on(&self, horizon: SimTime, observer: &mut dyn Observer) {
        let mut notes = Vec::new();
        for of_dc in &self.shared.notes {
            notes.append(&mut lock(of_dc));
        }
        notes.sort_by_key(Note::at);
        for note in notes {
            observer.note(note);
        }
        let progress = Progress {
            now: horizon,
            work: *lock(&self.shared.work),
            flows: self.world.flows.len() as u64,
        };
        if !observer.progress(progress) {
            self.shared.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl Work {
    fn add(&mut self, other: &Self) {
        self.add_difference(other, &Self::default());
    }

    /// Adds what `after` has more than `before`.
    fn add_difference(&mut self, after: &Self, before: &Self) {
        self.events += after.events - before.events;
        self.packet_hops += after.packet_hops - before.packet_hops;
        self.drops += after.drops - before.drops;
        self.data_packets += after.data_packets - before.data_packets;
        self.finished += after.finished - before.finished;
    }
}

/// A thread that panicked holding a lock is ended by then, and what it held is not used.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
