//! Flow completion time, derived from perftest's reports and the completion marker.
//!
//! Six decimals of a MiB per second resolve half a byte per second. For a 5 kB flow this is 1/10,000 of the FCT if the
//! flow takes one second, and 1/1,000 if it takes ten seconds; for a 2 MB flow that takes 200 seconds it is 10 ms. For
//! such flows the [`CompletionMarker`], the client's first visible action after its last completion, is more precise.

use lab_units::{Bytes, Nanos};

use super::cpu::COMPUTE_PERIOD;
use crate::contract::{Bandwidth, CompletionMarker, Fct, FctSource, MarkerKind, ReportError};

/// Returns the FCT of a flow of the given `size`.
///
/// # Errors
/// Two reports contradict each other, or a report contradicts the marker.
pub(crate) fn fct(
    size: Bytes,
    printed: Bandwidth,
    exchanged: Option<Bandwidth>,
    marker: Option<CompletionMarker>,
) -> Result<Fct, ReportError> {
    let from_print = printed.fct(size);
    let fct = match exchanged.map(|bandwidth| (bandwidth, bandwidth.fct(size))) {
        Some((_, exact)) if from_print.contains(exact.time) => exact,
        Some((exchanged, _)) => return Err(ReportError::Disagree { exchanged, printed }),
        None => match marker {
            Some(marker) if from_print.is_coarse() => from_print.refined(marker),
            _ => from_print,
        },
    };
    match marker {
        Some(marker) => fct.over_by(marker.after),
        None => Ok(fct),
    }
}

impl Bandwidth {
    fn fct(self, size: Bytes) -> Fct {
        match self {
            Self::Printed { micro_mib_per_sec } => {
                let value = u128::from(micro_mib_per_sec);
                let nano_bytes = u128::from(size.get()) * NANOS_PER_SECOND * MICROS / MIB;
                // An error of ± 1/2 in the value changes the quotient by the quotient divided by twice the value.
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

    /// Returns true if the resolution is worse than 1/10,000 of the FCT, or worse than the error of a completion
    /// marker.
    fn is_coarse(self) -> bool {
        self.resolution.get() > self.time.get() / COARSE || self.resolution > MARKER_SPREAD
    }

    /// Limits the FCT to `bound`; fails if the time minus its resolution exceeds `bound`.
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

    /// Returns the FCT that the completion marker indicates, limited to the bounds that the printed bandwidth implies.
    fn refined(self, marker: CompletionMarker) -> Self {
        let low = self.time.saturating_sub(self.resolution);
        let high = self.time.saturating_add(self.resolution);
        Self {
            time: marker
                .after
                .saturating_sub(marker.kind.lag())
                .clamp(low, high),
            source: FctSource::PrintedAndMarker,
            ..self
        }
    }
}

impl MarkerKind {
    /// Returns the usual time from a small flow's last completion to its completion marker.
    const fn lag(self) -> Nanos {
        match self {
            Self::Stopped => COMPUTE_PERIOD,
            Self::Sent => CALIBRATION,
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

/// Time that perftest takes to calibrate its clock: 200 busy waits of 100, 110, … 2,090 µs, which add up to 219 ms,
/// plus about one microsecond each.
const CALIBRATION: Nanos = Nanos::new(219_200_000);

const COARSE: u64 = 10_000;

/// Maximum deviation of a marker's lag from the usual lag; with 160 processes, 3 ms were measured.
const MARKER_SPREAD: Nanos = Nanos::from_millis(4);

const NANOS_PER_SECOND: u128 = 1_000_000_000;
const MICROS: u128 = 1_000_000;
const MIB: u128 = 1 << 20;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::perftest::report::parse;

    const FLOW: Bytes = Bytes::new(100_000);

    fn printed(micro_mib_per_sec: u64) -> Bandwidth {
        Bandwidth::Printed { micro_mib_per_sec }
    }

    #[test]
    fn a_printed_bandwidth_is_a_time_and_its_bounds() {
        let fct = fct(FLOW, printed(1_773_425), None, None).unwrap();
        // 100,000 / (1.773425 · 2^20) s; the resolution is half a millionth of 1.773425, relative to the time.
        assert_eq!(fct.time, Nanos::new(53_775_847));
        assert_eq!(fct.resolution, Nanos::new(16));
        assert_eq!(fct.source, FctSource::Printed);
    }

    #[test]
    fn exchanged_and_printed_bandwidth_must_agree() {
        let bits = 0x401b_52c6_2cfd_f3a3;
        let exchanged = Some(Bandwidth::Exchanged { bits });
        let agreed = fct(FLOW, printed(6_830_834), exchanged, None).unwrap();
        assert_eq!(agreed.source, FctSource::Exchanged);
        assert_eq!(agreed.resolution, Nanos::new(1));
        let error = fct(FLOW, printed(6_830_900), exchanged, None).unwrap_err();
        assert!(matches!(error, ReportError::Disagree { .. }));
    }

    fn marker(kind: MarkerKind, nanos: u64) -> Option<CompletionMarker> {
        let after = Nanos::new(nanos);
        Some(CompletionMarker { kind, after })
    }

    #[test]
    fn a_slow_flow_is_measured_by_its_marker_within_the_printed_bounds() {
        for (bytes, micro_mib_per_sec, marked, expected) in [
            // 5 kB in 2 s: 0.002384 MiB/s, which means 2.000190 s ± 0.42 ms.
            (5_000, 2_384, 2_010_135_796, 2_000_135_796),
            (5_000, 2_384, 3_000_000_000, 2_000_575_361),
            // 2 MB in 200.18 s: 0.009528 MiB/s, which means 200.1835 s ± 10.5 ms. The marker minus its usual lag
            // would be 3 ms before the lower bound.
            (2_000_000, 9_528, 200_180_075_682, 200_173_020_681),
        ] {
            let marker = marker(MarkerKind::Stopped, marked);
            let fct = fct(Bytes::new(bytes), printed(micro_mib_per_sec), None, marker).unwrap();
            assert_eq!(fct.time, Nanos::new(expected));
            assert_eq!(fct.source, FctSource::PrintedAndMarker);
        }
    }

    #[test]
    fn an_fct_ends_with_the_marker_or_is_impossible() {
        let by = |nanos| {
            fct(
                FLOW,
                printed(1_773_425),
                None,
                marker(MarkerKind::Sent, nanos),
            )
        };
        // The FCT exceeds the marker's time, but by less than the last digit of the bandwidth.
        assert_eq!(by(53_775_840).unwrap().time, Nanos::new(53_775_840));
        let error = by(53_000_000).unwrap_err();
        assert!(matches!(error, ReportError::Impossible { .. }));
    }

    proptest! {
        /// The true FCT of every flow is within the bounds that the printed bandwidth implies.
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
