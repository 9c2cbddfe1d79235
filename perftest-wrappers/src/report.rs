//! What perftest says about a finished test, and the FCT in it.
//!
//! A bandwidth test divides its bytes by the time from its first post to its last completion, and
//! says only the quotient: printed with two decimals in its table, with six under
//! `--output=bandwidth`, and as the bits of a double where the two sides of a write or read test
//! exchange their results. The unit is 2^20 bytes per second, although the table says `MB/sec`.
//!
//! Six decimals are a resolution of half a byte per second: 1/10,000 of the FCT of a 5 kB flow that
//! takes a second, and 1/1,000 if it takes ten. For such flows the [`Sign`] that the client gives
//! by what it does after its last completion is more exact.

use std::fmt;

use lab_units::{Bytes, Nanos};

use serde::{Deserialize, Serialize};

use crate::{brake::PATIENCE, handshake::KEYS_LEN, job::FlowJob};

/// A bandwidth as perftest said it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Bandwidth {
    /// Printed: millionths of a MiB per second, exact as text. Never zero.
    Printed {
        /// The digits without their point.
        micro_mib_per_sec: u64,
    },
    /// Exchanged: the bits of a double, in MiB per second. Finite and positive.
    Exchanged {
        /// As sent.
        bits: u64,
    },
}

/// A flow completion time, and how well it is known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Fct {
    /// From the first post to the last completion.
    pub time: Nanos,
    /// The true value is within `time ± resolution`.
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

/// A report that cannot be understood.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ReportError {
    /// No line with a number.
    #[error(
        "the client exited without error and printed no bandwidth (its last line is `{last_line}`)"
    )]
    NoBandwidth {
        /// The last thing it printed.
        last_line: String,
    },
    /// More than one line with a number.
    #[error("the client printed two bandwidths, `{first}` and `{second}`")]
    TwoBandwidths {
        /// The first.
        first: String,
        /// The second.
        second: String,
    },
    /// A number out of which no time can be computed.
    #[error(
        "the client reported a bandwidth of `{value}` MiB/s, which no flow has (hint: perftest needs a stable TSC; boot a guest with tsc=reliable clocksource=tsc)"
    )]
    NoTime {
        /// As printed.
        value: String,
    },
    /// The client said one thing to its server and another to us.
    #[error("the client told its server {exchanged} and printed {printed}")]
    Disagree {
        /// To its server.
        exchanged: Bandwidth,
        /// To us.
        printed: Bandwidth,
    },
    /// The FCT is longer than the client needed in all.
    #[error(
        "the client reported an FCT of {fct}, but had its last completion within {bound} (hint: \
         is the CPU's clock rate in /proc/cpuinfo that of its TSC?)"
    )]
    Impossible {
        /// As computed.
        fct: Nanos,
        /// When its sign was seen.
        bound: Nanos,
    },
}

/// Reads the one bandwidth in what a client printed under `--output=bandwidth`.
///
/// # Errors
/// Output with no such line, with two, or with one that is no bandwidth.
pub fn parse(stdout: &str) -> Result<Bandwidth, ReportError> {
    let mut lines = stdout.lines().map(str::trim).filter(|line| is_number(line));
    let Some(first) = lines.next() else {
        let last_line = stdout.lines().map(str::trim).rfind(|line| !line.is_empty());
        return Err(ReportError::NoBandwidth {
            last_line: last_line.unwrap_or_default().to_owned(),
        });
    };
    if let Some(second) = lines.next() {
        return Err(ReportError::TwoBandwidths {
            first: first.to_owned(),
            second: second.to_owned(),
        });
    }
    micros(first)
        .filter(|micro_mib_per_sec| *micro_mib_per_sec > 0)
        .map(|micro_mib_per_sec| Bandwidth::Printed { micro_mib_per_sec })
        .ok_or_else(|| ReportError::NoTime {
            value: first.to_owned(),
        })
}

/// Reads the average bandwidth from what the client of a write or read test says after its run.
///
/// `None` when these bytes are not that message for this flow; then the printed number is all
/// there is.
#[must_use]
pub fn exchanged(closing: &[u8], job: &FlowJob) -> Option<Bandwidth> {
    let word = |index: usize| {
        let start = KEYS_LEN + 8 * index;
        let bytes = closing.get(start..start + 8)?.try_into().ok()?;
        Some(u64::from_be_bytes(bytes))
    };
    let (size, iterations, _peak, average, _rate) =
        (word(0)?, word(1)?, word(2)?, word(3)?, word(4)?);
    let value = f64::from_bits(average);
    let is_ours = size == job.message_bytes.get() && iterations == u64::from(job.messages);
    (is_ours && value.is_finite() && value > 0.0).then_some(Bandwidth::Exchanged { bits: average })
}

