//! Figures of a link direction, computed from the frames sent and received, and compared with their bounds.

use lab_records::{CertifiedRow, LinkBounds};
use lab_units::{BitsPerSec, Nanos};

use super::{direction::LinkDirection, queue, socket::Arrival, train::probe_time};

/// Frames that the queue of a link direction accepted: send times in ns, by sequence number.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Sent {
    pub probes: Vec<u64>,
    pub train: Vec<u64>,
    /// Time of the first frame that the queue refused, and the number of the train's frames that the queue had accepted
    /// by then; `None` if it refused no frame.
    pub refused: Option<(u64, usize)>,
    /// True if the train was meant to fill the queue.
    pub is_fill: bool,
    /// Number of frames on the link that are not the measurement's own.
    pub foreign: u64,
}

impl Sent {
    /// Returns the number of frames that the queue accepted.
    pub fn len(&self) -> usize {
        self.probes.len() + self.train.len()
    }
}

/// Returns the certificate row of a link direction: measurements, bounds and problems, not yet with likely causes.
pub(super) fn certify(
    direction: &LinkDirection<'_>,
    sent: &Sent,
    arrivals: &[Arrival],
    bounds: &LinkBounds,
) -> CertifiedRow {
    let wire = direction.wire();
    let [from, to] = direction.names.clone();
    let arrivals = InOrder::of(arrivals, sent.len());
    let delays = delays(direction, sent, &arrivals);
    let mut row = CertifiedRow {
        link: direction.link.name.clone(),
        from,
        to,
        emu_rate_bps: wire.rate_bps,
        emu_measured_rate_bps: rate(direction, sent, &arrivals),
        emu_rate_bound_bps: bounds.rate(wire.rate_bps),
        emu_delay_ns: wire.delay_ns,
        emu_measured_delay_ns: delays.iter().min().copied(),
        emu_delay_bound_ns: bounds.delay(wire.delay_ns),
        emu_spread_ns: spread(&delays),
        emu_spread_bound_ns: bounds.spread(),
        queue_packets: direction.queue_frames(),
        measured_queue_packets: queue_frames(direction, sent),
        queue_bound_packets: LinkBounds::QUEUE_PACKETS,
        sent: count(sent.len()),
        lost: arrivals.lost(),
        disordered: arrivals.disordered,
        foreign: sent.foreign,
        problem: None,
    };
    let mut problems = problems(&row, wire.loss.numerator() > 0);
    problems.extend(short_buffer(direction));
    row.problem = (!problems.is_empty()).then(|| problems.join("; "));
    row
}

/// First arrival time of each frame, indexed by the frame's number.
struct InOrder {
    at: Vec<Option<u64>>,
    /// Number of frames that arrived after a later frame, or arrived more than once.
    disordered: u64,
}

impl InOrder {
    fn of(arrivals: &[Arrival], sent: usize) -> Self {
        let mut at = vec![None; sent];
        let mut disordered = 0;
        let mut next = 0;
        for arrival in arrivals {
            let index = usize::try_from(arrival.sequence).unwrap_or(usize::MAX);
            let Some(place) = at.get_mut(index) else {
                disordered += 1;
                continue;
            };
            if index < next || place.is_some() {
                disordered += 1;
            }
            next = next.max(index + 1);
            place.get_or_insert(arrival.at);
        }
        Self { at, disordered }
    }

    fn lost(&self) -> u64 {
        count(self.at.iter().filter(|at| at.is_none()).count())
    }
}

/// Returns the one-way delay of each probe that arrived, without its serialisation time.
fn delays(direction: &LinkDirection<'_>, sent: &Sent, arrivals: &InOrder) -> Vec<Nanos> {
    let serialisation = probe_time(direction.wire());
    let probes = sent.probes.iter().zip(&arrivals.at);
    let delay = |(sent, at): (&u64, &Option<u64>)| {
        let took = Nanos::new((*at)?.saturating_sub(*sent));
        Some(took.saturating_sub(serialisation))
    };
    probes.filter_map(delay).collect()
}

fn spread(delays: &[Nanos]) -> Option<Nanos> {
    let least = delays.iter().min()?;
    let largest = delays.iter().max()?;
    Some(largest.saturating_sub(*least))
}

