//! HPCC: Li et al., "HPCC: High Precision Congestion Control", SIGCOMM '19, algorithm 1, and as the
//! artifact has it.
//!
//! Every switch port writes its time, bytes sent, queue and rate `B` into a packet that leaves it,
//! and ACKs bring that back. For each hop, from what this ACK and the one before it say:
//!
//! ```text
//! u = bytes / (τ · B) + min(queue, queue before) / (B · T)
//! ```
//!
//! `τ` is the time between the two, `T` the base round trip. With the largest `u` and its `τ`, at
//! most `T` (lines 2 to 11):
//!
//! ```text
//! U ← (U · (T − τ) + u · τ) / T, 1 at first
//! ```
//!
//! Every ACK sets the rate from a reference `R_c` (lines 12 to 20):
//!
//! ```text
//! U ≥ η or stage ≥ maxStage   R = R_c / (U / η) + R_AI, stage 0
//! else                        R = R_c + R_AI,           stage + 1
//! ```
//!
//! between the least rate and the line rate. Reference and stage follow only once a round trip,
//! which is over when a byte is acknowledged that was not sent when they last did (lines 21 to 30).
//! The first ACK only leaves its telemetry.
//!
//! The paper's `W` is `R · T` here, `W_AI` is `R_AI · T`, and the window is bounded by `W`. In the
//! artifact the window is the plan's in proportion to the rate, `T` is the same for all QPs, its
//! bandwidth-delay product wraps, and the telemetry's fields wrap: see `int`.
//!
//! A hop whose clock has not moved says nothing. In the artifact, that divides by zero when two
//! ACKs meet a hop 2^24 ns apart to the nanosecond, and the QP's `U` is lost for good.
//!
//! Parameters: [`lab_plan::transport::HpccPlan`].

use lab_plan::{Physics, transport::HpccPlan};
use lab_units::BitsPerSec;

use super::{
    Ack, CongestionControl, ExtraBytes, IntHop, Notification, QpFacts,
    int::{self, Passage},
    rate::{bounded, count, float, over, plus},
};
use crate::time::SimTime;

/// Parameters of [`Hpcc`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    physics: Physics,
    /// η.
    utilisation: f64,
    max_stage: u32,
    additive: BitsPerSec,
    least: BitsPerSec,
    int_bytes: u32,
}

impl Parameters {
    /// Of a plan; the physics decides what telemetry's fields hold.
    #[must_use]
    pub fn new(plan: &HpccPlan, physics: Physics) -> Self {
        Self {
            physics,
            utilisation: float(plan.utilisation),
            max_stage: plan.max_stage,
            additive: plan.additive_bps,
            least: plan.min_bps,
            int_bytes: int::HEADER_BYTES + plan.int_hops * int::HOP_BYTES,
        }
    }
}

/// HPCC's sender.
#[derive(Clone, Debug, PartialEq)]
pub struct Hpcc {
    rate: BitsPerSec,
    /// `R_c`.
    reference: BitsPerSec,
    line: BitsPerSec,
    /// U.
    utilisation: f64,
    /// Bytes that fill the way in a base round trip at line rate: `B · T` of the NIC.
    full_window: u64,
    base_rtt: SimTime,
    /// Additive raises since the last other one.
    stage: u32,
    /// The acknowledgement that ends the round trip is above this; zero before the first.
    update_after: u64,
    has_window: bool,
    /// What each hop said last; there is no telemetry before the first ACK, so there is no memory.
    hops: Vec<IntHop>,
}

/// What an ACK means.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Verdict {
    rate: BitsPerSec,
    stage: u32,
}

impl CongestionControl for Hpcc {
    type Parameters = Parameters;

    const HAS_INT: bool = true;
    const ARTIFACT_MOVES_NEXT: bool = true;

