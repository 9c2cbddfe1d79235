//! Similitude: rates by r, times by t, sizes by s = r · t.
//!
//! Then (bytes / rate) / delay, load, bandwidth-delay products in flows, and FCT slowdown keep
//! their values. Packets do not shrink: what that costs is in the plan's warnings.

use lab_scenario::{Ecn, Wire};
use lab_units::{BitsPerSec, Bytes, Nanos, Ratio};

use crate::{
    error::PlanError,
    frame,
    model::{EcnPlan, Scale, WirePlan},
};

impl Scale {
    /// The scale of the paper: all factors are one.
    pub const PAPER: Self = Self {
        rate: Ratio::ONE,
        time: Ratio::ONE,
        size: Ratio::ONE,
    };

    /// Rates by `rate`, times by `time`, sizes by their product.
    ///
    /// # Errors
    /// A factor of zero, or a product beyond 64 bits.
    pub fn new(rate: Ratio, time: Ratio) -> Result<Self, PlanError> {
        let size = rate.times(time).filter(|size| size.numerator() > 0);
        let size = size.ok_or(PlanError::Scale { rate, time })?;
        Ok(Self { rate, time, size })
    }

    /// Returns the emulated rate of `paper`.
    ///
    /// # Errors
    /// A value that vanishes, overflows, or changes noticeably by rounding.
    pub fn rate(&self, path: &str, paper: BitsPerSec) -> Result<BitsPerSec, PlanError> {
        let emulated = noticed(path, paper.get(), paper, self.rate, RATE_HINT, |value| {
            BitsPerSec::new(value).map_or_else(|| "0 bit".to_owned(), |rate| rate.to_string())
        })?;
        let hint = RATE_HINT;
        BitsPerSec::new(emulated).ok_or_else(|| PlanError::Vanishes {
            path: path.to_owned(),
            paper: paper.to_string(),
            scale: self.rate,
            hint,
        })
    }

    /// Returns the emulated length of `paper`.
    ///
    /// # Errors
    /// A value that vanishes, overflows, or changes noticeably by rounding.
    pub fn time(&self, path: &str, paper: Nanos) -> Result<Nanos, PlanError> {
        let show = |value| Nanos::new(value).to_string();
        noticed(path, paper.get(), paper, self.time, TIME_HINT, show).map(Nanos::new)
    }

    /// Returns the emulated amount of `paper`.
    ///
    /// # Errors
    /// A value that vanishes, overflows, or changes noticeably by rounding.
    pub fn size(&self, path: &str, paper: Bytes) -> Result<Bytes, PlanError> {
        let show = |value| Bytes::new(value).to_string();
        noticed(path, paper.get(), paper, self.size, SIZE_HINT, show).map(Bytes::new)
    }

    /// Returns the emulated point in time `paper`, to the nearest nanosecond.
    ///
    /// # Errors
    /// A value that overflows.
    pub fn instant(&self, path: &str, paper: Nanos) -> Result<Nanos, PlanError> {
        nearest(path, paper.get(), paper, self.time, TIME_HINT).map(Nanos::new)
    }

    /// Returns the emulated link of `paper`.
    ///
    /// # Errors
    /// A quantity that vanishes, overflows, or changes noticeably by rounding.
    pub fn wire(&self, path: &str, paper: &Wire) -> Result<WirePlan, PlanError> {
        let ecn = |ecn: Ecn| -> Result<EcnPlan, PlanError> {
            Ok(EcnPlan {
                k_min: self.size(&format!("{path}.ecn.k_min"), ecn.k_min)?,
                k_max: self.size(&format!("{path}.ecn.k_max"), ecn.k_max)?,
                p_max: ecn.p_max,
            })
        };
        let rate_bps = self.rate(&format!("{path}.rate"), paper.rate)?;
        let delay_ns = self.time(&format!("{path}.delay"), paper.delay)?;
        let buffer_bytes = self.size(&format!("{path}.buffer"), paper.buffer)?;
        Ok(WirePlan {
            rate_bps,
            delay_ns,
            buffer_bytes,
            delay_line_packets: frame::delay_line_packets(rate_bps, delay_ns, buffer_bytes),
            loss: paper.loss,
            ecn: paper.ecn.map(ecn).transpose()?,
        })
    }
}

