//! Training as published: multi-agent deep deterministic policy gradient.
//!
//! Every actor has a critic that sees all states and actions. The reward of actor i, whose datacenter has n
//! destinations:
//!
//! ```text
//! r_i = −0.05 · (mean of the destinations' largest utilisations + 50/n · largest utilisation) ÷ optimum
//! ```
//!
//! A destination's largest utilisation is the maximum over all links that its traffic may take. Training goes in
//! circles: five consecutive intervals are repeated a hundred times before another five, drawn at random.
//!
//! Departures from the public code at ac44f8e:
//!
//! - `max(max(netutil))` compares lists there; here it is the largest utilisation.
//! - The rows of a batch are of different times for different actors there; here all actors have the same rows, and the
//!   priority of a row is the mean of the actors' errors.
//! - The penalty for changed table entries is left out, because its weight is not published.
//!
//! Exploration mixes a random split into the action with weight ε.

use lab_redte::{Mlp, exp};

use crate::{
    adam::Adam,
    backward,
    critic::Critic,
    data::Data,
    number::{float, narrow},
    parallel,
    random::Random,
    replay::ReplayBuffer,
    team,
};

/// State of a training.
#[derive(Clone, Debug)]
pub(crate) struct Maddpg {
    agents: Vec<ActorHeads>,
    critic: Critic,
    /// Sessions of each actor: for each destination, all links that its traffic may take.
    sessions: Vec<Vec<Vec<usize>>>,
    replay: ReplayBuffer,
    /// Joint state of the latest interval.
    state: Vec<f32>,
}

/// Actor with its critic, and the target networks: copies of both that follow slowly.
#[derive(Clone, Debug)]
struct ActorHeads {
    actor: Mlp,
    target_actor: Mlp,
    critic: Vec<f32>,
    target_critic: Vec<f32>,
    actor_optimiser: Adam,
    critic_optimiser: Adam,
}

/// Row of the replay buffer.
struct Transition<'a> {
    state: &'a [f32],
    action: &'a [f32],
    rewards: &'a [f32],
    next: &'a [f32],
}

/// Row of a batch: its transition, its weight, and the joint action of the target actors in the next state.
struct Drawn<'a> {
    transition: Transition<'a>,
    weight: f32,
    next_action: Vec<f32>,
}

impl Maddpg {
    /// Creates untrained actors and critics.
    pub fn new(data: &Data, seed: u64) -> Self {
        let actors = team::initial(data, seed);
        let state: usize = actors.iter().map(|actor| actor.shape().inputs).sum();
        let action: usize = actors.iter().map(|actor| actor.shape().outputs()).sum();
        let critic = Critic::new(state, action);
        let agent = |(index, actor): (u64, Mlp)| {
            let parameters = critic.initial(&mut Random::of(&[seed, CRITICS, index]));
            ActorHeads {
                actor_optimiser: Adam::new(ACTOR_RATE, actor.parameters.len()),
                critic_optimiser: Adam::new(CRITIC_RATE, parameters.len()),
                target_actor: actor.clone(),
                target_critic: parameters.clone(),
                critic: parameters,
                actor,
            }
        };
        let sessions = data.layout.agents.iter().map(|agent| {
            let rows = 0..agent.rows;
            let links = rows.map(|row| data.fluid.links_towards(agent.switch, row));
            links.filter(|links| !links.is_empty()).collect()
        });
        let mut maddpg = Self {
            replay: ReplayBuffer::new(2 * state + action + actors.len()),
            sessions: sessions.collect(),
            agents: (0..).zip(actors).map(agent).collect(),
            state: Vec::new(),
            critic,
        };
        let (trace, at) = place(data, seed, 0);
        maddpg.state = joint(data, trace, at, &data.provisioned()).1;
        maddpg
    }

    /// Returns the actors.
    pub fn actors(&self) -> Vec<Mlp> {
        self.agents
            .iter()
            .map(|agent| agent.actor.clone())
            .collect()
    }