/// Returns the arrival rate of the train's frames after the burst; `None` if fewer than two arrived. It follows from
/// the time between neighbouring frames, or from the time between all frames if no two neighbours arrived.
///
/// `netem` drops a frame before the frame takes any time on the wire. If `netem` still holds frames that the shaper let
/// through early, the frame after a dropped one therefore arrives early. Two neighbours, however, are always one
/// serialisation time apart.
fn rate(direction: &LinkDirection<'_>, sent: &Sent, arrivals: &InOrder) -> Option<BitsPerSec> {
    let first = sent.probes.len() + usize::try_from(direction.burst_frames()).ok()?;
    let train = (0u64..).zip(arrivals.at.get(first..)?);
    let arrived: Vec<(u64, u64)> = train
        .filter_map(|(number, at)| Some((number, (*at)?)))
        .collect();
    let total = |most: u64| {
        let steps = arrived.windows(2).filter_map(|pair| {
            let frames = pair[1].0 - pair[0].0;
            let span = pair[1].1.checked_sub(pair[0].1)?;
            (frames <= most).then_some((u128::from(frames), u128::from(span)))
        });
        steps.fold((0_u128, 0_u128), |sum, step| {
            (sum.0 + step.0, sum.1 + step.1)
        })
    };
    let (frames, span) = match total(1) {
        (0, _) => total(u64::MAX),
        neighbours => neighbours,
    };
    let bits = frames * u128::from(direction.frame.get()) * 8;
    let rate = (bits * 1_000_000_000).checked_div(span)?;
    BitsPerSec::new(u64::try_from(rate).ok()?)
}

/// Returns the queue's capacity in frames; `None` if the train was not meant to fill the queue. The capacity is the
/// planned one, plus the number of frames that the queue accepted, minus the number that an ideal queue accepts. If no
/// frame was refused, the result is a lower bound.
fn queue_frames(direction: &LinkDirection<'_>, sent: &Sent) -> Option<u64> {
    if !sent.is_fill {
        return None;
    }
    let (moments, taken) = match sent.refused {
        Some((at, taken)) => {
            let before = sent.train.iter().take(taken).copied();
            (before.chain([at]).collect(), taken)
        }
        None => (sent.train.clone(), sent.train.len()),
    };
    let ideal = queue::frames_taken(direction, &moments)?;
    let more = i128::from(count(taken)) - i128::from(ideal);
    u64::try_from(i128::from(direction.queue_frames()) + more).ok()
}

/// Returns a problem if the shaper lets more frames through at once than the buffer holds; otherwise `None`.
fn short_buffer(direction: &LinkDirection<'_>) -> Option<String> {
    let burst = direction.burst_frames();
    let frames = direction.queue_frames();
    (burst > frames + 1).then(|| {
        format!(
            "the shaper lets {burst} packets through at once, but the buffer holds {frames} (hint: raise \
             `buffer`, or run on the virtual clock)"
        )
    })
}

/// Returns a problem for each figure of `row` that is outside its bound. On a link that loses packets according to the
/// plan, losses are not a problem.
fn problems(row: &CertifiedRow, is_lossy: bool) -> Vec<String> {
    let mut problems = Vec::new();
    if row.lost >= row.sent {
        return vec![format!("none of {} frames arrived", row.sent)];
    }
    match row.emu_measured_delay_ns {
        None => problems.push("no probe arrived".to_owned()),
        Some(delay)
            if is_out(
                delay.get(),
                row.emu_delay_ns.get(),
                row.emu_delay_bound_ns.get(),
            ) =>
        {
            problems.push(format!(
                "one-way delay {delay}, planned {} ± {}",
                row.emu_delay_ns, row.emu_delay_bound_ns
            ));
        }
        Some(_) => {}
    }
    if let Some(spread) = row.emu_spread_ns.filter(|it| *it > row.emu_spread_bound_ns) {
        let bound = row.emu_spread_bound_ns;
        problems.push(format!("spread of delays {spread}, bound {bound}"));
    }
    match row.emu_measured_rate_bps {
        None => problems.push("fewer than two frames of the train arrived".to_owned()),
        Some(rate)
            if is_out(
                rate.get(),
                row.emu_rate_bps.get(),
                row.emu_rate_bound_bps.get(),
            ) =>
        {
            problems.push(format!(
                "rate {rate}, planned {} ± {}",
                row.emu_rate_bps, row.emu_rate_bound_bps
            ));
        }
        Some(_) => {}
    }
    if let Some(frames) = row.measured_queue_packets
        && is_out(frames, row.queue_packets, row.queue_bound_packets)
    {
        problems.push(format!(
            "queue of {frames} packets, planned {} ± {}",
            row.queue_packets, row.queue_bound_packets
        ));
    }
    if row.lost > 0 && !is_lossy {
        problems.push(format!("{} of {} frames lost", row.lost, row.sent));
    }
    if row.disordered > 0 {
        problems.push(format!(
            "{} frames out of order or duplicated",
            row.disordered
        ));
    }
    if row.foreign > LinkBounds::FOREIGN_PACKETS {
        problems.push(format!(
            "{} packets of other traffic, bound {}",
            row.foreign,
            LinkBounds::FOREIGN_PACKETS
        ));
    }
    problems
}

