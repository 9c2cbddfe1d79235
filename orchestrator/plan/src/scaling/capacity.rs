//! Capacity of a machine (this one or a kind of guest): the rates that its flow generator and its data path reach,
//! measured or by default.
//!
//! Two loads measure a machine: many flows of one packet, and a few large flows. All flows of a load start at once, so
//! that the machine is fully busy from the first start to the last end. See `lcmp-lab doctor --measure`.
//!
//! A measured capacity is used only if the command line names it, so that a scenario and a command line give the same
//! plan on every machine.

use std::{fmt, str::FromStr};

use lab_units::{
    Bytes, Clock, Nanos, ParseKindError, ParseQuantityError, Place,
    show::{about_rate, commas},
};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Capacity of a machine that can run a lab: this machine or a kind of guest. Times are by the lab's clock unless their
/// name contains `wall`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capacity {
    pub place: Place,
    /// True if the capacity was measured; false if it is the default for this kind of machine.
    pub is_measured: bool,
    /// Busy time per flow, for its queue pairs, decisions and records: the inverse of the maximum number of flows per
    /// second, whatever their size.
    pub flow_ns: Nanos,
    /// Busy time per packet on one link: the inverse of the maximum number of such packets per second.
    pub hop_ns: Nanos,
    /// Busy time per flow of any size, by the wall clock; equal to [`Self::flow_ns`] on the real clock. In
    /// an emulator, this time is long in relation to the number of instructions, because the emulator translates code
    /// repeatedly.
    pub flow_wall_ns: Nanos,
    /// Busy time per packet on one link by the wall clock; equal to [`Self::hop_ns`] on the real clock.
    pub hop_wall_ns: Nanos,
}

/// Load of flows that started at once, and the time until all of them ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct MeasuredLoad {
    /// Number of flows; the measured time includes the creation of their queue pairs.
    pub flows: u64,
    /// Number of data packets of all flows.
    pub data_packets: u64,
    /// Sum over data packets and ACKs of the number of links that each crossed.
    pub packet_hops: u64,
    /// Payload bytes that the flows' destinations received.
    pub bytes: Bytes,
    /// Time from the first start to the last end, by the lab's clock.
    pub lab_ns: Nanos,
    /// Wall-clock time from the first start to the last end.
    pub wall_ns: Nanos,
    /// CPU time of the whole kernel by the lab's clock; `None` if other programs share the kernel, so that the lab's
    /// share is unknown.
    pub cpu_ns: Option<Nanos>,
}

impl Capacity {
    /// Returns the default capacity of `place`: this machine or a kind of guest, each with a clock.
    ///
    /// The two emulated guests were measured on two cores of a server, the guest on the real clock while ten other
    /// processes were busy. The defaults of the two other places are cautious guesses; `--scale-for` accepts a measured
    /// capacity instead.
    ///
    /// The wall-clock times of the emulated guest on the virtual clock were fitted to runs of `8dc` and of
    /// `paper/testbed` at three loads, with 1,740 to 6,635 flows per policy and repetition, on two cores. In these
    /// runs, the number of packets grows with the number of flows, so they determine only the sum of the cost per flow
    /// and the cost per packet. The ratio of the two is from `bench generator`, where a flow took 15 ms and a packet on
    /// a link 128 µs. Wall-clock seconds of all flows:
    ///
    /// | run | flows | packets on links | estimated | measured |
    /// |---|---|---|---|---|
    /// | 8dc, alone | 39,810 | 1,356,960 | 566 | 579 |
    /// | 8dc, during builds | 39,810 | 1,356,960 | 566 | 649 to 660 |
    /// | 8dc, with other programs at first | 39,810 | 1,356,960 | 566 | 491 |
    /// | 8dc, with other programs throughout | 39,810 | 1,356,960 | 566 | 745 |
    /// | 8dc-paper, with other programs | 39,810 | 1,356,960 | 566 | 428 |
    /// | 8dc, two policies | 13,270 | 452,320 | 189 | 177 |
    /// | testbed, load 30 %, with other programs at first | 20,884 | 730,288 | 300 | 348 |
    /// | testbed, load 50 %, without the last of 12 runs of a policy | 31,926 | 1,126,635 | 457 | 373 |
    /// | testbed, load 80 %, with simulations on both cores | 55,840 | 1,992,448 | 800 | 1,706 |
    #[must_use]
    pub const fn default_of(place: Place) -> Self {
        let (flow_us, hop_us) = match place {
            Place::GuestVirtual => {
                return Self {
                    place,
                    is_measured: false,
                    flow_ns: REFERENCE_FLOW,
                    hop_ns: REFERENCE_HOP,
                    flow_wall_ns: Nanos::from_millis(10),
                    hop_wall_ns: Nanos::new(120_000),
                };
            }
            Place::GuestTcg => (14_000, 50),
            Place::GuestKvm => (300, 8),
            Place::Here => (150, 4),
        };
        let flow_ns = Nanos::new(flow_us * 1_000);
        let hop_ns = Nanos::new(hop_us * 1_000);
        Self {
            place,
            is_measured: false,
            flow_ns,
            hop_ns,
            flow_wall_ns: flow_ns,
            hop_wall_ns: hop_ns,
        }
    }

