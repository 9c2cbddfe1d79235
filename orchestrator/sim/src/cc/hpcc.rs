//! HPCC: Li et al., "HPCC: High Precision Congestion Control", SIGCOMM '19, algorithm 1; and the artifact's variant.
//!
//! Every switch port writes its time, bytes sent, queue and rate `B` into each packet, and ACKs return this telemetry.
//! For each hop, this ACK and the previous one give:
//!
//! ```text
//! u = bytes / (τ · B) + min(queue, queue before) / (B · T)
//! ```
//!
//! Here, `τ` is the time between the two ACKs' telemetry, and `T` the base RTT. The largest `u` over all hops and its
//! `τ`, limited to `T`, give (lines 2 to 11):
//!
//! ```text
//! U ← (U · (T − τ) + u · τ) / T, initially 1
//! ```
//!
//! Every ACK sets the rate from a reference `R_c` (lines 12 to 20):
//!
//! ```text
//! U ≥ η or stage ≥ maxStage   R = R_c / (U / η) + R_AI, stage 0
//! else                        R = R_c + R_AI,           stage + 1
//! ```
//!
//! limited to the range from the minimum rate to the line rate. The reference and the stage are updated once per round
//! trip, which ends with the first acknowledged byte that had not been sent at the last update (lines 21 to 30). The
//! first ACK only stores its telemetry.
//!
//! The paper's `W` is `R · T` here, `W_AI` is `R_AI · T`, and the window is limited to `W`. In the artifact, the window
//! is the plan's window in proportion to the rate, `T` is the same for all QPs, the bandwidth-delay product wraps
//! around, and so do the telemetry's fields (see `int`).
//!
//! The paper's network has a single `T`, which does not fit a network in which one path is a hundred times as long as
//! another. So `T` belongs to the path that the ACK's telemetry describes: the delays of its links in both directions
//! and the time to send a packet and its ACK. A host does not know its path before the first ACK; until then, `T` is
//! the base RTT of the longest candidate path, so that a QP starts at line rate for a round trip, as published.
//!
//! Telemetry with the identifier of another path replaces the stored telemetry, and `U` starts again (section 4.1 of
//! the paper: the sender discards the records and builds new ones). The artifact's header has no such identifier;
//! there, only a different number of hops indicates another path.
//!
//! A hop whose clock has not advanced is ignored. The artifact divides by zero if two ACKs pass a hop exactly 2^24 ns
//! apart, and the QP's `U` is NaN from then on.
//!
//! Parameters: [`lab_plan::transport::HpccConfig`].

use lab_plan::{Semantics, frame, transport::HpccConfig};
use lab_units::BitsPerSec;

use super::{
    Ack, CongestionControl, ExtraBytes, IntHop, PathFacts, QpFacts,
    int::{self, Passage},
    rate::{bounded, count, float, over, plus},
};
use crate::{
    semantics::{Paper, SemanticsRules},
    time::SimTime,
};

/// HPCC's parameters, with ratios as floats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    semantics: Semantics,
    /// Target utilisation η.
    utilisation: f64,
    max_stage: u32,
    additive: BitsPerSec,
    min_rate: BitsPerSec,
    int_bytes: u32,
}

impl Parameters {
    /// Converts a plan's parameters; `semantics` selects the encoding of telemetry.
    #[must_use]
    pub fn new(plan: &HpccConfig, semantics: Semantics) -> Self {
        Self {
            semantics,
            utilisation: float(plan.utilisation),
            max_stage: plan.max_stage,
            additive: plan.additive_rate_bps,
            min_rate: plan.min_rate_bps,
            int_bytes: frame::telemetry(plan.int_hops),
        }
    }
}

