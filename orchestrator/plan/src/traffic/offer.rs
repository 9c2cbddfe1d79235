//! Packets that flows offer, the time for which they keep a machine busy, and the busiest second.

use lab_units::{Nanos, Ratio, Tool};

use crate::{
    capacity::{Capacity, REFERENCE_FLOW, REFERENCE_HOP},
    frame,
};

/// Packets that one flow sends into the network, with their times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub repetition: u32,
    pub start: Nanos,
    /// Time from the first to the last packet at the path's rate; zero if the flow sends all packets in one burst.
    pub span: Nanos,
    pub data_packets: u64,
    pub packet_hops: u64,
    /// Number of data packets that the sender's pacer delays; zero without congestion control.
    pub paced_packets: u64,
}

impl Offer {
    /// Creates an offer whose packets all start at `start`: `messages` messages with `packets` packets each, over
    /// `links` links.
    pub fn new(repetition: u32, start: Nanos, messages: u32, packets: u64, links: usize) -> Self {
        let messages = u64::from(messages);
        let data_packets = messages * packets;
        let acks = messages * packets.div_ceil(frame::PACKETS_PER_ACK);
        Self {
            repetition,
            start,
            span: Nanos::ZERO,
            data_packets,
            packet_hops: (data_packets + acks) * count(links),
            paced_packets: 0,
        }
    }

    /// Returns the offer with its start multiplied by the time factor `time`.
    pub fn stretched(&self, time: Ratio) -> Self {
        Self {
            start: Nanos::new(time.scale_nearest(self.start.get())),
            ..*self
        }
    }
}

/// Busy times of single operations on a machine: for each operation, the time in which the machine can do nothing else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    /// Busy time per packet on one link.
    hop: Nanos,
    /// Busy time per data packet in its host's pacer.
    pacing: Nanos,
    /// Busy time for a flow's two end points, from creation to removal.
    flow: Nanos,
    /// Busy time for a flow's end points while flows run; 0 for perftest, whose processes already exist when the first
    /// flow starts.
    flow_in_time: Nanos,
    /// Busy time per wake-up of an agent or a recorder.
    pub wake_up: Nanos,
    /// Busy time per link whose queue a switch reads at a wake-up.
    pub read_link: Nanos,
}

impl Costs {
    /// Returns the busy times on the reference guest.
    pub const fn reference(tool: Tool) -> Self {
        let (flow, flow_in_time) = match tool {
            Tool::Verbs => (REFERENCE_FLOW, REFERENCE_FLOW),
            Tool::SendBw | Tool::WriteBw | Tool::ReadBw => {
                (Nanos::new(2 * PROCESS_CPU.get()), Nanos::ZERO)
            }
        };
        Self {
            hop: REFERENCE_HOP,
            pacing: PACING_CPU,
            flow,
            flow_in_time,
            wake_up: WAKE_UP_CPU,
            read_link: READ_LINK_CPU,
        }
    }

    /// Returns the busy times on a machine with `capacity`, by the lab's clock.
    pub fn at(capacity: &Capacity, tool: Tool) -> Self {
        Self::of(capacity.flow_ns, capacity.hop_ns, tool)
    }

    /// Returns the busy times on a machine with `capacity`, by the wall clock.
    pub fn on_the_wall(capacity: &Capacity, tool: Tool) -> Self {
        Self::of(capacity.flow_wall_ns, capacity.hop_wall_ns, tool)
    }

    /// Computes busy times from the measured times per flow and per packet on one link. Other busy times are the
    /// reference guest's, multiplied by the ratio of the two machines' times per packet; a perftest process takes the
    /// same time everywhere, because it calibrates its clock for a fixed time.
    fn of(flow_ns: Nanos, hop_ns: Nanos, tool: Tool) -> Self {
        let reference = Self::reference(tool);
        let like_a_packet = |cost: Nanos| {
            let cost = u128::from(cost.get()) * u128::from(hop_ns.get());
            let cost = cost / u128::from(REFERENCE_HOP.get());
            Nanos::new(u64::try_from(cost).unwrap_or(u64::MAX))
        };
        let (flow, flow_in_time) = match tool {
            Tool::Verbs => (flow_ns, flow_ns),
            Tool::SendBw | Tool::WriteBw | Tool::ReadBw => (reference.flow, Nanos::ZERO),
        };
        Self {
            hop: hop_ns,
            pacing: like_a_packet(reference.pacing),
            flow,
            flow_in_time,
            wake_up: like_a_packet(reference.wake_up),
            read_link: like_a_packet(reference.read_link),
        }
    }