    /// Takes [`Self::PERIOD`] steps, of which `step` is the first; the training has `steps` in all.
    pub fn advance(&mut self, data: &Data, seed: u64, step: u64, steps: u64, threads: usize) {
        let provisioned = data.provisioned();
        for step in step..step + Self::PERIOD {
            let mut random = Random::of(&[seed, STEPS, step]);
            self.act(data, &provisioned, (seed, step), &mut random);
            if self.replay.len() >= BATCH {
                let beta = BETA + (1.0 - BETA) * ratio(step, steps);
                self.learn(beta, threads, &mut random);
            }
        }
    }

    /// Runs one interval, and stores its transition.
    fn act(
        &mut self,
        data: &Data,
        provisioned: &[f64],
        (seed, step): (u64, u64),
        random: &mut Random,
    ) {
        let epsilon = exp(narrow(-ratio(step, EXPLORATION)));
        let mut action = Vec::new();
        let mut rest = self.state.as_slice();
        for agent in &self.agents {
            let (own, others) = rest.split_at(agent.actor.shape().inputs);
            rest = others;
            let ratios = agent.actor.forward(own).ratios;
            action.extend(explored(
                &ratios,
                &agent.actor.shape().heads,
                epsilon,
                random,
            ));
        }
        let shares = team::shares(data, provisioned, self.by_agent(&action));
        let (trace, at) = place(data, seed, step + 1);
        let (utilisations, next) = joint(data, trace, at, &shares);
        let optimum = data.training[trace][at].optimum;
        let rewards = self
            .sessions
            .iter()
            .map(|sessions| reward(sessions, &utilisations, optimum));
        let mut row = std::mem::take(&mut self.state);
        row.extend(&action);
        row.extend(rewards);
        row.extend(&next);
        self.replay.push(step, &row);
        self.state = next;
    }

    /// Learns from one batch.
    fn learn(&mut self, beta: f64, threads: usize, random: &mut Random) {
        let places = self.replay.draw(BATCH, beta, random);
        let batch = parallel::map(threads, &places, |&(place, weight)| {
            let transition = self.transition(place);
            let mut next_action = Vec::with_capacity(transition.action.len());
            let mut rest = transition.next;
            for agent in &self.agents {
                let (own, others) = rest.split_at(agent.actor.shape().inputs);
                rest = others;
                next_action.extend(agent.target_actor.forward(own).ratios);
            }
            Drawn {
                transition,
                weight,
                next_action,
            }
        });
        let indices: Vec<usize> = (0..self.agents.len()).collect();
        let learnt = parallel::map(threads, &indices, |&index| self.agent_after(index, &batch));
        let mut errors = vec![0.0; BATCH];
        let mut agents = Vec::with_capacity(learnt.len());
        for (agent, own) in learnt {
            for (sum, error) in errors.iter_mut().zip(own) {
                *sum += error;
            }
            agents.push(agent);
        }
        let count = narrow(float(agents.len()));
        self.agents = agents;
        for ((place, _), error) in places.into_iter().zip(errors) {
            self.replay.set_priority(place, error / count);
        }
    }