/// The FCT of `size`, from everything that is known about it.
///
/// # Errors
/// Two reports that contradict each other, or a report that contradicts the gate.
pub fn fct(
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
        Some(Sign { after: bound, .. }) if fct.time > bound => {
            let fct = fct.time;
            Err(ReportError::Impossible { fct, bound })
        }
        _ => Ok(fct),
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

    /// Whether the resolution is more than 1/10,000 of the time.
    fn is_coarse(self) -> bool {
        self.resolution.get() > self.time.get() / COARSE
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

impl fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Printed {
                micro_mib_per_sec: v,
            } => {
                write!(f, "{}.{:06} MiB/s", v / 1_000_000, v % 1_000_000)
            }
            Self::Exchanged { bits } => write!(f, "{} MiB/s", f64::from_bits(bits)),
        }
    }
}

/// Whether a line is what `printf("%lf")` prints, of whatever value.
fn is_number(line: &str) -> bool {
    let magnitude = line.strip_prefix('-').unwrap_or(line);
    matches!(magnitude, "inf" | "nan") || micros(magnitude).is_some()
}

/// Millionths in a number with exactly six decimals.
fn micros(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if part.len() != 6 || !digits(whole) || !digits(part) {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    whole
        .checked_mul(1_000_000)?
        .checked_add(part.parse().ok()?)
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
const NANOS_PER_SECOND: u128 = 1_000_000_000;
const MICROS: u128 = 1_000_000;
const MIB: u128 = 1 << 20;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{job::tests::job, tool::Tool};

    const SEND: &str = include_str!("../fixtures/send.stdout");
    const WRITE: &str = include_str!("../fixtures/write.stdout");
    const READ: &str = include_str!("../fixtures/read.stdout");
    const TABLE: &str = include_str!("../fixtures/table.stdout");
    const READ_CLOSING: &[u8] = include_bytes!("../fixtures/read.closing");
    const WRITE_CLOSING: &[u8] = include_bytes!("../fixtures/write.closing");

    const FLOW: Bytes = Bytes::new(100_000);

    fn printed(micro_mib_per_sec: u64) -> Bandwidth {
        Bandwidth::Printed { micro_mib_per_sec }
    }

    #[test]
    fn the_bandwidth_is_found_in_what_each_tool_prints() {
        assert_eq!(parse(SEND), Ok(printed(1_773_425)));
        assert_eq!(parse(WRITE), Ok(printed(1_773_571)));
        // It prints a rule before.
        assert_eq!(parse(READ), Ok(printed(1_767_041)));
    }

    #[test]
    fn a_table_is_no_bandwidth_however_many_numbers_it_has() {
        assert!(matches!(parse(TABLE), Err(ReportError::NoBandwidth { .. })));
    }

    #[test]
    fn what_cannot_be_understood_is_quoted() {
        let errors = [
            "",
            "Segmentation fault\n\n",
            "1.773425\n1.773426\n",
            "inf\n",
            "-nan\n",
            "0.000000\n",
            "-1.500000\n",
            "1.77\n",
            "99999999999999999999.000000\n",
        ]
        .map(|stdout| parse(stdout).unwrap_err().to_string());
        insta::assert_snapshot!(errors.join("\n"));
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
    fn write_and_read_clients_tell_their_servers_all_digits() {
        for (tool, closing, bits) in [
            (Tool::ReadBw, READ_CLOSING, 0x401b_52c6_2cfd_f3a3),
            (Tool::WriteBw, WRITE_CLOSING, 0x401b_b432_f361_b2fc),
        ] {
            assert_eq!(
                exchanged(closing, &job(tool)),
                Some(Bandwidth::Exchanged { bits }),
                "{tool}"
            );
        }
    }

    #[test]
    fn what_a_client_told_about_another_flow_is_not_believed() {
        let mut other = job(Tool::ReadBw);
        other.message_bytes = Bytes::new(20_001);
        assert_eq!(exchanged(READ_CLOSING, &other), None);
        assert_eq!(exchanged(&READ_CLOSING[..140], &job(Tool::ReadBw)), None);
        assert_eq!(exchanged(b"done\0", &job(Tool::ReadBw)), None);
    }

    #[test]
    fn what_was_told_and_what_was_printed_must_agree() {
        let told = exchanged(READ_CLOSING, &job(Tool::ReadBw));
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

        #[test]
        fn no_output_makes_the_parser_panic(stdout in ".*") {
            let _ = parse(&stdout);
        }

        #[test]
        fn no_closing_makes_the_parser_panic(closing in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = exchanged(&closing, &job(Tool::WriteBw));
        }
    }
}
