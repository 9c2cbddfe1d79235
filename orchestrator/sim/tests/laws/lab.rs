//! Plans of texts, their runs, and what was noted.

use lab_plan::{Engine, Plan, PlanOptions};
use lab_records::StoryEvent;
use lab_sim::{
    Observer, Outcome, Progress, RunOptions, SimTime, Told, World,
    cc::{CongestionControl, WithControl, with_control},
    note::{DecisionNote, Note, PfcNote, PortNote, QueueNote, StoryNote, SwitchNote},
    run,
    semantics::{Artifact, Paper, Semantics},
};

/// A full packet of 4,154 B at 100 Gbit/s, in picoseconds.
pub const PACKET: u64 = 332_320;

/// An ACK of 62 B at 100 Gbit/s, in picoseconds.
pub const ACK: u64 = 4_960;

/// Between a host and its switch, in picoseconds.
pub const HOST_DELAY: u64 = 1_000_000;

/// A microsecond and a millisecond in picoseconds.
pub const MICRO: u64 = 1_000_000;
pub const MILLI: u64 = 1_000 * MICRO;

/// Links of two ways from dc1 to dc4, by dc2 and by dc3, that are alike.
pub const ALIKE_WAYS: &str = "\
    { between: [dc1, dc2], rate: 100 Gbit, delay: 2 ms }, \
    { between: [dc2, dc4], rate: 100 Gbit, delay: 2 ms }, \
    { between: [dc1, dc3], rate: 100 Gbit, delay: 2 ms }, \
    { between: [dc3, dc4], rate: 100 Gbit, delay: 2 ms }";

/// The plan of a scenario's text.
pub fn plan(text: &str) -> Plan {
    let scenario = match lab_scenario::parse("test.yaml", text.as_bytes()) {
        Ok(scenario) => scenario,
        Err(errors) => panic!("{errors}"),
    };
    let files = lab_scenario::Files::new();
    let options = PlanOptions {
        engine: Engine::Sim,
        ..PlanOptions::default()
    };
    lab_plan::resolve(&scenario, text, &files, &options).expect("a plan")
}

/// A run that is over.
pub struct Run {
    pub notes: Vec<Note>,
    pub outcome: Outcome,
}

/// Runs a policy of a plan with everybody's story told.
///
/// No test needs a minute of virtual time: a run that would not end is ended then.
pub fn simulate(plan: &Plan, policy: usize, threads: usize) -> Run {
    simulate_until(plan, policy, threads, 60_000 * MILLI)
}

/// The same, until a time in picoseconds.
pub fn simulate_until(plan: &Plan, policy: usize, threads: usize, until: u64) -> Run {
    let options = RunOptions {
        threads,
        until: Some(SimTime::from_picos(until)),
        told: Told::All,
    };
    let runner = Runner {
        plan,
        policy,
        options,
    };
    with_control(&plan.transport.cc, plan.transport.semantics, runner)
}

/// Runs the only policy of a scenario's text on one thread.
pub fn simulate_text(text: &str) -> Run {
    simulate(&plan(text), 0, 1)
}

struct Runner<'p> {
    plan: &'p Plan,
    policy: usize,
    options: RunOptions,
}

impl WithControl for Runner<'_> {
    type Output = Run;

    fn run<C: CongestionControl + Send + 'static>(self, parameters: C::Parameters) -> Run {
        match self.plan.transport.semantics {
            lab_plan::Semantics::Paper => self.run_with::<Paper, C>(parameters),
            lab_plan::Semantics::Artifact => self.run_with::<Artifact, C>(parameters),
        }
    }
}

impl Runner<'_> {
    fn run_with<P: Semantics, C: CongestionControl + Send + 'static>(
        self,
        parameters: C::Parameters,
    ) -> Run {
        let world: World<'_, P, C> =
            World::new(self.plan, self.policy, 0, parameters).expect("a world");
        let mut log = Log::default();
        let outcome = run::run(&world, &self.options, &mut log);
        Run {
            notes: log.0,
            outcome,
        }
    }
}

#[derive(Default)]
struct Log(Vec<Note>);

impl Observer for Log {
    fn note(&mut self, note: Note) {
        self.0.push(note);
    }

    fn progress(&mut self, _: Progress) -> bool {
        true
    }
}

impl Run {
    /// When a flow finished, in picoseconds.
    pub fn end_of(&self, flow: u32) -> Option<u64> {
        self.notes.iter().find_map(|note| match note {
            Note::Finished(end) if end.flow == flow => Some(end.at.picos()),
            _ => None,
        })
    }

    pub fn decisions(&self) -> impl Iterator<Item = &DecisionNote> {
        self.notes.iter().filter_map(|note| match note {
            Note::Decided(decision) => Some(&**decision),
            _ => None,
        })
    }

    pub fn queues(&self) -> impl Iterator<Item = &QueueNote> {
        self.notes.iter().filter_map(|note| match note {
            Note::Queue(queue) => Some(queue),
            _ => None,
        })
    }

    pub fn switches(&self) -> impl Iterator<Item = &SwitchNote> {
        self.notes.iter().filter_map(|note| match note {
            Note::Switch(switch) => Some(&**switch),
            _ => None,
        })
    }

    pub fn links(&self) -> impl Iterator<Item = &PortNote> {
        self.notes.iter().filter_map(|note| match note {
            Note::Link(link) => Some(link),
            _ => None,
        })
    }

    /// What happened at each port in all.
    pub fn ports(&self) -> impl Iterator<Item = &PortNote> {
        self.notes.iter().filter_map(|note| match note {
            Note::Port(port) => Some(port),
            _ => None,
        })
    }

    pub fn pfc(&self) -> impl Iterator<Item = &PfcNote> {
        self.notes.iter().filter_map(|note| match note {
            Note::Pfc(pfc) => Some(pfc),
            _ => None,
        })
    }

    /// A flow's story.
    pub fn story(&self, flow: u32) -> impl Iterator<Item = &StoryNote> {
        self.notes.iter().filter_map(move |note| match note {
            Note::Story(story) if story.flow == flow => Some(story),
            _ => None,
        })
    }

    /// How often something happened to a flow.
    pub fn count(&self, flow: u32, event: StoryEvent) -> usize {
        self.story(flow).filter(|note| note.event == event).count()
    }
}