    /// Computes the capacity of `place` from two measured loads: `small`, with flows of one packet, and `bulk`, with a
    /// few large flows.
    #[must_use]
    pub fn of(place: Place, small: &MeasuredLoad, bulk: &MeasuredLoad) -> Self {
        let each = |small_ns: Nanos, bulk_ns: Nanos| {
            let hop = bulk_ns.get() / bulk.packet_hops.max(1);
            let packets = small.packet_hops.saturating_mul(hop);
            let flow = small_ns.get().saturating_sub(packets) / small.flows.max(1);
            (Nanos::new(flow.max(1)), Nanos::new(hop.max(1)))
        };
        let (flow_ns, hop_ns) = each(small.lab_ns, bulk.lab_ns);
        let (flow_wall_ns, hop_wall_ns) = each(small.wall_ns, bulk.wall_ns);
        Self {
            place,
            is_measured: true,
            flow_ns,
            hop_ns,
            flow_wall_ns,
            hop_wall_ns,
        }
    }

    /// Returns the text that gives this capacity on a command line; [`Self::from_str`] parses it.
    ///
    /// The default of a place is written as the place's name: `here`. A measured capacity is the place's name and its
    /// times: per packet on one link and per flow, by the lab's clock, and, if that clock is virtual, the two
    /// corresponding times by the wall clock: `guest-virtual:15300ns,382us,128us,15ms`.
    #[must_use]
    pub fn argument(&self) -> String {
        if !self.is_measured {
            return self.place.to_string();
        }
        let lab = [self.hop_ns, self.flow_ns];
        let wall = [self.hop_wall_ns, self.flow_wall_ns];
        let wall = match self.place.clock() {
            Clock::Virtual => &wall[..],
            Clock::Real => &[],
        };
        let times: Vec<String> = lab
            .iter()
            .chain(wall)
            .map(|time| time.to_string().replace(' ', ""))
            .collect();
        format!("{}:{}", self.place, times.join(","))
    }

    /// Returns the number of packet hops (one packet on one link) that the machine can forward per second of the lab's
    /// clock.
    #[must_use]
    pub const fn packet_hops_per_second(&self) -> u64 {
        per_second(self.hop_ns)
    }

    /// Returns the number of flows that the machine can create, start, complete and destroy per second of the lab's
    /// clock.
    #[must_use]
    pub const fn flows_per_second(&self) -> u64 {
        per_second(self.flow_ns)
    }
}

impl Default for Capacity {
    fn default() -> Self {
        Self::default_of(Place::default())
    }
}

impl FromStr for Capacity {
    type Err = ParseCapacityError;

    /// Parses the name of a place, such as `guest-virtual`, which stands for the place's default capacity, or a
    /// measured capacity in the form that [`Self::argument`] returns.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some((place, times)) = text.split_once(':') else {
            return Ok(Self::default_of(text.parse()?));
        };
        let place: Place = place.parse()?;
        let times: Vec<Nanos> = times.split(',').map(time).collect::<Result<_, _>>()?;
        let (hop_ns, flow_ns, hop_wall_ns, flow_wall_ns) = match (place.clock(), times.as_slice()) {
            (Clock::Virtual, &[hop, flow, hop_wall, flow_wall]) => (hop, flow, hop_wall, flow_wall),
            (Clock::Real, &[hop, flow]) => (hop, flow, hop, flow),
            (clock, _) => {
                return Err(ParseCapacityError::Count {
                    place,
                    given: times.len(),
                    form: match clock {
                        Clock::Virtual => "HOP,FLOW,HOP_WALL,FLOW_WALL",
                        Clock::Real => "HOP,FLOW",
                    },
                });
            }
        };
        Ok(Self {
            place,
            is_measured: true,
            flow_ns,
            hop_ns,
            flow_wall_ns,
            hop_wall_ns,
        })
    }
}