/// State of HPCC at the sender.
#[derive(Clone, Debug, PartialEq)]
pub struct Hpcc {
    rate: BitsPerSec,
    /// Reference rate `R_c`.
    reference: BitsPerSec,
    line: BitsPerSec,
    /// Utilisation estimate `U`.
    utilisation: f64,
    /// Bandwidth-delay product `B · T` of the NIC, in bytes.
    full_window: u64,
    /// Base round-trip time `T`.
    base_rtt: SimTime,
    /// Identifier of the path in the last telemetry; `None` before the first telemetry.
    path: Option<u32>,
    /// Number of additive increases since the last multiplicative step.
    stage: u32,
    /// Number of acknowledged bytes above which the round trip ends; 0 before the first round trip.
    update_after: u64,
    has_window: bool,
    /// Latest telemetry of each hop; allocated at the first ACK.
    hops: Vec<IntHop>,
}

/// Rate and stage after an ACK.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Update {
    rate: BitsPerSec,
    stage: u32,
}

impl CongestionControl for Hpcc {
    type Parameters = Parameters;

    const HAS_INT: bool = true;
    const ARTIFACT_RATE_MOVES_NEXT: bool = true;

    fn extra_wire_bytes(parameters: &Parameters) -> ExtraBytes {
        let bytes = parameters.int_bytes;
        ExtraBytes {
            data: bytes,
            ack: match parameters.semantics {
                Semantics::Paper => bytes,
                Semantics::Artifact => int::artifact_ack_bytes(bytes),
            },
        }
    }

