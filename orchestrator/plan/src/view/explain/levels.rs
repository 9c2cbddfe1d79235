//! Egress-queue states as a question gives them, and the levels that a switch derives from them.

use std::str::FromStr;

use lab_policy::{
    LcmpConfig,
    lcmp::{Levels, PortProvision, PortThresholds},
};
use lab_units::Bytes;

use crate::{
    model::{Candidate, Plan},
    paper_units::PaperUnits,
};

/// State of an egress queue, at the paper's scale (not scaled for emulation). The text form is bytes, trend and number
/// of full samples, as in `600 MB`, `600 MB:20 MB` or `600 MB:20 MB:40`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct QueueState {
    /// Queued bytes.
    pub bytes: Bytes,
    /// Trend: the queue's smoothed growth in bytes per sampling interval.
    pub trend: Bytes,
    /// Duration counter: number of successive samples at which the queue level was at least `high_water`.
    pub full_samples: u32,
}

/// Error for a text that does not describe a queue state.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "`{text}` is not a queue state (hint: bytes, trend, number of full samples, as in `600MB:20MB:40`)"
)]
pub struct ParseQueueError {
    text: String,
}

impl FromStr for QueueState {
    type Err = ParseQueueError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseQueueError {
            text: text.to_owned(),
        };
        let mut parts = text.split(':');
        let bytes = |part: Option<&str>| match part {
            None => Ok(Bytes::ZERO),
            Some(part) => part.parse().map_err(|_| error()),
        };
        let state = Self {
            bytes: bytes(Some(parts.next().unwrap_or_default()))?,
            trend: bytes(parts.next())?,
            full_samples: match parts.next() {
                None => 0,
                Some(part) => part.trim().parse().map_err(|_| error())?,
            },
        };
        match parts.next() {
            None => Ok(state),
            Some(_) => Err(error()),
        }
    }
}

/// Returns the queue, trend and duration levels of a candidate's egress queue.
pub(super) fn of(
    plan: &Plan,
    config: &LcmpConfig,
    candidate: &Candidate,
    queue: QueueState,
) -> Levels {
    let wire = &plan.links[candidate.port.link().index()].paper;
    let port = PortProvision::paper_units(wire.rate_bps, wire.buffer_bytes);
    let paper = PaperUnits::new(&plan.scale).set(config);
    let thresholds = PortThresholds::new(&port, &paper);
    let trend = i32::try_from(queue.trend.get()).unwrap_or(i32::MAX);
    let level = thresholds.queue_level(queue.bytes);
    Levels::of(level, trend, queue.full_samples, &thresholds, config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_bytes_then_trend_then_samples() {
        let queue = |text: &str| text.parse::<QueueState>();
        let mb = |count: u64| Bytes::new(count * 1_000_000);
        let all = QueueState {
            bytes: mb(600),
            trend: mb(20),
            full_samples: 40,
        };
        assert_eq!(queue("600MB:20 MB:40"), Ok(all));
        let alone = QueueState {
            bytes: mb(600),
            ..QueueState::default()
        };
        assert_eq!(queue("600 MB"), Ok(alone));
        for text in ["", "600", "600 MB:x", "600 MB:1 MB:-1", "1 MB:1 MB:1:1"] {
            assert!(queue(text).is_err(), "{text}");
        }
    }
}
