//! Rate-based DCTCP: RFC 8257's estimate of marks and its reduction, applied to a rate instead of a window, as in the
//! artifact.
//!
//! Each ACK echoes the mark of its packet. A window of data ends with the first acknowledged byte that had not been
//! sent at the window's start. At that end (section 3.3):
//!
//! ```text
//! M ← marked packets / packets of the window
//! α ← (1 − g) · α + g · M, initially 1
//! ```
//!
//! A mark cuts the rate, `R ← R · (1 − α / 2)`, but not below the minimum rate. The next cut waits until all data sent
//! before this cut is acknowledged. A window that ends outside of such a wait increases the rate, at most to the line
//! rate. In the artifact the increase is a given rate. By RFC 5681 it is one packet per round trip: a rate of one
//! payload per round trip of the ACK that ended the window. This rate does not need a base RTT, so a flow's other paths
//! have no influence on it.
//!
//! The controller has no window of its own, because the plan's window is proportional to `R`.
//!
//! With the published parameters, a missing packet halves the rate, and a time-out sets it to the minimum (sections 3.4
//! and 3.5, and RFC 5681, section 3.1); in the artifact neither changes the rate. After a time-out, the QP retransmits
//! from the first unacknowledged byte, so windows and cuts restart there. The slow-start threshold becomes half of the
//! rate before the time-out; a second time-out in a row keeps the threshold. Until the rate reaches the threshold, each
//! ACK adds one payload per round trip, or the acknowledged bytes if they are fewer, so that the rate doubles in a
//! round trip. A mark or a missing packet ends slow start. A QP starts at line rate, without slow start.
//!
//! The number of packets in a window is computed as in the artifact: bytes in flight divided by the payload, plus one.
//!
//! Parameters: [`lab_plan::transport::DctcpConfig`].

use lab_plan::transport::DctcpConfig;
use lab_units::BitsPerSec;

use super::{
    Ack, CongestionControl, QpFacts,
    rate::{bounded, count, float, plus, times},
};
use crate::time::SimTime;

/// DCTCP's parameters, with ratios as floats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Gain g of the moving average α.
    gain: f64,
    /// Increase of the rate per window; `None` for one packet per round trip.
    additive: Option<BitsPerSec>,
    reacts_to_loss: bool,
    min_rate: BitsPerSec,
}

impl From<&DctcpConfig> for Parameters {
    fn from(plan: &DctcpConfig) -> Self {
        Self {
            gain: float(plan.gain),
            additive: plan.additive_rate_bps,
            reacts_to_loss: plan.reacts_to_loss(),
            min_rate: plan.min_rate_bps,
        }
    }
}

/// State of DCTCP at the sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dctcp {
    rate: BitsPerSec,
    line: BitsPerSec,
    /// Moving average α of the share of marked packets.
    alpha: f64,
    payload: u32,
    /// True from a time-out until new bytes are acknowledged.
    has_timed_out: bool,
    /// Rate at which slow start ends; `None` outside of slow start.
    slow_start_until: Option<BitsPerSec>,
    /// Number of acknowledged bytes above which the window ends. Before the first window and after a time-out, the
    /// number of bytes acknowledged so far.
    window_end: u64,
    /// Number of packets in the current window; 0 before the first window and after a time-out.
    packets: u64,
    /// Number of marks in the current window.
    marks: u64,
    /// Number of acknowledged bytes above which the next cut is allowed; `None` if a cut is allowed now.
    cut_until: Option<u64>,
    /// Number of bytes acknowledged so far.
    acked: u64,
    /// Number of bytes that had been sent at the last ACK; equal to `acked` after a time-out.
    next: u64,
}

impl CongestionControl for Dctcp {
    type Parameters = Parameters;

    fn new(_: &Parameters, facts: QpFacts, _: SimTime) -> Self {
        Self {
            rate: facts.line_rate,
            line: facts.line_rate,
            alpha: 1.0,
            payload: facts.payload_bytes.max(1),
            has_timed_out: false,
            slow_start_until: None,
            window_end: 0,
            packets: 0,
            marks: 0,
            cut_until: None,
            acked: 0,
            next: 0,
        }
    }

    fn rate(&self) -> BitsPerSec {
        self.rate
    }