    fn new(parameters: &Parameters, facts: QpFacts, _: SimTime) -> Self {
        Self {
            rate: facts.line_rate,
            reference: facts.line_rate,
            line: facts.line_rate,
            utilisation: 1.0,
            full_window: facts.full_window.max(1),
            base_rtt: facts.base_rtt,
            path: None,
            stage: 0,
            update_after: 0,
            has_window: parameters.semantics == Semantics::Paper,
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

    fn on_ack(&mut self, _: SimTime, ack: &Ack<'_>, parameters: &Parameters) {
        if ack.hops.is_empty() {
            return;
        }
        let is_path_new = match parameters.semantics {
            Semantics::Paper => self.is_path_new(&ack.path),
            Semantics::Artifact => self.hops.len() != ack.hops.len(),
        };
        if is_path_new {
            self.hops.clear();
            self.hops.extend_from_slice(ack.hops);
            self.update_after = self.update_after.max(ack.next_bytes);
            return;
        }
        let is_update = ack.acked_bytes > self.update_after;
        self.measure(ack.hops, parameters);
        let update = self.update(parameters);
        self.rate = update.rate;
        if is_update {
            self.reference = update.rate;
            self.stage = update.stage;
            self.update_after = self.update_after.max(ack.next_bytes);
        }
    }
}

impl Hpcc {
    /// Sets `T` to the base RTT of `path`; if the path is the first one or differs from the previous one, resets `U` to
    /// 1 and returns true.
    fn is_path_new(&mut self, path: &PathFacts) -> bool {
        if path.base_rtt != self.base_rtt {
            self.base_rtt = path.base_rtt;
            self.full_window = Paper::bdp(path.base_rtt, self.line).max(1);
        }
        let is_new = self.path.replace(path.id) != Some(path.id);
        if is_new {
            self.utilisation = 1.0;
        }
        is_new
    }

    /// Updates `U` from the telemetry of all hops (lines 2 to 11 of algorithm 1 in the HPCC paper).
    fn measure(&mut self, hops: &[IntHop], parameters: &Parameters) {
        let mut max: Option<(f64, u64)> = None;
        for (before, hop) in self.hops.iter_mut().zip(hops) {
            let passage = match parameters.semantics {
                Semantics::Paper => Passage::between(before, hop),
                Semantics::Artifact => int::artifact_passage(before, hop),
            };
            *before = *hop;
            let Some(used) = used(&passage, self.line, self.full_window) else {
                continue;
            };
            if used > max.map_or(0.0, |(max, _)| max) {
                max = Some((used, passage.ticks));
            }
        }
        let Some((used, ticks)) = max else {
            return;
        };
        let base = int::ticks(self.base_rtt, parameters.semantics).max(1);
        let ticks = ticks.min(base);
        let kept = self.utilisation * count(base - ticks);
        self.utilisation = (kept + used * count(ticks)) / count(base);
    }

    /// Returns the new rate and stage (lines 12 to 20 of algorithm 1 in the HPCC paper).
    fn update(&self, parameters: &Parameters) -> Update {
        let load = self.utilisation / parameters.utilisation;
        let (rate, stage) = if load >= 1.0 || self.stage >= parameters.max_stage {
            (over(self.reference, load), 0)
        } else {
            (self.reference, self.stage + 1)
        };
        let rate = plus(rate, parameters.additive);
        Update {
            rate: bounded(rate, parameters.min_rate, self.line),
            stage,
        }
    }
}

/// Returns a link's utilisation between two ACKs' telemetry; `None` if no time has passed. It is the throughput divided
/// by the link's rate, plus the shorter queue divided by the link's bandwidth-delay product (rate · base RTT).
fn used(passage: &Passage, line: BitsPerSec, full_window: u64) -> Option<f64> {
    if passage.ticks == 0 {
        return None;
    }
    let rate = count(passage.rate_bps);
    let sent = count(passage.bytes * 8) / passage.seconds;
    let waiting = count(passage.queue_bytes) * count(line.get()) / rate;
    Some(sent / rate + waiting / count(full_window))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, qp_facts};

    const LINE: u64 = 100_000_000_000;

    /// Bandwidth-delay product in bytes: 10 µs at 100 Gbit/s.
    const FULL_WINDOW: u64 = 125_000;

    const PATH: PathFacts = PathFacts {
        id: 1,
        base_rtt: SimTime::from_micros(10),
    };

    fn published() -> Parameters {
        Parameters::new(&HpccConfig::PAPER, Semantics::Paper)
    }

    fn artifact() -> Parameters {
        Parameters::new(&HpccConfig::ARTIFACT, Semantics::Artifact)
    }

    fn new_control(parameters: &Parameters) -> Hpcc {
        let facts = qp_facts(10, FULL_WINDOW);
        Hpcc::new(parameters, facts, SimTime::ZERO)
    }

    /// Switch port that writes telemetry, with the number of bytes acknowledged through it.
    #[derive(Default)]
    struct Port {
        hop: IntHop,
        acked: u64,
    }

    impl Port {
        /// Processes an ACK `micros` after the previous one. The port has sent `bytes` since then and has `queue` bytes
        /// queued. Each ACK ends a round trip.
        fn ack(
            &mut self,
            control: &mut Hpcc,
            [micros, bytes, queue]: [u64; 3],
            parameters: &Parameters,
        ) -> u64 {
            self.acked += 1_000;
            self.send(control, [micros, bytes, queue], [self.acked; 2], parameters)
        }

        fn send(
            &mut self,
            control: &mut Hpcc,
            [micros, bytes, queue]: [u64; 3],
            [acked_bytes, next_bytes]: [u64; 2],
            parameters: &Parameters,
        ) -> u64 {
            self.hop = IntHop {
                time: self.hop.time + SimTime::from_micros(micros),
                tx_bytes: self.hop.tx_bytes + bytes,
                queue_bytes: queue,
                rate_bps: LINE,
            };
            let ack = Ack {
                hops: &[self.hop],
                path: PATH,
                ..ack(acked_bytes, next_bytes)
            };
            control.on_ack(SimTime::ZERO, &ack, parameters);
            control.rate.get() / 1_000_000
        }
    }

    #[test]
    fn a_full_hop_is_brought_to_the_target_utilisation() {
        // u is 1 over a whole T, so U is 1 and the rate is 100 / (1 / 0.95) Gbit/s plus 50 Mbit/s. In the artifact,
        // 125,000 B are counted as 976 units of 128 B, so U is 0.999424.
        for (parameters, rate) in [(published(), 95_050), (artifact(), 95_104)] {
            let mut control = new_control(&parameters);
            let mut port = Port::default();
            assert_eq!(port.ack(&mut control, [0, 0, 0], &parameters), 100_000);
            let full = [10, FULL_WINDOW, 0];
            assert_eq!(port.ack(&mut control, full, &parameters), rate);
        }
    }

    #[test]
    fn queued_bytes_count_as_much_as_sent_bytes() {
        let parameters = published();
        let mut control = new_control(&parameters);
        let mut port = Port::default();
        port.ack(&mut control, [0, 0, 12_500], &parameters);
        // u is 0.85 from sent bytes plus 0.1 from a queue of a tenth of the bandwidth-delay product: exactly the
        // target.
        let rate = port.ack(&mut control, [10, 106_250, 20_000], &parameters);
        assert!((control.utilisation - 0.95).abs() < 1e-12);
        assert_eq!(rate, 100_000);
        // The shorter of the two queues counts: u is 1 + 0.16.
        port.ack(&mut control, [10, FULL_WINDOW, 50_000], &parameters);
        assert!((control.utilisation - 1.16).abs() < 1e-12);
    }

    #[test]
    fn a_measurement_counts_for_its_share_of_the_round_trip() {
        let parameters = published();
        let mut control = new_control(&parameters);
        let mut port = Port::default();
        port.ack(&mut control, [0, 0, 0], &parameters);
        // A tenth of T has passed, in which a fifth of the link's capacity was used: (1 · 9 + 0.2 · 1) / 10.
        port.ack(&mut control, [1, 2_500, 0], &parameters);
        assert!((control.utilisation - (0.9 + 0.1 * 0.2)).abs() < 1e-12);
    }

    #[test]
    fn five_additive_raises_come_before_a_multiplicative_one() {
        let parameters = published();
        let mut control = new_control(&parameters);
        let mut port = Port::default();
        port.ack(&mut control, [0, 0, 0], &parameters);
        // From the second ACK on, the queue holds a bandwidth-delay product and as much was sent. U is 1, then 2; the
        // rate is 95.05 Gbit/s, then 95.05 · 0.95 / 2 + 0.05.
        let crowded = [10, FULL_WINDOW, FULL_WINDOW];
        port.ack(&mut control, crowded, &parameters);
        assert_eq!(port.ack(&mut control, crowded, &parameters), 45_198);
        let half_used = [10, FULL_WINDOW / 2, 0];
        let rates = [1, 2, 3, 4, 5].map(|_| port.ack(&mut control, half_used, &parameters));
        assert_eq!(rates, [45_248, 45_298, 45_348, 45_398, 45_448]);
        // Expected rate: 45.44875 · 0.95 / 0.5 + 0.05.
        assert_eq!(port.ack(&mut control, half_used, &parameters), 86_402);
    }

    #[test]
    fn the_artifacts_raises_are_all_multiplicative() {
        let parameters = artifact();
        let mut control = new_control(&parameters);
        let mut port = Port::default();
        port.ack(&mut control, [0, 0, 0], &parameters);
        // 256,000 B in 16 µs, longer than T, make U 1.28, then 0.64. The rates are 95 / 1.28 + 0.05, then 74.26875 ·
        // 0.95 / 0.64 + 0.05, limited to the line rate.
        assert_eq!(
            port.ack(&mut control, [16, 256_000, 0], &parameters),
            74_268
        );
        assert_eq!(
            port.ack(&mut control, [16, 128_000, 0], &parameters),
            100_000
        );
        assert_eq!(control.stage, 0);
    }

    #[test]
    fn the_reference_follows_once_in_a_round_trip() {
        let parameters = published();
        let mut control = new_control(&parameters);
        let mut port = Port::default();
        let full = [10, FULL_WINDOW, 0];
        port.send(&mut control, [0, 0, 0], [1_000, 10_000], &parameters);
        let fast = port.send(&mut control, full, [2_000, 11_000], &parameters);
        assert_eq!((fast, control.reference.get()), (95_050, LINE));
        let again = port.send(&mut control, full, [10_000, 19_000], &parameters);
        assert_eq!((again, control.reference.get()), (95_050, LINE));
        let update = port.send(&mut control, full, [11_000, 20_000], &parameters);
        assert_eq!((update, control.reference.get()), (95_050, 95_050_000_000));
        let next = port.send(&mut control, full, [12_000, 21_000], &parameters);
        assert_eq!((next, control.update_after), (90_347, 20_000));
    }

    #[test]
    fn the_window_is_the_rate_for_a_round_trip_unless_it_is_the_artifacts() {
        let parameters = published();
        let mut control = new_control(&parameters);
        let mut port = Port::default();
        port.ack(&mut control, [0, 0, 0], &parameters);
        port.ack(&mut control, [10, FULL_WINDOW, 0], &parameters);
        assert_eq!(control.window_bytes(), Some(118_812));
        assert_eq!(new_control(&artifact()).window_bytes(), None);
    }

    #[test]
    fn a_clock_that_has_not_moved_is_ignored() {
        let parameters = published();
        let mut control = new_control(&parameters);
        let mut port = Port::default();
        port.ack(&mut control, [0, 0, 0], &parameters);
        port.ack(&mut control, [0, 1_000, 0], &parameters);
        assert_eq!(control.utilisation, 1.0);
    }

    #[test]
    fn another_path_restarts_the_telemetry() {
        let parameters = published();
        let mut control = new_control(&parameters);
        let mut port = Port::default();
        port.ack(&mut control, [0, 0, 0], &parameters);
        let ack = Ack {
            hops: &[port.hop; 3],
            path: PathFacts { id: 2, ..PATH },
            ..ack(2_000, 3_000)
        };
        control.on_ack(SimTime::ZERO, &ack, &parameters);
        assert_eq!((control.hops.len(), control.utilisation), (3, 1.0));
    }

    /// The new path's port has already sent 10 GB; the difference from the old port's counter would be a utilisation of
    /// 80,000. Instead, the first ACK only stores the counter, and the second one measures a fifth of the link's
    /// capacity in a tenth of T, as in [`a_measurement_counts_for_its_share_of_the_round_trip`].
    #[test]
    fn counters_of_another_path_of_as_many_hops_are_not_subtracted() {
        let parameters = published();
        let mut control = new_control(&parameters);
        let mut port = Port::default();
        port.ack(&mut control, [0, 0, 0], &parameters);
        let rates = [(1, 10_000_000_000), (2, 10_000_002_500)].map(|(micros, tx_bytes)| {
            let hop = IntHop {
                time: SimTime::from_micros(micros),
                tx_bytes,
                queue_bytes: 0,
                rate_bps: LINE,
            };
            let ack = Ack {
                hops: &[hop],
                path: PathFacts { id: 2, ..PATH },
                ..ack(1_000 + micros, 3_000)
            };
            control.on_ack(SimTime::ZERO, &ack, &parameters);
            control.rate.get()
        });
        assert_eq!(rates, [LINE; 2]);
        assert!((control.utilisation - (0.9 + 0.1 * 0.2)).abs() < 1e-12);
    }

    /// 10 µs at 100 Gbit/s are 125,000 B. At the first ACK, the window of the actual path replaces the longest
    /// candidate's window of 3.125 GB, so a queue of 12,500 B is a tenth of the window.
    #[test]
    fn the_base_rtt_is_that_of_the_path_taken() {
        let parameters = published();
        let facts = qp_facts(250_000, 3_125_000_000);
        let mut control = Hpcc::new(&parameters, facts, SimTime::ZERO);
        let mut port = Port::default();
        assert_eq!(control.window_bytes(), Some(3_125_000_000));
        port.ack(&mut control, [0, 0, 12_500], &parameters);
        assert_eq!(control.window_bytes(), Some(FULL_WINDOW));
        port.ack(&mut control, [10, FULL_WINDOW, 12_500], &parameters);
        assert!((control.utilisation - 1.1).abs() < 1e-12);
    }

    #[test]
    fn telemetry_takes_room_for_all_hops() {
        let extra = Hpcc::extra_wire_bytes(&published());
        assert_eq!(extra, ExtraBytes { data: 42, ack: 42 });
        let extra = Hpcc::extra_wire_bytes(&artifact());
        assert_eq!(
            extra,
            ExtraBytes {
                data: 514,
                ack: 500
            }
        );
    }
}
