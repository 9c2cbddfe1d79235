//! Rates of sending QPs, read from the host programs while flows run.

use lab_abi::dcqcn::DcqcnParams;
use lab_generators::contract::MonotonicTime;
use lab_host::HostMaps;
use lab_records::RateRow;
use lab_units::Nanos;

use super::repetition::Repetition;
use crate::lab::{Lab, LabErrorKind};

/// Reader of the sending QPs' rates.
pub(super) struct RateSampler {
    maps: HostMaps,
    law: DcqcnParams,
    /// Time between two samples.
    pub interval: Nanos,
}

impl RateSampler {
    /// Opens the maps of the lab's host programs; none if its hosts have no congestion control.
    pub(super) fn open(
        lab: &Lab,
        repetition: &Repetition<'_>,
    ) -> Result<Option<Self>, LabErrorKind> {
        let (Some(interval), Some(maps)) = (repetition.rate_interval(), lab.host_maps()?) else {
            return Ok(None);
        };
        let law = maps.params()?.law;
        Ok(Some(Self {
            maps,
            law,
            interval,
        }))
    }

    /// Returns the rows of the flows under way at `now`; a QP has none before its first packet.
    pub(super) fn rows(
        &self,
        now: MonotonicTime,
        repetition: &Repetition<'_>,
    ) -> Result<Vec<RateRow>, LabErrorKind> {
        let mut rows = Vec::new();
        for (&flow, &key) in repetition.sampled() {
            if let Some(qp) = self.maps.sender(key)? {
                rows.extend(repetition.rate(now, flow, (qp, &self.law)));
            }
        }
        Ok(rows)
    }
}