    fn on_ack(&mut self, _: SimTime, ack: &Ack<'_>, parameters: &Parameters) {
        (self.acked, self.next) = (ack.acked_bytes, ack.next_bytes);
        self.has_timed_out &= ack.newly_bytes == 0;
        self.marks += u64::from(ack.is_marked);
        let is_window_over = ack.acked_bytes > self.window_end;
        if is_window_over {
            self.end_window(ack, parameters);
        }
        if self.cut_until.is_some_and(|end| ack.acked_bytes > end) {
            self.cut_until = None;
        }
        if ack.is_marked && self.cut_until.is_none() {
            self.cut(1.0 - self.alpha / 2.0, parameters);
        }
        if let Some(until) = self.slow_start_until {
            self.start_slowly(ack, until);
        } else if is_window_over && self.cut_until.is_none() {
            let additive = parameters.additive;
            let packet = u64::from(self.payload);
            let raise = additive.unwrap_or_else(|| rate_of(packet, ack.round_trip));
            self.rate = plus(self.rate, raise).min(self.line);
        }
    }

    fn on_nack(&mut self, _: SimTime, parameters: &Parameters) {
        if parameters.reacts_to_loss && self.cut_until.is_none() {
            self.cut(0.5, parameters);
        }
    }

    fn on_timeout(&mut self, _: SimTime, parameters: &Parameters) {
        if !parameters.reacts_to_loss {
            return;
        }
        let kept = self.slow_start_until.filter(|_| self.has_timed_out);
        let half = bounded(times(self.rate, 0.5), parameters.min_rate, self.line);
        self.cut(0.0, parameters);
        self.slow_start_until = Some(kept.unwrap_or(half));
        self.has_timed_out = true;
        self.next = self.acked;
        self.cut_until = None;
        (self.window_end, self.packets, self.marks) = (self.acked, 0, 0);
    }
}

impl Dctcp {
    fn end_window(&mut self, ack: &Ack<'_>, parameters: &Parameters) {
        let payload = u64::from(self.payload);
        let start = self.window_end;
        self.window_end = ack.next_bytes;
        if self.packets == 0 {
            self.packets = ack.next_bytes.saturating_sub(start) / payload + 1;
            return;
        }
        let share = (count(self.marks) / count(self.packets)).min(1.0);
        self.alpha = (1.0 - parameters.gain) * self.alpha + parameters.gain * share;
        self.marks = 0;
        self.packets = ack.next_bytes.saturating_sub(ack.acked_bytes) / payload + 1;
    }

    fn cut(&mut self, share: f64, parameters: &Parameters) {
        self.rate = bounded(times(self.rate, share), parameters.min_rate, self.line);
        self.cut_until = Some(self.next);
        self.slow_start_until = None;
    }

    /// Raises the rate as slow start does; slow start ends at the rate `until`.
    fn start_slowly(&mut self, ack: &Ack<'_>, until: BitsPerSec) {
        let bytes = ack.newly_bytes.min(self.payload.into());
        if bytes > 0 {
            self.rate = plus(self.rate, rate_of(bytes, ack.round_trip)).min(until);
        }
        if self.rate >= until {
            self.slow_start_until = None;
        }
    }
}

