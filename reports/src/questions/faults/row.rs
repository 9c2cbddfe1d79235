//! Rows of the table of faults.

use std::{cmp::Reverse, collections::BTreeMap};

use lab_records::{AgentCrashInfo, CrashCounts, Failover, LinkChange, OutageInfo};
use lab_units::Nanos;
use serde::Serialize;

use crate::questions::ReportInputs;

/// Changes of links at one time, or an outage that begins then; or the crash of an agent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FaultRow<'a> {
    /// Time relative to the repetition's start, in paper time.
    pub time_ns: Nanos,
    /// Changed links, by position in the plan; empty if the outage begins at a reconvergence, and for a crash.
    pub changes: Vec<FaultChange<'a>>,
    /// Crash of an agent, which has a row of its own; `None` in all other rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crash: Option<&'a AgentCrashInfo>,
    /// Outage that begins at this time; `None` if there is none.
    pub outage: Option<Outage<'a>>,
    /// Numbers of each policy, in the scenario's order.
    pub policies: Vec<PolicyFaults<'a>>,
}

/// Change of a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FaultChange<'a> {
    /// Name of the link.
    pub link: &'a str,
    /// Kind of the change: `cut`, `back` or `changed`.
    pub change: &'static str,
}

/// Time span without a next hop, with the cause of its end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outage<'a> {
    #[serde(flatten)]
    pub info: &'a OutageInfo,
    /// Cause of the end: `repair`, `reconvergence`, or `cut` if switches then fail over before the dead end; `None` if the
    /// outage lasts.
    pub ended_by: Option<&'static str>,
}

/// Numbers of one policy in a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyFaults<'a> {
    /// Label of the policy.
    pub policy: &'a str,
    /// Failovers after the cuts at this time; `None` in rows without a cut, and in the second and later rows of a time.
    pub failover: Option<&'a Failover>,
    /// Counts while the switch had no agent; `None` in rows without a crash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crash: Option<&'a CrashCounts>,
    /// Number of flows of the outage's pairs that were under way during the outage.
    pub flows: u64,
    /// Number of these flows that did not finish.
    pub unfinished: u64,
}

impl FaultRow<'_> {
    /// Returns the number of failovers under all policies; `None` in rows without a cut.
    pub fn failovers(&self) -> Option<u64> {
        let failovers = self.policies.iter().filter_map(|it| it.failover);
        failovers.map(|it| it.decisions).reduce(|a, b| a + b)
    }

    /// Returns the number of flows under way during the outage, under all policies.
    pub fn flows(&self) -> u64 {
        self.policies.iter().map(|it| it.flows).sum()
    }

    /// Returns the number of these flows that did not finish.
    pub fn unfinished(&self) -> u64 {
        self.policies.iter().map(|it| it.unfinished).sum()
    }

    /// Returns the number of decisions without an agent, under all policies; `None` in rows without a crash.
    pub fn decisions(&self) -> Option<u64> {
        let crashes = self.policies.iter().filter_map(|it| it.crash);
        crashes.map(|it| it.decisions).reduce(|a, b| a + b)
    }

    /// Returns the key by which [`worst`] selects rows.
    fn weight(&self) -> (u64, u64, u64) {
        let pairs = self.outage.as_ref().map_or(0, |it| it.info.pairs);
        let decisions = self.failovers().or(self.decisions());
        (self.unfinished(), pairs, decisions.unwrap_or(0))
    }
}

/// Returns the rows of a run, by time, those of links first; empty if no fault occurred.
pub fn of<'a>(inputs: &ReportInputs<'a>) -> Vec<FaultRow<'a>> {
    let mut rows = of_links(inputs);
    rows.extend(of_agents(inputs));
    rows.sort_by_key(|row| row.time_ns);
    rows
}

