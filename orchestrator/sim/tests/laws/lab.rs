//! Plans of texts, their runs, and what was noted.

use lab_plan::{Engine, Plan, PlanOptions};
use lab_records::StoryEvent;
use lab_sim::{
    Observer, Outcome, Progress, RunOptions, SimTime, TraceFilter, World,
    cc::{CongestionControl, WithControl, with_control},
    run,
    semantics::{Artifact, Paper, SemanticsRules},
    trace::{
        DecisionEvent, FlowEvent, PfcSignal, PortSample, QueueSample, SwitchSample, TraceEvent,
    },
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
    pub trace: Vec<TraceEvent>,
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
        trace_filter: TraceFilter::All,
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
    fn run_with<S: SemanticsRules, C: CongestionControl + Send + 'static>(
        self,
        parameters: C::Parameters,
    ) -> Run {
        let world: World<'_, S, C> =
            World::new(self.plan, self.policy, 0, parameters).expect("a world");
        let mut log = Log::default();
        let outcome = run::run(&world, &self.options, &mut log);
        Run {
            trace: log.0,
            outcome,
        }
    }
}

#[derive(Default)]
struct Log(Vec<TraceEvent>);

impl Observer for Log {
    fn on_event(&mut self, event: TraceEvent) {
        self.0.push(event);
    }

    fn on_progress(&mut self, _: Progress) -> bool {
        true
    }
}

impl Run {
    /// When a flow finished, in picoseconds.
    pub fn end_of(&self, flow: u32) -> Option<u64> {
        self.trace.iter().find_map(|event| match event {
            TraceEvent::FlowFinished(end) if end.flow == flow => Some(end.at.picos()),
            _ => None,
        })
    }

    pub fn decisions(&self) -> impl Iterator<Item = &DecisionEvent> {
        self.trace.iter().filter_map(|event| match event {
            TraceEvent::Decision(decision) => Some(&**decision),
            _ => None,
        })
    }

    pub fn queues(&self) -> impl Iterator<Item = &QueueSample> {
        self.trace.iter().filter_map(|event| match event {
            TraceEvent::QueueSample(queue) => Some(queue),
            _ => None,
        })
    }

    pub fn switches(&self) -> impl Iterator<Item = &SwitchSample> {
        self.trace.iter().filter_map(|event| match event {
            TraceEvent::SwitchSample(switch) => Some(&**switch),
            _ => None,
        })
    }

    pub fn links(&self) -> impl Iterator<Item = &PortSample> {
        self.trace.iter().filter_map(|event| match event {
            TraceEvent::LinkSample(link) => Some(link),
            _ => None,
        })
    }

    /// What happened at each port in all.
    pub fn ports(&self) -> impl Iterator<Item = &PortSample> {
        self.trace.iter().filter_map(|event| match event {
            TraceEvent::PortTotals(port) => Some(port),
            _ => None,
        })
    }

    pub fn pfc(&self) -> impl Iterator<Item = &PfcSignal> {
        self.trace.iter().filter_map(|event| match event {
            TraceEvent::Pfc(pfc) => Some(pfc),
            _ => None,
        })
    }

    /// A flow's story.
    pub fn story(&self, flow: u32) -> impl Iterator<Item = &FlowEvent> {
        self.trace.iter().filter_map(move |event| match event {
            TraceEvent::Flow(story) if story.flow == flow => Some(story),
            _ => None,
        })
    }

    /// How often something happened to a flow.
    pub fn count(&self, flow: u32, event: StoryEvent) -> usize {
        self.story(flow).filter(|note| note.event == event).count()
    }
}