    /// Returns the time for which `offer` keeps the machine busy while flows run.
    fn work(&self, offer: &Offer) -> Nanos {
        self.packets(offer).saturating_add(self.flow_in_time)
    }

    /// Returns the time for which the packets of `offer` keep the machine busy.
    fn packets(&self, offer: &Offer) -> Nanos {
        let hops = saturating_times(self.hop, offer.packet_hops);
        hops.saturating_add(saturating_times(self.pacing, offer.paced_packets))
    }
}

/// Returns the time for which the packets and end points of `offers` keep the machine busy.
pub(crate) fn busy(offers: &[Offer], costs: &Costs) -> Nanos {
    let packets = offers
        .iter()
        .map(|offer| costs.packets(offer))
        .fold(Nanos::ZERO, Nanos::saturating_add);
    packets.saturating_add(saturating_times(costs.flow, count(offers.len())))
}

/// Total work (busy time) of one repetition's offers, and the times in which it comes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TotalWork {
    work: Nanos,
    first_start: Nanos,
    last_start: Nanos,
    longest_span: Nanos,
}

impl TotalWork {
    /// Returns the total of each repetition of `offers`, which are sorted by repetition, then start.
    pub fn of_repetitions(offers: &[Offer], costs: &Costs) -> Vec<Self> {
        let repetitions = offers.chunk_by(|a, b| a.repetition == b.repetition);
        let total = |offers: &[Offer]| Self {
            work: offers
                .iter()
                .map(|offer| costs.work(offer))
                .fold(Nanos::ZERO, Nanos::saturating_add),
            first_start: offers[0].start,
            last_start: offers[offers.len() - 1].start,
            longest_span: offers
                .iter()
                .map(|offer| offer.span)
                .max()
                .unwrap_or(Nanos::ZERO),
        };
        repetitions.map(total).collect()
    }

    /// Returns true if the work is certainly more than `percent` of some [`WINDOW`] when starts are multiplied by `time`,
    /// because it is on average, over the windows that have any of the work; false does not mean the contrary. Takes
    /// constant time, unlike [`peak_percent`].
    pub fn exceeds(&self, percent: u32, time: Ratio) -> bool {
        let stretched = |start: Nanos| u128::from(time.scale_nearest(start.get()));
        let starts = stretched(self.last_start) - stretched(self.first_start);
        let span = u128::from(self.longest_span.get().max(1));
        let length = starts + span + u128::from(WINDOW.get());
        // One percent is left for the rounding of `peak_percent`.
        u128::from(self.work.get()) * 99 > u128::from(percent) * length
    }
}

/// Returns the maximum percentage of any [`WINDOW`] for which `offers` keep the machine busy.
///
/// `offers` are sorted by repetition, then start. Each offer is spread evenly over its span. Flows that share a link
/// may offer more than the link can carry, so the result is an upper bound.
pub(crate) fn peak_percent(offers: &[Offer], costs: &Costs) -> u32 {
    let repetitions = offers.chunk_by(|a, b| a.repetition == b.repetition);
    let peak = repetitions.map(|offers| peak(offers, costs)).max();
    percent(peak.unwrap_or(0), WINDOW.get())
}

/// Work (busy time) offered until `time`, and the rate of work from then on. `done` is in units of 2^−32 ns, `rate` in
/// these units per ns.
#[derive(Clone, Copy, Default)]
struct OfferedWork {
    time: u64,
    done: u128,
    rate: u128,
}

impl OfferedWork {
    fn at(&self, time: u64) -> u128 {
        self.done + self.rate * u128::from(time.saturating_sub(self.time))
    }
}

