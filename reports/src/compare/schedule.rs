//! Schedules of runs: all planned flows, whether or not they ran.

use std::collections::BTreeMap;

use lab_records::{FlowRow, RunDir};
use serde::Deserialize;

/// Returns true if both runs schedule the same flows: numbers, hosts, sizes and starts are equal in each repetition.
/// Returns false if the schedule of a run is unknown.
pub fn is_same(runs: [&RunDir; 2]) -> bool {
    let [plan, other] = runs.map(|run| &run.info().plan_hash);
    if plan == other && runs.iter().any(|run| run.info().has_only_totals()) {
        return true;
    }
    match runs.map(Schedule::read) {
        [Some(first), Some(second)] => first.has_flows_of(&second),
        _ => false,
    }
}

/// Flows of a run, as `plan.json` describes them.
#[derive(Deserialize)]
struct Schedule {
    nodes: Vec<ScheduledNode>,
    flows: Vec<ScheduledFlow>,
}

#[derive(Deserialize)]
struct ScheduledNode {
    name: String,
}

/// Scheduled flow. Sizes and times are at the paper's scale, because values scaled for emulation are rounded.
#[derive(Deserialize)]
struct ScheduledFlow {
    repetition: u32,
    id: u32,
    src: usize,
    dst: usize,
    paper_size_bytes: u64,
    paper_start_ns: u64,
}

impl Schedule {
    fn read(run: &RunDir) -> Option<Self> {
        let mut schedule = match run.plan().ok()? {
            Some(plan) => plan,
            None => Self::of_rows(run)?,
        };
        schedule
            .flows
            .sort_by_key(|flow| (flow.repetition, flow.id));
        Some(schedule)
    }

    /// Reads the schedule of a run without a plan from the rows of a policy's flows; `None` if some flows have no row.
    fn of_rows(run: &RunDir) -> Option<Self> {
        let info = run.info();
        let policy = info.policies.first()?;
        let mut nodes = Vec::new();
        let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
        let mut node = |name: String| {
            *numbers.entry(name).or_insert_with_key(|name| {
                nodes.push(ScheduledNode { name: name.clone() });
                nodes.len() - 1
            })
        };
        let mut flows = Vec::new();
        let add = |row: FlowRow| {
            if row.policy == *policy {
                flows.push(ScheduledFlow {
                    repetition: row.repetition,
                    id: row.flow_id.0,
                    src: node(row.src_host),
                    dst: node(row.dst_host),
                    paper_size_bytes: row.size_bytes.get(),
                    paper_start_ns: row.start_ns.get(),
                });
            }
        };
        run.visit(add).ok()?;
        let is_whole = flows.len() as u64 == info.scheduled_flows;
        is_whole.then_some(Self { nodes, flows })
    }

    fn has_flows_of(&self, other: &Self) -> bool {
        let is_same = |(a, b): (&ScheduledFlow, &ScheduledFlow)| {
            let numbers = |it: &ScheduledFlow| {
                [
                    it.repetition.into(),
                    it.id.into(),
                    it.paper_size_bytes,
                    it.paper_start_ns,
                ]
            };
            numbers(a) == numbers(b)
                && self.name(a.src) == other.name(b.src)
                && self.name(a.dst) == other.name(b.dst)
        };
        self.flows.len() == other.flows.len() && self.flows.iter().zip(&other.flows).all(is_same)
    }

    fn name(&self, node: usize) -> Option<&str> {
        Some(&self.nodes.get(node)?.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(hosts: [&str; 2], flows: &[(u32, u32, u64, u64)]) -> Schedule {
        let flow = |&(repetition, id, paper_size_bytes, paper_start_ns): &(u32, u32, u64, u64)| {
            ScheduledFlow {
                repetition,
                id,
                src: 0,
                dst: 1,
                paper_size_bytes,
                paper_start_ns,
            }
        };
        Schedule {
            nodes: hosts.map(|name| ScheduledNode { name: name.into() }).into(),
            flows: flows.iter().map(flow).collect(),
        }
    }

    #[test]
    fn schedules_are_the_same_only_if_every_flow_is() {
        let hosts = ["dc1/h1", "dc8/h1"];
        let flows = [(0, 0, 1_000, 5), (0, 1, 2_000, 9), (1, 2, 3_000, 7)];
        let base = plan(hosts, &flows);
        assert!(base.has_flows_of(&plan(hosts, &flows)));
        assert!(!base.has_flows_of(&plan(hosts, &flows[..2])));
        assert!(!plan(hosts, &flows[..2]).has_flows_of(&base));
        assert!(!base.has_flows_of(&plan(["dc1/h2", "dc8/h1"], &flows)));
        for other in [
            (1, 2, 3_001, 7),
            (1, 2, 3_000, 8),
            (0, 2, 3_000, 7),
            (1, 3, 3_000, 7),
        ] {
            assert!(!base.has_flows_of(&plan(hosts, &[flows[0], flows[1], other])));
        }
    }
}
