//! Traffic engineering: from all switches' demands to their new hash buckets.
//!
//! Agents tell at the end of every interval what their hosts sent. Once all have told of one interval,
//! its tables are computed, to be installed when all have told of the next one: like the simulator,
//! and like a controller far away, it steers by what was an interval ago. A switch whose agent is
//! killed misses intervals; the others do not wait for it longer than to the next one.

use std::collections::{BTreeMap, BTreeSet};

use lab_abi::wire::{AgentCommand, BucketRow, Demands};
use lab_plan::model::{FaultChange, FaultPlan, LinkKind, Plan, PolicyPlan, PolicyRun};
use lab_te::{Hop, Measured, Row, Tables, TeError, Topology};
use lab_units::{BitsPerSec, Bytes, DcId, Nanos};

/// The demands of an interval, and what is steered by those of the one before.
#[derive(Debug)]
pub(super) struct Engineering<'a> {
    plan: &'a Plan,
    interval: Nanos,
    buckets: u16,
    topology: Topology,
    /// By port: the directed link that leaves by it.
    capacities: Vec<Option<BitsPerSec>>,
    /// Datacenters whose switches have an agent.
    agents: BTreeSet<DcId>,
    /// The number of the interval that is being told of, and who has told.
    tick: u64,
    heard: BTreeSet<DcId>,
    /// By switch and destination.
    demands: Vec<Vec<Bytes>>,
    /// Of the interval before.
    tables: Option<Tables>,
}

impl<'a> Engineering<'a> {
    /// For `run`, if it is traffic engineering.
    pub(super) fn of(plan: &'a Plan, run: &PolicyRun) -> Option<Self> {
        let PolicyPlan::Te(te) = run.policy else {
            return None;
        };
        let switches = plan.switches.iter();
        let rows = switches.map(|switch| {
            let is_alike = plan.dcs[plan.nodes[switch.node.index()].dc.index()].legacy;
            let rows = switch.destinations.iter();
            rows.map(|row| Row {
                to: row.dc.index(),
                hops: row
                    .candidates
                    .iter()
                    .map(|candidate| Hop {
                        link: candidate.port.index(),
                        next: candidate.next_dc.index(),
                    })
                    .collect(),
                is_alike,
            })
            .collect()
        });
        let links = plan.links.iter();
        let capacities = links.flat_map(|link| {
            let rate = (link.kind == LinkKind::InterDc).then_some(link.emu.rate_bps);
            [rate; 2]
        });
        let all = (0u32..).map(DcId).zip(&plan.dcs);
        Some(Self {
            plan,
            interval: te.interval_ns,
            buckets: te.buckets,
            topology: Topology::new(rows.collect()),
            capacities: capacities.collect(),
            agents: all.filter(|(_, dc)| !dc.legacy).map(|(id, _)| id).collect(),
            tick: 0,
            heard: BTreeSet::new(),
            demands: nothing(plan),
            tables: None,
        })
    }

    /// A link changes: the tables computed from here on know.
    pub(super) fn strike(&mut self, fault: &FaultPlan) {
        let rate = match fault.change {
            FaultChange::Down => None,
            FaultChange::Up => Some(self.plan.links[fault.link.index()].emu.rate_bps),
            FaultChange::Wire(wire) => Some(wire.rate_bps),
        };
        for port in [fault.link.port_a(), fault.link.port_b()] {
            self.capacities[port.index()] = rate;
        }
    }

    /// Takes in what a datacenter's hosts sent; the commands that follow, when an interval is over.
    ///
    /// # Errors
    /// When the solver gives up.
    pub(super) fn hear(
        &mut self,
        dc: DcId,
        demands: &Demands,
    ) -> Result<Vec<(DcId, AgentCommand)>, TeError> {
        // Agents tell at multiples of the interval, as near as they wake.
        let interval = self.interval.get();
        let tick = demands.time_ns.saturating_add(interval / 2) / interval;
        let mut commands = Vec::new();
        if tick > self.tick && !self.heard.is_empty() {
            commands = self.turn()?;
        }
        self.tick = self.tick.max(tick);
        self.add(dc, demands);
        self.heard.insert(dc);
        if self.heard == self.agents {
            commands.extend(self.turn()?);
        }
        Ok(commands)
    }

    fn add(&mut self, dc: DcId, demands: &Demands) {
        let plan = self.plan;
        let Some(rows) = self.demands.get_mut(dc.index()) else {
            return;
        };
        let sent: BTreeMap<_, _> = demands
            .destinations
            .iter()
            .map(|row| ((row.addr, row.prefix_len), row.bytes))
            .collect();
        for (row, demand) in plan.switches[dc.index()].destinations.iter().zip(rows) {
            let prefix = plan.dcs[row.dc.index()].prefix;
            let bytes = sent.get(&(prefix.addr, prefix.len)).copied().unwrap_or(0);
            *demand = Bytes::new(demand.get().saturating_add(bytes));
        }
    }

