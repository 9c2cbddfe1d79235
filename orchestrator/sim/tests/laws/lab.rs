//! Helpers of these tests: plans of scenario texts, their runs and traces.

use lab_plan::{Engine, Plan, PlanOptions};
use lab_records::StoryEvent;
use lab_sim::{
    Job, Observer, Outcome, Progress, RunOptions, Samples, SimTime, TraceFilter,
    network::Network,
    simulate as run,
    trace::{
        DecisionEvent, FlowEvent, PfcSignal, PortSample, QueueSample, SwitchSample, TraceEvent,
    },
};
use lab_units::Nanos;

/// Serialisation time of a full packet, 4,154 B, at 100 Gbit/s, in picoseconds.
pub const PACKET: u64 = 332_320;

/// Serialisation time of an ACK, 62 B, at 100 Gbit/s, in picoseconds.
pub const ACK: u64 = 4_960;

/// Delay of a link between a host and its switch, in picoseconds.
pub const HOST_DELAY: u64 = 1_000_000;

/// One microsecond in picoseconds.
pub const MICRO: u64 = 1_000_000;
/// One millisecond in picoseconds.
pub const MILLI: u64 = 1_000 * MICRO;

/// Links of a topology with two equal paths from dc1 to dc4, via dc2 and via dc3.
pub const EQUAL_PATHS: &str = "\
    { between: [dc1, dc2], rate: 100 Gbit, delay: 2 ms }, \
    { between: [dc2, dc4], rate: 100 Gbit, delay: 2 ms }, \
    { between: [dc1, dc3], rate: 100 Gbit, delay: 2 ms }, \
    { between: [dc3, dc4], rate: 100 Gbit, delay: 2 ms }";

/// Returns a scenario with one flow between two hosts over a link of 100 Gbit/s and 5 ms. `flow` and `link` add keys to
/// the flow and the link, `more` adds top-level keys.
pub fn pair(flow: &str, link: &str, more: &str) -> String {
    format!(
        "
name: pair
topology:
  dcs: [{{ name: dc1, hosts: 1 }}, {{ name: dc2, hosts: 1 }}]
  links: [{{ between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms{link} }}]
traffic:
  - flows: [{{ from: dc1/h1, to: dc2/h1, {flow} }}]
policies: [ecmp]
{more}
"
    )
}

/// Plans a scenario text for the simulator, unscaled.
pub fn plan(text: &str) -> Plan {
    planned(text, false)
}

/// Plans a scenario text for the simulator at its scale, as `sim --scaled` does.
pub fn scaled(text: &str) -> Plan {
    planned(text, true)
}

fn planned(text: &str, is_scaled: bool) -> Plan {
    let scenario = match lab_scenario::parse("test.yaml", text.as_bytes()) {
        Ok(scenario) => scenario,
        Err(errors) => panic!("{errors}"),
    };
    let files = lab_scenario::Files::new();
    let options = PlanOptions {
        engine: Engine::Sim,
        is_scaled,
        ..PlanOptions::default()
    };
    lab_plan::resolve(&scenario, text, &files, &options).expect("a plan")
}

/// Returns the port of dc1's DCI switch towards the datacenter `next_dc`.
pub fn port_towards(plan: &Plan, next_dc: &str) -> u32 {
    let mut candidates = plan.switches[0]
        .destinations
        .iter()
        .flat_map(|row| &row.candidates);
    let candidate = candidates.find(|row| plan.dcs[row.next_dc.index()].name == next_dc);
    let network = Network::new(plan).expect("a network");
    network.port(candidate.expect("a candidate").port)
}

/// Finished run with its trace and outcome.
pub struct Run {
    pub trace: Vec<TraceEvent>,
    pub outcome: Outcome,
}

/// Simulates the policy with index `policy` for at most a minute of virtual time, with all flows traced.
pub fn simulate(plan: &Plan, policy: usize, threads: usize) -> Run {
    simulate_until(plan, policy, threads, 60_000 * MILLI)
}

/// Simulates the policy with index `policy` until the virtual time `until`, in picoseconds.
pub fn simulate_until(plan: &Plan, policy: usize, threads: usize, until: u64) -> Run {
    simulate_job(Job::new(plan, policy, 0), threads, until)
}

/// Simulates the repetition with number `repetition` under a plan's only policy, on one thread, for at most a minute of
/// virtual time.
pub fn simulate_repetition(plan: &Plan, repetition: u32) -> Run {
    simulate_job(Job::new(plan, 0, repetition), 1, 60_000 * MILLI)
}

pub fn simulate_job(job: Job<'_>, threads: usize, until: u64) -> Run {
    let options = RunOptions {
        threads,
        until: Some(SimTime::from_picos(until)),
        trace_filter: TraceFilter::All,
        samples: Samples::Series,
    };
    let mut log = Log::default();
    let outcome = run(job, &options, &mut log).expect("a simulation");
    Run {
        trace: log.0,
        outcome,
    }
}

/// Plans a scenario text and simulates its only policy on one thread.
pub fn simulate_text(text: &str) -> Run {
    simulate(&plan(text), 0, 1)
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
    /// Returns the time at which a flow finished, in picoseconds; `None` if it did not.
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

    /// Returns the decisions at dc1 for data packets.
    pub fn data_decisions(&self) -> impl Iterator<Item = &DecisionEvent> {
        let decisions = self.decisions();
        decisions.filter(|event| event.dc == 0 && !event.is_ack)
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

    /// Returns the counters of each port at the end of the run.
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

    /// Returns all traced events of a flow.
    pub fn flow_events(&self, flow: u32) -> impl Iterator<Item = &FlowEvent> {
        self.trace.iter().filter_map(move |event| match event {
            TraceEvent::Flow(event) if event.flow == flow => Some(event),
            _ => None,
        })
    }

    /// Returns how often senders went back to a lost packet (go-back-N), in total and because of a time-out.
    pub fn go_backs(&self) -> (u64, u64) {
        (self.outcome.work.go_backs, self.outcome.work.timeouts)
    }

    /// Returns the number of events of kind `event` that a flow has.
    pub fn count(&self, flow: u32, event: StoryEvent) -> usize {
        let events = self.flow_events(flow);
        events.filter(|other| other.event == event).count()
    }

    /// Returns the times of all events of kind `event` that a flow has.
    pub fn times_of(&self, flow: u32, event: StoryEvent) -> Vec<Nanos> {
        let events = self.flow_events(flow).filter(|other| other.event == event);
        events.map(|event| event.at.nanos_trunc()).collect()
    }
}
