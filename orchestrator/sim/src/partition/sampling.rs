//! Periodic samples: LCMP's monitor, and the records of links, queues, switches and sending rates. A switch's agent
//! takes all of them except the sending rates, so the others pause while the agent is down.

use lab_plan::LinkKind;
use lab_policy::{Preset, lcmp::Levels};
use lab_recorder::QpRate;
use lab_units::Nanos;

use super::{Partition, dci::MonitoredPort};
use crate::{
    cc::CongestionControl,
    event::EventKind,
    port::Port,
    semantics::SemanticsRules,
    time::SimTime,
    trace::{PortSample, QueueSample, RateSample, Samples, SwitchSample, TraceEvent},
    world::{RunPolicy, World},
};

/// Times at which links and queues are sampled during a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SampleTimes {
    /// In the plan's intervals.
    Series,
    /// Links alone, once; later if the switch has no agent then.
    At(SimTime),
}

impl SampleTimes {
    /// Returns the times for a run of `world` until `until` that takes `samples`.
    pub fn new<S: SemanticsRules, C: CongestionControl>(
        samples: Samples,
        until: SimTime,
        world: &World<'_, S, C>,
    ) -> Self {
        match samples {
            Samples::Series => Self::Series,
            Samples::Totals => {
                let interval = SimTime::from(world.plan.measure.links_ns).picos();
                let starts = world.flows.iter().map(|flow| flow.start);
                let last = starts.filter(|&start| start < until).max();
                let intervals = last.map_or(1, |last| last.picos().div_ceil(interval).max(1));
                Self::At(SimTime::from_picos(interval.saturating_mul(intervals)))
            }
        }
    }
}

