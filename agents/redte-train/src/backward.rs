//! Derivatives of a loss by the parameters and inputs of layers and networks (backpropagation).

use lab_redte::{Activations, Dense, Mlp, dense::LEAK};

/// Adds the derivatives by a layer's parameters to `gradient`, given the derivatives `dy` by its outputs and its inputs
/// `x`.
pub(crate) fn parameters(layer: Dense, x: &[f32], dy: &[f32], gradient: &mut [f32]) {
    let (biases, weights) = gradient.split_at_mut(layer.outputs);
    for (bias, dy) in biases.iter_mut().zip(dy) {
        *bias += dy;
    }
    for (weights, x) in weights.chunks_exact_mut(layer.outputs).zip(x) {
        for (weight, dy) in weights.iter_mut().zip(dy) {
            *weight += x * dy;
        }
    }
}

/// Returns the derivatives by a layer's inputs, given the derivatives `dy` by its outputs.
pub(crate) fn inputs(layer: Dense, parameters: &[f32], dy: &[f32]) -> Vec<f32> {
    let weights = parameters[layer.outputs..].chunks_exact(layer.outputs);
    weights.map(|weights| dot(weights, dy)).collect()
}

/// Turns the derivatives `dy` by a leaky ReLU's outputs `y` into those by its inputs.
pub(crate) fn leaky(y: &[f32], dy: &mut [f32]) {
    for (_, dy) in y.iter().zip(dy).filter(|(y, _)| **y < 0.0) {
        *dy *= LEAK;
    }
}

/// Adds the derivatives by a network's parameters to `gradient`, given the derivatives `dy` by its ratios.
pub(crate) fn network(
    network: &Mlp,
    state: &[f32],
    activations: &Activations,
    dy: &[f32],
    gradient: &mut [f32],
) {
    let [first, second, last] = network.shape().layers();
    let (a, rest) = gradient.split_at_mut(first.parameters());
    let (b, c) = rest.split_at_mut(second.parameters());
    let weights = &network.parameters[first.parameters()..];
    let [before, after] = &activations.hidden;

    let logits = softmax(&network.shape().heads, &activations.ratios, dy);
    parameters(last, after, &logits, c);
    let mut inner = inputs(last, &weights[second.parameters()..], &logits);
    leaky(after, &mut inner);
    parameters(second, before, &inner, b);
    let mut outer = inputs(second, weights, &inner);
    leaky(before, &mut outer);
    parameters(first, state, &outer, a);
}

/// Returns the derivatives by the heads' logits: x_c · (d_c − Σ x · d), for the shares x and the derivatives d by them.
pub(crate) fn softmax(heads: &[usize], ratios: &[f32], dy: &[f32]) -> Vec<f32> {
    let mut logits = Vec::with_capacity(ratios.len());
    for &candidates in heads {
        let head = logits.len()..logits.len() + candidates;
        let ratios = &ratios[head.clone()];
        let dy = &dy[head];
        let mean = dot(ratios, dy);
        logits.extend(ratios.iter().zip(dy).map(|(ratio, dy)| ratio * (dy - mean)));
    }
    logits
}

/// Returns the scalar product, summed in eight lanes in a fixed order, which vector instructions do not change.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest = a_rest.iter().zip(b_rest).map(|(a, b)| a * b);
    sums.into_iter().chain(rest).sum()
}

const LANES: usize = 8;

#[cfg(test)]
mod tests {
    use lab_redte::Shape;

    use super::*;
    use crate::{number::narrow, random::Random};

    /// The loss Σ d · x, for random d. In f32 a difference has an error of about 10⁻⁷ ÷ step.
    #[test]
    fn a_networks_gradient_is_that_of_differences() {
        let shape = Shape {
            inputs: 4,
            heads: vec![3, 2],
        };
        let mut random = Random::of(&[3]);
        let mut draw =
            |count: usize| -> Vec<f32> { (0..count).map(|_| narrow(random.within(0.5))).collect() };
        let own = Mlp::new(shape.clone(), draw(shape.parameters()));
        let state = draw(4);
        let weights = draw(5);
        let loss = |network: &Mlp| {
            let ratios = network.forward(&state).ratios;
            let terms = ratios
                .iter()
                .zip(&weights)
                .map(|(ratio, weight)| f64::from(ratio * weight));
            terms.sum::<f64>()
        };
        let mut gradient = vec![0.0; shape.parameters()];
        network(&own, &state, &own.forward(&state), &weights, &mut gradient);
        let mut largest = 0.0_f64;
        for (at, found) in gradient.into_iter().enumerate() {
            let moved = |step: f32| {
                let mut moved = own.clone();
                moved.parameters[at] += step;
                loss(&moved)
            };
            let difference = (moved(0.01) - moved(-0.01)) / 0.02;
            let error = (f64::from(found) - difference).abs();
            assert!(error < 1e-4, "{at}: {found} {difference}");
            largest = largest.max(difference.abs());
        }
        assert!(largest > 0.01, "{largest}");
    }

    #[test]
    fn a_product_sums_every_element() {
        let numbers: Vec<f32> = (1..=19u8).map(f32::from).collect();
        assert_eq!(dot(&numbers, &[2.0; 19]), 380.0);
    }
}
