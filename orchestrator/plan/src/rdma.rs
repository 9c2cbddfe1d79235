//! How QPs are set.

use lab_scenario::{Generator, Tool};
use lab_units::Nanos;

use crate::{
    error::PlanError,
    frame,
    model::{Flow, LinkKind, Rdma},
    network::Network,
    round_trip::RoundTrips,
    schedule,
};

/// QP settings that fit the plan's longest round trip and its schedule.
pub(crate) fn settings(
    network: &Network,
    generator: &Generator,
    trips: RoundTrips,
    flows: &[Flow],
) -> Result<Rdma, PlanError> {
    let qp_timeout = timeout_exponent(trips.queued)?;
    Ok(Rdma {
        tool: generator.tool,
        path_mtu: generator.mtu,
        interface_mtu: generator.mtu + frame::RXE_HEADER_ROOM,
        traffic_class: generator.traffic_class,
        qp_timeout,
        flow_deadline_ns: deadline(network, flows, timeout(qp_timeout)),
    })
}

/// A QP's transport time-out for exponent `u`: 4.096 µs · 2^u.
#[must_use]
pub fn timeout(exponent: u8) -> Nanos {
    Nanos::new(TIMEOUT_UNIT << exponent.min(MAX_EXPONENT))
}

/// The name of a perftest program.
#[must_use]
pub const fn program(tool: Tool) -> &'static str {
    match tool {
        Tool::IbSendBw => "ib_send_bw",
        Tool::IbWriteBw => "ib_write_bw",
        Tool::IbReadBw => "ib_read_bw",
    }
}

/// The least exponent whose time-out is over twice `round_trip`, so that nothing is sent again that
/// is only late: rxe restarts the timer (InfiniBand 9.7.6.1.3) only when an acknowledgement arrives.
/// Measured at a round trip of 200 ms: 18 is clean, 14 (perftest's default, 67 ms) sends every packet
/// several times, 12 ends in an error.
fn timeout_exponent(round_trip: Nanos) -> Result<u8, PlanError> {
    let twice = round_trip.saturating_add(round_trip);
    let fits = |exponent: &u8| timeout(*exponent) > twice;
    (LEAST_EXPONENT..=MAX_EXPONENT)
        .find(fits)
        .ok_or(PlanError::QpTimeout {
            round_trip,
            most: timeout(MAX_EXPONENT),
        })
}

/// When a flow is given up: no earlier than all flows of a repetition one after the other over the
/// slowest link would take, and a QP's own patience on top.
fn deadline(network: &Network, flows: &[Flow], timeout: Nanos) -> Nanos {
    let inter_dc = network.links.iter();
    let inter_dc = inter_dc.filter(|link| link.kind == LinkKind::InterDc);
    let slowest = inter_dc.map(|link| link.emu.rate_bps).min();
    let drained = slowest.and_then(|rate| rate.serialize(schedule::most_wire_bytes(flows)));
    let patience = Nanos::new(timeout.get().saturating_mul(QP_TRIES));
    schedule::ideal_end(flows)
        .saturating_add(drained.unwrap_or(Nanos::ZERO))
        .saturating_add(patience)
}

/// Nanoseconds of the InfiniBand time-out unit.
const TIMEOUT_UNIT: u64 = 4_096;

/// perftest's default; less would gain nothing.
const LEAST_EXPONENT: u8 = 14;

/// The field has five bits.
const MAX_EXPONENT: u8 = 31;

/// perftest's first try and its seven retries.
const QP_TRIES: u64 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_is_over_twice_the_round_trip() {
        let exponent = |text: &str| timeout_exponent(text.parse().unwrap()).unwrap();
        assert_eq!(exponent("1 ms"), 14);
        // 4.096 µs · 2^18 are 1.074 s.
        assert_eq!(exponent("536 ms"), 18);
        assert_eq!(exponent("537 ms"), 19);
    }

    #[test]
    fn a_round_trip_beyond_every_timeout_is_refused() {
        let error = timeout_exponent("2 h".parse().unwrap()).unwrap_err();
        assert!(matches!(error, PlanError::QpTimeout { .. }));
    }
}