/// Parses one of the times of a measured capacity.
fn time(text: &str) -> Result<Nanos, ParseCapacityError> {
    let time: Nanos = text.parse()?;
    if time == Nanos::ZERO || time > MAX_TIME {
        return Err(ParseCapacityError::Time { time });
    }
    Ok(time)
}

/// Reason why a text is not a capacity.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum ParseCapacityError {
    #[error(transparent)]
    Place(#[from] ParseKindError),
    /// A time cannot be parsed.
    #[error(transparent)]
    Quantity(#[from] ParseQuantityError),
    /// A time is zero or longer than 10 s.
    #[error("a capacity's time is {time}; it must be 1 ns to {MAX_TIME}")]
    Time { time: Nanos },
    /// The number of durations in the capacity does not match the place's clock: two on the real clock, four on the
    /// virtual clock.
    #[error(
        "wrong number of durations ({given}) in the capacity, expected `{place}:{form}` (hint: \
         `lcmp-lab doctor --measure` prints it)"
    )]
    Count {
        place: Place,
        /// Number of durations in the text.
        given: usize,
        /// Names of the expected durations, as the message shows them.
        form: &'static str,
    },
}

/// Maximum busy time per flow or packet in a capacity: 10 s, longer than on any kernel.
const MAX_TIME: Nanos = Nanos::from_millis(10_000);

impl fmt::Display for Capacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, {} packets on a link and {} flows a second, ",
            self.place,
            commas(self.packet_hops_per_second()),
            commas(self.flows_per_second()),
        )?;
        if self.is_measured {
            write!(f, "measured (--scale-for {})", self.argument())
        } else {
            f.write_str("a default (hint: lcmp-lab doctor --measure)")
        }
    }
}

impl MeasuredLoad {
    /// Returns the number of flows per second of the lab's clock.
    #[must_use]
    pub fn flows_per_second(&self) -> u64 {
        self.rate(self.flows)
    }

    /// Returns the number of data packets per second of the lab's clock.
    #[must_use]
    pub fn packets_per_second(&self) -> u64 {
        self.rate(self.data_packets)
    }

    /// Returns the packet hops (data and ACK packets, once per link) per second of the lab's clock.
    #[must_use]
    pub fn packet_hops_per_second(&self) -> u64 {
        self.rate(self.packet_hops)
    }

    /// Returns the received payload in bits per second of the lab's clock.
    #[must_use]
    pub fn bits_per_second(&self) -> u64 {
        self.rate(self.bytes.get().saturating_mul(8))
    }

    /// Returns the payload rate for display, with a unit.
    #[must_use]
    pub fn show_rate(&self) -> String {
        about_rate(self.bits_per_second())
    }

    fn rate(&self, count: u64) -> u64 {
        let rate = u128::from(count) * 1_000_000_000 / u128::from(self.lab_ns.get().max(1));
        u64::try_from(rate).unwrap_or(u64::MAX)
    }
}

const fn per_second(each: Nanos) -> u64 {
    if each.get() == 0 {
        return u64::MAX;
    }
    1_000_000_000 / each.get()
}

/// CPU time of the reference guest (10^9 instructions per second on its clock) for one packet on one link. Measured
/// with the CPU fully used: one QP over three links transfers 43.7 MiB/s in 4 kB packets, 89 µs per packet including
/// the work of both end points, or about 30 µs per link.
pub(crate) const REFERENCE_HOP: Nanos = Nanos::new(30_000);

/// CPU time of the reference guest to create, connect, start and destroy the two queue pairs of a verbs flow.
pub(crate) const REFERENCE_FLOW: Nanos = Nanos::new(500_000);

#[cfg(test)]
mod tests {
    use lab_units::Tool;

    use super::*;
    use crate::offer::{self, Costs, Offer};

    fn load(flows: u64, packet_hops: u64, lab_ms: u64, wall_ms: u64) -> MeasuredLoad {
        MeasuredLoad {
            flows,
            data_packets: packet_hops / 3,
            packet_hops,
            bytes: Bytes::new(packet_hops / 3 * 4_096),
            lab_ns: Nanos::from_millis(lab_ms),
            wall_ns: Nanos::from_millis(wall_ms),
            cpu_ns: None,
        }
    }

