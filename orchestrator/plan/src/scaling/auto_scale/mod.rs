//! Automatic scale (`scale: auto`): the finest scale that fits the capacity of the machine that runs the plan, such
//! as a guest. The machine that resolves the plan has no influence on the result.
//!
//! Sizes decide the granularity, so their factor is chosen first: the largest `s` of a fixed series that meets the
//! bounds on sizes. Then the factor of times is chosen: the smallest `t` of a series that meets the bounds on time.
//! Rates are scaled by `r = s / t`.
//!
//! | bound | on | why |
//! |---|---|---|
//! | one packet takes at most 1 % of the shortest FCT | sizes | packets do not shrink; a flow that waits for one packet of another flow is late by that much, and 1 % is the tolerated difference between the engines |
//! | the busiest second takes at most half of the capacity of the machine | time | above that, packets queue for the machine's CPU rather than for links |
//! | the fastest link is at most as fast as the machine can shape | time | above that rate, the machine's timers are too coarse to shape packets |
//! | the shortest round trip is at least a hundred times the lateness of starts on the machine | time | a start that is later than a hundredth of its round trip counts as late, and the run is not clean |
//! | the run takes at most ten minutes, half of which are left to policies that overload a path | both | a user waits for it |
//!
//! If no scale meets all bounds, some bounds are waived in a fixed order, and the result describes the consequences: a
//! longer run, or less accurate results.
//!
//! - `demand`: properties of a scenario on which the bounds depend

mod demand;
mod inputs;

use lab_scenario::Generator;
use lab_units::{Clock, Nanos, Place, Ratio, show::about_time};

use self::demand::Demand;
pub(crate) use self::inputs::Inputs;
use crate::{
    error::PlanError,
    estimate, frame,
    model::{AutoScale, Scale},
    offer::{self, Costs, Offer, TotalWork},
    topology,
};

/// Chooses the scale of a scenario for the machine that runs it, and returns the scale with its rationale.
pub(crate) fn pick(inputs: &Inputs<'_>) -> Result<(Scale, AutoScale), PlanError> {
    let search = Search {
        inputs,
        demand: Demand::of(inputs)?,
        limits: Limits::of(inputs.capacity.place),
    };
    let mut refusal = "";
    for waived in WAIVED {
        match search.finest(waived) {
            Ok(scale) => {
                let choice = AutoScale {
                    capacity: inputs.capacity,
                    costs: search.costs(&scale),
                };
                return Ok((scale, choice));
            }
            Err(why) => refusal = why,
        }
    }
    Err(PlanError::NoScale {
        place: inputs.capacity.place,
        why: refusal,
    })
}

/// Bound that the search for a scale may waive.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum WaivableBound {
    /// Wall-clock duration of the run.
    Duration,
    /// Serialisation time of one packet relative to the shortest FCT.
    Packets,
    /// Lateness of starts relative to the shortest round trip.
    Starts,
    /// Number of packets of the largest flow relative to SoftRoCE's window.
    Window,
}

/// Sets of bounds that are waived, in the order in which the search tries them; the first set is empty.
const WAIVED: [&[WaivableBound]; 6] = [
    &[],
    &[WaivableBound::Duration],
    &[WaivableBound::Packets],
    &[WaivableBound::Packets, WaivableBound::Duration],
    &[
        WaivableBound::Packets,
        WaivableBound::Duration,
        WaivableBound::Starts,
    ],
    &[
        WaivableBound::Packets,
        WaivableBound::Duration,
        WaivableBound::Starts,
        WaivableBound::Window,
    ],
];

/// Limits that depend on the machine that runs the plan.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Maximum emulated rate of a link, in bits per second.
    rate_bps: u64,
    /// Minimum emulated round trip between two hosts.
    round_trip: Nanos,
    /// Maximum estimated wall-clock time of the run if no policy overloads a path.
    wall: Nanos,
}

impl Limits {
    const fn of(place: Place) -> Self {
        let rate_bps = match place {
            // The fastest link that the guest shaped to within 2 % in measurements.
            Place::GuestVirtual | Place::GuestTcg => 200_000_000,
            // A full packet takes 33 µs at this rate, about the lateness of a timer.
            Place::GuestKvm | Place::Here => 1_000_000_000,
        };
        let late = match place {
            // Measured: of 46,445 starts of `8dc`, one in a thousand was over 0.48 ms late, behind the packets of another
            // flow. The verdict accepts one in a thousand.
            Place::GuestVirtual => Nanos::new(500_000),
            // Measured: of 486 starts, half were over 7 ms late on two cores with ten other busy processes. Starts in real
            // time have no bound, so this is the usual lateness.
            Place::GuestTcg => Nanos::from_millis(10),
            // An assumption for timers of a busy kernel, not a measurement.
            Place::GuestKvm | Place::Here => Nanos::from_millis(1),
        };
        let wall = match place.clock() {
            Clock::Virtual => MAX_WALL,
            Clock::Real => Nanos::new(MAX_WALL.get() / 2),
        };
        Self {
            rate_bps,
            round_trip: Nanos::new(100 * late.get()),
            wall,
        }
    }
}

