//! Sizes of frame trains, and the groups in which trains are sent.

use std::time::Duration;

use lab_plan::WirePlan;
use lab_units::{Bytes, Nanos};

use super::{direction::LinkDirection, socket::PROBE};

/// Train of frames that is sent in one link direction to measure rate and queue capacity.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Train {
    /// Number of frames that the queue must accept, so that the rate after the burst can be measured.
    pub frames: u64,
    /// Maximum number of frames that are offered until the queue refuses one; `None` if the queue is too long to be
    /// filled.
    pub fill: Option<u64>,
}

/// Returns the train of each direction. Short queues are filled as long as [`MAX_FILLED`] permits.
pub(super) fn trains(directions: &[LinkDirection<'_>]) -> Vec<Train> {
    let mut left = MAX_FILLED;
    let train = |direction: &LinkDirection<'_>| {
        let window = window(direction);
        let frames = direction.burst_frames() + window;
        let whole = direction.queue_frames().saturating_add(window);
        let fill = (whole <= MAX_FILL.min(left)).then_some(whole + SLACK);
        left -= fill.map_or(0, |_| whole);
        Train { frames, fill }
    };
    directions.iter().map(train).collect()
}

/// Returns the number of frames over which the rate is measured: the number that leaves within 10 ms, so that an error
/// of 50 µs is half the bound, and at least [`MIN_WINDOW`]. On a link that loses packets, the number is larger, so that
/// the same number of neighbouring pairs is expected to arrive.
fn window(direction: &LinkDirection<'_>) -> u64 {
    let wire = direction.wire();
    let frames = wire.rate_bps.bytes_in(WINDOW).get() / direction.frame.get();
    let all = u128::from(wire.loss.denominator());
    let kept = all.saturating_sub(wire.loss.numerator().into()).max(1);
    let sent = u128::from(frames.max(MIN_WINDOW)) * all * all / (kept * kept);
    u64::try_from(sent).map_or(MAX_WINDOW, |sent| sent.min(MAX_WINDOW))
}

/// Returns the serialisation time of `frames` frames of the largest size on `direction`'s link.
pub(super) fn serialisation(direction: &LinkDirection<'_>, frames: u64) -> Duration {
    let bytes = Bytes::new(direction.frame.get().saturating_mul(frames));
    let time = direction.wire().rate_bps.serialize(bytes);
    time.unwrap_or(Nanos::ZERO).to_duration()
}

/// Returns the serialisation time of a probe.
pub(super) fn probe_time(wire: &WirePlan) -> Nanos {
    wire.rate_bps.serialize(PROBE).unwrap_or(Nanos::ZERO)
}

/// Returns the longest time that a probe takes on one of the links.
pub(super) fn longest_probe(directions: &[LinkDirection<'_>]) -> Duration {
    let times = directions
        .iter()
        .map(|direction| probe_time(direction.wire()));
    times.max().unwrap_or(Nanos::ZERO).to_duration()
}

/// Returns the indices of the directions in groups whose trains are sent at the same time. The frame rate of each group
/// is so low that one CPU can handle every frame in time.
pub(super) fn groups(directions: &[LinkDirection<'_>]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut room = 0;
    for (index, direction) in directions.iter().enumerate() {
        let per_second = direction.wire().rate_bps.get() / 8 / direction.frame.get();
        match groups.last_mut() {
            Some(group) if per_second <= room => {
                group.push(index);
                room -= per_second;
            }
            _ => {
                groups.push(vec![index]);
                room = MAX_PER_SECOND.saturating_sub(per_second);
            }
        }
    }
    groups
}

/// Time span over which a rate is measured.
const WINDOW: Nanos = Nanos::from_millis(10);
const MIN_WINDOW: u64 = 32;
const MAX_WINDOW: u64 = 2_048;

/// Maximum capacity, in frames, of a queue that a train may fill, including the frames over which the rate is measured.
const MAX_FILL: u64 = 700;

/// Maximum number of frames in all filled queues together; sending them takes about two seconds in an emulated guest.
const MAX_FILLED: u64 = 8_000;

/// Number of frames that a queue is offered beyond its limit, so that a queue that is too long can be detected.
const SLACK: u64 = 40;

/// Maximum number of frames per second in a group; an emulated CPU takes 30 µs per frame.
const MAX_PER_SECOND: u64 = 5_000;

#[cfg(test)]
mod tests {
    use lab_units::Ratio;

    use super::*;
    use crate::{
        certify::direction::directions,
        lower::{Layout, LowerOptions},
        testing,
    };

    #[test]
    fn a_short_queue_is_filled_and_a_long_one_only_read_back() {
        let mut plan = testing::pair(0);
        let options = LowerOptions::shown("t".parse().unwrap());
        for (buffer, is_filled) in [("620 kB", true), ("300 MB", false)] {
            plan.links[0].emu = testing::wire("100 Mbit", "25 ms", buffer);
            let directions = directions(&Layout::new(&plan, &options));
            let train = trains(&directions)[0];
            assert_eq!(train.fill.is_some(), is_filled, "{train:?}");
            // The token bucket holds one frame plus the bytes of a millisecond, and the window is 32 frames.
            assert!((35..=36).contains(&train.frames), "{train:?}");
        }
    }

    /// A probe of 60 B takes 120 ms at 4 kbit/s, a link of 2 Mbit/s whose rate is divided by 500.
    #[test]
    fn probes_wait_for_the_slowest_link() {
        let mut plan = testing::pair(0);
        let options = LowerOptions::shown("t".parse().unwrap());
        plan.links[0].emu = testing::wire("4 kbit", "2500 us", "300 MB");
        let directions = directions(&Layout::new(&plan, &options));
        assert_eq!(longest_probe(&directions), Duration::from_millis(120));
    }

    /// When half the frames are lost, a quarter of the neighbouring pairs arrive, so the window is 4 times as long.
    #[test]
    fn a_train_on_a_lossy_link_is_longer() {
        let mut plan = testing::pair(0);
        let options = LowerOptions::shown("t".parse().unwrap());
        plan.links[0].emu = testing::wire("100 Mbit", "25 ms", "300 MB");
        plan.links[0].emu.loss = Ratio::new(1, 2).unwrap();
        let directions = directions(&Layout::new(&plan, &options));
        assert_eq!(trains(&directions)[0].frames, 4 + 4 * 32);
    }

    #[test]
    fn trains_that_leave_together_are_few_enough_for_a_cpu() {
        let plan = testing::testbed(0);
        let options = LowerOptions::shown("t".parse().unwrap());
        let directions = directions(&Layout::new(&plan, &options));
        let groups = groups(&directions);
        assert_eq!(groups.concat(), (0..directions.len()).collect::<Vec<_>>());
        for group in groups {
            let per_second = group.iter().map(|index| {
                directions[*index].wire().rate_bps.get() / 8 / directions[*index].frame.get()
            });
            assert!(group.len() == 1 || per_second.sum::<u64>() <= MAX_PER_SECOND);
        }
    }
}
