//! Conversion of a run's trace events to rows of records.

use std::collections::BTreeMap;

use lab_plan::HostProfile;
use lab_recorder::RowBatch;
use lab_records::{FlowStatus, RecordsError, StoryEvent, StoryRow};

use super::{
    rows::{End, EventRows, FlowHops},
    story::Stories,
};
use crate::{
    partition::MAX_TIMEOUTS,
    run::{EndReason, Outcome, RunOptions},
    simulate::RunContext,
    time::SimTime,
    trace::{DecisionEvent, FlowEnd, Hop, PortSample, Samples, TraceEvent},
};

/// Receiver of rows during a run; see [`record`](super::record()).
pub type Sink<'s> = &'s mut (dyn FnMut(&RowBatch) -> Result<(), RecordsError> + Send);

/// Converter of trace events to rows. It passes rows on window by window, so that its memory is bounded by one window's
/// rows and the active flows.
pub struct Recorder<'w> {
    context: RunContext<'w>,
    options: &'w RunOptions,
    rows: EventRows<'w>,
    sink: Sink<'w>,
    /// Hops of active flows, indexed by flow.
    hops: Vec<Option<Box<FlowHops>>>,
    /// True for each flow that has a row, indexed by flow.
    has_ended: Vec<bool>,
    stories: Stories,
    /// Samples of ports in the current window; a port's row also needs the sample of its peer.
    links: Vec<PortSample>,
    totals: Vec<PortSample>,
    /// Rows that will be passed on at the end of the window.
    pending: RowBatch,
    /// First error of the sink, which gets no rows after it.
    error: Option<RecordsError>,
}

impl<'w> Recorder<'w> {
    pub fn new(context: RunContext<'w>, options: &'w RunOptions, sink: Sink<'w>) -> Self {
        Self {
            context,
            options,
            rows: EventRows::new(context),
            sink,
            hops: vec![None; context.flows.len()],
            has_ended: vec![false; context.flows.len()],
            stories: Stories::default(),
            links: Vec::new(),
            totals: Vec::new(),
            pending: RowBatch::default(),
            error: None,
        }
    }

    /// Passes on the rows of a window's events; returns false if the sink has failed.
    pub fn window(&mut self, events: Vec<TraceEvent>) -> bool {
        for event in events {
            self.event(event);
        }
        self.flush();
        self.error.is_none()
    }

    /// Passes on the rows of all unfinished flows and all pending rows.
    pub fn close(mut self, outcome: &Outcome) -> Result<(), RecordsError> {
        let mut has_started = vec![false; self.context.flows.len()];
        for &flow in &outcome.unfinished {
            has_started[flow as usize] = true;
        }
        for (flow, has_started) in (0u32..).zip(has_started) {
            if !self.has_ended[flow as usize] {
                let end = self.unfinished(flow, has_started, outcome);
                self.end_flow(flow, &end);
            }
        }
        self.pending.story.extend(self.stories.end_all());
        self.flush();
        self.error.map_or(Ok(()), Err)
    }

    fn event(&mut self, event: TraceEvent) {
        match event {
            TraceEvent::FlowFinished(end) => self.end_flow(end.flow, &End::At(end.at)),
            TraceEvent::FlowGivenUp(FlowEnd { at, flow }) => {
                self.end_flow(flow, &self.given_up(at));
            }
            TraceEvent::Decision(event) => self.decided(&event),
            TraceEvent::Split(event) => self.pending.splits.push(self.rows.split(&event)),
            TraceEvent::LinkSample(sample) => self.links.push(sample),
            TraceEvent::PortTotals(sample) => self.totals.push(sample),
            TraceEvent::QueueSample(sample) => self.pending.queues.push(self.rows.queue(&sample)),
            TraceEvent::SwitchSample(sample) => {
                self.pending.switches.push(self.rows.switch(&sample));
            }
            TraceEvent::RateSample(sample) => self.pending.rates.push(self.rows.rate(&sample)),
            TraceEvent::Pfc(signal) => self.pending.pfc.push(self.rows.pfc(&signal)),
            TraceEvent::Hop(hop) => self.hop(hop),
            TraceEvent::Flow(event) => {
                let row = self.rows.story(&event);
                let is_last = event.event == StoryEvent::Finished;
                self.add_story(event.flow, row);
                if is_last {
                    self.pending.story.extend(self.stories.end(event.flow));
                }
            }
        }
    }