struct Search<'a> {
    inputs: &'a Inputs<'a>,
    demand: Demand,
    limits: Limits,
}

impl Search<'_> {
    /// Returns the scale with the largest emulated flow sizes among those that meet all bounds not in `waived`. If the
    /// bound on the duration is in `waived`, a scale that meets it is still preferred; if there is none, the scales whose
    /// run is at most a tenth longer than the shortest one compete. Fails with the reason why the last scale was
    /// rejected.
    fn finest(&self, waived: &[WaivableBound]) -> Result<Scale, &'static str> {
        let mut long: Vec<(Nanos, Scale)> = Vec::new();
        let mut refusal = "the largest flow exceeds SoftRoCE's window at every scale";
        for size in series().filter_map(Ratio::inverse) {
            if !waived.contains(&WaivableBound::Window)
                && self.packets_of_largest(size) > frame::RXE_WINDOW_PACKETS
            {
                continue;
            }
            if !waived.contains(&WaivableBound::Packets)
                && self.demand.packet_permyriad(size) > MAX_PACKET_PERMYRIAD
            {
                refusal = "one packet takes more than 1 % of the shortest FCT";
                break;
            }
            let offers = self.demand.offers(self.inputs, size);
            match self.fastest(size, &offers, waived) {
                Ok((scale, wall)) if wall <= self.limits.wall => return Ok(scale),
                Ok((scale, wall)) if waived.contains(&WaivableBound::Duration) => {
                    long.push((wall, scale));
                }
                Ok(_) => refusal = "the run may take more than ten minutes",
                Err(why) => refusal = why,
            }
        }
        // Coarser packets are not worth a run that is shorter by at most a tenth.
        let shortest = long.iter().map(|(wall, _)| wall.get()).min().unwrap_or(0);
        let finest = long
            .iter()
            .find(|(wall, _)| wall.get() - shortest <= shortest / 10);
        finest.map(|(_, scale)| *scale).ok_or(refusal)
    }

    /// Returns the scale with the smallest time factor that meets the bounds when sizes are scaled by `size`, and the
    /// wall-clock duration of a run at this scale.
    ///
    /// If no factor makes round trips long enough, it is the largest factor whose run is short enough and whose links can
    /// be measured: the longer the round trips, the fewer flows start late.
    fn fastest(
        &self,
        size: Ratio,
        offers: &[Offer],
        waived: &[WaivableBound],
    ) -> Result<(Scale, Nanos), &'static str> {
        let mut refusal = "no factor of times gives a factor of rates that fits in 64 bits";
        let mut longest = None;
        let totals = TotalWork::of_repetitions(offers, &self.place_costs());
        for time in series().filter(|time| time.numerator() <= MAX_TIME) {
            let Some(rate) = time.inverse().and_then(|inverse| size.times(inverse)) else {
                continue;
            };
            if rate.scale_nearest(self.demand.fastest_bps) > self.limits.rate_bps {
                refusal = "the fastest link, between or inside datacenters, is faster than the machine can shape";
                continue;
            }
            if !waived.contains(&WaivableBound::Starts)
                && self.can_start_in_time()
                && self.round_trip(time) < self.limits.round_trip
            {
                refusal = "round trips are too short for the precision of flow starts";
                continue;
            }
            // The longer times are, the fewer flows share a second, so a factor after a fitting one fits.
            let is_too_busy = totals.iter().any(|it| it.exceeds(MAX_PERCENT, time))
                || (longest.is_none() && self.peak_percent(time, offers) > MAX_PERCENT);
            if is_too_busy {
                refusal =
                    "flows use more than half of the machine's capacity in the busiest second";
                continue;
            }
            let scale = Scale::new(rate, time).ok();
            let topology = &self.inputs.scenario.topology;
            match scale.filter(|scale| topology::build(topology, scale).is_ok()) {
                Some(scale) => {
                    let wall = self.wall(&scale, offers);
                    if self.can_start_in_time() {
                        return Ok((scale, wall));
                    }
                    let slowest = rate.scale_nearest(self.demand.slowest_bps);
                    let is_over = wall > self.limits.wall || slowest < MIN_MEASURED_BPS;
                    if longest.is_some() && is_over {
                        break;
                    }
                    longest = Some((scale, wall));
                }
                None => refusal = "rates, delays or buffers of links become 0",
            }
        }
        longest.ok_or(refusal)
    }

    /// Returns the maximum percentage of the machine's capacity that `offers` use in any second when times are
    /// multiplied by `time`.
    fn peak_percent(&self, time: Ratio, offers: &[Offer]) -> u32 {
        let slow: Vec<Offer> = offers.iter().map(|offer| offer.stretched(time)).collect();
        offer::peak_percent(&slow, &self.place_costs())
    }

    /// Returns the wall-clock time of all policies and repetitions at `scale`.
    fn wall(&self, scale: &Scale, offers: &[Offer]) -> Nanos {
        let policies = u64::try_from(self.inputs.scenario.policies.len()).unwrap_or(u64::MAX);
        let runs = policies.saturating_mul(u64::from(self.inputs.repetitions));
        let lab = Nanos::new(scale.time.scale_nearest(self.demand.end.get()));
        let Inputs {
            scenario, capacity, ..
        } = self.inputs;
        let costs = Costs::on_the_wall(capacity, scenario.generator.tool);
        let busy = offer::busy(offers, &costs);
        let busy = Nanos::new(busy.get().saturating_mul(policies));
        estimate::wall(capacity, busy, lab, runs)
    }

    fn place_costs(&self) -> Costs {
        Costs::at(&self.inputs.capacity, self.inputs.scenario.generator.tool)
    }

    /// Returns true if some factor of times makes round trips long enough. A bound that none meets waives no other.
    fn can_start_in_time(&self) -> bool {
        let longest = Ratio::new(MAX_TIME, 1).map(|time| self.round_trip(time));
        longest.is_some_and(|longest| longest >= self.limits.round_trip)
    }

    fn round_trip(&self, time: Ratio) -> Nanos {
        Nanos::new(time.scale_nearest(self.demand.round_trip.get()))
    }

    fn packets_of_largest(&self, size: Ratio) -> u64 {
        let Generator { tool, mtu, .. } = self.inputs.scenario.generator;
        self.demand.packets_of_largest(size, tool, mtu)
    }

    /// Returns a sentence for each bound that `scale` does not meet.
    fn costs(&self, scale: &Scale) -> Vec<String> {
        let packets = self.packets_of_largest(scale.size);
        let window = (packets > frame::RXE_WINDOW_PACKETS).then(|| {
            format!(
                "the largest flow has {packets} packets, but SoftRoCE has at most {} in flight",
                frame::RXE_WINDOW_PACKETS
            )
        });
        let share = self.demand.packet_permyriad(scale.size);
        let coarse = (share > MAX_PACKET_PERMYRIAD).then(|| {
            format!(
                "one packet takes {}.{:02} % of the shortest FCT, more than 1 %: short flows experience \
                 serialisation that the paper's network does not have",
                share / 100,
                share % 100
            )
        });
        let round_trip = self.round_trip(scale.time);
        let late = (round_trip < self.limits.round_trip).then(|| {
            format!(
                "the shortest round trip is {}, and a flow may start late by more than 1 % of it",
                about_time(round_trip)
            )
        });
        let wall = self.wall(scale, &self.demand.offers(self.inputs, scale.size));
        let long = (wall > self.limits.wall).then(|| {
            format!(
                "the run takes about {}, and longer under a policy that overloads a path",
                about_time(wall)
            )
        });
        [window, coarse, late, long].into_iter().flatten().collect()
    }
}