/// Returns the maximum work (busy time) within any [`WINDOW`] of one repetition, in ns.
fn peak(offers: &[Offer], costs: &Costs) -> u64 {
    // Sort key: the time, and at equal times starts before ends, so that the rate is never negative.
    let change = |offer: &Offer, is_end: bool| {
        let cost = costs.work(offer);
        let span = offer.span.get().max(1);
        let rate = (u128::from(cost.get()) << 32) / u128::from(span);
        let time = offer.start.get();
        let time = if is_end {
            time.saturating_add(span)
        } else {
            time
        };
        (time, is_end, rate)
    };
    let starts = offers.iter().map(|offer| change(offer, false));
    let ends = offers.iter().map(|offer| change(offer, true));
    let mut changes: Vec<(u64, bool, u128)> = starts.chain(ends).collect();
    // Starts are sorted, and so are the ends of bursts; a stable sort merges such sorted runs quickly.
    changes.sort_by_key(|&(time, is_end, _)| (time, is_end));
    let mut work = OfferedWork::default();
    let steps: Vec<OfferedWork> = changes
        .into_iter()
        .map(|(time, is_end, rate)| {
            let rate = if is_end {
                work.rate - rate
            } else {
                work.rate + rate
            };
            work = OfferedWork {
                time,
                done: work.at(time),
                rate,
            };
            work
        })
        .collect();
    // Between changes, the work in a sliding window changes linearly, so the maximum is in a window that starts or ends
    // at a change.
    let starts = steps.iter().map(|step| step.time);
    let from = starts
        .clone()
        .map(|start| (start, start.saturating_add(WINDOW.get())));
    let until = starts.map(|end| (end.saturating_sub(WINDOW.get()), end));
    let most = most_within(&steps, from).max(most_within(&steps, until));
    u64::try_from(most >> 32).unwrap_or(u64::MAX)
}

/// Returns the maximum work (in 2^−32 ns of busy time) within any of `windows`, whose starts and ends never decrease.
fn most_within(steps: &[OfferedWork], windows: impl Iterator<Item = (u64, u64)>) -> u128 {
    let cursor = || {
        let mut next = 0;
        move |time: u64| {
            next += steps[next..]
                .iter()
                .take_while(|step| step.time <= time)
                .count();
            next.checked_sub(1).map_or(0, |last| steps[last].at(time))
        }
    };
    let mut at_start = cursor();
    let mut at_end = cursor();
    let works = windows.map(|(start, end)| at_end(end) - at_start(start));
    works.max().unwrap_or(0)
}

/// Returns `part` in percent of `whole`, rounded up, so that no share above 0 is shown as 0.
pub(crate) fn percent(part: u64, whole: u64) -> u32 {
    if part == 0 {
        return 0;
    }
    let percent = (u128::from(part) * 100).div_ceil(u128::from(whole.max(1)));
    u32::try_from(percent).unwrap_or(u32::MAX)
}

pub(crate) fn saturating_times(time: Nanos, count: u64) -> Nanos {
    Nanos::new(time.get().saturating_mul(count))
}

pub(crate) fn count(items: usize) -> u64 {
    u64::try_from(items).unwrap_or(u64::MAX)
}

/// CPU time of one perftest process, most of it to calibrate its clock. Measured: 0.25 s. A flow of the scenario
/// `smoke`, with two processes, took 0.4 to 0.7 s of wall-clock time in the emulated guest.
pub(crate) const PROCESS_CPU: Nanos = Nanos::from_millis(250);

/// CPU time of a data packet in its host's pacer: the measured time for a packet's whole path was 62 µs without
/// congestion control and 74 µs with congestion control.
const PACING_CPU: Nanos = Nanos::new(12_000);

/// CPU time per wake-up without reading links, from a measurement: 64 µs at a switch with 4 links, 150 µs with 17.
const WAKE_UP_CPU: Nanos = Nanos::new(38_000);
const READ_LINK_CPU: Nanos = Nanos::new(6_600);