/// `value · scale` to the nearest whole number, unless it overflows.
fn nearest(
    path: &str,
    value: u64,
    paper: impl ToString,
    scale: Ratio,
    hint: &'static str,
) -> Result<u64, PlanError> {
    let emulated = scale.scale_nearest(value);
    if emulated == u64::MAX {
        return Err(PlanError::Overflows {
            path: path.to_owned(),
            paper: paper.to_string(),
            scale,
            hint,
        });
    }
    Ok(emulated)
}

/// `value · scale` to the nearest whole number, unless a reader would notice the rounding.
fn noticed(
    path: &str,
    value: u64,
    paper: impl ToString,
    scale: Ratio,
    hint: &'static str,
    show: impl Fn(u64) -> String,
) -> Result<u64, PlanError> {
    let emulated = nearest(path, value, paper.to_string(), scale, hint)?;
    let (path, paper) = (path.to_owned(), paper.to_string());
    if value > 0 && emulated == 0 {
        return Err(PlanError::Vanishes {
            path,
            paper,
            scale,
            hint,
        });
    }
    let exact = u128::from(value) * u128::from(scale.numerator());
    let rounded = u128::from(emulated) * u128::from(scale.denominator());
    if exact.abs_diff(rounded) * u128::from(TOLERANCE) > exact {
        return Err(PlanError::Inexact {
            path,
            paper,
            scale,
            emulated: show(emulated),
            tolerance: TOLERANCE,
            hint,
        });
    }
    Ok(emulated)
}

/// Reciprocal of the largest relative change, which would show in a measured rate or delay.
const TOLERANCE: u64 = 1_000;

const RATE_HINT: &str = "raise `scale.rate`";
const TIME_HINT: &str = "raise `scale.time`";
const SIZE_HINT: &str = "raise `scale.rate` or `scale.time`";

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(rate: &str, time: &str) -> Scale {
        Scale::new(rate.parse().unwrap(), time.parse().unwrap()).unwrap()
    }

    #[test]
    fn rates_times_and_sizes_scale_by_their_factors() {
        let scale = scale("1/1000", "10");
        let rate = scale.rate("r", "200 Gbit".parse().unwrap()).unwrap();
        let time = scale.time("t", "5 ms".parse().unwrap()).unwrap();
        let size = scale.size("s", "30 MB".parse().unwrap()).unwrap();
        assert_eq!(rate.to_string(), "200 Mbit");
        assert_eq!(time.to_string(), "50 ms");
        assert_eq!(size.to_string(), "300 kB");
    }

    #[test]
    fn a_vanishing_value_is_refused() {
        let scale = scale("1", "1/10000");
        let error = scale.time("topology.links[0].delay", Nanos::new(1_000));
        assert_eq!(
            error.unwrap_err().to_string(),
            "`topology.links[0].delay` is 1 us, which is nothing at a scale of 1/10000 \
             (hint: raise `scale.time`)"
        );
    }

    #[test]
    fn a_value_that_rounding_changes_is_refused() {
        let scale = scale("1/3", "1");
        assert!(scale.rate("r", "100 Gbit".parse().unwrap()).is_ok());
        let error = scale.rate("r", "100 bit".parse().unwrap()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`r` is 100 bit, which at a scale of 1/3 is rounded to 33 bit and changed by more \
             than 1/1000 (hint: raise `scale.rate`)"
        );
    }

    #[test]
    fn zero_stays_zero() {
        let scale = scale("1/1000", "1/1000");
        assert_eq!(scale.time("t", Nanos::ZERO).unwrap(), Nanos::ZERO);
    }

    #[test]
    fn a_scale_of_zero_is_refused() {
        let zero = "0".parse().unwrap();
        assert!(matches!(
            Scale::new(zero, Ratio::ONE),
            Err(PlanError::Scale { .. })
        ));
    }
}
