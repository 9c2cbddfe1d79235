//! Ideal egress queue: the number of frames that it accepts before it refuses one, given their arrival times.
//!
//! Between datacenters, the ideal queue has the plan's buffer, besides the frame that is leaving. A shaper lets some
//! frames through at once, which then wait at the fiber, so the shaper's own queue must be shorter by the same number.

use std::collections::VecDeque;

use lab_units::{Bytes, Nanos};

use super::direction::{LinkDirection, Queue};

/// Returns the number of largest-size frames that `direction`'s ideal queue accepts before it refuses one. Frames
/// arrive at the times `sent` (ns); all further frames arrive at the last of these times. `None` if the queue accepts
/// [`MANY`] frames.
///
/// <https://github.com/torvalds/linux/blob/v6.1/net/sched/sch_netem.c>, `netem_enqueue`.
pub(super) fn frames_taken(direction: &LinkDirection<'_>, sent: &[u64]) -> Option<u64> {
    match direction.queue {
        Queue::Bytes { buffer, .. } => {
            before_refusal(bucket(direction, direction.frame, buffer), sent)
        }
        Queue::Packets { limit } => before_refusal(delay_line(direction, limit), sent),
    }
}

fn before_refusal(mut queue: impl FnMut(u64) -> bool, sent: &[u64]) -> Option<u64> {
    let last = *sent.last()?;
    let moments = sent.iter().copied().chain(std::iter::repeat(last));
    let refused = moments.take(MANY).position(|at| !queue(at));
    refused.and_then(|index| u64::try_from(index).ok())
}

/// Models a queue of `limit` bytes behind a token bucket of `burst` bytes: the returned function returns true if it
/// accepts a frame at the given time. With a bucket of one frame, the model is a store-and-forward link.
///
/// <https://github.com/torvalds/linux/blob/v6.1/net/sched/sch_tbf.c>, `tbf_dequeue`.
fn bucket(
    direction: &LinkDirection<'_>,
    burst: Bytes,
    limit: Bytes,
) -> impl FnMut(u64) -> bool + use<> {
    // Tokens are counted in bytes times nanoseconds per second, so that rounding loses no tokens.
    let second = 1_000_000_000;
    let rate = u128::from(direction.wire().rate_bps.get() / 8);
    let frame = u128::from(direction.frame.get());
    let burst = u128::from(burst.get()) * second;
    let limit = u128::from(limit.get());
    let mut tokens = burst;
    let mut backlog = 0;
    let mut before = None;
    move |at| {
        let since = at.saturating_sub(*before.get_or_insert(at));
        before = Some(at);
        tokens += rate * u128::from(since);
        while backlog >= frame && tokens >= frame * second {
            (backlog, tokens) = (backlog - frame, tokens - frame * second);
        }
        tokens = tokens.min(burst);
        if backlog == 0 && tokens >= frame * second {
            tokens -= frame * second;
            return true;
        }
        let is_taken = backlog + frame <= limit;
        backlog += u128::from(is_taken) * frame;
        is_taken
    }
}

/// Returns a model of a queue with a delay line of `limit` packets: a function that returns true if a frame at the
/// given time is accepted.
fn delay_line(direction: &LinkDirection<'_>, limit: u64) -> impl FnMut(u64) -> bool + use<> {
    let wire = direction.wire();
    let serialisation = wire
        .rate_bps
        .serialize(direction.frame)
        .unwrap_or(Nanos::ZERO)
        .get();
    let delay = wire.delay_ns.get();
    let mut departures = VecDeque::new();
    move |at| {
        while departures.front().is_some_and(|departure| *departure <= at) {
            departures.pop_front();
        }
        if u64::try_from(departures.len()).is_ok_and(|len| len >= limit) {
            return false;
        }
        let free = departures.back().copied().unwrap_or(0);
        departures.push_back(free.max(at + delay) + serialisation);
        true
    }
}

/// Number of accepted frames from which a queue counts as unlimited.
const MANY: usize = 100_000;