/// Returns the rate that sends `bytes` per round trip.
fn rate_of(bytes: u64, round_trip: SimTime) -> BitsPerSec {
    let picos = u128::from(round_trip.picos().max(1));
    let bits = u128::from(bytes) * 8 * 1_000_000_000_000 / picos;
    u64::try_from(bits)
        .ok()
        .and_then(BitsPerSec::new)
        .unwrap_or(BitsPerSec::new(1).expect("one is not zero"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, mbit, qp_facts};

    fn published() -> Parameters {
        Parameters::from(&DctcpConfig::PAPER)
    }

    fn new_control(parameters: &Parameters) -> Dctcp {
        let facts = qp_facts(1_000, 1_000_000);
        Dctcp::new(parameters, facts, SimTime::ZERO)
    }

    fn acked(control: &mut Dctcp, packets: [u64; 2], is_marked: bool, parameters: &Parameters) {
        let ack = Ack {
            is_marked,
            round_trip: SimTime::from_micros(80),
            ..ack(packets[0] * 1_000, packets[1] * 1_000)
        };
        control.on_ack(SimTime::ZERO, &ack, parameters);
    }

    #[test]
    fn alpha_is_the_average_share_of_marks_in_a_window() {
        let parameters = published();
        let mut control = new_control(&parameters);
        acked(&mut control, [1, 3], false, &parameters);
        acked(&mut control, [2, 4], true, &parameters);
        acked(&mut control, [3, 5], true, &parameters);
        assert_eq!((control.alpha, control.packets), (1.0, 4));
        acked(&mut control, [4, 12], false, &parameters);
        // The window counted as four packets and had two marks: 15/16 + 1/16 · 1/2.
        assert_eq!((control.alpha, control.packets), (0.96875, 9));
        assert_eq!(control.marks, 0);
    }

    #[test]
    fn a_window_is_cut_once() {
        let parameters = published();
        let mut control = new_control(&parameters);
        acked(&mut control, [1, 4], false, &parameters);
        acked(&mut control, [2, 5], true, &parameters);
        assert_eq!(control.rate, mbit(50_000));
        acked(&mut control, [3, 6], true, &parameters);
        acked(&mut control, [5, 8], true, &parameters);
        assert_eq!(control.rate, mbit(50_000));
        // The ACK is beyond the bytes sent before the cut, so a cut is allowed. The window that ended at packet 5 had 3
        // marks in 5 packets: α is 15/16 + 1/16 · 0.6 = 0.975.
        acked(&mut control, [6, 9], true, &parameters);
        assert_eq!(control.alpha, 0.975);
        assert_eq!((control.rate.get() + 500_000) / 1_000_000, 25_625);
    }

    #[test]
    fn a_window_without_marks_adds_a_packet_in_a_round_trip() {
        let parameters = published();
        let mut control = new_control(&parameters);
        acked(&mut control, [1, 2], true, &parameters);
        assert_eq!(control.rate, mbit(50_000));
        // 8,000 bits in 80 µs are 100 Mbit/s.
        acked(&mut control, [3, 4], false, &parameters);
        assert_eq!(control.rate, mbit(50_100));
        acked(&mut control, [4, 5], false, &parameters);
        assert_eq!(control.rate, mbit(50_100));
        acked(&mut control, [5, 6], false, &parameters);
        assert_eq!(control.rate, mbit(50_200));
    }

    #[test]
    fn the_artifact_adds_a_gigabit_and_ignores_loss() {
        let parameters = Parameters::from(&DctcpConfig::ARTIFACT);
        let mut control = new_control(&parameters);
        acked(&mut control, [1, 2], true, &parameters);
        acked(&mut control, [3, 4], false, &parameters);
        assert_eq!(control.rate, mbit(51_000));
        control.on_nack(SimTime::ZERO, &parameters);
        control.on_timeout(SimTime::ZERO, &parameters);
        assert_eq!(control.rate, mbit(51_000));
    }

    #[test]
    fn a_missing_packet_halves_the_rate_once_a_window() {
        let parameters = published();
        let mut control = new_control(&parameters);
        acked(&mut control, [1, 4], false, &parameters);
        control.on_nack(SimTime::ZERO, &parameters);
        control.on_nack(SimTime::ZERO, &parameters);
        assert_eq!(control.rate, mbit(50_000));
        control.on_timeout(SimTime::ZERO, &parameters);
        assert_eq!(control.rate, mbit(100));
    }

    /// 8,000 bits in 80 µs are 100 Mbit/s. In slow start, each ACK adds this rate until half of the rate before the
    /// time-out, 350 of 700 Mbit/s; after slow start, each window adds it.
    #[test]
    fn slow_start_follows_a_time_out_up_to_half_of_the_rate() {
        let parameters = published();
        let mut control = new_control(&parameters);
        control.rate = mbit(600);
        acked(&mut control, [1, 9], false, &parameters);
        assert_eq!(control.rate, mbit(700));
        for _ in 0..2 {
            control.on_timeout(SimTime::ZERO, &parameters);
            assert_eq!(control.rate, mbit(100));
        }
        // Packets 1 to 8 are retransmitted after the time-out.
        let mut rates = Vec::new();
        for packet in 2..=6 {
            acked(&mut control, [packet, packet + 2], false, &parameters);
            rates.push(control.rate.get() / 1_000_000);
        }
        // The second time-out kept the threshold. Four packets had been sent when packet 2 was acknowledged, so packet
        // 5 ends that window.
        assert_eq!(rates, [200, 300, 350, 450, 450]);
    }

    /// A time-out discards the state of packets sent before it. So the first mark on a retransmitted packet cuts the
    /// rate, and the window of retransmitted packets counts no earlier marks.
    #[test]
    fn a_time_out_moves_windows_and_cuts_back() {
        let parameters = published();
        let mut control = new_control(&parameters);
        acked(&mut control, [1, 1_000], false, &parameters);
        acked(&mut control, [2, 1_001], true, &parameters);
        control.on_timeout(SimTime::ZERO, &parameters);
        assert_eq!(control.rate, mbit(100));
        acked(&mut control, [3, 5], false, &parameters);
        assert_eq!((control.rate, control.packets), (mbit(200), 4));
        acked(&mut control, [4, 6], true, &parameters);
        // α is still 1, so the rate is cut to half of 200 Mbit/s.
        assert_eq!(control.rate, mbit(100));
        // The window of packets 3 to 5 counted as four packets and had one mark: 15/16 + 1/16 · 1/4.
        acked(&mut control, [6, 8], false, &parameters);
        assert_eq!(control.alpha, 0.953_125);
    }
}
