//! Similitude scaling: rates by r, times by t, sizes by s = r · t.
//!
//! Under this scaling, the ratio of serialisation time to delay, the load, the ratio of flow size to bandwidth-delay
//! product, and FCT slowdowns keep their values. Packets do not shrink; the plan's warnings describe the consequences.

use lab_parameters::{LinkConfig, Parameter, ParameterSet, Value};
use lab_units::{BitsPerSec, Bytes, Nanos, Ratio};

use crate::{
    error::PlanError,
    model::{Scale, WirePlan},
};

impl Scale {
    /// Scale of 1: emulated quantities equal the paper's.
    pub const PAPER: Self = Self {
        rate: Ratio::ONE,
        time: Ratio::ONE,
        size: Ratio::ONE,
    };

    /// Creates a scale with the factor `rate` for rates, `time` for times and their product for sizes.
    ///
    /// # Errors
    /// Fails if a factor is zero or the product exceeds 64 bits.
    pub fn new(rate: Ratio, time: Ratio) -> Result<Self, PlanError> {
        let size = rate
            .times(time)
            .filter(|size| size.numerator() > 0)
            .ok_or(PlanError::Scale { rate, time })?;
        Ok(Self { rate, time, size })
    }

    /// Scales the rate `paper`, the value at the YAML path `path`.
    ///
    /// # Errors
    /// Fails if the value becomes zero, overflows, or changes noticeably by rounding.
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

    /// Scales the duration `paper`, the value at the YAML path `path`.
    ///
    /// # Errors
    /// Fails if the value becomes zero, overflows, or changes noticeably by rounding.
    pub fn time(&self, path: &str, paper: Nanos) -> Result<Nanos, PlanError> {
        let show = |value| Nanos::new(value).to_string();
        noticed(path, paper.get(), paper, self.time, TIME_HINT, show).map(Nanos::new)
    }

    /// Scales the size `paper`, the value at the YAML path `path`.
    ///
    /// # Errors
    /// Fails if the value becomes zero, overflows, or changes noticeably by rounding.
    pub fn size(&self, path: &str, paper: Bytes) -> Result<Bytes, PlanError> {
        let show = |value| Bytes::new(value).to_string();
        noticed(path, paper.get(), paper, self.size, SIZE_HINT, show).map(Bytes::new)
    }

    /// Scales `paper`, a time from the repetition's start, rounded to the nearest nanosecond.
    ///
    /// # Errors
    /// Fails if the value overflows.
    pub fn instant(&self, path: &str, paper: Nanos) -> Result<Nanos, PlanError> {
        nearest(path, paper.get(), paper, self.time, TIME_HINT).map(Nanos::new)
    }

    /// Scales `paper`, a value of `parameter`, by the factor for rates, times or sizes; a parameter that is not scaled
    /// is returned unchanged.
    ///
    /// # Errors
    /// Fails if the value becomes zero, overflows, or changes noticeably by rounding.
    pub(crate) fn value(
        &self,
        path: &str,
        parameter: &Parameter,
        paper: Value,
    ) -> Result<Value, PlanError> {
        if !parameter.is_scaled {
            return Ok(paper);
        }
        Ok(match paper {
            Value::Time(time) => Value::Time(self.time(path, time)?),
            Value::Rate(rate) => Value::Rate(self.rate(path, rate)?),
            Value::Size(size) => Value::Size(self.size(path, size)?),
            Value::Flag(_) | Value::Number(_) | Value::Ratio(_) | Value::Word(_) => paper,
        })
    }

    /// Scales all values of the parameter set `paper`, which is at the YAML path `path`.
    fn set<S: ParameterSet>(&self, path: &str, paper: &S) -> Result<S, PlanError> {
        let mut emulated = paper.clone();
        for parameter in S::PARAMETERS {
            let path = format!("{path}.{}", parameter.name);
            if let Some(value) = paper.get(parameter.name) {
                emulated.set(parameter.name, self.value(&path, parameter, value)?);
            }
        }
        Ok(emulated)
    }

    /// Scales the parameters of the link `paper`, which is at the YAML path `path`.
    ///
    /// # Errors
    /// Fails if a quantity becomes zero, overflows, or changes noticeably by rounding.
    pub fn wire(&self, path: &str, paper: &LinkConfig) -> Result<WirePlan, PlanError> {
        let ecn = |ecn| self.set(&format!("{path}.ecn"), &ecn);
        Ok(WirePlan::new(LinkConfig {
            ecn: paper.ecn.map(ecn).transpose()?,
            ..self.set(path, paper)?
        }))
    }
}

/// Returns `value · scale`, rounded to the nearest whole number; fails on overflow.
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

/// Returns `value · scale`, rounded to the nearest whole number; fails if rounding changes it by more than
/// 1/[`TOLERANCE`].
fn noticed(
    path: &str,
    value: u64,
    paper: impl ToString,
    scale: Ratio,
    hint: &'static str,
    show: impl Fn(u64) -> String,
) -> Result<u64, PlanError> {
    let emulated = nearest(path, value, paper.to_string(), scale, hint)?;
    let path = path.to_owned();
    let paper = paper.to_string();
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

/// Inverse of the maximum relative change by rounding: a larger change would be visible in a measured rate or delay.
const TOLERANCE: u64 = 1_000;

const RATE_HINT: &str = "raise `scale.rate`";
const TIME_HINT: &str = "raise `scale.time`";
const SIZE_HINT: &str = "raise `scale.rate` or `scale.time`";

#[cfg(test)]
mod tests {
    use lab_parameters::EcnConfig;

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

    /// Rates are scaled by 1/1000, times by 10, sizes by 1/100; shares are unchanged.
    #[test]
    fn parameters_of_a_link_scale_by_their_kind() {
        let link = |rate: &str, delay: &str, [buffer, k_min, k_max]: [&str; 3]| LinkConfig {
            rate_bps: rate.parse().unwrap(),
            delay_ns: delay.parse().unwrap(),
            buffer_bytes: buffer.parse().unwrap(),
            ecn: Some(EcnConfig {
                k_min: k_min.parse().unwrap(),
                k_max: k_max.parse().unwrap(),
                p_max: "1/5".parse().unwrap(),
            }),
            ..LinkConfig::PAPER
        };
        let paper = link("200 Gbit", "5 ms", ["30 MB", "1 MB", "4 MB"]);
        let emulated = link("200 Mbit", "50 ms", ["300 kB", "10 kB", "40 kB"]);
        let scaled = scale("1/1000", "10").wire("link", &paper).unwrap();
        assert_eq!(scaled.parameters, emulated);
        assert_eq!(Scale::PAPER.wire("link", &paper).unwrap().parameters, paper);
        // 1 MB / 10^7 is less than one byte.
        let coarse = scale("1/1000000", "1/10").wire("link", &paper);
        let error = coarse.unwrap_err().to_string();
        assert!(error.starts_with("`link.ecn.k_min` is 1 MB, "), "{error}");
    }

    #[test]
    fn a_vanishing_value_is_refused() {
        let scale = scale("1", "1/10000");
        let error = scale.time("topology.links[0].delay", Nanos::new(1_000));
        assert_eq!(
            error.unwrap_err().to_string(),
            "`topology.links[0].delay` is 1 us, which becomes 0 at a scale of 1/10000 \
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
