//! The weight file.

use std::collections::BTreeMap;

use lab_te::Topology;
use lab_units::{BitsPerSec, Nanos, Trainer};
use serde::{Deserialize, Serialize};

use crate::{
    actor::Actor,
    container::{self, ContainerError},
    fingerprint::fingerprint,
    layout::TeamLayout,
    network::{Mlp, Shape},
    state::Divisors,
};

/// Origin and shape of weights.
///
/// A reader refuses other formats. A change of fields or of their meaning makes a new format, for which weights must be
/// trained again.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    pub format: u32,
    /// Name of the scenario whose demands the weights were trained on.
    pub scenario: String,
    /// [`fingerprint()`] of the topology.
    pub topology: String,
    pub divisors: Divisors,
    /// Shapes of the actors' networks, in the order of their switches.
    pub shapes: Vec<Shape>,
    /// Interval of the control loop in paper time.
    pub paper_interval_ns: Nanos,
    /// Number of intervals from the measured one to the one in which the resulting buckets are in force: [`LAG`].
    pub lag: u32,
    pub trainer: Trainer,
    /// Hyperparameters and sizes of the training data.
    pub options: BTreeMap<String, f64>,
    pub seed: u64,
    /// Number of training steps after which the weights were best.
    pub steps: u64,
    /// Version of the program that trained.
    pub version: String,
    /// Mean ratio of the largest link utilisation to the optimum's, by policy, on the validation demands.
    pub scores: BTreeMap<String, f64>,
}

impl Header {
    /// Returns a description of the first invalid value; `None` if all values are valid.
    fn problem(&self) -> Option<&'static str> {
        let divisors = [self.divisors.utilisation, self.divisors.demand];
        if divisors.iter().any(|it| !it.is_finite() || *it <= 0.0) {
            return Some("a divisor that is not a positive number");
        }
        if self.paper_interval_ns == Nanos::ZERO {
            return Some("an interval of 0");
        }
        (self.lag != LAG).then_some("another lag than one interval")
    }
}

/// Weights of all actors.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    pub header: Header,
    pub networks: Vec<Mlp>,
}

/// Reason why weights are refused.
#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    #[error("{0} (hint: {hint})", hint = hint(.0))]
    File(#[from] ContainerError),
    #[error("its header has {problem} (hint: train again)")]
    Header { problem: &'static str },
    #[error("it has {found} weights, but its header says {expected} (hint: train again)")]
    Count { found: usize, expected: usize },
    #[error("a weight is not finite (hint: train again)")]
    NotFinite,
    #[error(
        "it is for another network: graph, capacities or next hops differ (hint: train for this scenario, by \
         `lcmp-lab train`)"
    )]
    OtherTopology,
}

/// Returns what to do about a file that cannot be read as weights.
const fn hint(error: &ContainerError) -> &'static str {
    match error {
        ContainerError::OtherFile { .. } => "`lcmp-lab train` makes weight files",
        ContainerError::Damaged => "copy it again, or train again",
        ContainerError::Format { found, .. } if *found > FORMAT as u64 => {
            "a newer version of this program wrote it"
        }
        ContainerError::Format { .. } | ContainerError::Header(_) => "train again",
    }
}

impl Weights {
    /// Returns the text of the weight file.
    #[must_use]
    pub fn encode(&self) -> String {
        let parameters = self.networks.iter().flat_map(|network| &network.parameters);
        let floats: Vec<f32> = parameters.copied().collect();
        container::encode(TITLE, &self.header, &floats)
    }

    /// Reads a weight file.
    ///
    /// # Errors
    /// If the text is not a weight file of this format, is truncated or damaged, or has invalid values.
    pub fn decode(text: &str) -> Result<Self, WeightsError> {
        let (header, floats): (Header, _) = container::decode(TITLE, FORMAT, text)?;
        if let Some(problem) = header.problem() {
            return Err(WeightsError::Header { problem });
        }
        let expected = header
            .shapes
            .iter()
            .map(Shape::parameters)
            .fold(0, usize::saturating_add);
        if floats.len() != expected {
            let found = floats.len();
            return Err(WeightsError::Count { found, expected });
        }
        if floats.iter().any(|float| !float.is_finite()) {
            return Err(WeightsError::NotFinite);
        }
        let mut rest = floats.as_slice();
        let networks = header.shapes.iter().map(|shape| {
            let (own, others) = rest.split_at(shape.parameters());
            rest = others;
            Mlp::new(shape.clone(), own.to_vec())
        });
        Ok(Self {
            networks: networks.collect(),
            header,
        })
    }

