//! perftest's reports about a finished test.
//!
//! A bandwidth test divides its bytes by the time from its first post to its last completion, and reports only the
//! quotient: with two decimals in its table, with six decimals under `--output=bandwidth`, and as the bits of a
//! double when the two sides of a write or read test exchange their results. The unit is 2^20 bytes per second,
//! although the table's header reads `MB/sec`.

use super::handshake::KEYS_LEN;
use crate::contract::{Bandwidth, FlowJob, ReportError};

/// Parses the single bandwidth in the output of a client under `--output=bandwidth`.
///
/// # Errors
/// The output has no line with a bandwidth, has two such lines, or has a number that is not a bandwidth.
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

/// Parses the average bandwidth in the bytes that the client of a write or read test sends after the transfer; `None`
/// if the bytes are not such a message of this flow.
#[must_use]
pub fn exchanged(closing: &[u8], job: &FlowJob) -> Option<Bandwidth> {
    let word = |index: usize| {
        let start = KEYS_LEN + 8 * index;
        let bytes = closing.get(start..start + 8)?.try_into().ok()?;
        Some(u64::from_be_bytes(bytes))
    };
    let size = word(0)?;
    let iterations = word(1)?;
    let _peak = word(2)?;
    let average = word(3)?;
    let _rate = word(4)?;
    let value = f64::from_bits(average);
    let is_ours = size == job.message_bytes.get() && iterations == u64::from(job.messages);
    (is_ours && value.is_finite() && value > 0.0).then_some(Bandwidth::Exchanged { bits: average })
}

/// Returns true if the line has the format of `printf("%lf")`, including infinity and NaN.
fn is_number(line: &str) -> bool {
    let magnitude = line.strip_prefix('-').unwrap_or(line);
    matches!(magnitude, "inf" | "nan") || micros(magnitude).is_some()
}

/// Parses a number with exactly six decimals; returns it as a number of millionths.
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

#[cfg(test)]
mod tests {
    use lab_units::{Bytes, Tool};
    use proptest::prelude::*;

    use super::*;
    use crate::contract::job::tests::job;

    const SEND: &str = include_str!("../../fixtures/send.stdout");
    const WRITE: &str = include_str!("../../fixtures/write.stdout");
    const READ: &str = include_str!("../../fixtures/read.stdout");
    const TABLE: &str = include_str!("../../fixtures/table.stdout");
    const READ_CLOSING: &[u8] = include_bytes!("../../fixtures/read.closing");
    const WRITE_CLOSING: &[u8] = include_bytes!("../../fixtures/write.closing");

    fn printed(micro_mib_per_sec: u64) -> Bandwidth {
        Bandwidth::Printed { micro_mib_per_sec }
    }

    #[test]
    fn the_bandwidth_is_found_in_each_tools_output() {
        assert_eq!(parse(SEND), Ok(printed(1_773_425)));
        assert_eq!(parse(WRITE), Ok(printed(1_773_571)));
        // The read test prints a line of dashes first.
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
    fn write_and_read_clients_exchange_all_digits() {
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
    fn a_report_of_another_flow_is_ignored() {
        let mut other = job(Tool::ReadBw);
        other.message_bytes = Bytes::new(20_001);
        assert_eq!(exchanged(READ_CLOSING, &other), None);
        assert_eq!(exchanged(&READ_CLOSING[..140], &job(Tool::ReadBw)), None);
        assert_eq!(exchanged(b"done\0", &job(Tool::ReadBw)), None);
    }

    proptest! {
        #[test]
        fn no_output_makes_the_parser_panic(stdout in ".*") {
            let _ = parse(&stdout);
        }

        #[test]
        fn no_closing_makes_the_parser_panic(closing in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = exchanged(&closing, &job(Tool::WriteBw));
        }
    }

    #[test]
    fn damaged_output_is_read_or_refused() {
        lab_fuzz::fuzz("output of perftest", &[SEND, WRITE, READ], |bytes| {
            parse(&String::from_utf8_lossy(bytes)).is_ok()
        });
    }
}
