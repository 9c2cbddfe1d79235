//! Simulation of one policy and repetition, for any semantics and congestion control.

use lab_plan::{HostProfile, Plan, Semantics};

use crate::{
    cc::{CongestionControl, Dcqcn, NoControl, WithControl, with_control},
    error::SimError,
    network::Network,
    run::{self, Observer, Outcome, RunOptions},
    semantics::{Artifact, NextHopOrder, Paper, Rxe, SemanticsRules},
    world::{SimFlow, World},
};

/// Policy and repetition of a plan to simulate.
#[derive(Clone, Copy, Debug)]
pub struct Job<'p> {
    pub plan: &'p Plan,
    /// Index of the policy in the plan.
    pub policy: usize,
    /// Repetition, from 0.
    pub repetition: u32,
    /// Order of next hops with equal hop counts, from a routing table; `None` for the default order under the plan's
    /// semantics, the paper's or the artifact's.
    pub order: Option<&'p NextHopOrder>,
    /// Maximum number of packets in a train; 1 if every packet is an event.
    pub train: u32,
}

impl<'p> Job<'p> {
    /// Creates the job for a policy and repetition of `plan`.
    #[must_use]
    pub const fn new(plan: &'p Plan, policy: usize, repetition: u32) -> Self {
        Self {
            plan,
            policy,
            repetition,
            order: None,
            train: 1,
        }
    }
}

/// Static data of a run, for observers.
#[derive(Clone, Copy, Debug)]
pub struct RunContext<'w> {
    pub job: Job<'w>,
    /// Network with the node and port numbers that trace events use.
    pub network: &'w Network,
    /// Flows, indexed by the flow numbers that trace events use.
    pub flows: &'w [SimFlow],
}

/// Function that runs a prepared job with an observer; see [`simulate_with`].
pub type Run<'r> = &'r mut dyn FnMut(&mut dyn Observer) -> Outcome;

/// Simulates `job` and passes its trace events to `observer`.
///
/// # Errors
/// Fails if the plan cannot be simulated: see [`SimError`].
pub fn simulate(
    job: Job<'_>,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Result<Outcome, SimError> {
    simulate_with(job, options, |_, run| run(observer))
}

/// Prepares the run of `job`, then calls `body` with its context and with the function that runs it, so that `body` can
/// create its observer from the context.
///
/// # Errors
/// Fails if the plan cannot be simulated: see [`SimError`].
pub fn simulate_with<T, F: FnOnce(RunContext<'_>, Run<'_>) -> T>(
    job: Job<'_>,
    options: &RunOptions,
    body: F,
) -> Result<T, SimError> {
    let transport = &job.plan.transport;
    let prepared = PreparedRun { job, options, body };
    match transport.profile {
        HostProfile::Rnic => with_control(&transport.cc, transport.semantics, prepared),
        HostProfile::Rxe => match transport.cc.in_lab() {
            None => prepared.run_world::<T, Rxe, NoControl>(()),
            Some(dcqcn) => prepared.run_world::<T, Rxe, Dcqcn>(dcqcn.into()),
        },
    }
}

/// Run for which the types of congestion control and semantics have not been selected yet.
struct PreparedRun<'a, F> {
    job: Job<'a>,
    options: &'a RunOptions,
    body: F,
}

impl<T, F: FnOnce(RunContext<'_>, Run<'_>) -> T> WithControl for PreparedRun<'_, F> {
    type Output = Result<T, SimError>;

    fn run<C: CongestionControl + Send + 'static>(self, parameters: C::Parameters) -> Self::Output {
        match self.job.plan.transport.semantics {
            Semantics::Paper => self.run_world::<T, Paper, C>(parameters),
            Semantics::Artifact => self.run_world::<T, Artifact, C>(parameters),
        }
    }
}

impl<F> PreparedRun<'_, F> {
    fn run_world<T, S: SemanticsRules, C: CongestionControl + Send>(
        self,
        parameters: C::Parameters,
    ) -> Result<T, SimError>
    where
        F: FnOnce(RunContext<'_>, Run<'_>) -> T,
    {
        let Job {
            plan,
            policy,
            repetition,
            order,
            train,
        } = self.job;
        let world: World<'_, S, C> =
            World::with_order(plan, policy, repetition, parameters, order, train)?;
        let context = RunContext {
            job: self.job,
            network: &world.network,
            flows: &world.flows,
        };
        let mut run = |observer: &mut dyn Observer| run::run(&world, self.options, observer);
        let output = (self.body)(context, &mut run);
        world.failure().map_or(Ok(output), Err)
    }
}
