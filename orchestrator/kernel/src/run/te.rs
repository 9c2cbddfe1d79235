//! Traffic engineering: converts the demands that all switches report to new hash buckets.
//!
//! At the end of every interval, agents report the traffic that their hosts sent. A window of the TE controller ends
//! when all agents have reported, and its tables are installed at the end of the next window, as in the simulator. A
//! killed agent misses intervals; the controller waits for its report no longer than until the next interval.

use std::collections::{BTreeMap, BTreeSet};

use lab_abi::wire::{AgentCommand, BucketRow, Demands};
use lab_generators::contract::MonotonicTime;
use lab_plan::model::{FaultChange, FaultPlan, Plan, PolicyPlan, PolicyRun};
use lab_te::{Controller, Tables, TeError};
use lab_units::{BitsPerSec, Bytes, DcId, Nanos};

/// TE controller of a repetition.
#[derive(Debug)]
pub(super) struct TeController<'a> {
    plan: &'a Plan,
    interval: Nanos,
    /// Start of the repetition's clock; `u64::MAX` ns until the start is known.
    start: MonotonicTime,
    controller: Controller,
    /// Provisioned capacity of the directed link that leaves through each port; `None` for links inside a datacenter.
    capacities: Vec<Option<BitsPerSec>>,
    /// Datacenters whose switches have an agent, even if it is down.
    agents: BTreeSet<DcId>,
    /// Datacenters whose reports are needed to end a measurement window: those whose agents are not down.
    awaited: BTreeSet<DcId>,
    /// Number of the latest demand interval for which an agent has reported.
    tick: u64,
    /// Number of the current measurement window, which collects the demand reports of one interval; intervals without
    /// reports have no window.
    window: u64,
    /// Datacenters that have reported in the current measurement window.
    reported: BTreeSet<DcId>,
}

impl<'a> TeController<'a> {
    /// Creates the controller for `run`; `None` if its policy is not traffic engineering.
    pub(super) fn new(plan: &'a Plan, run: &PolicyRun) -> Option<Self> {
        let PolicyPlan::Te(te) = run.policy else {
            return None;
        };
        let all = (0u32..).map(DcId).zip(&plan.dcs);
        let agents: BTreeSet<DcId> = all.filter(|(_, dc)| !dc.legacy).map(|(id, _)| id).collect();
        Some(Self {
            plan,
            interval: te.interval_ns,
            start: MonotonicTime::from_nanos(u64::MAX),
            controller: Controller::new(plan.te_topology(), te.buckets),
            capacities: plan.te_capacities(),
            awaited: agents.clone(),
            agents,
            tick: 0,
            window: 1,
            reported: BTreeSet::new(),
        })
    }

    /// Sets the start of the repetition's clock.
    pub(super) const fn start_at(&mut self, start: MonotonicTime) {
        self.start = start;
    }

    /// Stops waiting for the reports of the agent in `dc`, which is down. Commands for its switch are kept for the
    /// next agent.
    pub(super) fn wait_no_longer_for(&mut self, dc: DcId) {
        self.awaited.remove(&dc);
    }

    /// Waits again for the reports of the agent in `dc`, which is back.
    pub(super) fn wait_for(&mut self, dc: DcId) {
        self.awaited.insert(dc);
    }

    /// Sets the capacity of `fault`'s link for all windows that end after the fault. A cut link keeps its capacity; see
    /// [`Controller`].
    pub(super) fn apply_fault(&mut self, fault: &FaultPlan) {
        let FaultChange::Wire(wire) = fault.change else {
            return;
        };
        for port in [fault.link.port_a(), fault.link.port_b()] {
            self.capacities[port.index()] = Some(wire.rate_bps);
        }
    }

    /// Replaces the next hops by those after the plan's first `count` reconvergences, for all buckets from then on.
    pub(super) fn reconverge(&mut self, count: usize) {
        self.controller
            .set_topology(self.plan.te_topology_after(count));
    }

    /// Handles the demand report of a datacenter's agent; returns the commands that install new buckets if the report
    /// ends a measurement window.
    ///
    /// # Errors
    /// If the solver finds no solution.
    pub(super) fn report(
        &mut self,
        dc: DcId,
        demands: &Demands,
    ) -> Result<Vec<(DcId, AgentCommand)>, TeError> {
        // Agents report at multiples of the interval, but slightly late because of their wake-ups.
        let half = Nanos::new(self.interval.get() / 2);
        let time = MonotonicTime::from_nanos(demands.time_ns).after(half);
        let tick = time.since(self.start).get() / self.interval.get();
        if tick == 0 {
            return Ok(Vec::new()); // No traffic is sent before the start.
        }
        let mut commands = Vec::new();
        if tick > self.tick && !self.reported.is_empty() {
            commands = self.end_window()?;
        }
        self.tick = self.tick.max(tick);
        self.add(dc, demands);
        self.reported.insert(dc);
        if self.awaited.is_subset(&self.reported) {
            commands.extend(self.end_window()?);
        }
        Ok(commands)
    }

