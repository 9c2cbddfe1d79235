//! Adam (Kingma and Ba, ICLR '15).

/// Optimiser state for one set of parameters: only floats, so that a checkpoint can contain it.
#[derive(Clone, Debug)]
pub(crate) struct Adam {
    rate: f32,
    /// Decaying means of the gradients.
    first: Vec<f32>,
    /// Decaying means of the squared gradients.
    second: Vec<f32>,
    /// Powers of the decays: β₁ᵗ and β₂ᵗ.
    powers: Vec<f32>,
}

impl Adam {
    /// Creates the state for `count` parameters, with a learning rate.
    pub fn new(rate: f32, count: usize) -> Self {
        Self {
            rate,
            first: vec![0.0; count],
            second: vec![0.0; count],
            powers: vec![1.0; 2],
        }
    }

    /// Moves the parameters against `gradient`.
    pub fn step(&mut self, parameters: &mut [f32], gradient: &[f32]) {
        self.powers[0] *= DECAYS[0];
        self.powers[1] *= DECAYS[1];
        let first_scale = 1.0 / (1.0 - self.powers[0]);
        let second_scale = 1.0 / (1.0 - self.powers[1]);
        let means = self.first.iter_mut().zip(&mut self.second);
        for ((parameter, gradient), (first, second)) in
            parameters.iter_mut().zip(gradient).zip(means)
        {
            *first += (1.0 - DECAYS[0]) * (gradient - *first);
            *second += (1.0 - DECAYS[1]) * (gradient * gradient - *second);
            let root = (*second * second_scale).sqrt();
            *parameter -= self.rate * *first * first_scale / (root + EPSILON);
        }
    }

    /// Returns the vectors of the state.
    pub fn vectors(&mut self) -> [&mut Vec<f32>; 3] {
        [&mut self.first, &mut self.second, &mut self.powers]
    }
}

/// Decays of the means, as published.
const DECAYS: [f32; 2] = [0.9, 0.999];

/// Summand that avoids division by zero, as published.
const EPSILON: f32 = 1e-8;

#[cfg(test)]
mod tests {
    use super::*;

    /// The first step has the learning rate's length, whatever the gradient; a constant gradient keeps that length.
    #[test]
    fn steps_have_the_length_of_the_learning_rate() {
        let mut adam = Adam::new(0.1, 2);
        let mut parameters = [1.0, 1.0];
        adam.step(&mut parameters, &[3.0, -0.01]);
        assert!((parameters[0] - 0.9).abs() < 1e-4 && (parameters[1] - 1.1).abs() < 1e-4);
        for _ in 0..9 {
            adam.step(&mut parameters, &[3.0, -0.01]);
        }
        assert!(parameters[0].abs() < 1e-3, "{parameters:?}");
    }
}