    fn unfinished(&self, flow: u32, has_started: bool, outcome: &Outcome) -> End {
        let end = self.rows.paper_time(outcome.end);
        let start = self
            .rows
            .paper_time(self.context.flows[flow as usize].start);
        let (status, reason) = match (outcome.reason, has_started) {
            (EndReason::Stopped, true) => (
                FlowStatus::Interrupted,
                format!("the run was interrupted at {end}"),
            ),
            (EndReason::Stopped, false) => (
                FlowStatus::Interrupted,
                format!(
                    "the run was interrupted at {end}; the flow should have started at {start}"
                ),
            ),
            (EndReason::Until, true) => (
                FlowStatus::TimedOut,
                format!("not finished at the time limit of {end}"),
            ),
            (EndReason::Until, false) => (
                FlowStatus::NotReady,
                format!("the flow should have started at {start}, but the time limit was {end}"),
            ),
            // A QP with a time-out continues until it finishes or fails, so an unfinished flow here has no time-out.
            (EndReason::Stuck | EndReason::Finished, _) => (
                FlowStatus::TimedOut,
                "a packet of the flow was lost and is not retransmitted (hint: set transport.retransmit_timeout)"
                    .to_owned(),
            ),
        };
        End::Not {
            status,
            reason,
            has_started,
        }
    }

    /// Returns the end of a flow whose QP failed, as the lab's hosts would report it: SoftRoCE retries until the flow's
    /// deadline, other QPs end with an error after all retries.
    fn given_up(&self, at: SimTime) -> End {
        let plan = self.context.job.plan;
        let (status, reason) = match plan.transport.profile {
            HostProfile::Rxe => (
                FlowStatus::TimedOut,
                format!("not finished after {}", plan.rdma.flow_deadline_ns),
            ),
            HostProfile::Rnic => (
                FlowStatus::Failed,
                format!(
                    "the flow's QP gave up at {}: {MAX_TIMEOUTS} retries got no answer (hint: was the flow's path cut? \
                     each retry waits for transport.retransmit_timeout)",
                    self.rows.paper_time(at)
                ),
            ),
        };
        End::Not {
            status,
            reason,
            has_started: true,
        }
    }

    fn end_flow(&mut self, flow: u32, end: &End) {
        self.has_ended[flow as usize] = true;
        let hops = self.hops[flow as usize].take().unwrap_or_default();
        let row = self.rows.flow(flow, end, &hops);
        let paths = self.rows.paths(flow, &row, &hops);
        self.pending.flows.push(row);
        self.pending.paths.extend(paths);
        self.pending.story.extend(self.stories.end(flow));
    }

    fn hop(&mut self, hop: Hop) {
        // A retransmitted packet of a flow that has ended may still be in flight.
        if self.has_ended[hop.flow as usize] {
            return;
        }
        let (from, to) = self.rows.hop(hop.port);
        let hops = self.hops[hop.flow as usize].get_or_insert_default();
        let direction = if hop.is_ack {
            &mut hops.ack
        } else {
            &mut hops.data
        };
        direction.add(from, to, hop.packet.into());
    }

    fn decided(&mut self, event: &DecisionEvent) {
        let Some(decision) = self.rows.numbered(event) else {
            return;
        };
        let plan_flow = || self.context.flows[event.flow as usize].plan;
        if self.options.trace_filter.includes(plan_flow) {
            let story = self.rows.decided(event, decision.chosen);
            self.add_story(event.flow, story);
        }
        if self.options.samples == Samples::Series {
            let row = self.rows.decision(&decision);
            self.pending.decisions.push(row);
        }
        self.pending.numbered.push(decision);
    }

    /// Creates rows from the ports' samples. Packets that a cut removed from a wire are counted at the port that sent
    /// them. All ports are sampled at the same times, so the peer's sample is of the same window.
    fn count_where_sent(&mut self) {
        let rows = &self.rows;
        let links = booked(self.context, std::mem::take(&mut self.links));
        self.pending
            .links
            .extend(links.iter().map(|it| rows.link(it)));
        let totals = booked(self.context, std::mem::take(&mut self.totals));
        self.pending
            .ports
            .extend(totals.iter().map(|it| rows.port(it)));
    }

    fn add_story(&mut self, flow: u32, row: StoryRow) {
        self.pending.story.extend(self.stories.add(flow, row));
    }

    fn flush(&mut self) {
        self.count_where_sent();
        let rows = std::mem::take(&mut self.pending);
        if self.error.is_none() {
            self.error = (self.sink)(&rows).err();
        }
    }
}

/// Returns `samples` with each packet that a cut removed from a wire counted at its sending port.
fn booked(context: RunContext<'_>, mut samples: Vec<PortSample>) -> Vec<PortSample> {
    let lost = |sample: &PortSample| ((sample.at, sample.port), sample.counts.lost_on_wire);
    let lost: BTreeMap<(SimTime, u32), u64> = samples.iter().map(lost).collect();
    for sample in &mut samples {
        let peer = context.network.ports[sample.port as usize].peer;
        let sent = lost.get(&(sample.at, peer)).copied().unwrap_or(0);
        sample.counts.drops += sent;
        sample.counts.drops -= sample.counts.lost_on_wire;
    }
    samples
}
