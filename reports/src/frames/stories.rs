//! Decisions on chosen flows, and numbers of repeated decisions over time.

use std::collections::{BTreeMap, BTreeSet};

use lab_records::DecisionRow;

use super::TimeGrid;
use crate::{error::ReportError, facts::RunFacts};

/// Key of a flow: policy, repetition and flow number.
pub type FlowKey = (String, u32, u32);

/// Decision of a DCI switch on a flow that the report page lists.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Decision {
    /// Time from the start of the repetition, ns.
    pub time: u64,
    /// Datacenter of the DCI switch.
    pub switch: String,
    /// Trigger and rule of the decision, such as `new_flow/scored`.
    pub reason: String,
    /// For each candidate: next-hop datacenter, C_path, C_cong, total cost, and whether the policy kept the candidate.
    pub candidates: Vec<(String, u64, u64, u64, bool)>,
    /// Next-hop datacenter of the chosen candidate; `None` if no candidate was chosen.
    pub chosen: Option<String>,
}

/// Decisions that a report page shows.
#[derive(Default)]
pub struct Stories {
    /// Decisions on each listed flow, in order of time.
    pub of_flows: BTreeMap<FlowKey, Vec<Decision>>,
    /// Policies that compute costs: at least one of their decisions has a cost other than 0.
    pub scored: BTreeSet<String>,
    /// Number of repeated decisions (by failover or flow ageing) in each interval of the first repetition, by policy.
    pub again: BTreeMap<String, Vec<u32>>,
}

/// Reads the routing decisions for `flows`. The table is read column by column, and only the few rows of these flows are
/// built.
pub fn stories(
    run: &RunFacts,
    flows: &BTreeSet<FlowKey>,
    grid: &TimeGrid,
) -> Result<Stories, ReportError> {
    let mut stories = Stories::default();
    let ids: BTreeSet<u64> = flows.iter().map(|(.., id)| u64::from(*id)).collect();
    run.visit_batches::<DecisionRow, ReportError>(&COLUMNS, |batch| {
        let [policies, switches, reasons] =
            ["policy", "switch", "reason"].map(|it| batch.texts(it));
        let [candidates, c_path, c_cong, cost, kept, chosen] =
            ["candidates", "c_path", "c_cong", "cost", "kept", "chosen"].map(|it| batch.texts(it));
        let [repetitions, times, flow_ids] =
            ["repetition", "time_ns", "flow_id"].map(|it| batch.integers(it));
        for row in 0..batch.len() {
            let repetition = number(repetitions[row]);
            let time = number(times[row]);
            let text = |texts: &lab_records::Texts| texts.at(row).unwrap_or_default().to_owned();
            let reason = reasons.at(row).unwrap_or_default();
            if repetition == 0 && AGAIN.contains(&reason) {
                let again = stories.again.entry(text(policies));
                again.or_insert_with(|| vec![0; grid.len()])[grid.index(time)] += 1;
            }
            let Some(id) = flow_ids[row].filter(|id| ids.contains(id)) else {
                continue;
            };
            let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
            let key = (text(policies), small(repetition), small(id));
            if !flows.contains(&key) {
                continue;
            }
            let mut costs = [c_path, c_cong, cost, kept].map(|column| {
                let items = column.at(row).unwrap_or_default().split('|');
                items.map(|item| item.parse().unwrap_or(0))
            });
            let mut candidate = |name: &str| {
                let [c_path, c_cong, cost, kept] =
                    costs.each_mut().map(|column| column.next().unwrap_or(0));
                (name.to_owned(), c_path, c_cong, cost, kept == 1)
            };
            let has_costs = [c_path, cost].into_iter().any(|column| {
                let mut items = column.at(row).unwrap_or_default().split('|');
                items.any(|item| !matches!(item, "" | "0"))
            });
            if has_costs && !stories.scored.contains(&key.0) {
                stories.scored.insert(key.0.clone());
            }
            let names = candidates.at(row).unwrap_or_default().split('|');
            stories.of_flows.entry(key).or_default().push(Decision {
                time,
                switch: text(switches),
                reason: reason.to_owned(),
                candidates: names.map(&mut candidate).collect(),
                chosen: chosen.at(row).map(str::to_owned),
            });
        }
        Ok(())
    })?;
    for decisions in stories.of_flows.values_mut() {
        decisions.sort_by_key(|decision| decision.time);
    }
    Ok(stories)
}

fn number(value: Option<u64>) -> u64 {
    value.unwrap_or(0)
}

/// Triggers of repeated decisions, on flows that already had a next hop: fast failover and flow ageing.
const AGAIN: [&str; 2] = ["failover", "age"];

/// Names of the columns that are read from `decisions.csv`.
const COLUMNS: [&str; 12] = [
    "policy",
    "repetition",
    "time_ns",
    "switch",
    "flow_id",
    "reason",
    "candidates",
    "c_path",
    "c_cong",
    "cost",
    "kept",
    "chosen",
];

#[cfg(test)]
mod tests {
    use lab_units::{FlowId, Nanos};

    use super::*;
    use crate::testing;

    #[test]
    fn only_decisions_of_chosen_flows_are_kept_and_all_again_are_counted() {
        let row = |id: u32, time: u64, reason: &str| DecisionRow {
            flow_id: Some(FlowId(id)),
            time_ns: Nanos::new(time),
            reason: reason.into(),
            candidates: ["dc2", "dc3"].map(String::from).into_iter().collect(),
            c_path: [1, 2].into_iter().collect(),
            c_cong: [3, 4].into_iter().collect(),
            cost: [5, 6].into_iter().collect(),
            kept: [0, 1].into_iter().collect(),
            chosen: Some("dc3".into()),
            signal_age_ns: None,
            stale_signals: None,
            policy: "a".into(),
            repetition: 0,
            switch: "dc1".into(),
            src: [10, 1, 0, 1].into(),
            dst: [10, 8, 0, 1].into(),
            sport: 50_000,
        };
        let rows = [
            row(4, 9_000, "failover"),
            row(4, 1_000, "scored"),
            row(5, 2_000, "age"),
        ];
        let run = testing::run(&testing::info(), |writer| writer.append(&rows));
        let grid = TimeGrid::new(vec![240_000], None);
        let flows = BTreeSet::from([("a".to_owned(), 0, 4)]);
        let found = stories(&run.dir, &flows, &grid).unwrap();
        let story: Vec<(u64, &str)> = found.of_flows[&("a".to_owned(), 0, 4)]
            .iter()
            .map(|decision| (decision.time, decision.reason.as_str()))
            .collect();
        assert_eq!(story, [(1_000, "scored"), (9_000, "failover")]);
        assert_eq!(found.scored, BTreeSet::from(["a".to_owned()]));
        let decision = &found.of_flows[&("a".to_owned(), 0, 4)][0];
        assert_eq!(decision.candidates[1], ("dc3".to_owned(), 2, 4, 6, true));
        assert_eq!(
            (
                found.of_flows.len(),
                found.again["a"][2],
                found.again["a"][9]
            ),
            (1, 1, 1)
        );
    }
}