    /// Returns an agent after a step on `batch`, and the absolute error of its critic for every row.
    fn agent_after(&self, index: usize, batch: &[Drawn<'_>]) -> (ActorHeads, Vec<f32>) {
        let mut agent = self.agents[index].clone();
        let critic = &self.critic;
        let scale = 1.0 / narrow(float(BATCH));
        let mut errors = Vec::with_capacity(batch.len());
        let mut gradient = vec![0.0; agent.critic.len()];
        for drawn in batch {
            let row = &drawn.transition;
            let next = critic.forward(&agent.target_critic, row.next, &drawn.next_action);
            let target = row.rewards[index] + GAMMA * next.value;
            let values = critic.forward(&agent.critic, row.state, row.action);
            let error = values.value - target;
            errors.push(error.abs());
            let dy = 2.0 * scale * drawn.weight * error;
            critic.backward(&agent.critic, row.state, &values, dy, &mut gradient);
        }
        agent.critic_optimiser.step(&mut agent.critic, &gradient);

        let outputs = |agent: &ActorHeads| agent.actor.shape().outputs();
        let inputs = |agent: &ActorHeads| agent.actor.shape().inputs;
        let before = &self.agents[..index];
        let first_output: usize = before.iter().map(outputs).sum();
        let first_input: usize = before.iter().map(inputs).sum();
        let own_outputs = first_output..first_output + outputs(&agent);
        let own_inputs = first_input..first_input + inputs(&agent);
        let mut gradient = vec![0.0; agent.actor.parameters.len()];
        for drawn in batch {
            let row = &drawn.transition;
            let own = &row.state[own_inputs.clone()];
            let activations = agent.actor.forward(own);
            let mut action = row.action.to_vec();
            action[own_outputs.clone()].copy_from_slice(&activations.ratios);
            let values = critic.forward(&agent.critic, row.state, &action);
            // Ascent: the optimiser descends.
            let by_action = critic.by_action(&agent.critic, &values);
            let dy: Vec<f32> = by_action[own_outputs.clone()]
                .iter()
                .map(|it| -it * scale)
                .collect();
            backward::network(&agent.actor, own, &activations, &dy, &mut gradient);
        }
        agent
            .actor_optimiser
            .step(&mut agent.actor.parameters, &gradient);
        follow(&mut agent.target_actor.parameters, &agent.actor.parameters);
        follow(&mut agent.target_critic, &agent.critic);
        (agent, errors)
    }

    fn transition(&self, place: usize) -> Transition<'_> {
        let row = self.replay.row(place);
        let (state, rest) = row.split_at(self.state.len());
        let (rest, next) = rest.split_at(rest.len() - self.state.len());
        let (action, rewards) = rest.split_at(rest.len() - self.agents.len());
        Transition {
            state,
            action,
            rewards,
            next,
        }
    }

    /// Returns the actors' parts of a joint action.
    fn by_agent<'a>(&self, action: &'a [f32]) -> Vec<&'a [f32]> {
        let mut rest = action;
        let agents = self.agents.iter().map(|agent| {
            let (own, others) = rest.split_at(agent.actor.shape().outputs());
            rest = others;
            own
        });
        agents.collect()
    }

    /// Returns the vectors of the state.
    pub fn vectors(&mut self) -> Vec<&mut Vec<f32>> {
        let mut vectors: Vec<&mut Vec<f32>> = vec![&mut self.state];
        vectors.extend(self.replay.vectors());
        for agent in &mut self.agents {
            vectors.extend([
                &mut agent.actor.parameters,
                &mut agent.target_actor.parameters,
                &mut agent.critic,
                &mut agent.target_critic,
            ]);
            vectors.extend(agent.actor_optimiser.vectors());
            vectors.extend(agent.critic_optimiser.vectors());
        }
        vectors
    }

    /// Number of steps between two validations.
    pub const PERIOD: u64 = 250;
}

/// Returns the trace and the interval of a step: five consecutive intervals a hundred times, then another five.
fn place(data: &Data, seed: u64, step: u64) -> (usize, usize) {
    let mut random = Random::of(&[seed, CIRCLES, step / (CIRCLE * CIRCLE_REPEATS)]);
    let trace = random.below(data.training.len());
    let length = usize::try_from(CIRCLE).unwrap_or(1);
    let start = random.below(data.training[trace].len().saturating_sub(length) + 1);
    let offset = usize::try_from(step % CIRCLE).unwrap_or(0);
    (trace, (start + offset).min(data.training[trace].len() - 1))
}

/// Returns the utilisations of an interval, by link, and the joint state after it.
fn joint(data: &Data, trace: usize, at: usize, shares: &[f64]) -> (Vec<f64>, Vec<f32>) {
    let interval = &data.training[trace][at];
    let utilisations = data.fluid.loads(&interval.demands, shares).utilisations;
    let state = data.states(interval, &utilisations).concat();
    (utilisations, state)
}

