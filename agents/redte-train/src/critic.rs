//! The critic of an actor: an estimate of the actor's discounted rewards from the joint state and action.
//!
//! As in RedTE's public code, the state passes two layers before the action joins it:
//!
//! ```text
//! state → 128 → 32 ─┐
//!           action ─┴→ 64 → 1
//! ```

use lab_redte::{Dense, dense::leaky};

use crate::{
    backward,
    random::Random,
    team::{limit, uniform},
};

/// Shape of a critic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Critic {
    layers: [Dense; 4],
}

/// Outputs of a critic's layers.
pub(crate) struct CriticValues {
    first: Vec<f32>,
    /// Outputs of the second layer, then the joint action.
    joined: Vec<f32>,
    third: Vec<f32>,
    /// Estimate of the discounted rewards.
    pub value: f32,
}

impl Critic {
    /// Returns the shape for a joint state and a joint action of these lengths.
    pub const fn new(state: usize, action: usize) -> Self {
        let [first, second, third] = HIDDEN;
        Self {
            layers: [
                Dense {
                    inputs: state,
                    outputs: first,
                },
                Dense {
                    inputs: first,
                    outputs: second,
                },
                Dense {
                    inputs: second + action,
                    outputs: third,
                },
                Dense {
                    inputs: third,
                    outputs: 1,
                },
            ],
        }
    }

    /// Returns random parameters: uniform within ±1/√inputs, and within ±3·10⁻³ in the last layer.
    pub fn initial(&self, random: &mut Random) -> Vec<f32> {
        let [first, second, third, last] = self.layers;
        let mut parameters = Vec::new();
        for layer in [first, second, third] {
            parameters.extend(uniform(layer.parameters(), limit(layer.inputs), random));
        }
        parameters.extend(uniform(last.parameters(), LAST_LIMIT, random));
        parameters
    }

    /// Evaluates a critic.
    pub fn forward(&self, parameters: &[f32], state: &[f32], action: &[f32]) -> CriticValues {
        let [a, b, c, d] = self.parts(parameters);
        let [layer_a, layer_b, layer_c, layer_d] = self.layers;
        let mut first = vec![0.0; layer_a.outputs];
        layer_a.forward(a, state, &mut first);
        leaky(&mut first);
        let mut joined = vec![0.0; layer_b.outputs];
        layer_b.forward(b, &first, &mut joined);
        leaky(&mut joined);
        joined.extend(action);
        let mut third = vec![0.0; layer_c.outputs];
        layer_c.forward(c, &joined, &mut third);
        leaky(&mut third);
        let mut value = [0.0];
        layer_d.forward(d, &third, &mut value);
        CriticValues {
            first,
            joined,
            third,
            value: value[0],
        }
    }

    /// Adds the derivatives by the parameters to `gradient`, given the derivative `dy` by the value.
    pub fn backward(
        &self,
        parameters: &[f32],
        state: &[f32],
        values: &CriticValues,
        dy: f32,
        gradient: &mut [f32],
    ) {
        let [_, b, _, _] = self.parts(parameters);
        let [layer_a, layer_b, layer_c, layer_d] = self.layers;
        let (da, rest) = gradient.split_at_mut(layer_a.parameters());
        let (db, rest) = rest.split_at_mut(layer_b.parameters());
        let (dc, dd) = rest.split_at_mut(layer_c.parameters());
        backward::parameters(layer_d, &values.third, &[dy], dd);
        let third = self.third(parameters, values, dy);
        backward::parameters(layer_c, &values.joined, &third, dc);
        let mut second = self.joined(parameters, &third);
        second.truncate(layer_b.outputs);
        backward::leaky(&values.joined[..layer_b.outputs], &mut second);
        backward::parameters(layer_b, &values.first, &second, db);
        let mut first = backward::inputs(layer_b, b, &second);
        backward::leaky(&values.first, &mut first);
        backward::parameters(layer_a, state, &first, da);
    }

    /// Returns the derivatives of the value by the joint action.
    pub fn by_action(&self, parameters: &[f32], values: &CriticValues) -> Vec<f32> {
        let third = self.third(parameters, values, 1.0);
        self.joined(parameters, &third)
            .split_off(self.layers[1].outputs)
    }

    /// Returns the derivatives by the third layer's outputs before its activation.
    fn third(&self, parameters: &[f32], values: &CriticValues, dy: f32) -> Vec<f32> {
        let [_, _, _, d] = self.parts(parameters);
        let mut third = backward::inputs(self.layers[3], d, &[dy]);
        backward::leaky(&values.third, &mut third);
        third
    }

    fn joined(&self, parameters: &[f32], third: &[f32]) -> Vec<f32> {
        let [_, _, c, _] = self.parts(parameters);
        backward::inputs(self.layers[2], c, third)
    }

    fn parts<'p>(&self, parameters: &'p [f32]) -> [&'p [f32]; 4] {
        let mut rest = parameters;
        self.layers.map(|layer| {
            let (own, others) = rest.split_at(layer.parameters());
            rest = others;
            own
        })
    }
}

/// Widths of the hidden layers, as in RedTE's public code.
const HIDDEN: [usize; 3] = [128, 32, 64];

/// Largest absolute initial weight of the last layer.
const LAST_LIMIT: f64 = 3e-3;

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: f32 = 1e-3;

    #[test]
    fn the_gradients_are_those_of_differences() {
        let critic = Critic::new(5, 4);
        let mut random = Random::of(&[4]);
        let mut parameters = critic.initial(&mut random);
        // Weights of 0.003 in the last layer would give differences that drown in rounding.
        let last = parameters.len() - 65;
        parameters[last..].copy_from_slice(&uniform(65, 1.0, &mut random));
        let state = uniform(5, 1.0, &mut random);
        let action = uniform(4, 1.0, &mut random);
        let values = critic.forward(&parameters, &state, &action);
        let mut gradient = vec![0.0; parameters.len()];
        critic.backward(&parameters, &state, &values, 1.0, &mut gradient);
        // A unit that changes sign within one of the steps falsifies the difference to that side.
        let near = |found: f32, more: f32, less: f32| {
            let sides = [(more - values.value) / STEP, (values.value - less) / STEP];
            let is_near = sides.iter().any(|side| (found - side).abs() < 2e-3);
            assert!(is_near, "{found} {sides:?}");
        };
        for at in (0..parameters.len()).step_by(7) {
            let moved = |step: f32| {
                let mut moved = parameters.clone();
                moved[at] += step;
                critic.forward(&moved, &state, &action).value
            };
            near(gradient[at], moved(STEP), moved(-STEP));
        }
        for (at, found) in critic
            .by_action(&parameters, &values)
            .into_iter()
            .enumerate()
        {
            let moved = |step: f32| {
                let mut moved = action.clone();
                moved[at] += step;
                critic.forward(&parameters, &state, &moved).value
            };
            near(found, moved(STEP), moved(-STEP));
        }
    }
}
