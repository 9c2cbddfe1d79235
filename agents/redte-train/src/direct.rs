//! Training by the gradient of the fluid model.
//!
//! The loss of an interval is its largest utilisation ÷ the optimum's. Its derivative by the split is exact, and is
//! propagated through the actors to their weights. The utilisations in the states are those under the actors' own
//! splits; they are recomputed every [`Direct::PERIOD`] steps, and treated as constants.

use lab_redte::Mlp;

use crate::{
    adam::Adam,
    backward,
    data::{Data, Interval},
    number::float,
    parallel,
    random::Random,
    team,
};

/// State of a training.
#[derive(Clone, Debug)]
pub(crate) struct Direct {
    pub networks: Vec<Mlp>,
    optimisers: Vec<Adam>,
}

/// Interval of a training trace with the joint state of the previous interval.
struct Sample<'a> {
    interval: &'a Interval,
    states: Vec<Vec<f32>>,
}

impl Direct {
    /// Creates untrained actors.
    pub fn new(data: &Data, seed: u64) -> Self {
        let networks = team::initial(data, seed);
        let adam = |network: &Mlp| Adam::new(RATE, network.parameters.len());
        Self {
            optimisers: networks.iter().map(adam).collect(),
            networks,
        }
    }

    /// Takes [`Self::PERIOD`] steps, of which `step` is the first.
    pub fn advance(&mut self, data: &Data, seed: u64, step: u64, threads: usize) {
        let visited = parallel::map(threads, &data.training, |trace| {
            team::visits(data, &self.networks, trace, None)
        });
        // An interval without demand has no split to learn.
        let samples: Vec<Sample<'_>> = data
            .training
            .iter()
            .zip(visited)
            .flat_map(|(trace, visits)| trace[1..].iter().zip(visits))
            .filter(|(interval, _)| interval.optimum > 0.0)
            .map(|(interval, visit)| Sample {
                interval,
                states: visit.states,
            })
            .collect();
        if samples.is_empty() {
            return;
        }
        let provisioned = data.provisioned();
        for step in step..step + Self::PERIOD {
            let mut random = Random::of(&[seed, STEPS, step]);
            let batch: Vec<usize> = (0..BATCH).map(|_| random.below(samples.len())).collect();
            let parts: Vec<&[usize]> = batch.chunks(PART).collect();
            let partial = parallel::map(threads, &parts, |part| {
                let samples = part.iter().map(|&at| &samples[at]);
                gradient(data, &self.networks, &provisioned, samples)
            });
            let mut gradients = partial.into_iter();
            let mut sum = gradients.next().unwrap_or_default();
            for other in gradients {
                for (sum, other) in sum.iter_mut().flatten().zip(other.iter().flatten()) {
                    *sum += other;
                }
            }
            for ((network, adam), gradient) in
                self.networks.iter_mut().zip(&mut self.optimisers).zip(&sum)
            {
                adam.step(&mut network.parameters, gradient);
            }
        }
    }

    /// Returns the vectors of the state.
    pub fn vectors(&mut self) -> Vec<&mut Vec<f32>> {
        let mut vectors: Vec<&mut Vec<f32>> = Vec::new();
        vectors.extend(self.networks.iter_mut().map(|it| &mut it.parameters));
        vectors.extend(self.optimisers.iter_mut().flat_map(Adam::vectors));
        vectors
    }

    /// Number of steps between two validations.
    pub const PERIOD: u64 = 10;
}

/// Returns what `samples` add to the gradient of the batch's mean loss, by actor and parameter.
fn gradient<'s>(
    data: &Data,
    networks: &[Mlp],
    provisioned: &[f64],
    samples: impl Iterator<Item = &'s Sample<'s>>,
) -> Vec<Vec<f32>> {
    let mut sum: Vec<Vec<f32>> = networks
        .iter()
        .map(|network| vec![0.0; network.parameters.len()])
        .collect();
    for sample in samples {
        let activations = team::forward(networks, &sample.states);
        let ratios = activations.iter().map(|it| it.ratios.as_slice());
        let shares = team::shares(data, provisioned, ratios);
        let loads = data.fluid.loads(&sample.interval.demands, &shares);
        let scale = 1.0 / (sample.interval.optimum * float(BATCH));
        let by_candidate: Vec<f64> = data
            .fluid
            .gradient_of_largest(&loads, &shares)
            .iter()
            .map(|it| it * scale)
            .collect();
        let by_ratio = team::of_ratios(data, &by_candidate);
        for (agent, network) in networks.iter().enumerate() {
            backward::network(
                network,
                &sample.states[agent],
                &activations[agent],
                &by_ratio[agent],
                &mut sum[agent],
            );
        }
    }
    sum
}

/// Learning rate.
pub(crate) const RATE: f32 = 1e-3;

/// Number of intervals in a step.
pub(crate) const BATCH: usize = 64;

/// Number of intervals whose gradients are summed as one part. A constant, so that the order of summation does not
/// depend on the number of threads.
const PART: usize = 8;

/// Name of the steps' random streams.
const STEPS: u64 = 11;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::diamond_data;

    /// With the share x on the narrow link of 2, a demand d uses x · d/2 of it, and the optimum is d/6: the loss is 3x.
    /// The softmax's derivative is x · (1 − x), so at x = 1/2 the loss changes by 3/4 with each logit. A network of
    /// zeros has no other gradient.
    #[test]
    fn the_gradient_is_that_of_the_hand_calculation() {
        let data = diamond_data();
        let mut networks = team::initial(&data, 1);
        networks[0].parameters.fill(0.0);
        let inputs = networks[0].shape().inputs;
        let samples: Vec<Sample<'_>> = data.training[0][..32]
            .iter()
            .map(|interval| Sample {
                interval,
                states: vec![vec![0.5; inputs]],
            })
            .collect();
        let [found] = gradient(&data, &networks, &data.provisioned(), samples.iter())
            .try_into()
            .unwrap();
        let [first, second, last] = networks[0].shape().layers();
        let biases = first.parameters() + second.parameters();
        // Half a batch, whose mean is over the whole batch.
        let expected = [-0.375, 0.375];
        for (at, found) in found.iter().enumerate() {
            let expected = match at.checked_sub(biases) {
                Some(output) if output < last.outputs => expected[output],
                _ => 0.0,
            };
            assert!((found - expected).abs() < 1e-5, "{at}: {found} {expected}");
        }
    }
}
