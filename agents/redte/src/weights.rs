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
/// A reader refuses another format. A change of fields or meaning is a new format; weights are then trained again.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    pub format: u32,
    /// Name of the scenario whose demands it was trained on.
    pub scenario: String,
    /// [`fingerprint()`] of the topology.
    pub topology: String,
    pub divisors: Divisors,
    /// Shapes of the actors' networks, in the order of their switches.
    pub shapes: Vec<Shape>,
    /// Interval of the control loop in paper time.
    pub paper_interval_ns: Nanos,
    /// Number of intervals from the measured one to the one in which its buckets are in force.
    pub lag: u32,
    pub trainer: Trainer,
    /// Hyperparameters and sizes of the training data.
    pub options: BTreeMap<String, f64>,
    pub seed: u64,
    /// Steps of the training after which the weights were the best.
    pub steps: u64,
    /// Version of the program that trained.
    pub version: String,
    /// Mean of the largest utilisation over the optimum's, by policy, on demands that were not trained on.
    pub scores: BTreeMap<String, f64>,
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
    #[error(transparent)]
    File(#[from] ContainerError),
    #[error("it has {found} weights, but its header says {expected}")]
    Count { found: usize, expected: usize },
    #[error("a weight is not finite")]
    NotFinite,
    #[error(
        "it is for another network: graph, capacities or next hops differ (hint: train for this scenario, by \
         `lcmp-lab train`)"
    )]
    OtherTopology,
    #[error("a divisor is not a positive number")]
    Divisor,
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
    /// If the file is not a weight file, or one of another format; if it is truncated or damaged.
    pub fn decode(text: &str) -> Result<Self, WeightsError> {
        let (header, floats): (Header, _) = container::decode(TITLE, FORMAT, text)?;
        let divisors = [header.divisors.utilisation, header.divisors.demand];
        if divisors.iter().any(|it| !it.is_finite() || *it <= 0.0) {
            return Err(WeightsError::Divisor);
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

/// Version of the format, which [`Header::format`] has.
pub const FORMAT: u32 = 1;

/// First line of a weight file.
const TITLE: &str = "lcmp-lab redte weights";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{layout::tests::square, network::tests::network};

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
                lag: 1,
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
    fn weights_that_do_not_fit_the_header_are_refused() {
        let refused = |change: fn(&mut Weights)| {
            let mut weights = weights();
            change(&mut weights);
            Weights::decode(&weights.encode()).unwrap_err().to_string()
        };
        let count = refused(|it| drop(it.networks.pop()));
        assert!(count.contains("weights, but its header says"), "{count}");
        let number = refused(|it| it.networks[0].parameters[3] = f32::NAN);
        assert_eq!(number, "a weight is not finite");
        let divisor = refused(|it| it.header.divisors.demand = 0.0);
        assert_eq!(divisor, "a divisor is not a positive number");
        let format = refused(|it| it.header.format += 1);
        assert!(format.contains("a newer version"), "{format}");
    }
}
