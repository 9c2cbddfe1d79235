//! Policy parameters whose values differ from the policy's publication.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Policy parameter whose value differs from the policy's publication or, where the publication gives no value, from
/// our reading of the publication.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Departure {
    /// Name of the parameter, as in scenarios.
    pub parameter: String,
    /// Value of the parameter at the paper's scale (before scaling for emulation), with its unit.
    pub value: String,
    /// Value that the parameter would have without the departure.
    #[serde(flatten)]
    pub reference: Reference,
}

/// Reference value of a parameter, as text.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reference {
    /// Value that the policy's publication gives.
    Paper(String),
    /// Our default, for a parameter for which the publication gives no value.
    OurReading(String),
}

impl Departure {
    /// Returns the parameter with its value, such as `max_delay 524 ms`.
    #[must_use]
    pub fn short(&self) -> String {
        format!("{} {}", self.parameter, self.value)
    }
}

/// Formats the parameter with its reference, such as `max_delay 524 ms (paper: 32 or 64 ms)`.
impl fmt::Display for Departure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, value) = match &self.reference {
            Reference::Paper(value) => ("paper", value),
            Reference::OurReading(value) => ("our reading", value),
        };
        write!(f, "{} {} ({source}: {value})", self.parameter, self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_departure_says_what_it_departs_from() {
        let text = r#"{"parameter":"max_delay","value":"524 ms","paper":"32 or 64 ms"}"#;
        let departure: Departure = serde_json::from_str(text).unwrap();
        assert_eq!(
            departure.to_string(),
            "max_delay 524 ms (paper: 32 or 64 ms)"
        );
        assert_eq!(serde_json::to_string(&departure).unwrap(), text);
        let reading = Departure {
            reference: Reference::OurReading("1 ms".to_owned()),
            ..departure
        };
        assert_eq!(reading.to_string(), "max_delay 524 ms (our reading: 1 ms)");
        assert_eq!(reading.short(), "max_delay 524 ms");
    }
}
