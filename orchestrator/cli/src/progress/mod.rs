//! What a run is doing, by the clock of the machine that shows it.
//!
//! In a guest nothing is shown: what happens is relayed to the host, whose clock times the phases. A
//! guest's virtual clock leaps while it waits for the host, so that its seconds mean something only
//! while flows run.
//!
//! - `screen`: bars on a terminal, lines elsewhere
//! - `relay`: what happens in a guest, from there to the host

mod relay;
mod screen;

use std::time::{Duration, Instant};

use lab_guest::inside;
use lab_kernel::run::RunEvent;
use lab_records::{Clock, Phase};
use lab_units::Nanos;

pub use self::{relay::Listener, screen::draws_bars};
use self::{
    relay::{Relay, Told},
    screen::Screen,
};
use crate::facts::Setting;

/// Says how a run is doing.
pub struct Progress {
    shown: Shown,
    phase: Option<Open>,
    phases: Vec<Phase>,
    /// Whether this process is on a virtual clock.
    is_virtual: bool,
}

/// Where progress is shown.
enum Shown {
    Here(Screen),
    ByHost(Relay),
}

/// The phase under way.
struct Open {
    name: String,
    since: Instant,
    done: u64,
    total: u64,
}

impl Progress {
    /// For standard error as it is, or for the host's.
    #[must_use]
    pub fn new() -> Self {
        Self {
            shown: if inside::is_inside() {
                Shown::ByHost(Relay::new())
            } else {
                Shown::Here(Screen::new())
            },
            phase: None,
            phases: Vec::new(),
            is_virtual: Setting::of_this_process().clock == Clock::Virtual,
        }
    }

    /// A phase begins; the one before it has ended.
    pub fn begin(&mut self, name: &str, total: u64) {
        self.end_phase(false);
        self.phase = Some(Open {
            name: name.to_owned(),
            since: Instant::now(),
            done: 0,
            total,
        });
        match &self.shown {
            Shown::Here(screen) => screen.begin(name, total),
            Shown::ByHost(relay) => relay.tell(&Told::Begin {
                name: name.to_owned(),
                total,
            }),
        }
    }

    /// Shows how far the lab is.
    pub fn built(&mut self, at: lab_kernel::lab::Progress) {
        let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        let step = at.phase.to_string();
        self.set(count(at.done), count(at.total), &step, false);
    }

    /// Shows what the run says of itself.
    pub fn show(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Phase { name, steps } => self.begin(name, *steps),
            RunEvent::Step { text } => {
                let (done, total) = self
                    .phase
                    .as_ref()
                    .map_or((1, 1), |open| (open.done + 1, open.total));
                // A line for each of hundreds of steps would hide the phases.
                self.set(done, total, text, is_milestone(done, total));
            }
            RunEvent::FlowsEnd => self.end_phase(true),
        }
    }

    /// Says a line without tearing a bar.
    pub fn say(&self, text: &str) {
        self.pass(format!("{text}\n").as_bytes());
    }

    /// Nothing more will come. How long the phases took, if this is the process that knows.
    pub fn finish(&mut self) -> Vec<Phase> {
        self.end_phase(false);
        if let Shown::Here(screen) = &self.shown {
            screen.finish();
        }
        std::mem::take(&mut self.phases)
    }

    /// What a guest tells of its own progress.
    fn follow(&mut self, told: Told) {
        match told {
            Told::Begin { name, total } => self.begin(&name, total),
            Told::At {
                done,
                total,
                text,
                is_milestone,
            } => self.set(done, total, &text, is_milestone),
            Told::End { virtual_ns } => self.close(virtual_ns),
        }
    }

    /// Passes on bytes for standard error.
    fn pass(&self, bytes: &[u8]) {
        match &self.shown {
            Shown::Here(screen) => screen.pass(bytes),
            Shown::ByHost(_) => screen::write(bytes),
        }
    }

    fn set(&mut self, done: u64, total: u64, text: &str, is_milestone: bool) {
        let Some(open) = &mut self.phase else { return };
        open.done = done;
        match &self.shown {
            Shown::Here(screen) => screen.at(&open.name, done, total, text, is_milestone),
            Shown::ByHost(relay) => relay.tell(&Told::At {
                done,
                total,
                text: text.to_owned(),
                is_milestone,
            }),
        }
    }

    /// Ends the phase under way; of one in which flows ran, this clock's time means something.
    fn end_phase(&mut self, of_flows: bool) {
        let took = self.phase.as_ref().map(|open| nanos(open.since.elapsed()));
        self.close(took.filter(|_| of_flows && self.is_virtual));
    }

    fn close(&mut self, virtual_ns: Option<Nanos>) {
        let Some(open) = self.phase.take() else {
            return;
        };
        match &self.shown {
            Shown::Here(screen) => {
                let phase = Phase {
                    name: open.name,
                    took_ns: nanos(open.since.elapsed()),
                    virtual_ns,
                };
                screen.pass(ended(&phase).as_bytes());
                self.phases.push(phase);
            }
            Shown::ByHost(relay) => relay.tell(&Told::End { virtual_ns }),
        }
    }
}

/// The line of a phase that is over.
fn ended(phase: &Phase) -> String {
    let took = lab_plan::about_time(phase.took_ns);
    let aside = phase.virtual_ns.map_or_else(String::new, |time| {
        format!(", {} in the lab's virtual time", lab_plan::about_time(time))
    });
    format!("{:>10}  done in {took}{aside}\n", phase.name)
}

/// Every quarter of a phase, the last step included.
fn is_milestone(done: u64, total: u64) -> bool {
    total > 0 && done * 4 / total > (done - 1) * 4 / total
}

/// A length of time as a person reads it.
#[must_use]
pub fn about(time: Duration) -> String {
    lab_plan::about_time(nanos(time))
}

fn nanos(time: Duration) -> Nanos {
    Nanos::new(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_has_four_milestones_however_long() {
        for total in [4, 44, 1000] {
            let milestones: Vec<u64> = (1..=total)
                .filter(|done| is_milestone(*done, total))
                .collect();
            assert_eq!(milestones.len(), 4, "{total}");
            assert_eq!(milestones.last(), Some(&total));
        }
    }

    #[test]
    fn a_phase_says_which_clock_its_times_are_of() {
        let phase = |virtual_ns| Phase {
            name: "lcmp flows".to_owned(),
            took_ns: Nanos::from_millis(2_340),
            virtual_ns,
        };
        assert_eq!(ended(&phase(None)), "lcmp flows  done in 2.3 s\n");
        assert_eq!(
            ended(&phase(Some(Nanos::from_millis(7_200)))),
            "lcmp flows  done in 2.3 s, 7.2 s in the lab's virtual time\n"
        );
    }
}
