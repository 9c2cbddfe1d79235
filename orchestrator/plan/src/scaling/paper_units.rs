//! Conversion of emulated quantities to paper units.

use lab_parameters::{ParameterSet, Value};
use lab_units::{BitsPerSec, Bytes, Nanos, Ratio};

use crate::model::Scale;

/// Factors that convert emulated quantities back to the paper's scale: the inverses of a plan's [`Scale`]. Results are
/// rounded to the nearest whole unit.
#[derive(Clone, Copy, Debug)]
pub struct PaperUnits {
    rate: Ratio,
    time: Ratio,
    size: Ratio,
}

impl PaperUnits {
    /// Creates the inverse factors of `scale`.
    #[must_use]
    pub fn new(scale: &Scale) -> Self {
        let inverse = |ratio: Ratio| ratio.inverse().unwrap_or(Ratio::ONE);
        Self {
            rate: inverse(scale.rate),
            time: inverse(scale.time),
            size: inverse(scale.size),
        }
    }

    /// Converts a duration, or a time from the repetition's start, to the paper's time scale.
    #[must_use]
    pub fn time(&self, emulated: Nanos) -> Nanos {
        Nanos::new(self.time.scale_nearest(emulated.get()))
    }

    #[must_use]
    pub fn size(&self, emulated: Bytes) -> Bytes {
        Bytes::new(self.size.scale_nearest(emulated.get()))
    }

    /// Converts all scaled values of a parameter set.
    pub(crate) fn set<S: ParameterSet>(&self, emulated: &S) -> S {
        let mut paper = emulated.clone();
        for parameter in S::PARAMETERS.iter().filter(|each| each.is_scaled) {
            let value = match emulated.get(parameter.name) {
                Some(Value::Time(time)) => Value::Time(self.time(time)),
                Some(Value::Size(size)) => Value::Size(self.size(size)),
                Some(Value::Rate(rate)) => Value::Rate(self.rate(rate)),
                _ => continue,
            };
            paper.set(parameter.name, value);
        }
        paper
    }

    /// Converts an emulated rate to the paper's scale; a rate that would become zero or overflow is returned unchanged.
    #[must_use]
    pub fn rate(&self, emulated: BitsPerSec) -> BitsPerSec {
        BitsPerSec::new(self.rate.scale_nearest(emulated.get())).unwrap_or(emulated)
    }
}
