//! All actors of a network.

use lab_redte::{Activations, Mlp};

use crate::{
    data::{Data, Interval},
    number::{mean, narrow},
    random::Random,
};

/// Interval of a trace under the actors' splits.
#[derive(Clone, Debug)]
pub(crate) struct Visit {
    /// Joint state of the previous interval, from which the split was computed.
    pub states: Vec<Vec<f32>>,
    /// Largest utilisation ÷ the optimum's.
    pub ratio: f64,
}

/// Returns actors with random weights: uniform within ±1/√inputs in the hidden layers, and within ±3·10⁻³ in the heads,
/// so that an untrained actor splits almost evenly (as published).
pub(crate) fn initial(data: &Data, seed: u64) -> Vec<Mlp> {
    let agents = (0_u64..).zip(&data.layout.agents);
    let networks = agents.map(|(index, agent)| {
        let shape = agent.shape();
        let [first, second, last] = shape.layers();
        let mut random = Random::of(&[seed, INITIAL, index]);
        let mut parameters = Vec::with_capacity(shape.parameters());
        for layer in [first, second] {
            parameters.extend(uniform(
                layer.parameters(),
                limit(layer.inputs),
                &mut random,
            ));
        }
        parameters.extend(uniform(last.parameters(), HEAD_LIMIT, &mut random));
        Mlp::new(shape, parameters)
    });
    networks.collect()
}

/// Returns random parameters within ±`limit`.
pub(crate) fn uniform(count: usize, limit: f64, random: &mut Random) -> Vec<f32> {
    (0..count).map(|_| narrow(random.within(limit))).collect()
}

/// Returns the largest absolute initial weight of a layer.
pub(crate) fn limit(inputs: usize) -> f64 {
    1.0 / crate::number::float(inputs).sqrt()
}

/// Evaluates the actors.
pub(crate) fn forward(networks: &[Mlp], states: &[Vec<f32>]) -> Vec<Activations> {
    let pairs = networks.iter().zip(states);
    pairs
        .map(|(network, state)| network.forward(state))
        .collect()
}

/// Returns `shares` with the shares of the actors' candidates replaced by `ratios`.
pub(crate) fn shares<'r>(
    data: &Data,
    shares: &[f64],
    ratios: impl IntoIterator<Item = &'r [f32]>,
) -> Vec<f64> {
    let mut shares = shares.to_vec();
    for (heads, ratios) in data.fluid.outputs.iter().zip(ratios) {
        for (candidate, ratio) in heads.iter().cloned().flatten().zip(ratios) {
            shares[candidate] = f64::from(*ratio);
        }
    }
    shares
}

/// Returns the derivatives by the actors' ratios, from derivatives by candidate.
pub(crate) fn of_ratios(data: &Data, by_candidate: &[f64]) -> Vec<Vec<f32>> {
    let agents = data.fluid.outputs.iter();
    agents
        .map(|heads| {
            let candidates = heads.iter().cloned().flatten();
            candidates
                .map(|candidate| narrow(by_candidate[candidate]))
                .collect()
        })
        .collect()
}

/// Runs the actors over a trace: the state of every interval gives the split of the next. The first interval is split
/// by WCMP, and has no visit. If `buckets` is given, splits are rounded to that number of hash buckets.
pub(crate) fn visits(
    data: &Data,
    networks: &[Mlp],
    trace: &[Interval],
    buckets: Option<u16>,
) -> Vec<Visit> {
    let provisioned = data.provisioned();
    let mut split = provisioned.clone();
    let mut states: Option<Vec<Vec<f32>>> = None;
    let mut visits = Vec::with_capacity(trace.len());
    for interval in trace {
        let loads = data.fluid.loads(&interval.demands, &split);
        let next = data.states(interval, &loads.utilisations);
        let activations = forward(networks, &next);
        if let Some(states) = states {
            let ratio = over_optimum(loads.largest().1, interval);
            visits.push(Visit { states, ratio });
        }
        let ratios = activations.iter().map(|it| it.ratios.as_slice());
        split = shares(data, &provisioned, ratios);
        if let Some(count) = buckets {
            split = data.fluid.rounded(&split, count);
        }
        states = Some(next);
    }
    visits
}

/// Returns the largest utilisation ÷ the optimum's; 1 without demand.
pub(crate) fn over_optimum(utilisation: f64, interval: &Interval) -> f64 {
    if interval.optimum > 0.0 {
        utilisation / interval.optimum
    } else {
        1.0
    }
}

/// Returns the mean ratio of the actors over traces.
pub(crate) fn score(data: &Data, networks: &[Mlp], traces: &[Vec<Interval>]) -> f64 {
    let means = traces.iter().map(|trace| {
        let visits = visits(data, networks, trace, None);
        mean(&visits.iter().map(|visit| visit.ratio).collect::<Vec<_>>())
    });
    mean(&means.collect::<Vec<_>>())
}

/// Largest absolute initial weight of a head, as in RedTE's public code.
const HEAD_LIMIT: f64 = 3e-3;

/// Name of the initial weights' random streams.
pub(crate) const INITIAL: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::diamond_data;

    /// The first interval has WCMP's split, 2 : 1; later intervals have the actor's, which is even here.
    #[test]
    fn an_intervals_state_gives_the_next_intervals_split() {
        let data = diamond_data();
        let mut networks = initial(&data, 1);
        networks[0].parameters.fill(0.0);
        let trace = &data.training[0];
        let visits = visits(&data, &networks, trace, None);
        assert_eq!(visits.len(), trace.len() - 1);
        for (at, visit) in visits.iter().enumerate() {
            assert!((visit.ratio - 1.5).abs() < 1e-6, "{at}: {}", visit.ratio);
            // In an interval, links 0 and 1 carry 4 and 2 bytes, and the largest link of the network 4.
            let demand = trace[at].demands[0];
            let shares = if at == 0 {
                [2.0 / 3.0, 1.0 / 3.0]
            } else {
                [0.5; 2]
            };
            let expected = [
                demand * shares[0] / 4.0 / data.divisors.utilisation,
                demand * shares[1] / 2.0 / data.divisors.utilisation,
                demand / 4.0 / data.divisors.demand,
            ];
            let [state] = visit.states.as_slice() else {
                panic!("{visit:?}")
            };
            assert_eq!(state.len(), 3);
            for (found, expected) in state.iter().zip(expected) {
                assert!(
                    (f64::from(*found) - expected).abs() < 1e-6,
                    "{at}: {state:?}"
                );
            }
        }
    }
}