    fn extra_wire_bytes(parameters: &Parameters) -> ExtraBytes {
        let bytes = parameters.int_bytes;
        ExtraBytes {
            data: bytes,
            ack: match parameters.physics {
                Physics::Paper => bytes,
                Physics::Artifact => int::artifact_ack_bytes(bytes),
            },
        }
    }

    fn notification(_: &Parameters) -> Notification {
        Notification::Echo
    }

    fn new(parameters: &Parameters, facts: QpFacts, _: SimTime) -> Self {
        Self {
            rate: facts.line_rate,
            reference: facts.line_rate,
            line: facts.line_rate,
            utilisation: 1.0,
            full_window: facts.full_window.max(1),
            base_rtt: facts.base_rtt,
            stage: 0,
            update_after: 0,
            has_window: parameters.physics == Physics::Paper,
            hops: Vec::new(),
        }
    }

    fn rate(&self) -> BitsPerSec {
        self.rate
    }

    fn window_bytes(&self) -> Option<u64> {
        self.has_window.then(|| {
            let window = u128::from(self.full_window) * u128::from(self.rate.get());
            let window = window / u128::from(self.line.get());
            u64::try_from(window).unwrap_or(u64::MAX).max(1)
        })
    }

    fn acked(&mut self, _: SimTime, ack: &Ack<'_>, parameters: &Parameters) {
        if ack.hops.is_empty() {
            return;
        }
        if self.hops.len() != ack.hops.len() {
            // The first telemetry, or that of another path.
            self.hops.clear();
            self.hops.extend_from_slice(ack.hops);
            self.update_after = self.update_after.max(ack.next_bytes);
            return;
        }
        let is_update = ack.acked_bytes > self.update_after;
        self.measure(ack.hops, parameters);
        let verdict = self.verdict(parameters);
        self.rate = verdict.rate;
        if is_update {
            self.reference = verdict.rate;
            self.stage = verdict.stage;
            self.update_after = self.update_after.max(ack.next_bytes);
        }
    }
}

impl Hpcc {
    /// Lines 2 to 11: what the hops say of the use of their links.
    fn measure(&mut self, hops: &[IntHop], parameters: &Parameters) {
        let mut most: Option<(f64, u64)> = None;
        for (before, hop) in self.hops.iter_mut().zip(hops) {
            let passage = match parameters.physics {
                Physics::Paper => Passage::between(before, hop),
                Physics::Artifact => int::artifact_passage(before, hop),
            };
            *before = *hop;
            let Some(used) = used(&passage, self.line, self.full_window) else {
                continue;
            };
            if used > most.map_or(0.0, |(most, _)| most) {
                most = Some((used, passage.ticks));
            }
        }
        let Some((used, ticks)) = most else {
            return;
        };
        let base = int::ticks(self.base_rtt, parameters.physics).max(1);
        let ticks = ticks.min(base);
        let kept = self.utilisation * count(base - ticks);
        self.utilisation = (kept + used * count(ticks)) / count(base);
    }

    /// Lines 12 to 20.
    fn verdict(&self, parameters: &Parameters) -> Verdict {
        let load = self.utilisation / parameters.utilisation;
        let (rate, stage) = if load >= 1.0 || self.stage >= parameters.max_stage {
            (over(self.reference, load), 0)
        } else {
            (self.reference, self.stage + 1)
        };
        let rate = plus(rate, parameters.additive);
        Verdict {
            rate: bounded(rate, parameters.least, self.line),
            stage,
        }
    }
}

/// The use of a link: what left it, and what waited all the time, each as a share of what it
/// carries. Nothing if no time passed.
fn used(passage: &Passage, line: BitsPerSec, full_window: u64) -> Option<f64> {
    if passage.ticks == 0 {
        return None;
    }
    let rate = count(passage.rate_bps);
    let sent = count(passage.bytes * 8) / passage.seconds;
    let waiting = count(passage.queue_bytes) * count(line.get()) / rate;
    Some(sent / rate + waiting / count(full_window))
}
