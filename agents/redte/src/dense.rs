//! Layers of a network.

/// Fully connected layer: y = b + Wᵀ·x.
///
/// Its parameters are the biases of the outputs, then for each input the weights to all outputs. Every output is summed
/// in the order of the inputs, so that its bits depend neither on the machine nor on vector instructions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Dense {
    pub inputs: usize,
    pub outputs: usize,
}

impl Dense {
    /// Returns the number of the layer's parameters.
    #[must_use]
    pub const fn parameters(self) -> usize {
        self.inputs.saturating_add(1).saturating_mul(self.outputs)
    }

    /// Returns the number of multiply-adds in an evaluation: one per weight.
    #[must_use]
    pub const fn multiply_adds(self) -> usize {
        self.inputs.saturating_mul(self.outputs)
    }

    /// Computes the outputs `y` for the inputs `x`.
    pub fn forward(self, parameters: &[f32], x: &[f32], y: &mut [f32]) {
        let (biases, weights) = parameters.split_at(self.outputs);
        y.copy_from_slice(biases);
        for (weights, x) in weights.chunks_exact(self.outputs).zip(x) {
            for (y, weight) in y.iter_mut().zip(weights) {
                *y += weight * x;
            }
        }
    }
}

/// Applies the leaky ReLU, with slope [`LEAK`] below 0.
pub fn leaky(values: &mut [f32]) {
    for value in values.iter_mut().filter(|value| **value < 0.0) {
        *value *= LEAK;
    }
}

/// Slope of the leaky ReLU below 0, as in RedTE's public code.
pub const LEAK: f32 = 0.2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_adds_weighted_inputs_to_its_biases() {
        let layer = Dense {
            inputs: 2,
            outputs: 3,
        };
        let parameters = [0.5, 0.0, -1.0, 1.0, 2.0, 3.0, 10.0, 20.0, 30.0];
        assert_eq!(layer.parameters(), parameters.len());
        let mut y = [0.0; 3];
        layer.forward(&parameters, &[2.0, -0.5], &mut y);
        assert_eq!(y, [-2.5, -6.0, -10.0]);
        leaky(&mut y);
        assert_eq!(y, [-0.5, -1.2, -2.0]);
    }
}
