//! The flow completion time, from everything that is known about a flow.
//!
//! Six decimals of a MiB per second are a resolution of half a byte per second: 1/10,000 of the FCT
//! of a 5 kB flow that takes a second, and 1/1,000 if it takes ten; of a 2 MB flow that takes 200
//! seconds, 10 ms. For such flows the [`Sign`] that the client gives by what it does after its last
//! completion is more exact.

use lab_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::{
    brake::PATIENCE,
    report::{Bandwidth, ReportError},
};

/// A flow completion time, and how well it is known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Fct {
    /// From the first post to the last completion.
    pub time: Nanos,
    /// Half of the last digit of what it was computed from, as a time: as far as the truth may be
    /// from what perftest said.
    pub resolution: Nanos,
    /// Where it comes from.
    pub source: FctSource,
}

/// Where an FCT comes from.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FctSource {
    /// The bandwidth that the client tells its server after the run, in full double precision.
    Exchanged,
    /// The bandwidth the client prints with six decimals.
    Printed,
    /// Too slow for six decimals: the time of the client's [`Sign`] less its usual lag, within the
    /// bounds of what was printed.
    PrintedAndSign,
}

/// The first thing, seen from outside, that a client does after its last completion.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Sign {
    /// What it did.
    pub kind: SignKind,
    /// How long after its release.
    pub after: Nanos,
}

/// What a client did after its last completion.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SignKind {
    /// It began to calibrate its clock and was stopped.
    Stopped,
    /// It had calibrated its clock and spoke to its server.
    Spoke,
}

/// The FCT of `size`, from everything that is known about it.
///
/// # Errors
/// Two reports that contradict each other, or a report that contradicts the gate.
pub(crate) fn fct(
    size: Bytes,
    printed: Bandwidth,
    exchanged: Option<Bandwidth>,
    sign: Option<Sign>,
) -> Result<Fct, ReportError> {
    let from_print = printed.fct(size);
    let fct = match exchanged.map(|bandwidth| (bandwidth, bandwidth.fct(size))) {
        Some((_, exact)) if from_print.contains(exact.time) => exact,
        Some((exchanged, _)) => return Err(ReportError::Disagree { exchanged, printed }),
        None => match sign {
            Some(sign) if from_print.is_coarse() => from_print.refined(sign),
            _ => from_print,
        },
    };
    match sign {
        Some(sign) => fct.over_by(sign.after),
        None => Ok(fct),
    }
}

impl Bandwidth {
    fn fct(self, size: Bytes) -> Fct {
        match self {
            Self::Printed { micro_mib_per_sec } => {
                let value = u128::from(micro_mib_per_sec);
                let nano_bytes = u128::from(size.get()) * NANOS_PER_SECOND * MICROS / MIB;
                // value ± 1/2 makes the quotient vary by quotient / (2 · value).
                Fct {
                    time: nanos((nano_bytes + value / 2) / value),
                    resolution: nanos((nano_bytes / value).div_ceil(2 * value)),
                    source: FctSource::Printed,
                }
            }
            Self::Exchanged { bits } => {
                let seconds = precise(size.get()) / (f64::from_bits(bits) * precise(1 << 20));
                Fct {
                    time: rounded_nanos(seconds),
                    resolution: Nanos::new(1),
                    source: FctSource::Exchanged,
                }
            }
        }
    }
}

impl Fct {
    fn contains(self, time: Nanos) -> bool {
        let allowed = self.resolution.saturating_add(Nanos::new(1));
        time.saturating_sub(self.time) <= allowed && self.time.saturating_sub(time) <= allowed
    }

    /// Whether the resolution is more than 1/10,000 of the time, or than a sign is off by.
    fn is_coarse(self) -> bool {
        self.resolution.get() > self.time.get() / COARSE || self.resolution > SIGN_SPREAD
    }

    /// The same within `bound`, if it can have been over by then.
    fn over_by(self, bound: Nanos) -> Result<Self, ReportError> {
        if self.time.saturating_sub(self.resolution) > bound {
            let fct = self.time;
            return Err(ReportError::Impossible { fct, bound });
        }
        Ok(Self {
            time: self.time.min(bound),
            ..self
        })
    }

    /// What the sign says, kept within the bounds of the print.
    fn refined(self, sign: Sign) -> Self {
        let low = self.time.saturating_sub(self.resolution);
        let high = self.time.saturating_add(self.resolution);
        Self {
            time: sign.after.saturating_sub(sign.kind.lag()).clamp(low, high),
            source: FctSource::PrintedAndSign,
            ..self
        }
    }
}

impl SignKind {
    /// From the last completion of a small flow to the sign.
    const fn lag(self) -> Nanos {
        match self {
            Self::Stopped => PATIENCE,
            Self::Spoke => CALIBRATION,
        }
    }
}

fn nanos(value: u128) -> Nanos {
    Nanos::new(u64::try_from(value).unwrap_or(u64::MAX))
}

