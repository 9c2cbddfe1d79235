//! Cut links and candidates at each time of a run at which either changes.

use std::collections::BTreeSet;

use lab_units::{LinkId, Nanos, PortId};

use super::routing::Routing;
use crate::{
    model::{AgentCrashPlan, FaultChange, FaultPlan, NewRow, Reconvergence, Switch},
    network::Network,
};

/// Faults, reconvergences and crashes of agents, each in order of time, and the switches' tables at the start.
#[derive(Clone, Copy)]
pub(crate) struct Timeline<'a> {
    pub network: &'a Network,
    pub switches: &'a [Switch],
    pub faults: &'a [FaultPlan],
    pub reconvergences: &'a [Reconvergence],
    pub crashes: &'a [AgentCrashPlan],
}

/// Links and ports that do not forward at a time, and the event that made them so.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dead {
    /// Cut links.
    pub links: BTreeSet<LinkId>,
    /// Ports whose link is up again but that their switch does not use until its next agent starts.
    pub ports: BTreeSet<PortId>,
    /// Event at this time.
    pub change: TimelineChange,
    /// True if a switch without an agent waits for one to use a port or to get new rows.
    pub waits_for_agent: bool,
}

/// Event that changes dead ports or tables; of several at one time, the first of these.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum TimelineChange {
    /// Start of an agent whose switch had missed something.
    AgentStart,
    /// New rows.
    Reconvergence,
    /// Repair of a link.
    Repair,
    /// Cut of a link, or another fault.
    #[default]
    Cut,
}

impl Dead {
    /// Returns true if the switch of `port` does not send through it.
    pub fn is_dead(&self, port: PortId) -> bool {
        self.links.contains(&port.link()) || self.ports.contains(&port)
    }
}

impl Timeline<'_> {
    /// Calls `visit` at each fault, reconvergence and start of an agent, in order: with the paper time, and the dead ports
    /// and the tables from then on. A switch without an agent gets new rows and uses repaired links when its next agent
    /// starts.
    pub fn walk(self, mut visit: impl FnMut(Nanos, &Dead, Routing<'_>)) {
        let restarts = self.crashes.iter().filter_map(|it| it.restart);
        let mut times: BTreeSet<(Nanos, Nanos)> = BTreeSet::new();
        times.extend(self.faults.iter().map(|it| (it.paper_at_ns, it.at_ns)));
        times.extend(
            self.reconvergences
                .iter()
                .map(|it| (it.paper_at_ns, it.at_ns)),
        );
        times.extend(restarts.map(|it| (it.paper_at_ns, it.at_ns)));
        if times.is_empty() {
            return;
        }
        let mut state = State {
            timeline: self,
            switches: self.switches.to_vec(),
            dead: Dead::default(),
            missed: Vec::new(),
        };
        for (paper_at, at) in times {
            state.dead.change = TimelineChange::Cut;
            for fault in self.faults.iter().filter(|it| it.at_ns == at) {
                state.apply_fault(fault);
            }
            for change in self.reconvergences.iter().filter(|it| it.at_ns == at) {
                state.reconverge(change);
            }
            state.start_agents(at);
            state.dead.waits_for_agent = !state.dead.ports.is_empty() || !state.missed.is_empty();
            let routing = Routing {
                network: self.network,
                switches: &state.switches,
            };
            visit(paper_at, &state.dead, routing);
        }
    }

    fn has_agent(&self, dc: usize, at: Nanos) -> bool {
        let mut crashes = self.crashes.iter();
        !crashes.any(|crash| crash.dc.index() == dc && crash.covers(at))
    }

    fn dc_of(&self, port: PortId) -> usize {
        self.network.neighbour(port.peer()).dc.index()
    }
}

/// Dead ports and tables at one time.
struct State<'a> {
    timeline: Timeline<'a>,
    switches: Vec<Switch>,
    dead: Dead,
    /// Rows that wait for their switch's next agent, in the order in which they were due.
    missed: Vec<&'a NewRow>,
}

impl<'a> State<'a> {
    fn apply_fault(&mut self, fault: &FaultPlan) {
        fault.cut_or_repair(&mut self.dead.links);
        if fault.change == FaultChange::Up {
            self.dead.change = TimelineChange::Repair;
            let ports = [fault.link.port_a(), fault.link.port_b()];
            let timeline = self.timeline;
            self.dead.ports.extend(
                ports
                    .into_iter()
                    .filter(|port| !timeline.has_agent(timeline.dc_of(*port), fault.at_ns)),
            );
        }
    }

    fn reconverge(&mut self, change: &'a Reconvergence) {
        for row in &change.rows {
            if self.timeline.has_agent(row.switch, change.at_ns) {
                row.apply(&mut self.switches);
                self.dead.change = TimelineChange::Reconvergence;
            } else {
                self.missed.push(row);
            }
        }
    }

    fn start_agents(&mut self, at: Nanos) {
        let timeline = self.timeline;
        for crash in timeline.crashes {
            if crash.restart.is_none_or(|restart| restart.at_ns != at) {
                continue;
            }
            let dc = crash.dc.index();
            let waiting = self.dead.ports.len() + self.missed.len();
            self.dead.ports.retain(|port| timeline.dc_of(*port) != dc);
            for row in self.missed.extract_if(.., |row| row.switch == dc) {
                row.apply(&mut self.switches);
            }
            if self.dead.ports.len() + self.missed.len() < waiting {
                self.dead.change = TimelineChange::AgentStart;
            }
        }
    }
}