    fn add(&mut self, dc: DcId, demands: &Demands) {
        let Some(switch) = self.plan.switches.get(dc.index()) else {
            return;
        };
        let sent: BTreeMap<_, _> = demands
            .destinations
            .iter()
            .map(|row| ((row.addr, row.prefix_len), row.bytes))
            .collect();
        let rows: Vec<Bytes> = switch
            .destinations
            .iter()
            .map(|row| {
                let prefix = self.plan.dcs[row.dc.index()].prefix;
                Bytes::new(sent.get(&(prefix.addr, prefix.len)).copied().unwrap_or(0))
            })
            .collect();
        self.controller.add_demands(self.window, dc.index(), &rows);
    }

    fn end_window(&mut self) -> Result<Vec<(DcId, AgentCommand)>, TeError> {
        for (port, capacity) in self.capacities.iter().enumerate() {
            if let Some(capacity) = *capacity {
                self.controller.set_capacity(self.window, port, capacity);
            }
        }
        self.controller.solve(self.window)?;
        let due = self.controller.due(self.window)?;
        let commands =
            due.map_or_else(Vec::new, |tables| commands(self.plan, &self.agents, tables));
        self.window += 1;
        self.reported.clear();
        Ok(commands)
    }
}

/// Returns the commands with which the agents install `tables`.
fn commands(plan: &Plan, agents: &BTreeSet<DcId>, tables: &Tables) -> Vec<(DcId, AgentCommand)> {
    let switches = plan.switches.iter().zip(&tables.rows);
    let switches = (0u32..).map(DcId).zip(switches);
    let commands = switches.filter(|(dc, _)| agents.contains(dc));
    commands
        .filter_map(|(dc, (switch, rows))| {
            let rows: Vec<_> = switch
                .destinations
                .iter()
                .zip(rows)
                .filter_map(|(destination, buckets)| {
                    let prefix = plan.dcs[destination.dc.index()].prefix;
                    Some(BucketRow {
                        addr: prefix.addr,
                        prefix_len: prefix.len,
                        buckets: buckets.clone()?,
                    })
                })
                .collect();
            (!rows.is_empty()).then_some((dc, AgentCommand::SetBuckets(rows)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use lab_abi::wire::DemandReport;
    use lab_parameters::TeConfig;

    use super::*;
    use crate::testing;

    type Commands = Vec<(DcId, AgentCommand)>;

    const INTERVAL: Nanos = Nanos::from_millis(1_000);
    /// Start of the repetition's clock, deliberately not a multiple of the interval.
    const START: MonotonicTime = MonotonicTime::from_nanos(44_300_000_000);
    const ALL: [u32; 4] = [0, 1, 2, 3];

    fn run() -> PolicyRun {
        PolicyRun {
            label: "te".to_owned(),
            policy: PolicyPlan::Te(TeConfig {
                interval_ns: INTERVAL,
                buckets: 100,
            }),
            path_scores: Vec::new(),
            buckets: Vec::new(),
        }
    }

    fn started<'a>(plan: &'a Plan, run: &PolicyRun) -> TeController<'a> {
        let mut te = TeController::new(plan, run).unwrap();
        te.start_at(START);
        te
    }

    /// Returns the demand report for an interval in which a datacenter's hosts sent `bytes` to every other datacenter.
    fn demands(plan: &Plan, dc: usize, tick: u64, bytes: u64) -> Demands {
        let rows = plan.switches[dc].destinations.iter();
        Demands {
            since_ns: START.as_nanos() + tick * INTERVAL.get() - INTERVAL.get(),
            // Agents wake up slightly late.
            time_ns: START.as_nanos() + tick * INTERVAL.get() + 70_000,
            destinations: rows
                .map(|row| {
                    let prefix = plan.dcs[row.dc.index()].prefix;
                    DemandReport {
                        addr: prefix.addr,
                        prefix_len: prefix.len,
                        bytes,
                    }
                })
                .collect(),
        }
    }

    /// Returns the commands that result after all `dcs` have reported `bytes` in interval `tick`.
    fn report(te: &mut TeController<'_>, dcs: &[u32], tick: u64, bytes: u64) -> Commands {
        let plan = te.plan;
        dcs.iter()
            .flat_map(|&dc| {
                let demands = demands(plan, dc as usize, tick, bytes);
                te.report(DcId(dc), &demands).unwrap()
            })
            .collect()
    }

    fn buckets(commands: &Commands, dc: u32) -> Vec<u16> {
        match commands.iter().find(|(to, _)| *to == DcId(dc)) {
            Some((_, AgentCommand::SetBuckets(rows))) => rows[0].buckets.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn tables_are_installed_one_interval_after_their_measurement() {
        let plan = testing::routed(0);
        let run = run();
        let mut te = started(&plan, &run);
        assert_eq!(report(&mut te, &ALL, 1, 1_000_000), []);
        // There are two next hops whose links have the same rate.
        let commands = report(&mut te, &ALL, 2, 0);
        assert_eq!(buckets(&commands, 0), [50, 50]);
        assert_eq!(buckets(&commands, 3), [50, 50]);
        // No traffic was sent in the second interval, so the installed tables stay.
        assert_eq!(report(&mut te, &ALL, 3, 0), []);
    }

    #[test]
    fn reports_from_before_the_start_end_no_window() {
        let plan = testing::routed(0);
        let run = run();
        let mut te = started(&plan, &run);
        assert_eq!(report(&mut te, &ALL, 0, 1_000_000), []);
        assert_eq!(report(&mut te, &ALL, 1, 0), []);
        assert_eq!(report(&mut te, &ALL, 2, 0), [], "nothing was measured");
    }

    /// Two next hops of the same rate get equal shares, even if the link of one is cut, because only the switch at that
    /// link detects the cut. If one link has a quarter of the rate, the shares are 1 : 4, which is 20 and 80 of 100
    /// buckets.
    #[test]
    fn a_cut_link_keeps_its_share_and_a_slower_link_gets_less() {
        let plan = testing::routed(0);
        let run = run();
        let mut te = started(&plan, &run);
        let link = plan.switches[0].destinations[0].candidates[0].port.link();
        let fault = |change| FaultPlan {
            at_ns: Nanos::ZERO,
            paper_at_ns: Nanos::ZERO,
            link,
            change,
            path_cost_updates: Vec::new(),
        };
        let mut slower = plan.links[link.index()].emu;
        slower.rate_bps = BitsPerSec::new(slower.rate_bps.get() / 4).unwrap();
        te.apply_fault(&fault(FaultChange::Down));
        report(&mut te, &ALL, 1, 1_000_000);
        te.apply_fault(&fault(FaultChange::Wire(slower)));
        let commands = report(&mut te, &ALL, 2, 1_000_000);
        assert_eq!(buckets(&commands, 0), [50, 50]);
        te.apply_fault(&fault(FaultChange::Up));
        let commands = report(&mut te, &ALL, 3, 1_000_000);
        assert_eq!(buckets(&commands, 0), [20, 80], "a repair changes no rate");
    }

    #[test]
    fn a_silent_switch_delays_the_others_by_no_more_than_an_interval() {
        let plan = testing::routed(0);
        let run = run();
        let mut te = started(&plan, &run);
        for tick in [1, 2] {
            assert_eq!(report(&mut te, &[0, 3], tick, 1_000_000), []);
        }
        let commands = report(&mut te, &[0, 3], 3, 1_000_000);
        assert_eq!(buckets(&commands, 0), [50, 50]);
    }

    /// While the agents of dc2 and dc3 are down, the reports of the other two end a window. Once they are back, their reports
    /// are awaited again.
    #[test]
    fn an_agent_that_is_down_delays_nobody() {
        let plan = testing::routed(0);
        let run = run();
        let mut te = started(&plan, &run);
        for dc in [1, 2] {
            te.wait_no_longer_for(DcId(dc));
        }
        assert_eq!(report(&mut te, &[0, 3], 1, 1_000_000), []);
        let commands = report(&mut te, &[0, 3], 2, 1_000_000);
        assert_eq!(buckets(&commands, 0), [50, 50]);
        for dc in [1, 2] {
            te.wait_for(DcId(dc));
        }
        assert_eq!(report(&mut te, &[0, 3], 3, 1_000_000), []);
        assert!(!report(&mut te, &[1, 2], 3, 1_000_000).is_empty());
    }

    #[test]
    fn other_policies_have_no_controller() {
        let plan = testing::routed(0);
        let mut policies = plan.policies.iter();
        assert!(policies.all(|run| TeController::new(&plan, run).is_none()));
    }
}