const fn is_out(measured: u64, asked: u64, bound: u64) -> bool {
    measured.abs_diff(asked) > bound
}

fn count(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use lab_plan::model::Plan;
    use lab_records::Location;
    use lab_units::Bytes;

    use super::*;
    use crate::{
        certify::direction::directions,
        lower::{Clock, Layout, LowerOptions},
        testing,
    };

    /// Returns the certificate of a link with 100 Mbit/s, 25 ms and a queue of about 150 frames. The measurement is
    /// that of an ideal train of 40 frames, which `change` may modify.
    fn ideal(change: impl FnOnce(&mut Sent, &mut Vec<Arrival>)) -> CertifiedRow {
        let plan: Plan = testing::pair(0);
        let options = LowerOptions::shown("t".parse().unwrap());
        let directions = directions(&Layout::new(&plan, &options));
        let direction = &directions[0];
        let rate = direction.wire().rate_bps;
        let mut sent = Sent {
            probes: (0..5).map(|number| number * 1_000_000).collect(),
            train: vec![10_000_000; 40],
            ..Sent::default()
        };
        let delay = direction.wire().delay_ns.get();
        let small = rate.serialize(Bytes::new(60)).unwrap().get();
        let large = rate.serialize(direction.frame).unwrap().get();
        let probes = sent.probes.iter().map(|at| at + delay + small);
        let train = (1..=40).map(|number| 10_000_000 + delay + number * large);
        let times = probes.chain(train).collect::<Vec<u64>>();
        let mut arrivals: Vec<Arrival> = (0..)
            .zip(times)
            .map(|(sequence, at)| Arrival { sequence, at })
            .collect();
        change(&mut sent, &mut arrivals);
        let bounds = LinkBounds::of(Location::Guest, Clock::Virtual);
        certify(direction, &sent, &arrivals, &bounds)
    }

    #[test]
    fn an_ideal_link_is_certified_without_an_error() {
        let row = ideal(|_, _| {});
        assert_eq!(row.problem, None);
        assert_eq!(row.emu_measured_delay_ns, Some(row.emu_delay_ns));
        assert_eq!(row.emu_spread_ns, Some(Nanos::ZERO));
        let rate = row.emu_measured_rate_bps.unwrap().get();
        assert!(rate.abs_diff(row.emu_rate_bps.get()) < 100, "{rate}");
    }

    /// With T the serialisation time of a frame, four frames leave the shaper at once, then one every T, so that frame
    /// n leaves at (n − 3) T. Frames 10, 20 and 30 are dropped before the fiber. On the fiber, frames 0 to 9 take until
    /// 10 T; frame 11 follows at once and ends at 11 T, and so on: each loss uses up one of the three waiting frames,
    /// and frame 39 ends at 37 T. From the first frame after the burst to the last, 35 frames in 32 T would be 109 % of
    /// the rate.
    #[test]
    fn losses_do_not_make_a_link_faster() {
        let row = ideal(|_, arrivals| {
            let frame = arrivals[6].at - arrivals[5].at;
            let start = arrivals[5].at - frame;
            let train = arrivals.split_off(5);
            let mut free = 0;
            let arrived = (0..).zip(train).filter_map(|(number, arrival)| {
                if [10, 20, 30].contains(&number) {
                    return None;
                }
                free = u64::max(free, u64::saturating_sub(number, 3)) + 1;
                let at = start + free * frame;
                Some(Arrival { at, ..arrival })
            });
            arrivals.extend(arrived);
            assert_eq!(arrivals.last().unwrap().at, start + 37 * frame);
        });
        assert_eq!(row.emu_measured_rate_bps, Some(row.emu_rate_bps));
        assert_eq!(row.problem.as_deref(), Some("3 of 45 frames lost"));
    }

    #[test]
    fn each_figure_out_of_its_bound_is_named() {
        type Change = fn(&mut Sent, &mut Vec<Arrival>);
        let changes: [(Change, &str); 8] = [
            (|_, arrivals| arrivals.clear(), "none of 45 frames arrived"),
            (
                |_, arrivals| drop(arrivals.drain(5..)),
                "fewer than two frames of the train arrived",
            ),
            (
                |_, arrivals| arrivals.iter_mut().for_each(|it| it.at += 126_000),
                "one-way delay",
            ),
            (|_, arrivals| arrivals[2].at += 101_000, "spread of delays"),
            (
                |_, arrivals| {
                    (0..)
                        .zip(&mut arrivals[5..])
                        .for_each(|(n, it)| it.at += n * 4_000);
                },
                "rate",
            ),
            (
                |_, arrivals| arrivals.retain(|it| it.sequence != 20),
                "1 of 45 frames lost",
            ),
            (|_, arrivals| arrivals.swap(20, 21), "1 frames out of order"),
            (|sent, _| sent.foreign = 9, "9 packets of other traffic"),
        ];
        for (change, words) in changes {
            let problem = ideal(change).problem.unwrap_or_default();
            assert!(problem.contains(words), "{words}: {problem}");
        }
    }

    /// At 100 Mbit/s, up to 90 frames (4,190 B each) leave within the maximum timer delay, 30 ms, so the shaper lets 91
    /// frames through at once; a buffer with 10 kB holds 2 frames.
    #[test]
    fn a_buffer_below_what_a_shaper_lets_through_is_a_problem() {
        let mut plan = testing::pair(0);
        plan.links[0].emu = testing::wire("100 Mbit", "25 ms", "10 kB");
        let mut options = LowerOptions::shown("t".parse().unwrap());
        let mut problem = |clock| {
            options.clock = clock;
            short_buffer(&directions(&Layout::new(&plan, &options))[0])
        };
        let text = "the shaper lets 91 packets through at once, but the buffer holds 2 (hint: raise \
                    `buffer`, or run on the virtual clock)";
        assert_eq!(problem(Clock::Real).as_deref(), Some(text));
        plan.links[0].emu = testing::wire("100 Mbit", "25 ms", "378 kB");
        let directions = directions(&Layout::new(&plan, &options));
        assert_eq!(
            short_buffer(&directions[0]),
            None,
            "90 frames and one that leaves"
        );
    }

    #[test]
    fn a_filled_queue_is_as_long_as_it_took_more_than_an_ideal_one() {
        let fill = |taken: usize| {
            ideal(move |sent, arrivals| {
                sent.is_fill = true;
                sent.train = vec![10_000_000; taken];
                sent.refused = Some((10_000_000, taken));
                let last = arrivals.len() - 1;
                let start = arrivals[last].at;
                let step = arrivals[last].at - arrivals[last - 1].at;
                for number in 45..5 + taken {
                    let since = u64::try_from(number - 44).unwrap();
                    arrivals.push(Arrival {
                        sequence: u32::try_from(number).unwrap(),
                        at: start + since * step,
                    });
                }
            })
        };
        let asked = ideal(|_, _| {}).queue_packets;
        // 620 kB hold 147 frames of 4,190 B besides the frame that is leaving. The shaper's burst does not increase
        // this number.
        assert_eq!(asked, 147);
        let exact = 1 + 147;
        for (taken, is_within) in [
            (exact, true),
            (exact + 1, true),
            (exact - 2, false),
            (exact + 2, false),
        ] {
            let row = fill(taken);
            let is_certified = row.problem.is_none();
            assert_eq!(is_certified, is_within, "{taken}: {row:?}");
        }
    }
}