/// Returns the reward of an actor with these sessions (see [`Maddpg::sessions`]).
fn reward(sessions: &[Vec<usize>], utilisations: &[f64], optimum: f64) -> f32 {
    if optimum <= 0.0 {
        return 0.0;
    }
    let largest = |links: &mut dyn Iterator<Item = f64>| links.fold(0.0, f64::max);
    let count = float(sessions.len().max(1));
    let of_sessions = sessions
        .iter()
        .map(|links| largest(&mut links.iter().map(|&link| utilisations[link])))
        .sum::<f64>();
    let overall = largest(&mut utilisations.iter().copied());
    narrow(-0.05 * (of_sessions / count + 50.0 / count * overall) / optimum)
}

/// Mixes a random split into ratios, with weight `epsilon`.
fn explored(ratios: &[f32], heads: &[usize], epsilon: f32, random: &mut Random) -> Vec<f32> {
    let mut mixed = ratios.to_vec();
    let mut rest = mixed.as_mut_slice();
    for &candidates in heads {
        let (head, others) = rest.split_at_mut(candidates);
        rest = others;
        let draws: Vec<f64> = head.iter().map(|_| random.exponential()).collect();
        let total: f64 = draws.iter().sum();
        for (ratio, draw) in head.iter_mut().zip(draws) {
            *ratio += epsilon * (narrow(draw / total) - *ratio);
        }
    }
    mixed
}

/// Moves the parameters of a target network towards the trained ones.
fn follow(target: &mut [f32], trained: &[f32]) {
    for (target, trained) in target.iter_mut().zip(trained) {
        *target += TAU * (trained - *target);
    }
}

#[expect(clippy::cast_precision_loss, reason = "steps are below 2^53")]
fn ratio(step: u64, steps: u64) -> f64 {
    step as f64 / steps.max(1) as f64
}

/// Learning rates, as in RedTE's public code.
pub(crate) const ACTOR_RATE: f32 = 1e-4;
pub(crate) const CRITIC_RATE: f32 = 1e-3;

/// Discount of later rewards, as in RedTE's public code.
pub(crate) const GAMMA: f32 = 0.99;

/// Rate at which target networks follow, as in RedTE's public code.
pub(crate) const TAU: f32 = 1e-3;

/// Number of transitions in a batch, as in RedTE's public code.
pub(crate) const BATCH: usize = 32;

/// Exponent β of the weights that correct the priorities' bias, at the first step, as in RedTE's public code; it rises
/// to 1 at the last step.
pub(crate) const BETA: f64 = 0.5;

/// Number of steps after which exploration has decayed to 1/e, as in RedTE's public code.
pub(crate) const EXPLORATION: u64 = 9_437;

/// Numbers of intervals and of repetitions in a circle, as in RedTE's public code.
pub(crate) const CIRCLE: u64 = 5;
pub(crate) const CIRCLE_REPEATS: u64 = 100;

/// Names of random streams.
const CRITICS: u64 = 13;
const STEPS: u64 = 14;
const CIRCLES: u64 = 15;

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sessions, over links 0 and 1 and over link 2; utilisations 0.5, 0.25 and 1, optimum 0.8:
    /// −0.05 · (0.75 + 25 · 1) ÷ 0.8.
    #[test]
    fn the_reward_is_the_published_one() {
        let sessions = [vec![0, 1], vec![2]];
        let reward = reward(&sessions, &[0.5, 0.25, 1.0], 0.8);
        assert!((reward + 1.609_375).abs() < 1e-6, "{reward}");
    }

    #[test]
    fn exploration_keeps_the_sum_of_every_head() {
        let ratios = [0.5, 0.5, 0.2, 0.3, 0.5];
        let mixed = explored(&ratios, &[2, 3], 0.7, &mut Random::of(&[6]));
        let sums = [&mixed[..2], &mixed[2..]].map(|head| head.iter().sum::<f32>());
        assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-6), "{mixed:?}");
        assert_ne!(mixed, ratios);
        assert_eq!(
            explored(&ratios, &[2, 3], 0.0, &mut Random::of(&[6])),
            ratios
        );
    }
}
