//! One thread.

use std::{
    cmp::Reverse,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicUsize, Ordering},
};

use super::{
    EndReason, Observer, Progress,
    station::{Shared, Standing, Station, lock},
};
use crate::{cc::CongestionControl, note::Note, semantics::Semantics, time::SimTime};

/// A thread, which takes datacenters as it comes to them.
pub(super) struct Worker<'s, 'w, P: Semantics, C: CongestionControl> {
    shared: &'s Shared<'w, P, C>,
    me: usize,
}

impl<'s, 'w, P: Semantics, C: CongestionControl> Worker<'s, 'w, P, C> {
    pub const fn new(shared: &'s Shared<'w, P, C>, me: usize) -> Self {
        Self { shared, me }
    }

    /// Works to the end; `observer` is with one of the threads.
    pub fn work(&self, mut observer: Option<&mut dyn Observer>) {
        let mut horizon = SimTime::ZERO;
        loop {
            self.guarded(Self::exchange);
            self.shared.barrier.wait();
            let standings = self.standings();
            let next = standings.iter().map(|standing| standing.next).min();
            let next = next.unwrap_or(SimTime::MAX);
            if let Some(reason) = self.end_reason(next, &standings) {
                if let Some(observer) = observer {
                    self.shared.close(horizon, reason);
                    self.pass_on(horizon, observer);
                }
                return;
            }
            let lookahead = self.shared.world.lookahead;
            horizon = next.saturating_add(lookahead).min(self.shared.until);
            self.guarded(|worker| worker.advance(horizon, &standings));
            self.shared.barrier.wait();
            if let Some(observer) = &mut observer {
                self.pass_on(horizon, *observer);
            }
        }
    }

    /// Does `step`; a panic ends all threads instead of leaving them waiting for this one.
    fn guarded(&self, step: impl FnOnce(&Self)) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| step(self))) {
            *lock(&self.shared.panic) = Some(panic);
            self.shared.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Hands out what left in the last window, and says how far everybody is.
    fn exchange(&self) {
        let shared = self.shared;
        let is_ending = shared.stop.load(Ordering::Relaxed);
        shared.is_ending[self.me].store(is_ending, Ordering::Relaxed);
        while let Some(station) = self.take(&shared.exchanged, |place| place) {
            let mut shard = lock(&station.shard);
            for mail in std::mem::take(&mut *lock(&station.mail)) {
                shard.deliver(mail);
            }
            let mut standing = lock(&station.standing);
            *standing = Standing {
                next: shard.next_time().unwrap_or(SimTime::MAX),
                has_work: shard.has_work(),
                finished: shard.work.finished,
                events: shard.work.events,
                recent: shard.work.events - standing.events,
            };
        }
        // Nobody takes any in a window, until the next exchange.
        if self.me == 0 {
            shared.advanced.store(0, Ordering::Relaxed);
        }
    }

    fn standings(&self) -> Vec<Standing> {
        let stations = self.shared.stations.iter();
        stations.map(|station| *lock(&station.standing)).collect()
    }

    /// Why it is over, if it is; all threads come to the same answer.
    fn end_reason(&self, next: SimTime, standings: &[Standing]) -> Option<EndReason> {
        let flows = self.shared.world.flows.len() as u64;
        let finished: u64 = standings.iter().map(|standing| standing.finished).sum();
        if self.shared.is_ending() {
            Some(EndReason::Stopped)
        } else if finished == flows {
            Some(EndReason::Finished)
        } else if !standings.iter().any(|standing| standing.has_work) {
            Some(EndReason::Stuck)
        } else if next >= self.shared.until {
            Some(EndReason::Until)
        } else {
            None
        }
    }

    /// Lets everything happen before `horizon`: the busiest datacenters first, so that no thread has
    /// a large one left when the others are done.
    fn advance(&self, horizon: SimTime, standings: &[Standing]) {
        let shared = self.shared;
        let mut order: Vec<usize> = (0..standings.len()).collect();
        order.sort_by_key(|&dc| Reverse(standings[dc].recent));
        while let Some(station) = self.take(&shared.advanced, |place| order[place]) {
            let mut shard = lock(&station.shard);
            shard.run_until(horizon);
            for mail in shard.take_mail() {
                lock(&shared.stations[mail.to_dc as usize].mail).push(mail);
            }
            lock(&station.notes).append(&mut shard.notes);
            *lock(&station.work) = shard.work;
        }
        if shared.world.failure().is_some() {
            shared.stop.store(true, Ordering::Relaxed);
        }
        if self.me == 0 {
            shared.exchanged.store(0, Ordering::Relaxed);
        }
    }

    /// The next datacenter that no thread has taken, in the order of `dc_at`.
    fn take(
        &self,
        taken: &AtomicUsize,
        dc_at: impl Fn(usize) -> usize,
    ) -> Option<&'s Station<'w, P, C>> {
        let place = taken.fetch_add(1, Ordering::Relaxed);
        let stations = &self.shared.stations;
        (place < stations.len()).then(|| &stations[dc_at(place)])
    }

    /// Tells the observer what happened in the window, in order of time, then datacenter.
    fn pass_on(&self, horizon: SimTime, observer: &mut dyn Observer) {
        let shared = self.shared;
        let mut notes = Vec::new();
        for station in &shared.stations {
            notes.append(&mut lock(&station.notes));
        }
        notes.sort_by_key(Note::at);
        for note in notes {
            observer.note(note);
        }
        let progress = Progress {
            now: horizon,
            work: shared.work(),
            flows: shared.world.flows.len() as u64,
        };
        if !observer.progress(progress) {
            shared.stop.store(true, Ordering::Relaxed);
        }
    }
}