/// Returns the factors that the search tries: 1, 2, 3, 4, 5, 6, 8, 10, 20, …, 1,000,000.
fn series() -> impl Iterator<Item = Ratio> {
    let decades = (0..6).map(|decade| 10u64.pow(decade));
    let steps = decades.flat_map(|decade| [1, 2, 3, 4, 5, 6, 8].map(|digit| digit * decade));
    steps
        .chain([1_000_000])
        .filter_map(|step| Ratio::new(step, 1))
}

/// Maximum wall-clock time of a run, for which a user waits; on the real clock, half of it is left to policies that
/// overload a path.
const MAX_WALL: Nanos = Nanos::from_millis(600_000);

/// Maximum percentage of the machine's capacity that may be used in any second; the rest is for bursts within the
/// second and for retransmissions.
const MAX_PERCENT: u32 = 50;

/// Maximum serialisation time of one packet, in ten-thousandths of the shortest FCT.
const MAX_PACKET_PERMYRIAD: u64 = 100;

/// Minimum rate of the slowest link for which times grow beyond the smallest factor. Linux shapes whole bytes per second: 7
/// bit/s less make a measurement's frame of 60 B 34 µs later at this rate, and 50 µs are tolerated.
const MIN_MEASURED_BPS: u64 = 10_000;

/// Maximum factor of times; with a larger factor, even short round trips take seconds.
const MAX_TIME: u64 = 1_000;
