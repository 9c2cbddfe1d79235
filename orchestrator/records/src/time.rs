//! Dates and times in the text format of the records.

use std::{
    fmt,
    str::FromStr,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use lab_units::Nanos;
use serde::{Deserialize, Serialize};

/// UTC time with millisecond resolution: `2026-11-21T09:30:00.000Z`.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UtcTime(SystemTime);

/// Error for a text that is not a [`UtcTime`].
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{text}` is not a time (hint: write it like `2026-11-21T09:30:00.000Z`)")]
pub struct ParseTimeError {
    text: String,
}

impl UtcTime {
    /// Creates a time from `time`, truncated to milliseconds and clamped to the years 1970 to 9999.
    #[must_use]
    pub fn new(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let millis = since.as_millis().min(LAST_MILLIS);
        let millis = u64::try_from(millis).unwrap_or(u64::MAX);
        Self(UNIX_EPOCH + Duration::from_millis(millis))
    }

    /// Returns the duration from `earlier` to this time; zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Nanos {
        let span = self.0.duration_since(earlier.0).unwrap_or(Duration::ZERO);
        Nanos::new(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Returns the time as text for a file name, with a resolution of a second: `20261121T093000Z`.
    #[must_use]
    pub fn file_name(self) -> String {
        let text = humantime::format_rfc3339_seconds(self.0).to_string();
        text.replace(['-', ':'], "")
    }
}

impl From<UtcTime> for SystemTime {
    fn from(time: UtcTime) -> Self {
        time.0
    }
}

impl fmt::Display for UtcTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_rfc3339_millis(self.0).fmt(f)
    }
}

impl FromStr for UtcTime {
    type Err = ParseTimeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let time = humantime::parse_rfc3339(text);
        time.map(Self::new).map_err(|_| ParseTimeError {
            text: text.to_owned(),
        })
    }
}

impl TryFrom<String> for UtcTime {
    type Error = ParseTimeError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<UtcTime> for String {
    fn from(time: UtcTime) -> Self {
        time.to_string()
    }
}

/// 9999-12-31T23:59:59.999Z in ms since 1970, the last time whose year has four digits.
const LAST_MILLIS: u128 = 253_402_300_799_999;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_file_name_are_utc() {
        let time = UtcTime::new(UNIX_EPOCH + Duration::from_micros(1_795_253_400_250_999));
        assert_eq!(time.to_string(), "2026-11-21T09:30:00.250Z");
        assert_eq!(time.file_name(), "20261121T093000Z");
        assert_eq!(time.to_string().parse(), Ok(time));
    }

    #[test]
    fn times_out_of_range_are_cut_not_fatal() {
        let late = UNIX_EPOCH + Duration::from_secs(1 << 50);
        assert_eq!(UtcTime::new(late).to_string(), "9999-12-31T23:59:59.999Z");
        let early = UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(UtcTime::new(early).to_string(), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn other_texts_are_refused() {
        assert!("yesterday".parse::<UtcTime>().is_err());
    }
}
