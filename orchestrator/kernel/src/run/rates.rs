//! Rates of the sending QPs, read from the host programs' maps while flows run.

use lab_abi::dcqcn::DcqcnParams;
use lab_generators::contract::MonotonicTime;
use lab_host::HostMaps;
use lab_units::Nanos;

use super::{input::RateSample, repetition::Repetition};
use crate::lab::{Lab, LabErrorKind};

/// Reader of the rates of sending QPs.
pub(super) struct RateSampler {
    maps: HostMaps,
    law: DcqcnParams,
    /// Time between two samples of the rates.
    pub interval: Nanos,
}

impl RateSampler {
    /// Opens the maps of the lab's host programs; returns `None` if no rates are recorded or the hosts have no
    /// congestion control.
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

    /// Reads the QPs of the running flows. QPs that have not sent a packet yet are left out.
    pub(super) fn read(&self, repetition: &Repetition<'_>) -> Result<RateSample, LabErrorKind> {
        let at = MonotonicTime::now();
        let mut qps = Vec::new();
        for (&flow, &key) in repetition.sampled() {
            let qp = self.maps.sender(key)?;
            qps.extend(qp.map(|qp| (flow, qp)));
        }
        let law = self.law;
        Ok(RateSample { at, law, qps })
    }
}
