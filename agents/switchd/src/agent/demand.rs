//! What the datacenter's hosts sent to each destination, from report to report.

use lab_abi::wire::{DemandReport, Demands};
use lab_units::Nanos;

use super::Agent;
use crate::{SwitchdError, controller::Controller, program::Program};

/// The sums of the report before.
#[derive(Clone, Debug, Default)]
pub(super) struct DemandMeter {
    since: Nanos,
    sums: Vec<u64>,
}

impl DemandMeter {
    /// Begins to count at `now`, with what was sent before behind it.
    pub(super) fn start(
        now: Nanos,
        destinations: usize,
        program: &Program,
    ) -> Result<Self, SwitchdError> {
        Ok(Self {
            since: now,
            sums: sums(destinations, program)?,
        })
    }

    /// What was sent since the report before.
    fn take(&mut self, now: Nanos, sums: Vec<u64>) -> (Nanos, Vec<u64>) {
        let before = std::mem::replace(&mut self.sums, sums);
        // A destination that was added since has sent nothing before.
        let before = before.into_iter().chain(std::iter::repeat(0));
        let bytes = self.sums.iter().zip(before);
        let bytes = bytes.map(|(sum, before)| sum.saturating_sub(before));
        (std::mem::replace(&mut self.since, now), bytes.collect())
    }
}

impl Agent {
    /// Tells what the datacenter's hosts sent since the last time.
    pub(super) fn send_demands(
        &mut self,
        now: Nanos,
        controller: &mut Controller,
    ) -> Result<(), SwitchdError> {
        let sums = sums(self.config.destinations.len(), &self.program)?;
        let (since, bytes) = self.demands.take(now, sums);
        let destinations = self.config.destinations.iter().zip(bytes);
        let report = |(row, bytes): (&lab_abi::wire::DestinationConfig, u64)| DemandReport {
            addr: row.addr,
            prefix_len: row.prefix_len,
            bytes,
        };
        let demands = Demands {
            since_ns: since.get(),
            time_ns: now.get(),
            destinations: destinations.map(report).collect(),
        };
        controller.send(&lab_abi::wire::AgentMessage::Demands(demands));
        Ok(())
    }
}

fn sums(destinations: usize, program: &Program) -> Result<Vec<u64>, SwitchdError> {
    (0..u32::try_from(destinations).unwrap_or(u32::MAX))
        .map(|row| program.demand(row))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_of_what_came_since_the_one_before() {
        let mut meter = DemandMeter {
            since: Nanos::new(5),
            sums: vec![100, 7],
        };
        let taken = meter.take(Nanos::new(9), vec![150, 7, 30]);
        assert_eq!(taken, (Nanos::new(5), vec![50, 0, 30]));
        let taken = meter.take(Nanos::new(12), vec![150, 8, 30]);
        assert_eq!(taken, (Nanos::new(9), vec![0, 1, 0]));
    }
}