#[cfg(test)]
mod tests {
    use lab_plan::model::LinkKind;

    use super::*;
    use crate::{
        certify::direction::directions,
        lower::{Clock, Layout, LowerOptions, egress},
        step::Qdisc,
        testing,
    };

    fn taken(queue: Queue, gap: u64) -> Option<u64> {
        let mut plan = testing::pair(0);
        // At 100 Mbit/s, a frame of 4,000 B takes 320 µs; the delay is 5 ms.
        plan.links[0].emu = testing::wire("100 Mbit", "5 ms", "620 kB");
        assert_eq!(plan.links[0].kind, LinkKind::InterDc);
        let direction = LinkDirection {
            link: &plan.links[0],
            from: lab_units::PortId(0),
            to: lab_units::PortId(1),
            names: [String::new(), String::new()],
            queue,
            frame: Bytes::new(4_000),
        };
        let sent: Vec<u64> = (0..50).map(|number| number * gap).collect();
        frames_taken(&direction, &sent)
    }

    #[test]
    fn a_queue_takes_its_buffer_the_frame_that_leaves_and_what_leaves_meanwhile() {
        let queue = Queue::Bytes {
            burst: Bytes::new(8_000),
            buffer: Bytes::new(40_000),
        };
        assert_eq!(taken(queue, 0), Some(1 + 10));
        // One frame leaves for every four frames that arrive: while 14 arrive, 3 leave after the first one.
        assert_eq!(taken(queue, 80_000), Some(1 + 10 + 3));
        // The first 50 frames arrive as fast as they leave; the others arrive at the same time.
        assert_eq!(taken(queue, 320_000), Some(50 + 10));
    }

    /// The buffer of 620 kB holds 147 frames of 4,190 B, and one more frame is leaving. The shaper lets 4 frames
    /// through at once if timers are up to 1 ms late, or 91 if they are up to 30 ms late; these wait at the fiber, so
    /// the queue holds the other 144 or 57.
    #[test]
    fn a_shaper_and_its_queue_take_as_many_frames_as_the_plan_asks_for() {
        let plan = testing::pair(0);
        for clock in [Clock::Virtual, Clock::Real] {
            let mut options = LowerOptions::shown("t".parse().unwrap());
            options.clock = clock;
            let layout = Layout::new(&plan, &options);
            let directions = directions(&layout);
            let direction = &directions[0];
            let node = layout.node(layout.port(direction.from).node);
            let root = egress(&layout, &layout.netns(node), "d", direction.link, node).next();
            let Some(Qdisc::Tbf(shaper)) = root.map(|at| at.qdisc) else {
                panic!("no shaper");
            };
            let frame = direction.frame.get();
            assert_eq!(frame, 4_190);
            let expected = match clock {
                Clock::Virtual => (4, 144),
                Clock::Real => (91, 57),
            };
            assert_eq!(
                (shaper.burst.get() / frame, shaper.limit.get() / frame),
                expected
            );
            // Time between two frames: all at once, twice as fast as they leave, and slightly faster than they leave.
            for gap in [0, 167_600, 300_000] {
                let sent: Vec<u64> = (0..200).map(|number| number * gap).collect();
                let emulated = bucket(direction, shaper.burst, shaper.limit);
                let emulated = before_refusal(emulated, &sent);
                assert_eq!(emulated, frames_taken(direction, &sent), "{clock:?} {gap}");
                if gap == 0 {
                    assert_eq!(emulated, Some(1 + 147));
                }
            }
        }
    }

    #[test]
    fn a_delay_line_takes_its_limit_and_what_has_arrived_meanwhile() {
        let queue = Queue::Packets { limit: 20 };
        assert_eq!(taken(queue, 0), Some(20));
        // The first frame arrives after 5.32 ms, when 17 frames have been sent.
        assert_eq!(taken(queue, 320_000), Some(50 + 3));
        assert_eq!(taken(Queue::Packets { limit: u64::MAX }, 0), None);
    }
}
