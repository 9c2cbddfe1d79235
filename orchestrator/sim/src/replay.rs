//! Replay of the artifact's flows with results in memory, for comparison with the artifact's outputs.

use std::collections::BTreeMap;

use lab_artifact::{NodeIds, SimulatedFlow, average_utilisation};
use lab_plan::{Link, LinkKind, Plan};
use lab_units::{Bytes, Nanos};

use crate::{
    error::SimError,
    run::{Observer, Progress, RunOptions},
    simulate::{Job, RunContext, simulate_with},
    time::SimTime,
    trace::TraceEvent,
    world::SimFlow,
};

/// Total bytes that an inter-DC link has carried so far, both directions added, by time since the run's start.
type Carried = BTreeMap<Nanos, Bytes>;

/// Results of one policy's run.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Flows, in the order of their starts.
    pub flows: Vec<SimulatedFlow>,
    carried: BTreeMap<String, Carried>,
}

impl Replay {
    /// Returns the time at which the last flow ended.
    #[must_use]
    pub fn last_end(&self) -> Nanos {
        let ends = self
            .flows
            .iter()
            .filter_map(|flow| Some(flow.start.saturating_add(flow.fct?)));
        ends.max().unwrap_or(Nanos::ZERO)
    }

    /// Returns the mean utilisation in percent, over `span`, of the inter-DC link between two switches, given by their
    /// node numbers in the artifact. Returns `None` if `plan` has no such link.
    #[must_use]
    pub fn utilisation(&self, plan: &Plan, between: [u32; 2], span: Nanos) -> Option<f64> {
        let ids = NodeIds::of(plan);
        let is_between = |link: &&Link| {
            let ends = [link.a, link.b].map(|node| ids.theirs(node));
            link.kind == LinkKind::InterDc && (ends == between || ends == [between[1], between[0]])
        };
        let link = plan.links.iter().find(is_between)?;
        let mut samples = vec![(Nanos::ZERO, Bytes::ZERO)];
        let carried = self.carried.get(&link.name).into_iter().flatten();
        samples.extend(carried.map(|(&at, &sent)| (at, sent)));
        Some(average_utilisation(
            &samples,
            link.emu.rate_bps,
            self.last_end(),
            span,
        ))
    }
}

/// Simulates `job` and calls `on_progress` each time that a tenth of the flows has finished.
///
/// # Errors
/// Fails if the plan cannot be simulated.
pub fn replay(
    job: Job<'_>,
    options: &RunOptions,
    on_progress: &mut dyn FnMut(Progress),
) -> Result<Replay, SimError> {
    simulate_with(job, options, |context, run| {
        let mut collector = Collector {
            context,
            on_progress,
            ends: vec![None; context.flows.len()],
            carried: BTreeMap::new(),
            reported_tenths: 0,
        };
        run(&mut collector);
        let flow = |(flow, end): (&SimFlow, &Option<SimTime>)| {
            let planned = &job.plan.flows[flow.plan.index()];
            SimulatedFlow {
                flow: flow.identity.data,
                size: planned.size_bytes,
                start: planned.start_ns,
                fct: end.map(|end| (end - flow.start).nanos_trunc()),
                standalone: planned.ideal_fct_ns,
            }
        };
        Replay {
            flows: context
                .flows
                .iter()
                .zip(&collector.ends)
                .map(flow)
                .collect(),
            carried: collector.carried,
        }
    })
}

struct Collector<'a> {
    context: RunContext<'a>,
    on_progress: &'a mut dyn FnMut(Progress),
    ends: Vec<Option<SimTime>>,
    carried: BTreeMap<String, Carried>,
    /// Number of tenths of the flows whose end has been reported.
    reported_tenths: u64,
}

impl Observer for Collector<'_> {
    fn on_event(&mut self, event: TraceEvent) {
        match event {
            TraceEvent::FlowFinished(end) => self.ends[end.flow as usize] = Some(end.at),
            TraceEvent::LinkSample(sample) => {
                let port = self.context.network.ports[sample.port as usize].plan;
                let link = &self.context.job.plan.links[port.link().index()];
                let link = self.carried.entry(link.name.clone()).or_default();
                let sent = link.entry(sample.at.nanos_trunc()).or_insert(Bytes::ZERO);
                *sent = Bytes::new(sent.get() + sample.counts.tx_bytes);
            }
            TraceEvent::Decision(_)
            | TraceEvent::PortTotals(_)
            | TraceEvent::QueueSample(_)
            | TraceEvent::SwitchSample(_)
            | TraceEvent::RateSample(_)
            | TraceEvent::Pfc(_)
            | TraceEvent::Hop(_)
            | TraceEvent::Split(_)
            | TraceEvent::FlowGivenUp(_)
            | TraceEvent::Flow(_) => {}
        }
    }

    fn on_progress(&mut self, progress: Progress) -> bool {
        let tenths = progress.work.finished * 10 / progress.flows.max(1);
        if tenths > self.reported_tenths {
            self.reported_tenths = tenths;
            (self.on_progress)(progress);
        }
        true
    }
}
