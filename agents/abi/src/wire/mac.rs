//! Ethernet addresses.

use alloc::{borrow::ToOwned, string::String};
use core::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// An Ethernet address; its text is `02:00:00:00:00:01`.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct MacAddr(pub [u8; 6]);

/// Why a text is not an Ethernet address.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{text}` is not an Ethernet address (hint: six bytes like `02:00:00:00:00:01`)")]
pub struct ParseMacError {
    text: String,
}

impl FromStr for MacAddr {
    type Err = ParseMacError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).map(Self).ok_or_else(|| ParseMacError {
            text: text.to_owned(),
        })
    }
}

fn parse(text: &str) -> Option<[u8; 6]> {
    let mut parts = text.split(':');
    let mut bytes = [0; 6];
    for byte in &mut bytes {
        let part = parts.next().filter(|part| part.len() == 2)?;
        let digits = part.bytes().all(|digit| digit.is_ascii_hexdigit());
        *byte = digits.then(|| u8::from_str_radix(part, 16).ok())??;
    }
    parts.next().is_none().then_some(bytes)
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl Serialize for MacAddr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MacAddr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn parses_what_it_prints() {
        let mac = MacAddr([2, 0, 0xab, 0xcd, 0xef, 0xff]);
        assert_eq!(mac.to_string(), "02:00:ab:cd:ef:ff");
        assert_eq!(mac.to_string().parse(), Ok(mac));
    }

    #[test]
    fn signs_gaps_and_wrong_lengths_are_refused() {
        for text in [
            "",
            "02:00:00:00:00",
            "02:00:00:00:00:01:02",
            "2:0:0:0:0:1",
            "02:00:00:00:00:+1",
            "02-00-00-00-00-01",
        ] {
            assert!(text.parse::<MacAddr>().is_err(), "{text}");
        }
    }
}
