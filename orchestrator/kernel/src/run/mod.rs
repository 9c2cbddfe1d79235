//! One run of a plan in a lab that is up: agents, flows, records.
//!
//! For each policy and repetition: QPs start from nothing, the agents of all DCI switches attach
//! and say they are ready, every flow's two processes connect, and only then does time start. So
//! nothing of the preparation is in a flow's FCT, and in a guest whose clock jumps while it waits
//! for the host's disk, all that is read from disk has been read.
//!
//! - `drive`: a repetition from its agents' start to its flows' end; all that has effects
//! - `repetition`: what is known of one, and what follows from what is heard; pure
//! - `rows`, `paths`: telemetry, decisions and outcomes as rows; paths of flows
//! - `agents`, `agent_config`: the agents' processes; what they are told at their start
//! - `fault`: what agents are told when a link changes
//! - `te`: traffic engineering, where the switches' demands meet
//! - `tune`: what a user tells them while they run
//! - `jobs`: flows as perftest's jobs
//! - `probe`: what each link really does
//! - `event`, `report`, `error`: what a run says while it goes, in the end, and instead

mod agent_config;
mod agents;
mod drive;
mod error;
mod event;
mod fault;
mod jobs;
#[cfg(test)]
mod live;
mod paths;
mod probe;
mod repetition;
mod report;
mod rows;
mod te;
#[cfg(test)]
mod testing;
pub mod tune;

pub use agents::AgentLauncher;
pub use error::{AgentError, RunError};
pub use event::RunEvent;
pub use probe::measure_links;
pub use report::RunReport;

use std::io;

use lab_perftest::{MonotonicTime, Session};
use lab_plan::model::Plan;
use lab_records::{GuestCpu, RunWriter};
use lab_units::Nanos;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use self::{drive::Place, repetition::Repetition};
use crate::{Lab, lower::Clock};

/// Runs every policy of a plan.
pub struct Runner<'a> {
    /// What to run.
    pub plan: &'a Plan,
    /// Where to run it.
    pub lab: &'a mut Lab,
    /// How agents are started.
    pub agents: AgentLauncher,
    /// Where rows go.
    pub records: &'a mut RunWriter,
    /// Told what happens.
    pub events: &'a mut dyn FnMut(&RunEvent),
    /// Called when a policy's repetition is over and its rows are written.
    pub checkpoint: &'a mut dyn FnMut() -> io::Result<()>,
    /// Called when all is prepared and only time has to start: a guest comes to the same moment of
    /// its clock in every run.
    pub settle: &'a mut dyn FnMut() -> io::Result<()>,
    /// How often this kernel has waited for a host so far. Between a start and the last delivery it
    /// should not: a guest's virtual clock may leap while it does.
    pub host_waits: &'a dyn Fn() -> u64,
    /// CPU time of this kernel so far, where it is a guest's.
    pub guest_cpu: &'a dyn Fn() -> Option<GuestCpu>,
    /// Ends the run early.
    pub cancel: CancellationToken,
}

impl Runner<'_> {
    /// Runs every policy, every repetition.
    ///
    /// # Errors
    /// When an agent, the lab or the records fail, or the run was cancelled. A flow that fails is a
    /// row, not an error.
    pub async fn run(&mut self) -> Result<RunReport, RunError> {
        let mut report = RunReport::default();
        let pins = self.lab.bpf_directory().map_err(RunError::Pins)?;
        let mut wishes = tune::listen(&tune::socket(self.lab.name())).map_err(RunError::Tune)?;
        if self.lab.options().clock == Clock::Virtual {
            self.rehearse().await?;
        }
        for policy in 0..self.plan.policies.len() {
            for number in 0..self.plan.repetitions {
                let place = Place {
                    policy,
                    number,
                    pins: &pins,
                };
                self.repetition(place, &mut wishes, &mut report).await?;
                (self.checkpoint)().map_err(RunError::Checkpoint)?;
            }
        }
        Ok(report)
    }

    /// Runs the first flow once without agents, for nothing: what it reads from disk has been read
    /// then, and no later flow makes the guest's clock leap by reading it.
    async fn rehearse(&mut self) -> Result<(), RunError> {
        let mut jobs = jobs::jobs(self.plan, self.lab, self.plan.flows.first())?;
        for job in &mut jobs {
            job.start = Nanos::ZERO;
        }
        let (events, _unheard) = mpsc::unbounded_channel();
        let session = Session::prepare(jobs, &jobs::options(self.lab), events).await?;
        session.run(MonotonicTime::now()).await?;
        Ok(())
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

/// A flow let go later than this did not start when the plan says: a hundredth of the shortest
/// round trip that scenarios of this tool are run with (100 ms, emulated).
pub const LATE_LAUNCH: Nanos = Nanos::from_millis(1);
