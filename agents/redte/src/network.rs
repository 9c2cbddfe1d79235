//! The network of a switch.

use serde::{Deserialize, Serialize};

use crate::{
    dense::{Dense, leaky},
    exp::exp,
};

/// Numbers of inputs and outputs of a network.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    pub inputs: usize,
    /// Number of candidates of each destination with a choice.
    pub heads: Vec<usize>,
}

impl Shape {
    /// Returns the layers, in order.
    #[must_use]
    pub fn layers(&self) -> [Dense; 3] {
        let layer = |inputs, outputs| Dense { inputs, outputs };
        [
            layer(self.inputs, HIDDEN[0]),
            layer(HIDDEN[0], HIDDEN[1]),
            layer(HIDDEN[1], self.outputs()),
        ]
    }

    /// Returns the number of all heads' candidates.
    #[must_use]
    pub fn outputs(&self) -> usize {
        saturating_sum(self.heads.iter().copied())
    }

    /// Returns the number of parameters.
    #[must_use]
    pub fn parameters(&self) -> usize {
        saturating_sum(self.layers().iter().map(|layer| layer.parameters()))
    }

    /// Returns the number of multiply-adds in an evaluation; activations and softmaxes are not counted.
    #[must_use]
    pub fn multiply_adds(&self) -> usize {
        saturating_sum(self.layers().iter().map(|layer| layer.multiply_adds()))
    }
}

/// Returns the sum, saturated, because a shape may come from a damaged file.
fn saturating_sum(numbers: impl Iterator<Item = usize>) -> usize {
    numbers.fold(0, usize::saturating_add)
}

/// Values of a network's layers for one state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Activations {
    /// Outputs of the hidden layers.
    pub hidden: [Vec<f32>; 2],
    /// Shares of the candidates, head by head; the shares of a head sum to 1.
    pub ratios: Vec<f32>,
}

/// Multi-layer perceptron with a softmax for every destination.
#[derive(Clone, Debug, PartialEq)]
pub struct Mlp {
    shape: Shape,
    /// Parameters of the layers, in order.
    pub parameters: Vec<f32>,
}

impl Mlp {
    /// Creates a network.
    ///
    /// # Panics
    /// If the number of parameters is not the shape's.
    #[must_use]
    pub fn new(shape: Shape, parameters: Vec<f32>) -> Self {
        assert_eq!(parameters.len(), shape.parameters());
        Self { shape, parameters }
    }

    /// Returns the shape.
    #[must_use]
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Evaluates the network.
    #[must_use]
    pub fn forward(&self, inputs: &[f32]) -> Activations {
        let [first, second, last] = self.shape.layers();
        let (a, rest) = self.parameters.split_at(first.parameters());
        let (b, c) = rest.split_at(second.parameters());
        let mut hidden = [vec![0.0; first.outputs], vec![0.0; second.outputs]];
        let mut ratios = vec![0.0; last.outputs];
        first.forward(a, inputs, &mut hidden[0]);
        leaky(&mut hidden[0]);
        let [before, after] = &mut hidden;
        second.forward(b, before, after);
        leaky(after);
        last.forward(c, after, &mut ratios);
        let mut rest = ratios.as_mut_slice();
        for &candidates in &self.shape.heads {
            let (head, others) = rest.split_at_mut(candidates);
            softmax(head);
            rest = others;
        }
        Activations { hidden, ratios }
    }
}

/// Replaces logits by their softmax: eˣ ÷ Σ eˣ, with the largest logit subtracted first.
pub fn softmax(logits: &mut [f32]) {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut total = 0.0;
    for logit in logits.iter_mut() {
        *logit = exp(*logit - largest);
        total += *logit;
    }
    for share in logits {
        *share /= total;
    }
}

/// Widths of the hidden layers, as in RedTE's public code.
pub const HIDDEN: [usize; 2] = [64, 32];

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns a network with parameters from −1/4 to 1/4 that look random.
    pub(crate) fn network(inputs: usize, heads: &[usize]) -> Mlp {
        let shape = Shape {
            inputs,
            heads: heads.to_vec(),
        };
        let mut state = 1u32;
        let draw = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from(u16::try_from(state >> 16).unwrap()) / 131_072.0 - 0.25
        };
        let parameters = (0..shape.parameters()).map(draw).collect();
        Mlp::new(shape, parameters)
    }

    /// A layer of 9 inputs: 64 · 10, then 32 · 65, then ten candidates · 33. Biases have no multiply-adds.
    #[test]
    fn parameters_and_multiply_adds_are_counted() {
        let network = network(9, &[2; 5]);
        assert_eq!(network.parameters.len(), 640 + 2_080 + 330);
        assert_eq!(network.shape.multiply_adds(), 576 + 2_048 + 320);
    }

    #[test]
    fn without_weights_all_candidates_are_equal() {
        let mut network = network(3, &[2, 3]);
        network.parameters.fill(0.0);
        let ratios = network.forward(&[0.1, 0.2, 0.3]).ratios;
        assert_eq!(ratios, [0.5, 0.5, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]);
    }

    #[test]
    fn a_softmax_sums_to_one_even_for_far_logits() {
        let mut logits = [-1_000.0, 0.0, 1.0, 1_000.0];
        softmax(&mut logits);
        assert_eq!(logits, [0.0, 0.0, 0.0, 1.0]);
        let mut logits = [2.0_f32.ln(), 0.0, 0.0];
        softmax(&mut logits);
        assert!((logits[0] - 0.5).abs() < 1e-7, "{logits:?}");
    }

    /// If the last layer's weights are permuted within a head, the shares are permuted alike, up to rounding: the
    /// softmax sums in the order of the candidates.
    #[test]
    fn permuted_weights_permute_the_ratios() {
        let original = network(4, &[3, 2]);
        let mut permuted = original.clone();
        let last = original.shape.layers()[2];
        let start = original.parameters.len() - last.parameters();
        for row in permuted.parameters[start..].chunks_exact_mut(last.outputs) {
            row[..3].rotate_left(1);
        }
        let state = [0.3, 0.9, 0.0, 1.0];
        let ratios = permuted.forward(&state).ratios;
        let mut expected = original.forward(&state).ratios;
        expected[..3].rotate_left(1);
        for (ratio, expected) in ratios.iter().zip(&expected) {
            assert!((ratio - expected).abs() <= 1e-7, "{ratios:?} {expected:?}");
        }
    }

    /// The bits are the same on every machine and at every level of optimisation.
    #[test]
    fn ratios_are_pinned_to_the_bit() {
        let ratios = network(5, &[3, 2])
            .forward(&[0.1, 0.7, 0.2, 1.0, 0.0])
            .ratios;
        let bits: Vec<u32> = ratios.iter().map(|ratio| ratio.to_bits()).collect();
        let expected = [
            0x3e7f_0bc9,
            0x3e9b_be94,
            0x3ee4_bb8a,
            0x3f0c_efd5,
            0x3ee6_2058,
        ];
        assert_eq!(bits, expected, "{bits:x?}");
    }
}
