//! Settings of queue pairs (QPs): path MTU, time-outs, deadline.

use lab_parameters::Value;
use lab_scenario::{Generator, TransportSpec};
use lab_units::{BitsPerSec, Bytes, Nanos};

use crate::{
    error::PlanError,
    frame,
    model::{Flow, LinkKind, Rdma, Scale},
    network::Network,
    round_trip::{self, RoundTrips},
};

/// Inputs from which QP settings are derived.
pub(crate) struct Inputs<'a> {
    pub network: &'a Network,
    pub scale: &'a Scale,
    pub trips: RoundTrips,
    pub flows: &'a [Flow],
    /// Minimum rate to which congestion control can slow a QP; `None` without congestion control.
    pub slowest_qp: Option<BitsPerSec>,
}

/// Returns the QP settings of the scenario, with unset values derived from the longest round trip and the schedule.
pub(crate) fn settings(
    generator: &Generator,
    transport: &TransportSpec,
    inputs: &Inputs<'_>,
) -> Result<Rdma, PlanError> {
    let qp_timeout = match transport.value("retransmit_timeout") {
        Some(Value::Time(requested)) => {
            requested_exponent(inputs.scale.time(TIMEOUT_KEY, requested)?)?
        }
        _ => {
            let parked = inputs
                .slowest_qp
                .map(|rate| parked_time(generator.mtu, rate))
                .unwrap_or(Nanos::ZERO);
            let base = inputs.trips.base;
            safe_exponent(base, inputs.trips.queued.max(half_of(parked) + base))?
        }
    };
    let inter_dc = inputs
        .network
        .links
        .iter()
        .filter(|link| link.kind == LinkKind::InterDc);
    let deadline = Deadline {
        path_mtu: generator.mtu,
        slowest: inter_dc.map(|link| link.emu.rate_bps).min(),
        round_trip: inputs.trips.base,
        timeout: timeout(qp_timeout),
    };
    Ok(Rdma {
        tool: generator.tool,
        path_mtu: generator.mtu,
        interface_mtu: generator.mtu + frame::RXE_HEADER_ROOM,
        traffic_class: generator.traffic_class,
        qp_timeout,
        flow_deadline_ns: deadline.after(inputs.flows),
    })
}

/// Returns the time that a QP paced at `rate` takes to send the full packets that SoftRoCE may have in the kernel at
/// once. The last of these packets cannot be acknowledged sooner, so this time delays ACKs like a queue.
pub(crate) fn parked_time(path_mtu: u32, rate: BitsPerSec) -> Nanos {
    let packet = frame::data(u64::from(path_mtu), 0);
    let parked = Bytes::new(frame::RXE_PARKED_PACKETS * packet);
    rate.serialize(parked).unwrap_or(Nanos::new(u64::MAX))
}

fn half_of(time: Nanos) -> Nanos {
    Nanos::new(time.get() / 2)
}

/// Returns the transport time-out that InfiniBand defines for `exponent`: 4.096 µs · 2^exponent.
#[must_use]
pub fn timeout(exponent: u8) -> Nanos {
    Nanos::new(TIMEOUT_UNIT << exponent.min(MAX_EXPONENT))
}

/// Returns the smallest exponent whose time-out is over twice `queued`, the round trip with full queues, so that a
/// delayed packet is not retransmitted: rxe restarts the timer (InfiniBand 9.7.6.1.3) only when an acknowledgement
/// arrives. Measured at a round trip of 200 ms: exponent 18 causes no retransmission; 14 (perftest's default, 67 ms)
/// sends every packet several times; 12 ends in an error. If no exponent is large enough, the largest one must do, as
/// queues on all links of a path are rarely full at once.
///
/// # Errors
/// If even the largest time-out is not over twice `base`, the round trip with empty queues.
fn safe_exponent(base: Nanos, queued: Nanos) -> Result<u8, PlanError> {
    let max = timeout(MAX_EXPONENT);
    if max <= base.saturating_add(base) {
        return Err(PlanError::QpTimeout {
            round_trip: base,
            max,
        });
    }
    let twice = queued.saturating_add(queued);
    let exponent = (MIN_EXPONENT..=MAX_EXPONENT).find(|exponent| timeout(*exponent) > twice);
    Ok(exponent.unwrap_or(MAX_EXPONENT))
}

/// Returns the smallest exponent whose time-out is at least `requested`.
fn requested_exponent(requested: Nanos) -> Result<u8, PlanError> {
    (MIN_REQUESTED_EXPONENT..=MAX_EXPONENT)
        .find(|exponent| timeout(*exponent) >= requested)
        .ok_or(PlanError::RequestedTimeout {
            requested,
            max: timeout(MAX_EXPONENT),
        })
}