/// Returns a row for each crash of an agent until the latest end of any policy's first repetition.
fn of_agents<'a>(inputs: &ReportInputs<'a>) -> Vec<FaultRow<'a>> {
    let end = inputs.run.flows.first_end();
    let crashes = inputs.run.info.agent_crashes.iter().enumerate();
    let in_run = crashes.filter(|(_, crash)| crash.from_ns <= end);
    let row = |(index, crash): (usize, &'a AgentCrashInfo)| {
        let policies = inputs.summary.evidence.policies.iter();
        let numbers = policies.map(|policy| PolicyFaults {
            policy: &policy.policy,
            failover: None,
            crash: policy.crashes.get(index),
            flows: 0,
            unfinished: 0,
        });
        FaultRow {
            time_ns: crash.from_ns,
            changes: Vec::new(),
            crash: Some(crash),
            outage: None,
            policies: numbers.collect(),
        }
    };
    in_run.map(row).collect()
}

/// Returns the rows of links and outages, by time and end of the outage.
fn of_links<'a>(inputs: &ReportInputs<'a>) -> Vec<FaultRow<'a>> {
    let run = inputs.run;
    let evidence = &inputs.summary.evidence;
    let mut changes: BTreeMap<Nanos, Vec<FaultChange<'a>>> = BTreeMap::new();
    for fault in run.faults() {
        changes.entry(fault.time_ns).or_default().push(FaultChange {
            link: &fault.link,
            change: change_word(fault.change),
        });
    }
    if changes.is_empty() {
        return Vec::new();
    }
    let mut outages: BTreeMap<Nanos, Vec<usize>> = BTreeMap::new();
    let end = run.flows.first_end();
    for (index, outage) in evidence.outages.iter().enumerate() {
        if outage.from_ns <= end {
            outages.entry(outage.from_ns).or_default().push(index);
            changes.entry(outage.from_ns).or_default();
        }
    }
    let failovers: Vec<BTreeMap<Nanos, &Failover>> = (evidence.policies.iter())
        .map(|policy| policy.failovers.iter().map(|it| (it.at_ns, it)).collect())
        .collect();
    let is_at = |time: Nanos, change: LinkChange| {
        let mut faults = run.info.faults.iter();
        faults.any(|fault| fault.time_ns == time && fault.change == change)
    };
    let ended_by = |outage: &OutageInfo| {
        let to = outage.to_ns?;
        // A cut ends an outage if the switches before it then send around the dead end.
        Some(if is_at(to, LinkChange::Up) {
            "repair"
        } else if is_at(to, LinkChange::Down) {
            "cut"
        } else {
            "reconvergence"
        })
    };
    let mut rows = Vec::new();
    for (time_ns, changes) in changes {
        let begun = outages.get(&time_ns).map_or(&[][..], Vec::as_slice);
        for at in 0..begun.len().max(1) {
            let outage = begun.get(at).copied();
            let policies = evidence.policies.iter().zip(&failovers);
            let numbers = policies.map(|(policy, failovers)| {
                let hit = outage.and_then(|index| policy.outages.get(index));
                PolicyFaults {
                    policy: &policy.policy,
                    failover: failovers.get(&time_ns).copied().filter(|_| at == 0),
                    crash: None,
                    flows: hit.map_or(0, |it| it.flows),
                    unfinished: hit.map_or(0, |it| it.unfinished),
                }
            });
            rows.push(FaultRow {
                time_ns,
                changes: changes.clone(),
                crash: None,
                outage: outage.map(|index| Outage {
                    info: &evidence.outages[index],
                    ended_by: ended_by(&evidence.outages[index]),
                }),
                policies: numbers.collect(),
            });
        }
    }
    rows
}

/// Returns at most `max` rows in order: those with the most unfinished flows, then pairs without a next hop, then
/// failovers or decisions without an agent; of equal rows, the first.
pub fn worst<'r, 'a>(rows: &'r [FaultRow<'a>], max: usize) -> Vec<&'r FaultRow<'a>> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&index| Reverse(rows[index].weight()));
    order.truncate(max);
    order.sort_unstable();
    order.into_iter().map(|index| &rows[index]).collect()
}

const fn change_word(change: LinkChange) -> &'static str {
    match change {
        LinkChange::Down => "cut",
        LinkChange::Up => "back",
        LinkChange::Changed => "changed",
    }
}