/// Length of the window in which offered work is counted; queues can buffer about one second of traffic.
pub(crate) const WINDOW: Nanos = Nanos::from_millis(1_000);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns an offer of `packets` packets over one link. In these tests, each packet costs a millisecond.
    fn offer(start_ms: u64, span_ms: u64, packets: u64) -> Offer {
        Offer {
            repetition: 0,
            start: Nanos::from_millis(start_ms),
            span: Nanos::from_millis(span_ms),
            data_packets: packets,
            packet_hops: packets,
            paced_packets: 0,
        }
    }

    fn costs() -> Costs {
        Costs {
            hop: Nanos::from_millis(1),
            pacing: Nanos::from_millis(2),
            flow: Nanos::ZERO,
            flow_in_time: Nanos::ZERO,
            wake_up: Nanos::ZERO,
            read_link: Nanos::ZERO,
        }
    }

    #[test]
    fn a_long_flow_takes_its_share_of_each_second() {
        // 4,000 ms of work within 10 s is 40 % of each second.
        assert_eq!(peak_percent(&[offer(0, 10_000, 4_000)], &costs()), 40);
        // A burst within the span adds to it; a burst after the span does not.
        let with_burst = [offer(0, 10_000, 4_000), offer(5_000, 0, 100)];
        assert_eq!(peak_percent(&with_burst, &costs()), 50);
        let after = [offer(0, 10_000, 4_000), offer(12_000, 0, 100)];
        assert_eq!(peak_percent(&after, &costs()), 40);
    }

    #[test]
    fn the_busiest_second_may_end_with_a_flow_instead_of_starting_with_one() {
        // Both offers are active from 200 ms to 1,200 ms, with 800 ms of work from the first and all 200 ms from the
        // second.
        let offers = [offer(0, 1_000, 1_000), offer(1_000, 200, 200)];
        assert_eq!(peak_percent(&offers, &costs()), 100);
        let offers = [offer(0, 1_000, 500), offer(1_000, 200, 200)];
        assert_eq!(peak_percent(&offers, &costs()), 60);
    }

    #[test]
    fn bursts_count_together_within_a_second_of_one_repetition() {
        let bursts = [offer(0, 0, 100), offer(999, 0, 100), offer(1_001, 0, 100)];
        assert_eq!(peak_percent(&bursts, &costs()), 20);
        let mut again = offer(0, 0, 100);
        again.repetition = 1;
        assert_eq!(peak_percent(&[offer(0, 0, 100), again], &costs()), 10);
        assert_eq!(peak_percent(&[], &costs()), 0);
    }

    /// 4,000 ms of work come within 10 s. The windows that have some work lie within 11 s, so they have 36.4 % on
    /// average; one percent less is certain. Twice the time for starts makes no difference to a single flow.
    #[test]
    fn work_exceeds_what_its_windows_have_on_average() {
        let one = TotalWork::of_repetitions(&[offer(0, 10_000, 4_000)], &costs());
        let exceeds = |percent| one[0].exceeds(percent, Ratio::new(2, 1).unwrap());
        assert_eq!([35, 36].map(exceeds), [true, false]);
        // Twice as far apart, the same 200 ms come within windows of 5 s instead of 3 s.
        let two = TotalWork::of_repetitions(&[offer(0, 0, 100), offer(2_000, 0, 100)], &costs());
        let exceeds = |time| two[0].exceeds(5, Ratio::new(time, 1).unwrap());
        assert_eq!([1, 2].map(exceeds), [true, false]);
    }

    proptest! {
        #[test]
        fn work_that_exceeds_a_share_has_a_window_with_more(
            offers in prop::collection::vec((0u64..5_000, 0u64..3_000, 1u64..500), 1..12),
            percent in 1u32..100,
            time in 1u64..4,
        ) {
            let mut offers: Vec<Offer> = offers.into_iter().map(|(at, span, n)| offer(at, span, n)).collect();
            offers.sort_by_key(|offer| offer.start);
            let peak = |time: u64| {
                let time = Ratio::new(time, 1).unwrap();
                let slow: Vec<Offer> = offers.iter().map(|offer| offer.stretched(time)).collect();
                peak_percent(&slow, &costs())
            };
            let total = &TotalWork::of_repetitions(&offers, &costs())[0];
            if total.exceeds(percent, Ratio::new(time, 1).unwrap()) {
                prop_assert!(peak(time) > percent);
            }
            prop_assert!(peak(time + 1) <= peak(time), "longer times are calmer");
        }
    }

    #[test]
    fn paced_packets_cost_their_pacing_too() {
        let mut paced = offer(0, 0, 100);
        paced.paced_packets = 50;
        assert_eq!(peak_percent(&[paced], &costs()), 20);
        assert_eq!(
            busy(&[paced, offer(0, 0, 1)], &costs()),
            Nanos::from_millis(201)
        );
    }

    #[test]
    fn times_without_end_do_not_overflow() {
        let mut endless = offer(0, 0, u64::MAX / 2);
        endless.start = Nanos::new(u64::MAX - 1);
        assert_eq!(peak_percent(&[endless, endless], &costs()), u32::MAX);
    }
}
