//! Rates of sending QPs, read from the host programs while flows run.

use lab_abi::dcqcn::DcqcnParams;
use lab_host::HostMaps;
use lab_perftest::MonotonicTime;
use lab_records::RateRow;

use super::repetition::Repetition;
use crate::lab::{Lab, LabErrorKind};

/// Reader of the sending QPs' rates.
pub(super) struct RateSampler {
    maps: HostMaps,
    law: DcqcnParams,
}

impl RateSampler {
    /// Opens the maps of the lab's host programs; none if its hosts have no congestion control.
    pub(super) fn open(lab: &Lab) -> Result<Option<Self>, LabErrorKind> {
        let Some(maps) = lab.host_maps()? else {
            return Ok(None);
        };
        let law = maps.params()?.law;
        Ok(Some(Self { maps, law }))
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