    /// An interval is over: what was computed from the one before is installed.
    fn turn(&mut self) -> Result<Vec<(DcId, AgentCommand)>, TeError> {
        let measured = Measured {
            demands: &self.demands,
            capacities: &self.capacities,
        };
        let next = lab_te::tables(&self.topology, &measured, self.buckets)?;
        self.demands = nothing(self.plan);
        self.heard.clear();
        let due = self.tables.replace(next);
        Ok(due.map_or_else(Vec::new, |due| self.commands(&due)))
    }

    fn commands(&self, tables: &Tables) -> Vec<(DcId, AgentCommand)> {
        let switches = self.plan.switches.iter().zip(&tables.rows);
        let switches = (0u32..).map(DcId).zip(switches);
        let commands = switches.filter(|(dc, _)| self.agents.contains(dc));
        commands
            .filter_map(|(dc, (switch, rows))| {
                let rows = switch.destinations.iter().zip(rows);
                let rows: Vec<_> = rows
                    .filter_map(|(destination, buckets)| {
                        let prefix = self.plan.dcs[destination.dc.index()].prefix;
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
}

fn nothing(plan: &Plan) -> Vec<Vec<Bytes>> {
    let switches = plan.switches.iter();
    switches
        .map(|switch| vec![Bytes::ZERO; switch.destinations.len()])
        .collect()
}

#[cfg(test)]
mod tests {
    use lab_abi::wire::DemandReport;
    use lab_plan::model::TePlan;

    use super::*;
    use crate::testing;

    const INTERVAL: Nanos = Nanos::from_millis(1_000);

    fn run() -> PolicyRun {
        PolicyRun {
            label: "te".to_owned(),
            policy: PolicyPlan::Te(TePlan {
                interval_ns: INTERVAL,
                buckets: 100,
            }),
            path_scores: Vec::new(),
            buckets: Vec::new(),
        }
    }

    /// All that a datacenter's hosts sent in an interval, the same to everybody.
    fn demands(plan: &Plan, dc: usize, tick: u64, bytes: u64) -> Demands {
        let rows = plan.switches[dc].destinations.iter();
        Demands {
            since_ns: (tick - 1) * INTERVAL.get(),
            // Agents wake a little late.
            time_ns: tick * INTERVAL.get() + 70_000,
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

    fn all_tell(te: &mut Engineering<'_>, tick: u64, bytes: u64) -> Vec<(DcId, AgentCommand)> {
        let plan = te.plan;
        let told = (0..4u32).flat_map(|dc| {
            let demands = demands(plan, dc as usize, tick, bytes);
            te.hear(DcId(dc), &demands).unwrap()
        });
        told.collect()
    }

    fn buckets(told: &[(DcId, AgentCommand)], dc: u32) -> Vec<u16> {
        let of_dc = told.iter().find(|(to, _)| *to == DcId(dc));
        match of_dc {
            Some((_, AgentCommand::SetBuckets(rows))) => rows[0].buckets.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_was_sent_steers_one_interval_later() {
        let plan = testing::routed(0);
        let run = run();
        let mut te = Engineering::of(&plan, &run).unwrap();
        assert_eq!(all_tell(&mut te, 1, 1_000_000), []);
        // Two ways of the same rate.
        let told = all_tell(&mut te, 2, 0);
        assert_eq!(buckets(&told, 0), [50, 50]);
        assert_eq!(buckets(&told, 3), [50, 50]);
        // Nothing was sent in the second one: what is installed stays.
        assert_eq!(all_tell(&mut te, 3, 0), []);
    }

    #[test]
    fn a_link_that_is_cut_gets_nothing_and_one_that_is_back_its_share() {
        let plan = testing::routed(0);
        let run = run();
        let mut te = Engineering::of(&plan, &run).unwrap();
        let cut = |change| FaultPlan {
            at_ns: Nanos::ZERO,
            paper_at_ns: Nanos::ZERO,
            link: plan.switches[0].destinations[0].candidates[0].port.link(),
            change,
            rescored: Vec::new(),
        };
        te.strike(&cut(FaultChange::Down));
        all_tell(&mut te, 1, 1_000_000);
        te.strike(&cut(FaultChange::Up));
        assert_eq!(buckets(&all_tell(&mut te, 2, 1_000_000), 0), [0, 100]);
        assert_eq!(buckets(&all_tell(&mut te, 3, 1_000_000), 0), [50, 50]);
    }

    #[test]
    fn a_switch_that_does_not_tell_holds_the_others_up_by_no_more_than_an_interval() {
        let plan = testing::routed(0);
        let run = run();
        let mut te = Engineering::of(&plan, &run).unwrap();
        let mut told = Vec::new();
        for tick in 1..=3 {
            for dc in [0u32, 3] {
                let demands = demands(&plan, dc as usize, tick, 1_000_000);
                told.extend(te.hear(DcId(dc), &demands).unwrap());
            }
        }
        assert_eq!(buckets(&told, 0), [50, 50]);
    }

    #[test]
    fn other_policies_are_not_engineered() {
        let plan = testing::routed(0);
        assert!(
            plan.policies
                .iter()
                .all(|run| Engineering::of(&plan, run).is_none())
        );
    }
}
