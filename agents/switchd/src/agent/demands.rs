//! Demands of the datacenter's hosts: bytes sent to each destination.

use lab_units::Nanos;

use crate::{SwitchdError, program::Program};

/// Meter of the bytes that the datacenter's hosts send between two reports.
#[derive(Clone, Debug, Default)]
pub(super) struct DemandMeter {
    since: Nanos,
    /// Bytes sent to each destination, as counted at the previous report.
    sums: Vec<u64>,
}

impl DemandMeter {
    /// Starts the meter at `now`; bytes sent earlier do not count.
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

    /// Returns the previous report's time and the bytes since then.
    pub(super) fn take(&mut self, now: Nanos, sums: Vec<u64>) -> (Nanos, Vec<u64>) {
        let before = std::mem::replace(&mut self.sums, sums);
        // A destination added since the previous report starts at 0.
        let before = before.into_iter().chain(std::iter::repeat(0));
        let bytes = self
            .sums
            .iter()
            .zip(before)
            .map(|(sum, before)| sum.saturating_sub(before));
        (std::mem::replace(&mut self.since, now), bytes.collect())
    }
}

/// Returns the bytes sent to each destination since the program was loaded.
pub(super) fn sums(destinations: usize, program: &Program) -> Result<Vec<u64>, SwitchdError> {
    (0..u32::try_from(destinations).unwrap_or(u32::MAX))
        .map(|row| program.demand(row))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_the_bytes_since_the_previous_one() {
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
