//! Estimated cost of a simulation, and refusal of a simulation that is too large.

use std::time::Duration;

use lab_kernel::doctor::available_memory;
use lab_plan::Plan;
use lab_sim::{RepetitionCost, SimTime};
use lab_units::Bytes;

use super::meter::short;
use crate::{failure::Failure, progress::nanos};

/// Estimated cost of simulating a plan.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Estimates for one policy's job in each repetition; all policies cost the same.
    repetitions: Vec<RepetitionCost>,
    policies: u64,
}

impl Budget {
    /// Estimates the cost of simulating `plan` in trains of at most `train` packets until the time `until`; `None`: until
    /// the last flow has ended.
    pub fn of(plan: &Plan, until: Option<SimTime>, train: u32) -> Result<Self, Failure> {
        let estimates = (0..plan.repetitions).map(|n| RepetitionCost::of(plan, n, until, train));
        Ok(Self {
            repetitions: estimates
                .collect::<Result<_, _>>()
                .map_err(Failure::usage)?,
            policies: u64::try_from(plan.policies.len()).unwrap_or(u64::MAX),
        })
    }

    /// Returns the estimate for one policy's job in the repetition with this index.
    pub fn of_repetition(&self, repetition: u32) -> RepetitionCost {
        let index = usize::try_from(repetition).unwrap_or(usize::MAX);
        self.repetitions.get(index).copied().unwrap_or_default()
    }

    /// Checks the estimate against the free memory of this machine and [`MAX_TIME`].
    /// Fails if it exceeds one of them, with the estimate in the message.
    pub fn check(&self) -> Result<(), Failure> {
        let available = available_memory();
        if self.memory() > available {
            return Err(Failure::environment(format_args!(
                "{}, but this machine has only {} of free memory (hint: {HINT})",
                self.words(),
                lab_units::show::about_bytes(available),
            )));
        }
        if self.time() > MAX_TIME {
            return Err(Failure::usage(format_args!(
                "{}; the maximum duration is {} (hint: {HINT})",
                self.words(),
                about_hours(MAX_TIME),
            )));
        }
        Ok(())
    }

    fn words(&self) -> String {
        let packets = self.total(|estimate| estimate.data_packets);
        format!(
            "the simulation is too large: {} flows of {} data packets make {} packet-hops, which \
             take about {} and at most {} of memory",
            self.total(|estimate| estimate.flows),
            short(packets),
            short(self.packet_hops()),
            about_hours(self.time()),
            lab_units::show::about_bytes(self.memory()),
        )
    }

    /// Returns the memory for the largest repetition, because repetitions are simulated one after the other.
    pub fn memory(&self) -> Bytes {
        let each = self.repetitions.iter().map(|estimate| estimate.memory);
        each.max().unwrap_or(Bytes::ZERO)
    }

    fn packet_hops(&self) -> u64 {
        self.total(|estimate| estimate.packet_hops)
    }

    /// Returns the time of all simulations, one after the other on one thread, in whole seconds.
    pub fn time(&self) -> Duration {
        Duration::from_secs_f64(self.seconds().floor())
    }

    /// Returns the time of all simulations, one after the other on one thread, in seconds.
    pub fn seconds(&self) -> f64 {
        let hops = float(self.total(|estimate| estimate.train_hops));
        let flows = float(self.total(|estimate| estimate.flows));
        hops / PACKET_HOPS_PER_SECOND + flows * SECONDS_PER_FLOW
    }

    /// Returns the sum of `count` over the jobs of all policies and repetitions.
    fn total(&self, count: fn(&RepetitionCost) -> u64) -> u64 {
        let once = self
            .repetitions
            .iter()
            .map(count)
            .fold(0, u64::saturating_add);
        once.saturating_mul(self.policies)
    }
}

fn about_hours(time: Duration) -> String {
    match time.as_secs() {
        0..7_200 => lab_units::show::about_time(nanos(time)),
        seconds => format!("{} h", seconds / 3_600),
    }
}

const HINT: &str = "--until, or fewer flows by `duration`, `load` or `max_flows`";

/// Speed of one thread that also writes records, measured on a simulation as large as the paper's Figure 1;
/// `reports/SPEED.md` names the machine.
const PACKET_HOPS_PER_SECOND: f64 = 9e6;

/// Time that the decisions and records of a flow take, measured in trains on `8dc-loads.yaml` (14 to 28 µs) and on a million
/// flows between 754 datacenters (20 µs).
const SECONDS_PER_FLOW: f64 = 20e-6;

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
const fn float(count: u64) -> f64 {
    count as f64
}

/// Maximum estimated duration; a longer simulation is most often due to a mistake in the scenario.
const MAX_TIME: Duration = Duration::from_secs(24 * 3_600);

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(packet_hops: u64, memory: u64) -> Budget {
        let estimate = RepetitionCost {
            flows: 10,
            data_packets: packet_hops / 8,
            packet_hops,
            train_hops: packet_hops,
            memory: Bytes::new(memory),
        };
        Budget {
            repetitions: vec![estimate],
            policies: 2,
        }
    }

    /// 9 million hops take a second, 50,000 flows another.
    #[test]
    fn hops_and_flows_take_time() {
        let mut twice = budget(9_000_000, 1);
        twice.repetitions[0].flows = 50_000;
        assert!((twice.seconds() - 4.0).abs() < 1e-9, "{twice:?}");
    }

    #[test]
    fn a_simulation_that_fits_is_allowed() {
        assert!(budget(1_000_000_000, 1_000_000).check().is_ok());
    }

    #[test]
    fn too_little_memory_is_an_error_of_the_environment() {
        let failure = budget(1_000, u64::MAX).check().expect_err("too much");
        assert_eq!(failure.exit, crate::failure::Exit::Environment);
        assert!(failure.message.contains("hint: --until"), "{failure:?}");
    }

    #[test]
    fn too_long_a_simulation_is_a_usage_error() {
        let failure = budget(1 << 50, 1_000).check().expect_err("too long");
        assert_eq!(failure.exit, crate::failure::Exit::Usage);
        let work = "20 flows of 281.4 T data packets make 2251.7 T packet-hops";
        assert!(failure.message.contains(work), "{failure:?}");
    }
}