    /// Returns the actors of a topology whose links have the `capacities`, in paper units.
    ///
    /// # Errors
    /// If the weights are for another topology.
    pub fn actors(
        &self,
        topology: &Topology,
        capacities: &[Option<BitsPerSec>],
    ) -> Result<Vec<Actor>, WeightsError> {
        let layout = TeamLayout::new(topology);
        let is_own = layout.agents.iter().map(|agent| agent.shape()).eq(self
            .header
            .shapes
            .iter()
            .cloned());
        if !is_own || fingerprint(topology, capacities) != self.header.topology {
            return Err(WeightsError::OtherTopology);
        }
        let agents = layout.agents.into_iter().zip(&self.networks);
        let actors = agents.map(|(layout, network)| Actor {
            layout,
            network: network.clone(),
            divisors: self.header.divisors,
        });
        Ok(actors.collect())
    }
}

/// Version of the format: the value of [`Header::format`].
pub const FORMAT: u32 = 1;

/// Lag with which switches run the weights: buckets are in force in the interval after the measured one.
pub const LAG: u32 = 1;

/// First line of a weight file.
const TITLE: &str = "lcmp-lab redte weights";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{layout::tests::square, network::tests::network, shipped};

    fn capacities() -> Vec<Option<BitsPerSec>> {
        (1..=8).map(BitsPerSec::new).collect()
    }

    fn weights() -> Weights {
        let shapes = TeamLayout::new(&square()).agents;
        let networks: Vec<Mlp> = shapes
            .iter()
            .map(|agent| network(agent.shape().inputs, &agent.shape().heads))
            .collect();
        Weights {
            header: Header {
                format: FORMAT,
                scenario: "square".to_owned(),
                topology: fingerprint(&square(), &capacities()),
                divisors: Divisors {
                    utilisation: 1.25,
                    demand: 0.1,
                },
                shapes: networks.iter().map(|it| it.shape().clone()).collect(),
                paper_interval_ns: Nanos::from_millis(100),
                lag: LAG,
                trainer: Trainer::Direct,
                options: BTreeMap::from([("learning rate".to_owned(), 1e-3)]),
                seed: 1,
                steps: 300,
                version: "0.1.0".to_owned(),
                scores: BTreeMap::from([("ecmp".to_owned(), 1.184)]),
            },
            networks,
        }
    }

    #[test]
    fn weights_are_read_as_they_were_written() {
        let text = weights().encode();
        assert_eq!(Weights::decode(&text).unwrap(), weights());
    }

    #[test]
    fn every_file_of_the_program_is_readable_and_found() {
        for text in shipped::ALL {
            let header = Weights::decode(text).unwrap().header;
            let found = shipped::find(header.trainer, &header.topology);
            assert_eq!(found, Some(*text), "{header:?}");
        }
    }

    #[test]
    fn another_topology_is_refused() {
        let actors = weights().actors(&square(), &capacities()).unwrap();
        assert_eq!(actors.len(), 2);
        let mut slower = capacities();
        slower[5] = BitsPerSec::new(1);
        let error = weights()
            .actors(&square(), &slower)
            .unwrap_err()
            .to_string();
        assert!(error.contains("another network"), "{error}");
    }

    #[test]
    fn weights_that_no_training_makes_are_refused() {
        type Change = fn(&mut Weights);
        const DIVISOR: &str =
            "its header has a divisor that is not a positive number (hint: train again)";
        let cases: [(Change, &str); 9] = [
            (
                |it| drop(it.networks.pop()),
                // Each switch's network has 2 outputs, and 4 or 3 inputs: 64 · 5 or 64 · 4, then 32 · 65 + 2 · 33.
                "it has 2466 weights, but its header says 4868 (hint: train again)",
            ),
            (
                |it| it.header.shapes[0].heads = vec![usize::MAX, 2],
                "it has 4868 weights, but its header says 18446744073709551615 (hint: train again)",
            ),
            (
                |it| it.networks[0].parameters[3] = f32::NAN,
                "a weight is not finite (hint: train again)",
            ),
            (
                |it| it.networks[1].parameters[0] = f32::NEG_INFINITY,
                "a weight is not finite (hint: train again)",
            ),
            (|it| it.header.divisors.demand = 0.0, DIVISOR),
            (|it| it.header.divisors.utilisation = -1.0, DIVISOR),
            (
                |it| it.header.paper_interval_ns = Nanos::ZERO,
                "its header has an interval of 0 (hint: train again)",
            ),
            (
                |it| it.header.lag = 2,
                "its header has another lag than one interval (hint: train again)",
            ),
            (
                |it| it.header.divisors.demand = f64::NAN,
                "its header is not valid: invalid type: null, expected f64",
            ),
        ];
        for (change, expected) in cases {
            let mut weights = weights();
            change(&mut weights);
            let error = Weights::decode(&weights.encode()).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}\n{expected}");
        }
    }

    #[test]
    fn files_that_cannot_be_read_have_a_hint() {
        let text = weights().encode();
        let format = |format| {
            let mut weights = weights();
            weights.header.format = format;
            weights.encode()
        };
        for (text, expected) in [
            (
                String::new(),
                "it does not start with `lcmp-lab redte weights` (hint: `lcmp-lab train` makes weight files)",
            ),
            (
                text[..text.len() / 2].to_owned(),
                "it is truncated or damaged: its checksum does not match (hint: copy it again, or train again)",
            ),
            (
                format(0),
                "its format is 0, and this program reads format 1 (hint: train again)",
            ),
            (
                format(2),
                "its format is 2, and this program reads format 1 (hint: a newer version of this program wrote it)",
            ),
        ] {
            assert_eq!(Weights::decode(&text).unwrap_err().to_string(), expected);
        }
    }

    /// Returns a damaged file with the checksum that fits it, so that the reader looks past the checksum.
    fn sealed(text: &str) -> String {
        let body = text.rsplit_once("sha256 ").map_or(text, |(body, _)| body);
        let hash = crate::fingerprint::hash(body);
        format!("{body}sha256 {hash}\n")
    }

    #[test]
    fn a_damaged_file_is_read_or_refused() {
        let whole = weights().encode();
        let mut small = weights();
        small.header.shapes.clear();
        small.networks.clear();
        // Damage to the small file is mostly damage to its header.
        lab_fuzz::fuzz("weights", &[whole, small.encode()], |bytes| {
            let text = String::from_utf8_lossy(bytes);
            let read = Weights::decode(&text);
            let resealed = Weights::decode(&sealed(&text));
            if let Ok(weights) = &resealed {
                assert_eq!(&Weights::decode(&weights.encode()).unwrap(), weights);
            }
            read.is_ok()
        });
    }

    /// A header may state any size, but memory is allocated only for the weights that the file contains.
    #[test]
    fn a_header_of_huge_networks_takes_no_memory() {
        for (inputs, heads) in [
            (usize::MAX, vec![2]),
            (4, vec![usize::MAX; 2]),
            (usize::MAX / 64, vec![2]),
            (1 << 40, vec![1 << 40; 1_000]),
            (0, vec![]),
        ] {
            let mut weights = weights();
            weights.header.shapes[0] = Shape { inputs, heads };
            let text = weights.encode();
            let (read, memory) = lab_fuzz::peak_of(|| Weights::decode(&text));
            assert!(matches!(read, Err(WeightsError::Count { .. })), "{read:?}");
            // Other tests run at the same time.
            assert!(memory <= 64 << 20, "{memory}");
        }
    }
}
