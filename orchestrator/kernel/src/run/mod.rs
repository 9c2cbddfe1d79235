//! One run of a plan in a lab that is up: agents, flows, records.
//!
//! For each policy and repetition the agents of all DCI switches attach and become ready, every flow's two processes
//! connect, and only then does the repetition's time start. Preparation is therefore not part of any FCT, and all files
//! have been read by then. This matters in a guest, whose clock jumps while it waits for the host's disk. Between
//! repetitions, the agents' processes stay with their loaded programs, which are detached and have empty maps.
//!
//! - `drive`: a repetition, from the start of its agents to the end of its flows; all side effects are here
//! - `input`: all inputs of a repetition besides the plan, as one type that can be recorded
//! - `repetition`: the state of a repetition, which turns inputs into effects without I/O
//! - `rows`, `paths`: telemetry, decisions and outcomes as rows; paths of flows
//! - `agents`, `agent_config`: the agents' processes, and their configurations
//! - `kill`: cause of an agent's end by SIGKILL, such as a lack of memory
//! - `commands`: commands to agents after a fault or a change of parameters, without I/O
//! - `tables`: comparison of a switch's tables in the kernel with the plan's
//! - `te`: traffic engineering over the switches' demands
//! - `tune`: users' requests to tune switches while flows run
//! - `generator`: flows as jobs, and the session of perftest or verbs that runs them
//! - `watch`: watchdog for CPUs and clocks during runs on the real clock
//! - `report`, `error`: progress, report and errors of a run
//! - `tests`: tests of several modules

mod agent_config;
mod agents;
mod commands;
mod drive;
mod error;
mod generator;
mod input;
mod kill;
mod paths;
mod rates;
mod repetition;
mod report;
mod rows;
mod start;
mod tables;
mod te;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod transits;
pub mod tune;
mod watch;

pub use agents::AgentLauncher;
pub use error::{AgentError, RunError};
pub use kill::KillCause;
pub use lab_generators::verbs::session::AHEAD as FLOWS_MADE_AHEAD;
pub use report::{RunEvent, RunReport};

use std::io;

use lab_generators::contract::MonotonicTime;
use lab_plan::model::{Flow, Plan};
use lab_records::{GuestCpu, RunWriter};
use lab_units::Nanos;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use self::{
    agents::SwitchAgent,
    generator::FlowSession,
    repetition::{Repetition, RepetitionSetup},
    transits::TransitRows,
};
use crate::{Lab, lower::Clock};

/// Runner of all policies and repetitions in a plan.
pub struct Runner<'a> {
    pub plan: &'a Plan,
    pub lab: &'a mut Lab,
    pub agents: AgentLauncher,
    pub records: &'a mut RunWriter,
    /// Function that receives the run's progress.
    pub events: &'a mut dyn FnMut(&RunEvent),
    /// Writer for a recording of the run's inputs, from which a test can replay the run; usually `None`.
    pub inputs: Option<&'a mut dyn io::Write>,
    /// Function that returns how often this kernel has waited for its host. Each wait may make a guest's virtual clock
    /// jump, so there should be no waits between the start of a repetition and its last delivery.
    pub host_waits: &'a dyn Fn() -> u64,
    /// Function that returns the CPU time that this kernel has used so far; `None` outside a guest.
    pub guest_cpu: &'a dyn Fn() -> Option<GuestCpu>,
    pub cancel: CancellationToken,
}

impl Runner<'_> {
    /// Runs every repetition of every policy.
    ///
    /// # Errors
    /// If an agent, the lab or the records fail, or the run is cancelled. A failed flow is recorded in its row and is
    /// not an error.
    pub async fn run(&mut self) -> Result<RunReport, RunError> {
        let mut report = RunReport::default();
        let pin_dir = self.lab.bpf_directory().map_err(RunError::Pins)?;
        let mut requests = tune::listen(&tune::socket(self.lab.name())).map_err(RunError::Tune)?;
        if self.lab.options().clock == Clock::Virtual {
            self.warm_up().await?;
        }
        let transits = TransitRows::of(self.plan);
        let mut agents = Vec::new();
        for policy in 0..self.plan.policies.len() {
            for number in 0..self.plan.repetitions {
                let setup = RepetitionSetup {
                    policy,
                    number,
                    pin_dir: &pin_dir,
                    transits: &transits,
                };
                agents = self
                    .repetition(setup, agents, &mut requests, &mut report)
                    .await?;
            }
        }
        agents.into_iter().try_for_each(SwitchAgent::end)?;
        Ok(report)
    }

    /// Runs the first flow once without agents, and discards its row. This reads the programs' files from disk, so that
    /// no later flow makes the guest's clock jump.
    async fn warm_up(&mut self) -> Result<(), RunError> {
        let first: Vec<&Flow> = self.plan.flows.iter().take(1).collect();
        let mut jobs = generator::jobs(self.plan, self.lab, &first)?;
        for job in &mut jobs {
            job.start = Nanos::ZERO;
        }
        let (events, _unused) = mpsc::unbounded_channel();
        let tool = self.plan.rdma.tool;
        let clock = self.lab.options().clock;
        let session = FlowSession::prepare(tool, jobs, clock, events).await?;
        session.run(MonotonicTime::now()).await
    }

    fn phase(&mut self, repetition: &Repetition<'_>, name: &str, steps: usize) {
        (self.events)(&RunEvent::Phase {
            name: repetition.title(name),
            steps: u64::try_from(steps).unwrap_or(u64::MAX),
        });
    }

    fn step(&mut self, text: String) {
        (self.events)(&RunEvent::Step { text });
    }

    fn end_flows(&mut self) {
        (self.events)(&RunEvent::FlowsEnd);
    }
}
