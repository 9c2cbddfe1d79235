//! The best constant split: the baseline `static`, which knows the capacities and the mean demands, but no state.
//!
//! Shares multiply along a path, so no linear program finds the best constant shares of every network. On a network
//! with one choice per path a linear program does, and a test compares the two.

use lab_redte::{AgentLayout, Mlp, network};

use crate::{
    adam::Adam,
    backward,
    data::{Data, Interval},
    number::{float, mean},
    random::Random,
    team,
};

/// Constant split of all actors.
pub(crate) struct Constant {
    /// Shares by candidate, as the fluid model needs them.
    pub shares: Vec<f64>,
    /// Logits of each actor's heads; the shares are their softmax.
    logits: Vec<Vec<f32>>,
}

impl Constant {
    /// Returns networks whose outputs are the split in every state: all parameters are zero but the last biases.
    pub fn networks(&self, data: &Data) -> Vec<Mlp> {
        let agents = data.layout.agents.iter().zip(&self.logits);
        let network = |(agent, logits): (&AgentLayout, &Vec<f32>)| {
            let shape = agent.shape();
            let [first, second, _] = shape.layers();
            let biases = first.parameters() + second.parameters();
            let mut parameters = vec![0.0; shape.parameters()];
            parameters[biases..biases + logits.len()].copy_from_slice(logits);
            Mlp::new(shape, parameters)
        };
        agents.map(network).collect()
    }
}

/// Returns the constant split with the smallest mean ratio on the training demands, found by gradient descent on the
/// logits of every head.
#[must_use]
pub(crate) fn best(data: &Data, seed: u64) -> Constant {
    let heads: Vec<Vec<usize>> = data
        .layout
        .agents
        .iter()
        .map(|agent| agent.shape().heads)
        .collect();
    let mut logits: Vec<Vec<f32>> = heads
        .iter()
        .map(|heads| vec![0.0; heads.iter().sum()])
        .collect();
    let provisioned = data.provisioned();
    let samples: Vec<&Interval> = data
        .training
        .iter()
        .flatten()
        .filter(|it| it.optimum > 0.0)
        .collect();
    let mut best = Constant {
        shares: data.fluid.even(),
        logits: logits.clone(),
    };
    let mut least = f64::INFINITY;
    for rate in RATES {
        let mut optimisers: Vec<Adam> = logits.iter().map(|it| Adam::new(rate, it.len())).collect();
        for step in 0..STEPS_PER_RATE {
            let ratios: Vec<Vec<f32>> = logits
                .iter()
                .zip(&heads)
                .map(|(logits, heads)| ratios(logits, heads))
                .collect();
            let shares = team::shares(data, &provisioned, ratios.iter().map(Vec::as_slice));
            if step % STEPS_PER_SCORE == 0 {
                let score = score(data, &shares, samples.iter().copied());
                if score < least {
                    least = score;
                    best = Constant {
                        shares: shares.clone(),
                        logits: logits.clone(),
                    };
                }
            }
            let mut random = Random::of(&[seed, CONSTANT, u64::from(rate.to_bits()), step]);
            let mut by_candidate = vec![0.0; shares.len()];
            for _ in 0..BATCH {
                let interval = samples[random.below(samples.len())];
                let loads = data.fluid.loads(&interval.demands, &shares);
                let gradient = data.fluid.gradient_of_largest(&loads, &shares);
                for (sum, gradient) in by_candidate.iter_mut().zip(gradient) {
                    *sum += gradient / (interval.optimum * float(BATCH));
                }
            }
            let by_ratio = team::of_ratios(data, &by_candidate);
            for (agent, heads) in heads.iter().enumerate() {
                let gradient = backward::softmax(heads, &ratios[agent], &by_ratio[agent]);
                optimisers[agent].step(&mut logits[agent], &gradient);
            }
        }
    }
    best
}

fn ratios(logits: &[f32], heads: &[usize]) -> Vec<f32> {
    let mut ratios = logits.to_vec();
    let mut rest = ratios.as_mut_slice();
    for &candidates in heads {
        let (head, others) = rest.split_at_mut(candidates);
        network::softmax(head);
        rest = others;
    }
    ratios
}

/// Returns the mean ratio of constant shares over intervals.
pub(crate) fn score<'i>(
    data: &Data,
    shares: &[f64],
    intervals: impl Iterator<Item = &'i Interval>,
) -> f64 {
    let ratios = intervals.map(|interval| {
        let (_, largest) = data.fluid.loads(&interval.demands, shares).largest();
        team::over_optimum(largest, interval)
    });
    mean(&ratios.collect::<Vec<_>>())
}

/// Learning rates, one after the other.
const RATES: [f32; 3] = [0.05, 0.015, 0.005];

const STEPS_PER_RATE: u64 = 150;

/// Number of steps of the descent.
pub(crate) const STEPS: u64 = STEPS_PER_RATE * RATES.len() as u64;

const STEPS_PER_SCORE: u64 = 10;

/// Number of intervals in a step.
pub(crate) const BATCH: usize = 128;

/// Name of the random streams.
const CONSTANT: u64 = 12;
