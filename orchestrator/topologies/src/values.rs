//! Single values of graph files: identifiers, labels, numbers, rates and delays.

use lab_units::{BitsPerSec, Nanos};

use crate::{
    error::{ImportErrorKind, quoted},
    geo::Coordinates,
    graph::MAX_TEXT,
};

/// Checks and returns an identifier.
///
/// # Errors
/// If the identifier is empty, too long, or has control characters.
pub(crate) fn id(text: &str) -> Result<String, ImportErrorKind> {
    let text = text.trim_matches(' ');
    if text.is_empty() {
        return Err(ImportErrorKind::EmptyText { what: "the id" });
    }
    label("the id", text)
}

/// Checks and returns a label, which `what` names in messages.
///
/// # Errors
/// If the label is too long or has control characters.
pub(crate) fn label(what: &'static str, text: &str) -> Result<String, ImportErrorKind> {
    let found = text.chars().count();
    if found > MAX_TEXT {
        return Err(ImportErrorKind::TooLong { what, found });
    }
    if text.contains(char::is_control) {
        let found = quoted(text);
        return Err(ImportErrorKind::ControlCharacter { what, found });
    }
    Ok(text.to_owned())
}

/// Parses a finite number between `min` and `max`, which `what` names in messages.
///
/// # Errors
/// If the text is not such a number.
pub(crate) fn number(
    what: &'static str,
    text: &str,
    [min, max]: [f64; 2],
) -> Result<f64, ImportErrorKind> {
    let number: Option<f64> = text.trim().parse().ok();
    let fits = |number: &f64| number.is_finite() && (min..=max).contains(number);
    number.filter(fits).ok_or_else(|| ImportErrorKind::Value {
        what,
        found: quoted(text),
        expected: format!("a number from {min} to {max}"),
    })
}

/// Parses a whole number from 0 to `max`, which `what` names in messages.
///
/// # Errors
/// If the text is not such a number.
pub(crate) fn count(what: &'static str, text: &str, max: usize) -> Result<usize, ImportErrorKind> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let count = text.parse().ok().filter(|count| is_plain && *count <= max);
    count.ok_or_else(|| ImportErrorKind::Value {
        what,
        found: quoted(text),
        expected: format!("a whole number from 0 to {max}"),
    })
}

/// Parses coordinates in degrees.
///
/// # Errors
/// If one of the two is missing, or is not a number of degrees.
pub(crate) fn coordinates(
    latitude: Option<&str>,
    longitude: Option<&str>,
) -> Result<Option<Coordinates>, ImportErrorKind> {
    match (latitude, longitude) {
        (None, None) => Ok(None),
        (Some(latitude), Some(longitude)) => Ok(Some(Coordinates {
            latitude: number("the latitude", latitude, [-90.0, 90.0])?,
            longitude: number("the longitude", longitude, [-180.0, 180.0])?,
        })),
        _ => Err(ImportErrorKind::HalfCoordinates),
    }
}

/// Parses a rate that is a number of units of `unit` bits per second; `None` for zero, which stands for an unknown rate.
///
/// # Errors
/// If the text is not a number from 0 to 10^15 bits per second.
pub(crate) fn rate_in(
    what: &'static str,
    text: &str,
    unit: f64,
) -> Result<Option<BitsPerSec>, ImportErrorKind> {
    let max = MAX_WHOLE / unit;
    let rate = number(what, text, [0.0, max])? * unit;
    Ok(BitsPerSec::new(whole(rate)))
}

/// Parses a delay that is a number of units of `unit` nanoseconds.
///
/// # Errors
/// If the text is not a number from 0 to 10^15 nanoseconds.
pub(crate) fn delay_in(
    what: &'static str,
    text: &str,
    unit: f64,
) -> Result<Nanos, ImportErrorKind> {
    let max = MAX_WHOLE / unit;
    Ok(Nanos::new(whole(number(what, text, [0.0, max])? * unit)))
}

/// Parses a rate with its unit, such as `10 Gbit`.
///
/// # Errors
/// If the text is not a rate.
pub(crate) fn rate(text: &str) -> Result<BitsPerSec, ImportErrorKind> {
    let rate = text.trim().parse();
    rate.map_err(|_| ImportErrorKind::Value {
        what: "the rate",
        found: quoted(text),
        expected: "a rate above zero with its unit (hint: write it like `10 Gbit`)".to_owned(),
    })
}

/// Parses a delay with its unit, such as `5 ms`.
///
/// # Errors
/// If the text is not a delay.
pub(crate) fn delay(text: &str) -> Result<Nanos, ImportErrorKind> {
    let delay = text.trim().parse();
    delay.map_err(|_| ImportErrorKind::Value {
        what: "the delay",
        found: quoted(text),
        expected: "a delay with its unit (hint: write it like `5 ms`)".to_owned(),
    })
}

/// Rounds a number between 0 and 2^53 to the nearest whole number; other numbers become the nearest of these bounds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` rounds towards zero and keeps to the bounds of u64"
)]
pub(crate) fn whole(number: f64) -> u64 {
    libm::round(number) as u64
}

/// Maximum rate in bits per second, and delay in nanoseconds, of a file: whole numbers up to it are exact in a double.
const MAX_WHOLE: f64 = 1e15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_numbers_are_exact_and_zero_is_unknown() {
        let rate =
            |text, unit| rate_in("the rate", text, unit).map(|rate| rate.map(BitsPerSec::get));
        assert_eq!(rate("45000000.0", 1.0), Ok(Some(45_000_000)));
        assert_eq!(rate("9953.28", 1e6), Ok(Some(9_953_280_000)));
        assert_eq!(rate("0", 1.0), Ok(None));
        for refused in ["-1", "NaN", "inf", "1e16", "", "10 Gbit", "0x10"] {
            assert!(rate(refused, 1.0).is_err(), "{refused}");
        }
    }

    #[test]
    fn coordinates_come_in_twos_and_are_degrees() {
        assert_eq!(coordinates(None, None), Ok(None));
        assert!(coordinates(Some("-90"), Some("180")).is_ok());
        assert_eq!(
            coordinates(Some("1"), None),
            Err(ImportErrorKind::HalfCoordinates)
        );
        for (latitude, longitude) in [("90.1", "0"), ("0", "-180.1"), ("NaN", "0"), ("x", "0")] {
            assert!(coordinates(Some(latitude), Some(longitude)).is_err());
        }
    }
}
