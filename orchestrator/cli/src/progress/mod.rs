//! Progress of a run on standard error, and the durations of its phases.
//!
//! A guest sends its progress to the host, which shows it and measures the phases: the guest's virtual clock jumps
//! while the guest waits for the host, and is meaningful only while flows run.
//!
//! - `screen`: bars on a terminal, lines elsewhere
//! - `remaining`: estimate of the remaining time of a run
//! - `relay`: progress messages from a guest to the host
//! - `guest_stderr`: receiver of these messages, on the host

mod guest_stderr;
mod relay;
mod remaining;
mod screen;

use std::time::{Duration, Instant};

use lab_guest::inside;
use lab_kernel::run::RunEvent;
use lab_records::{Clock, Phase};
use lab_units::Nanos;

pub use self::{
    guest_stderr::GuestStderr,
    screen::{REDRAWS_PER_SECOND, bar},
};
use self::{
    relay::{Message, Relay},
    remaining::Remaining,
    screen::Screen,
};

/// Progress of a run: its phases so far, and the one in progress.
pub struct Progress {
    output: Output,
    phase: Option<OpenPhase>,
    phases: Vec<Phase>,
    /// True if the clock of this process is a guest's virtual clock.
    is_virtual: bool,
    remaining: Remaining,
}

/// Output of progress: this process's standard error, or messages from a guest to the host.
enum Output {
    Screen(Screen),
    Host(Relay),
}

/// Phase that has begun but not ended.
struct OpenPhase {
    name: String,
    since: Instant,
    done: u64,
    total: u64,
}

impl Progress {
    /// Returns the progress of a run that this process begins now.
    #[must_use]
    pub fn new() -> Self {
        Self {
            output: if inside::is_inside() {
                Output::Host(Relay::new())
            } else {
                Output::Screen(Screen::new())
            },
            phase: None,
            phases: Vec::new(),
            is_virtual: inside::clock() == Clock::Virtual,
            remaining: Remaining::default(),
        }
    }

    /// Starts the estimate of the remaining time: flows will run `times` times, once per policy and repetition.
    pub fn expect(&mut self, times: u64) {
        self.remaining = Remaining::of(times, Instant::now());
        if let Output::Host(relay) = &self.output {
            relay.send(&Message::Expect { times });
        }
    }

    /// Ends the current phase and begins the phase `name`, which has `total` steps.
    pub fn begin(&mut self, name: &str, total: u64) {
        self.end_phase(false);
        self.phase = Some(OpenPhase {
            name: name.to_owned(),
            since: Instant::now(),
            done: 0,
            total,
        });
        match &self.output {
            Output::Screen(screen) => screen.begin(name, total),
            Output::Host(relay) => relay.send(&Message::Begin {
                name: name.to_owned(),
                total,
            }),
        }
    }

    /// Shows how many steps of a lab's creation are done.
    pub fn built(&mut self, at: lab_kernel::lab::LabProgress) {
        let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        let step = at.phase.to_string();
        self.set(count(at.done), count(at.total), &step, false);
    }

    /// Shows an event of the run, such as the end of a flow.
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

    /// Writes a line to standard error, above the progress bar.
    pub fn say(&self, text: &str) {
        self.write(format!("{text}\n").as_bytes());
    }

    /// Ends the progress and returns the phases with their durations; empty in a guest, because the host records the
    /// phases.
    pub fn finish(&mut self) -> Vec<Phase> {
        self.end_phase(false);
        if let Output::Screen(screen) = &self.output {
            screen.end();
        }
        std::mem::take(&mut self.phases)
    }

    /// Applies a progress message from a guest.
    fn apply(&mut self, message: Message) {
        match message {
            Message::Begin { name, total } => self.begin(&name, total),
            Message::Step {
                done,
                total,
                text,
                is_milestone,
            } => self.set(done, total, &text, is_milestone),
            Message::End { virtual_ns } => self.close(virtual_ns),
            Message::Expect { times } => self.expect(times),
        }
    }

    /// Writes bytes to standard error, above the progress bar.
    fn write(&self, bytes: &[u8]) {
        match &self.output {
            Output::Screen(screen) => screen.write(bytes),
            Output::Host(_) => screen::write(bytes),
        }
    }

    fn set(&mut self, done: u64, total: u64, text: &str, is_milestone: bool) {
        let Some(open) = &mut self.phase else { return };
        open.done = done;
        match &self.output {
            Output::Screen(screen) => {
                let left = self
                    .remaining
                    .left(Instant::now())
                    .filter(|left| left.as_secs() > 0);
                let with_left =
                    left.map(|left| format!("{text} (run: about {} left)", about(left)));
                let text = with_left.as_deref().unwrap_or(text);
                screen.set(&open.name, done, total, text, is_milestone);
            }
            Output::Host(relay) => relay.send(&Message::Step {
                done,
                total,
                text: text.to_owned(),
                is_milestone,
            }),
        }
    }

    /// Ends the open phase. A duration by the virtual clock is recorded only if flows ran in the phase.
    fn end_phase(&mut self, has_flows: bool) {
        let took = self.phase.as_ref().map(|open| nanos(open.since.elapsed()));
        self.close(took.filter(|_| has_flows && self.is_virtual));
    }

    fn close(&mut self, virtual_ns: Option<Nanos>) {
        let Some(open) = self.phase.take() else {
            return;
        };
        match &self.output {
            Output::Screen(screen) => {
                let phase = Phase {
                    name: open.name,
                    took_ns: nanos(open.since.elapsed()),
                    virtual_ns,
                };
                screen.end();
                screen.write(ended(&phase).as_bytes());
                self.remaining.ended(&phase.name, Instant::now());
                self.phases.push(phase);
            }
            Output::Host(relay) => relay.send(&Message::End { virtual_ns }),
        }
    }
}

/// Formats the line that announces the end of a phase.
fn ended(phase: &Phase) -> String {
    let took = lab_units::show::about_time(phase.took_ns);
    let aside = phase.virtual_ns.map_or_else(String::new, |time| {
        format!(
            ", {} in the lab's virtual time",
            lab_units::show::about_time(time)
        )
    });
    format!("{:>10}  done in {took}{aside}\n", phase.name)
}

/// Returns true if step `done` completes a quarter of the phase's `total` steps.
fn is_milestone(done: u64, total: u64) -> bool {
    total > 0 && done * 4 / total > (done - 1) * 4 / total
}

/// Formats a duration with a unit and two significant digits, such as `2.3 s`.
#[must_use]
pub fn about(time: Duration) -> String {
    lab_units::show::about_time(nanos(time))
}

/// Converts a duration to nanoseconds, at most `u64::MAX` (584 years).
pub fn nanos(time: Duration) -> Nanos {
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
    fn the_line_of_a_phase_names_the_clock_of_each_time() {
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
