//! Parameters of a plan's link.

use std::ops::{Deref, DerefMut};

use lab_parameters::{LinkConfig, ParameterSet, Value};
use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap};

use crate::frame;

/// Parameters of a link, and the packet limit of its delay line, which is computed from the parameters. Dereferences to
/// `parameters`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize)]
pub struct WirePlan {
    #[serde(flatten)]
    pub parameters: LinkConfig,
    /// Packet limit of an inter-DC link's delay line: [`frame::delay_line_packets`].
    pub delay_line_packets: u32,
}

impl WirePlan {
    /// Creates a link from `parameters` and computes its delay line.
    #[must_use]
    pub fn new(parameters: LinkConfig) -> Self {
        let LinkConfig {
            rate_bps,
            delay_ns,
            buffer_bytes,
            ..
        } = parameters;
        Self {
            parameters,
            delay_line_packets: frame::delay_line_packets(rate_bps, delay_ns, buffer_bytes),
        }
    }

    /// Returns the parameters that a fault may change, in one line: `100 Mbit, 50 ms, loss 1/1000`.
    pub(crate) fn changeable(&self) -> String {
        let words = LinkConfig::PARAMETERS
            .iter()
            .filter(|it| it.is_changeable)
            .filter_map(|it| {
                Some(match self.get(it.name)? {
                    value @ (Value::Rate(_) | Value::Time(_)) => value.to_string(),
                    value => format!("{} {value}", it.name),
                })
            });
        words.collect::<Vec<_>>().join(", ")
    }
}

impl Deref for WirePlan {
    type Target = LinkConfig;

    fn deref(&self) -> &LinkConfig {
        &self.parameters
    }
}

impl DerefMut for WirePlan {
    fn deref_mut(&mut self) -> &mut LinkConfig {
        &mut self.parameters
    }
}

/// Serialises the parameters in declaration order, with the delay line's packets after the buffer. This form must not
/// change, because versions of the program compare `plan.json` byte for byte.
impl Serialize for WirePlan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for parameter in LinkConfig::PARAMETERS {
            if let Some(value) = self.get(parameter.name) {
                map.serialize_entry(parameter.field, &value)?;
            }
            if parameter.name == "buffer" {
                map.serialize_entry("delay_line_packets", &self.delay_line_packets)?;
            }
        }
        map.serialize_entry("ecn", &self.ecn)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use lab_parameters::EcnConfig;

    use super::*;

    /// The keys of a link in `plan.json` have kept their order since the first plan format.
    #[test]
    fn a_link_is_written_in_the_order_of_its_declaration_and_read_again() {
        let marking = LinkConfig {
            ecn: Some(EcnConfig::PAPER),
            ..LinkConfig::PAPER
        };
        for parameters in [LinkConfig::PAPER, marking] {
            let wire = WirePlan::new(parameters);
            let text = serde_json::to_string(&wire).unwrap();
            let keys = [
                "rate_bps",
                "delay_ns",
                "buffer_bytes",
                "delay_line_packets",
                "loss",
                "ecn",
            ];
            let places = keys.map(|key| text.find(&format!("\"{key}\":")));
            assert!(places.is_sorted() && places[0] == Some(1), "{text}");
            assert_eq!(serde_json::from_str::<WirePlan>(&text).unwrap(), wire);
        }
    }
}
