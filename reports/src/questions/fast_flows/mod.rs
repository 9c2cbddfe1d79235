//! Share of the flows that took less than twice their ideal FCT.

use serde_json::{Value, json};

use super::{Question, ReportInputs};
use crate::{
    document::{Block, Cell, Column, Medium, Table},
    run::Run,
    text,
};

/// Flows with little slowdown.
pub const QUESTION: Question = Question {
    id: "fast_flows",
    title: "How many flows take less than twice their ideal FCT?",
    is_open: false,
    blocks: |inputs| vec![Block::Table(Medium::Any, table(inputs.run))],
    values: Some(values),
};

fn table(run: &Run) -> Table {
    let row = |(policy, share): (&String, Option<f64>)| {
        let share = share.map(text::percent);
        [Cell::from(policy.as_str()), Cell::of(share)]
    };
    let columns = [Column::names("policy"), Column::numbers("slowdown under 2")];
    Table::new(columns)
        .colored(&run.flows.policies)
        .with(shares(run).map(row))
}

fn values(inputs: &ReportInputs<'_>) -> Value {
    let value =
        |(policy, share): (&String, Option<f64>)| json!({ "policy": policy, "share": share });
    shares(inputs.run).map(value).collect()
}

/// Returns each policy's share of scheduled flows with a slowdown under 2, from 0 to 1; `None` without a flow. A flow
/// that did not finish has none.
fn shares(run: &Run) -> impl Iterator<Item = (&String, Option<f64>)> {
    let policies = run.flows.policies.iter().enumerate();
    policies.map(|(index, policy)| {
        let slowdowns = run.flows.slowdowns_by_repetition(index).concat();
        let fast = slowdowns.iter().filter(|&&it| it < 2.0).count();
        let all = run.flows.counts[index].flows;
        let share = (all > 0).then(|| text::to_float(fast as u64) / text::to_float(all));
        (policy, share)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    /// Of a's four flows, those with 1.0 and 1.9 are under 2, 2.0 is not, and one did not finish: a half.
    #[test]
    fn a_flow_at_twice_its_ideal_fct_and_an_unfinished_flow_are_not_fast() {
        let slowdowns = [Some(1.0), Some(1.9), Some(2.0), None];
        let written = testing::run(&testing::info(), |writer| {
            (0..).zip(slowdowns).try_for_each(|(id, slowdown)| {
                writer.append_flow(&testing::flow("a", id, slowdown))
            })
        });
        let run = Run::read(written.dir.path()).unwrap();
        let found: Vec<Option<f64>> = shares(&run).map(|(_, share)| share).collect();
        assert_eq!(found, [Some(0.5), None]);
    }
}