#[expect(clippy::cast_precision_loss, reason = "flows are far below 2^53 bytes")]
fn precise(value: u64) -> f64 {
    value as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a quotient of positive numbers; the cast saturates"
)]
fn rounded_nanos(seconds: f64) -> Nanos {
    Nanos::new((seconds * 1e9).round() as u64)
}

/// How long perftest calibrates its clock: 200 busy waits of 100, 110, … 2,090 µs, which is 219 ms,
/// and about a microsecond more for each.
const CALIBRATION: Nanos = Nanos::new(219_200_000);

const COARSE: u64 = 10_000;

/// How far the time between a last completion and the sign of it is from its usual lag: 3 ms were seen
/// among 160 processes.
const SIGN_SPREAD: Nanos = Nanos::from_millis(4);

const NANOS_PER_SECOND: u128 = 1_000_000_000;
const MICROS: u128 = 1_000_000;
const MIB: u128 = 1 << 20;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::report::parse;

    const FLOW: Bytes = Bytes::new(100_000);

    fn printed(micro_mib_per_sec: u64) -> Bandwidth {
        Bandwidth::Printed { micro_mib_per_sec }
    }

    #[test]
    fn a_printed_bandwidth_is_a_time_and_its_bounds() {
        let fct = fct(FLOW, printed(1_773_425), None, None).unwrap();
        // 100,000 / (1.773425 * 2^20) s, and half a millionth of 1.77.
        assert_eq!(fct.time, Nanos::new(53_775_847));
        assert_eq!(fct.resolution, Nanos::new(16));
        assert_eq!(fct.source, FctSource::Printed);
    }

    #[test]
    fn what_was_told_and_what_was_printed_must_agree() {
        let bits = 0x401b_52c6_2cfd_f3a3;
        let told = Some(Bandwidth::Exchanged { bits });
        let agreed = fct(FLOW, printed(6_830_834), told, None).unwrap();
        assert_eq!(agreed.source, FctSource::Exchanged);
        assert_eq!(agreed.resolution, Nanos::new(1));
        let error = fct(FLOW, printed(6_830_900), told, None).unwrap_err();
        assert!(matches!(error, ReportError::Disagree { .. }));
    }

    #[test]
    fn a_slow_flow_is_measured_by_its_sign_within_what_was_printed() {
        // 5 kB in 2 s: 0.002384 MiB/s, so 2.000190 s ± 0.42 ms.
        let size = Bytes::new(5_000);
        let refined = |after| {
            let kind = SignKind::Stopped;
            let after = Nanos::new(after);
            fct(size, printed(2_384), None, Some(Sign { kind, after })).unwrap()
        };
        assert_eq!(refined(2_010_135_796).time, Nanos::new(2_000_135_796));
        assert_eq!(refined(2_010_135_796).source, FctSource::PrintedAndSign);
        let unrefined = fct(size, printed(2_384), None, None).unwrap();
        let latest = unrefined.time + unrefined.resolution;
        assert_eq!(refined(3_000_000_000).time, latest);
    }

    #[test]
    fn a_flow_of_minutes_is_measured_by_its_sign() {
        // 2 MB in 200.18 s: 0.009528 MiB/s, so 200.1835 s ± 10.5 ms, and a sign before that.
        let size = Bytes::new(2_000_000);
        let sign = Sign {
            kind: SignKind::Stopped,
            after: Nanos::new(200_180_075_682),
        };
        // The print's earliest: the sign less its usual lag would be 3 ms before that.
        let fct = fct(size, printed(9_528), None, Some(sign)).unwrap();
        assert_eq!(fct.time, Nanos::new(200_173_020_681));
        assert_eq!(fct.source, FctSource::PrintedAndSign);
    }

    #[test]
    fn an_fct_after_the_clients_sign_by_less_than_its_last_digit_ends_with_the_sign() {
        let sign = Sign {
            kind: SignKind::Spoke,
            after: Nanos::new(53_775_840),
        };
        let fct = fct(FLOW, printed(1_773_425), None, Some(sign)).unwrap();
        assert_eq!(fct.time, sign.after);
    }

    #[test]
    fn an_fct_after_the_clients_sign_is_impossible() {
        let sign = Sign {
            kind: SignKind::Spoke,
            after: Nanos::from_millis(53),
        };
        let error = fct(FLOW, printed(1_773_425), None, Some(sign)).unwrap_err();
        assert!(matches!(error, ReportError::Impossible { .. }));
    }

    proptest! {
        /// Whatever the flow, what perftest prints of it has its true time within its bounds.
        #[test]
        fn the_true_time_is_within_the_resolution(
            size in 5_u64..1_000_000_000,
            micros in 100_u64..100_000_000,
        ) {
            let seconds = precise(micros) / 1e6;
            let text = format!("{:.6}\n", precise(size) / seconds / precise(1 << 20));
            prop_assume!(text != "0.000000\n");
            let fct = parse(&text).unwrap().fct(Bytes::new(size));
            prop_assert!(fct.contains(Nanos::new(micros * 1_000)), "{text} {fct:?}");
        }
    }
}