/// Inputs of a flow's deadline, the time after which an unfinished flow is aborted.
struct Deadline {
    path_mtu: u32,
    /// Rate of the slowest inter-DC link; `None` without inter-DC links.
    slowest: Option<BitsPerSec>,
    /// Longest emulated round trip with empty queues.
    round_trip: Nanos,
    /// Transport time-out of a QP.
    timeout: Nanos,
}

impl Deadline {
    /// Returns the deadline, the sum of four times: the schedule's ideal end, the time to send all flows one after
    /// another over the slowest link, the largest flow's round trips under rxe's window on the longest path, and the
    /// time-outs of all tries before a QP fails.
    fn after(&self, flows: &[Flow]) -> Nanos {
        let wire_bytes = round_trip::max_wire_bytes(flows);
        let drained = self.slowest.and_then(|rate| rate.serialize(wire_bytes));
        let packets = flows.iter().map(|flow| flow.packets(self.path_mtu)).max();
        let trips = frame::rxe_round_trips(packets.unwrap_or(0));
        let times = |time: Nanos, count| Nanos::new(time.get().saturating_mul(count));
        round_trip::ideal_end(flows)
            .saturating_add(drained.unwrap_or(Nanos::ZERO))
            .saturating_add(times(self.round_trip, trips))
            .saturating_add(times(self.timeout, QP_TRIES))
    }
}

/// InfiniBand's time-out unit, in nanoseconds.
const TIMEOUT_UNIT: u64 = 4_096;

const TIMEOUT_KEY: &str = "transport.retransmit_timeout";

/// Minimum exponent that is derived from a round trip: perftest's default; a smaller one has no benefit.
const MIN_EXPONENT: u8 = 14;

/// Minimum exponent for a requested time-out; rxe treats 0 as an infinite time-out.
const MIN_REQUESTED_EXPONENT: u8 = 1;

/// Maximum exponent: the field has five bits.
const MAX_EXPONENT: u8 = 31;

/// Number of transmissions of a packet before a QP fails: the first one and perftest's seven retries.
const QP_TRIES: u64 = 8;

#[cfg(test)]
mod tests {
    use lab_units::{FlowId, NodeId};

    use super::*;

    fn requested(text: &str) -> u8 {
        requested_exponent(text.parse().unwrap()).unwrap()
    }

    #[test]
    fn a_requested_timeout_is_rounded_up() {
        // 4.096 µs · 2^25 is 137.4 s.
        assert_eq!(requested("120 s"), 25);
        assert_eq!(requested("137438953472 ns"), 25);
        assert_eq!(requested("137438953473 ns"), 26);
        assert_eq!(requested("1 ns"), 1);
        let error = requested_exponent("3 h".parse().unwrap()).unwrap_err();
        assert!(matches!(error, PlanError::RequestedTimeout { .. }));
    }

    /// A flow with 2 MB has 490 packets of 4,096 B, which take four windows of 128 packets.
    #[test]
    fn a_flow_has_the_time_of_a_round_trip_for_each_window() {
        let messages = 5;
        let message_bytes = Bytes::new(400_000);
        let flow = Flow {
            id: FlowId(0),
            repetition: 0,
            src: NodeId(0),
            dst: NodeId(1),
            paper_size_bytes: Bytes::new(40_000_000),
            paper_start_ns: Nanos::ZERO,
            size_bytes: Bytes::new(2_000_000),
            messages,
            message_bytes,
            start_ns: Nanos::ZERO,
            base_rtt_ns: Nanos::ZERO,
            ideal_fct_ns: Nanos::ZERO,
            is_listed: true,
        };
        let deadline = Deadline {
            path_mtu: 4_096,
            slowest: None,
            round_trip: Nanos::from_millis(100_000),
            timeout: Nanos::ZERO,
        };
        assert_eq!(deadline.after(&[flow]), Nanos::from_millis(400_000));
    }

    #[test]
    fn the_timeout_is_over_twice_the_round_trip() {
        let exponent = |text: &str| safe_exponent(Nanos::ZERO, text.parse().unwrap()).unwrap();
        assert_eq!(exponent("1 ms"), 14);
        // 4.096 µs · 2^18 is 1.074 s.
        assert_eq!(exponent("536 ms"), 18);
        assert_eq!(exponent("537 ms"), 19);
    }

    /// 4.096 µs · 2^31 is 8,796 s, half of it 4,398 s.
    #[test]
    fn full_queues_beyond_every_timeout_get_the_longest_one() {
        let exponent = |base: &str, queued: &str| {
            safe_exponent(base.parse().unwrap(), queued.parse().unwrap()).ok()
        };
        assert_eq!(exponent("1 s", "4398 s"), Some(31));
        assert_eq!(exponent("1 s", "5675 s"), Some(31));
        assert_eq!(exponent("4398 s", "5675 s"), Some(31));
        assert_eq!(exponent("4399 s", "5675 s"), None);
    }
}