    #[test]
    fn packets_of_small_flows_are_not_counted_twice() {
        // The loads follow from 20 µs per packet on one link and 880 µs per flow, each with six such packets.
        let bulk = load(8, 50_000, 1_000, 7_000);
        let small = load(1_000, 6_000, 1_000, 7_000);
        let capacity = Capacity::of(Place::GuestVirtual, &small, &bulk);
        assert_eq!(capacity.hop_ns, Nanos::new(20_000));
        assert_eq!(capacity.flow_ns, Nanos::new(880_000));
        assert_eq!(capacity.hop_wall_ns, Nanos::new(140_000));
        assert_eq!(capacity.flow_wall_ns, Nanos::new(6_160_000));
        assert_eq!(capacity.packet_hops_per_second(), 50_000);
        assert_eq!(bulk.packet_hops_per_second(), 50_000);
    }

    #[test]
    fn a_load_of_nothing_divides_by_nothing() {
        let nothing = load(0, 0, 0, 0);
        let capacity = Capacity::of(Place::Here, &nothing, &nothing);
        assert!(capacity.packet_hops_per_second() > 0 && capacity.flows_per_second() > 0);
    }

    #[test]
    fn a_capacity_says_if_it_was_measured() {
        let mut capacity = Capacity::default();
        assert_eq!(
            capacity.to_string(),
            "guest-virtual, 33,333 packets on a link and 2,000 flows a second, a default (hint: \
             lcmp-lab doctor --measure)"
        );
        capacity.is_measured = true;
        assert_eq!(
            capacity.to_string(),
            "guest-virtual, 33,333 packets on a link and 2,000 flows a second, measured (--scale-for \
             guest-virtual:30us,500us,120us,10ms)"
        );
    }

    #[test]
    fn a_capacity_is_named_by_its_place_or_by_its_times() {
        for &(_, place) in Place::WORDS {
            let default = Capacity::default_of(place);
            assert_eq!(default.argument(), place.name());
            assert_eq!(place.name().parse(), Ok(default));
            let measured = Capacity {
                is_measured: true,
                ..default
            };
            assert_eq!(measured.argument().parse(), Ok(measured));
        }
        let measured: Capacity = "here:3901ns,141us".parse().unwrap();
        assert_eq!(measured.place, Place::Here);
        assert_eq!(measured.hop_ns, Nanos::new(3_901));
        assert_eq!(measured.hop_wall_ns, Nanos::new(3_901));
        assert_eq!(measured.flow_ns, Nanos::new(141_000));
        assert_eq!(measured.flow_wall_ns, Nanos::new(141_000));
        assert_eq!(measured.argument(), "here:3901ns,141us");
    }

    #[test]
    fn a_malformed_capacity_is_refused_with_the_expected_form() {
        let refusal = |text: &str| text.parse::<Capacity>().unwrap_err().to_string();
        assert_eq!(
            refusal("guest-virtual:15us,382us"),
            "wrong number of durations (2) in the capacity, expected `guest-virtual:HOP,FLOW,HOP_WALL,FLOW_WALL` \
             (hint: `lcmp-lab doctor --measure` prints it)"
        );
        assert!(refusal("here:4us").contains("`here:HOP,FLOW`"));
        assert_eq!(
            refusal("here:0,150us"),
            format!(
                "a capacity's time is {}; it must be 1 ns to {MAX_TIME}",
                Nanos::ZERO
            )
        );
        assert!(refusal("here:4us,11s").contains("must be 1 ns to 10 s"));
        assert!(refusal("there").contains("there"));
        assert!("here:4,150us".parse::<Capacity>().is_err());
    }

    /// Each perftest flow has two processes that take 250 ms each, whatever the place.
    #[test]
    fn processes_calibrate_their_clocks_equally_long_at_every_place() {
        for &(_, place) in Place::WORDS {
            let capacity = Capacity::default_of(place);
            for costs in [
                Costs::at(&capacity, Tool::WriteBw),
                Costs::on_the_wall(&capacity, Tool::WriteBw),
            ] {
                let offers = [Offer::new(0, Nanos::ZERO, 0, 0, 1)];
                assert_eq!(
                    offer::busy(&offers, &costs),
                    Nanos::from_millis(500),
                    "{place}"
                );
            }
        }
    }
}
