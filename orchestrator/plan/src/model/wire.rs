//! Parameters of a plan's link.

use std::ops::{Deref, DerefMut};

use lab_parameters::{EcnConfig, LinkConfig, Parameter, ParameterSet, Value};
use lab_units::Ratio;
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

/// Returns the parameters of a link that `is_told` selects, with their names, in one line: `loss 1/1000, ECN k_min 1 MB,
/// k_max 4 MB, p_max 1/5`. Left out are a loss of 0 and absent ECN marking.
#[must_use]
pub fn link_words(link: &LinkConfig, is_told: impl Fn(&Parameter) -> bool) -> String {
    let words = |it: &Parameter, value: Option<Value>| {
        let told = value.filter(|value| *value != Value::Ratio(Ratio::ZERO))?;
        Some(format!("{} {told}", it.name))
    };
    let selected = LinkConfig::PARAMETERS.iter().filter(|it| is_told(it));
    let told = selected.filter_map(|it| words(it, link.get(it.name)));
    let marking = link.ecn.map(|ecn| {
        let parameters = EcnConfig::PARAMETERS.iter();
        let marking = parameters.filter_map(|it| words(it, ecn.get(it.name)));
        format!("ECN {}", marking.collect::<Vec<_>>().join(", "))
    });
    told.chain(marking).collect::<Vec<_>>().join(", ")
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
    use lab_units::Bytes;

    use super::*;

    #[test]
    fn words_of_a_link_leave_out_zero_loss_and_absent_marking() {
        let is_changeable = |it: &Parameter| it.is_changeable;
        let plain = LinkConfig::PAPER;
        assert_eq!(
            link_words(&plain, is_changeable),
            "rate 100 Gbit, delay 1 us"
        );
        assert_eq!(link_words(&plain, |it| it.name == "loss"), "");
        let marking = LinkConfig {
            loss: Ratio::new(1, 1_000).expect("positive"),
            ecn: Some(EcnConfig {
                k_min: Bytes::new(1_000_000),
                k_max: Bytes::new(4_000_000),
                p_max: Ratio::new(1, 5).expect("positive"),
            }),
            ..plain
        };
        let expected = "loss 1/1000, ECN k_min 1 MB, k_max 4 MB, p_max 1/5";
        assert_eq!(link_words(&marking, |it| it.name == "loss"), expected);
    }

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
