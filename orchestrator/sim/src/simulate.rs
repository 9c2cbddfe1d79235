//! One policy's run of one repetition, whatever its semantics and congestion control.

use lab_plan::{Plan, Semantics};

use crate::{
    cc::{CongestionControl, WithControl, with_control},
    error::SimError,
    network::Network,
    run::{self, Observer, Outcome, RunOptions},
    semantics::{self, NextHopOrder, Paper},
    world::{SimFlow, World},
};

/// What is simulated.
#[derive(Clone, Copy, Debug)]
pub struct Job<'p> {
    /// The plan.
    pub plan: &'p Plan,
    /// Position in its policies.
    pub policy: usize,
    /// The repetition, from 0.
    pub repetition: u32,
    /// The order of equal next hops, as a routing table has them; the semantics' own if absent.
    pub order: Option<&'p NextHopOrder>,
}

impl<'p> Job<'p> {
    /// The run of a policy and repetition of `plan`.
    #[must_use]
    pub const fn new(plan: &'p Plan, policy: usize, repetition: u32) -> Self {
        Self {
            plan,
            policy,
            repetition,
            order: None,
        }
    }
}

/// What is known of a job's run before it starts.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'w> {
    /// What is simulated.
    pub job: Job<'w>,
    /// Its network, by the numbers that notes have.
    pub network: &'w Network,
    /// Its flows, by the same.
    pub flows: &'w [SimFlow],
}

/// Somebody who looks at a scene and then hears what happens there.
pub trait Audience {
    /// What comes of it.
    type Output;

    /// Has the run played by `play`, which takes the observer.
    fn attend(
        self,
        scene: Scene<'_>,
        play: &mut dyn FnMut(&mut dyn Observer) -> Outcome,
    ) -> Self::Output;
}

/// Simulates `job` and tells `observer`.
///
/// # Errors
/// What cannot be simulated: see [`SimError`].
pub fn simulate(
    job: Job<'_>,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Result<Outcome, SimError> {
    struct Alone<'o>(&'o mut dyn Observer);

    impl Audience for Alone<'_> {
        type Output = Outcome;

        fn attend(
            self,
            _: Scene<'_>,
            play: &mut dyn FnMut(&mut dyn Observer) -> Outcome,
        ) -> Outcome {
            play(self.0)
        }
    }

    perform(job, options, Alone(observer))
}

/// Simulates `job` before `audience`.
///
/// # Errors
/// What cannot be simulated: see [`SimError`].
pub fn perform<A: Audience>(
    job: Job<'_>,
    options: &RunOptions,
    audience: A,
) -> Result<A::Output, SimError> {
    let transport = &job.plan.transport;
    let staged = Staged {
        job,
        options,
        audience,
    };
    with_control(&transport.cc, transport.semantics, staged)
}

/// A performance whose congestion control is to be filled in.
struct Staged<'a, A> {
    job: Job<'a>,
    options: &'a RunOptions,
    audience: A,
}

impl<A: Audience> WithControl for Staged<'_, A> {
    type Output = Result<A::Output, SimError>;

    fn run<C: CongestionControl + Send + 'static>(self, parameters: C::Parameters) -> Self::Output {
        match self.job.plan.transport.semantics {
            Semantics::Paper => self.with_semantics::<Paper, C>(parameters),
            Semantics::Artifact => self.with_semantics::<semantics::Artifact, C>(parameters),
        }
    }
}

impl<A: Audience> Staged<'_, A> {
    fn with_semantics<P: semantics::Semantics, C: CongestionControl + Send>(
        self,
        parameters: C::Parameters,
    ) -> Result<A::Output, SimError> {
        let Job {
            plan,
            policy,
            repetition,
            order,
        } = self.job;
        let world: World<'_, P, C> =
            World::with_order(plan, policy, repetition, parameters, order)?;
        let scene = Scene {
            job: self.job,
            network: &world.network,
            flows: &world.flows,
        };
        let mut play = |observer: &mut dyn Observer| run::run(&world, self.options, observer);
        let output = self.audience.attend(scene, &mut play);
        world.failure().map_or(Ok(output), Err)
    }
}