impl<S: SemanticsRules, C: CongestionControl> Partition<'_, S, C> {
    pub(super) fn schedule_periodic(&mut self) {
        if let RunPolicy::Lcmp(config) = &self.world.policy
            && config.preset == Preset::Paper
        {
            self.schedule_after(EventKind::Monitor, config.sample_interval_ns);
        }
        self.schedule_flow_gc();
        let measure = &self.world.plan.measure;
        match self.sample_times {
            SampleTimes::Series => {
                self.schedule_after(EventKind::SampleLinks, measure.links_ns);
                self.schedule_after(EventKind::SampleQueues, measure.queues_ns);
            }
            SampleTimes::At(at) => self.events.push(at, EventKind::SampleLinks, 0),
        }
        if self.has_agent() {
            self.schedule_after(EventKind::SampleSwitch, measure.switches_ns);
        }
        self.schedule_te_tick();
        if let Some(sampled) = &self.world.sampled_qps {
            self.schedule_after(EventKind::SampleRates, sampled.interval);
        }
    }

    /// Schedules the next periodic event of `kind`, `interval` from now.
    pub(super) fn schedule_after(&mut self, kind: EventKind, interval: Nanos) {
        let at = self.now.saturating_add(interval.into());
        self.events.push(at, kind, 0);
    }

    /// Takes LCMP's periodic sample of the DCI switch's ports (Sec. 3.3), unless the switch has no agent.
    pub(super) fn monitor_due(&mut self) {
        let world = self.world;
        let RunPolicy::Lcmp(config) = &world.policy else {
            return;
        };
        if !self.is_agent_down() {
            let now = self.now;
            self.each_monitored(|monitored, port| monitored.sample(now, port, config));
        }
        self.schedule_after(EventKind::Monitor, config.sample_interval_ns);
    }

    /// Applies `change` to each port of the DCI switch that LCMP monitors.
    pub(super) fn each_monitored(&mut self, change: impl Fn(&mut MonitoredPort, &Port)) {
        let world = self.world;
        let node = world.switches[self.dc as usize].node;
        let first = world.network.nodes[node as usize].ports.start - self.first_port;
        let ports = &self.ports[first as usize..];
        for (monitored, port) in self.dci.monitored.iter_mut().zip(ports) {
            change(monitored, port);
        }
    }

    pub(super) fn sample_links_due(&mut self) {
        if !self.is_agent_down() {
            self.sample_links();
            if self.sample_times != SampleTimes::Series {
                return;
            }
        }
        self.schedule_after(EventKind::SampleLinks, self.world.plan.measure.links_ns);
    }

    pub(super) fn sample_queues_due(&mut self) {
        if !self.is_agent_down() {
            self.sample_queues();
        }
        self.schedule_after(EventKind::SampleQueues, self.world.plan.measure.queues_ns);
    }

    pub(super) fn sample_switch_due(&mut self) {
        if !self.is_agent_down() {
            self.sample_switch();
        }
        self.schedule_after(EventKind::SampleSwitch, self.world.plan.measure.switches_ns);
    }

    /// Samples the rates of active QPs whose flows are selected for the records.
    pub(super) fn sample_rates_due(&mut self) {
        let world = self.world;
        let Some(sampled) = &world.sampled_qps else {
            return;
        };
        let here = sampled.flows.iter().filter_map(|flow| {
            let facts = &world.flows[*flow as usize];
            let is_here = world.network.nodes[facts.src as usize].dc == self.dc;
            let slot = is_here.then(|| self.qp_of[facts.sending as usize])?;
            Some((slot, self.qps.get(slot)?))
        });
        let mut qps: Vec<_> = here.collect();
        qps.sort_unstable_by_key(|(slot, _)| *slot);
        for (_, qp) in qps {
            let control = qp.control.target_and_alpha(self.now, &world.control);
            if let Some((target, alpha_q30)) = control {
                self.trace.push(TraceEvent::RateSample(RateSample {
                    at: self.now,
                    flow: qp.flow,
                    qp: QpRate {
                        rate: qp.control.rate(),
                        target,
                        alpha_q30,
                        cnps: qp.cnps,
                    },
                }));
            }
        }
        self.schedule_after(EventKind::SampleRates, sampled.interval);
    }

    /// Traces the counters of the inter-DC ports.
    fn sample_links(&mut self) {
        for port in self.inter_dc_ports() {
            let state = self.port(port);
            let sample = PortSample {
                counts: state.counts,
                rate: state.rate,
                at: self.now,
                port,
            };
            self.trace.push(TraceEvent::LinkSample(sample));
        }
    }

    /// Traces the egress queues of the inter-DC ports.
    fn sample_queues(&mut self) {
        let node = self.world.switches[self.dc as usize].node;
        for port in self.inter_dc_ports() {
            let monitored = self.dci.monitored.get(self.index_at_node(node, port));
            let levels = monitored.map_or(Levels::default(), |monitored| monitored.levels);
            let sample = QueueSample {
                bytes: self.port(port).total_bytes,
                at: self.now,
                port,
                levels,
            };
            self.trace.push(TraceEvent::QueueSample(sample));
        }
    }

    /// Traces the counters of the DCI switch's agent.
    fn sample_switch(&mut self) {
        let table = &self.dci.table;
        self.trace
            .push(TraceEvent::SwitchSample(Box::new(SwitchSample {
                at: self.now,
                dc: self.dc,
                flows: table.flows() as u64,
                evicted: table.evictions,
                expired: table.expirations,
                counters: self.dci.counters,
            })));
    }

    /// Returns true if the DCI switch runs the agent, false if it is a legacy switch.
    fn has_agent(&self) -> bool {
        !self.world.switches[self.dc as usize].is_legacy
    }

    /// Advances the clock to the run's end, and traces the last samples of links, queues and switch counters, and each
    /// port's totals.
    pub fn close(&mut self, end: SimTime) {
        self.now = end;
        self.sample_links();
        if self.sample_times == SampleTimes::Series {
            self.sample_queues();
        }
        if self.has_agent() {
            self.sample_switch();
        }
        for (port, state) in (self.first_port..).zip(&self.ports) {
            self.trace.push(TraceEvent::PortTotals(PortSample {
                counts: state.counts_at(end),
                rate: state.rate,
                at: end,
                port,
            }));
        }
    }

    fn inter_dc_ports(&self) -> Vec<u32> {
        let world = self.world;
        let node = world.switches[self.dc as usize].node;
        let ports = world.network.nodes[node as usize].ports.clone();
        let is_inter_dc = |&port: &u32| {
            let link = world.network.ports[port as usize].plan.link();
            world.plan.links[link.index()].kind == LinkKind::InterDc
        };
        ports.filter(is_inter_dc).collect()
    }
}
