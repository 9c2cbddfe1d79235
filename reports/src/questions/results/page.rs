//! Slowdowns of each policy and their changes against the first, for a page.

use lab_records::{Grade, Retransmissions, RunEnd};

use crate::{
    departures,
    document::{Block, Cell, Column, Medium, Table},
    questions::ReportInputs,
    run::Run,
    stats::Estimate,
    summary::{PolicySummary, Summary},
    text, words,
};

/// Returns the tables of slowdowns and changes, with notes.
pub fn blocks<'a>(inputs: &ReportInputs<'_>) -> Vec<Block<'a>> {
    let summary = inputs.summary;
    let heading = |text: String| Block::Heading(Medium::Page, text);
    let title = "FCT slowdown of scheduled flows".to_owned();
    let mut blocks = vec![
        heading(title),
        Block::Table(Medium::Page, slowdowns(inputs, &summary.policies)),
    ];
    let unfinished = words::unfinished(&summary.evidence).into_iter();
    blocks.extend(unfinished.map(|it| Block::Text(Medium::Page, it + ".")));
    if let [first, _, ..] = summary.policies.as_slice() {
        blocks.push(heading(format!("Change against {}", first.policy)));
        blocks.push(if summary.verdict == Grade::Valid {
            Block::Table(Medium::Page, changes(inputs, &summary.policies))
        } else {
            let text = "The run is not valid: no change is computed from it.";
            Block::Text(Medium::Page, text.to_owned())
        });
    }
    if let Some(choice) = &summary.with_choice {
        let title = "FCT slowdown of scheduled flows with a choice".to_owned();
        blocks.push(heading(title));
        blocks.push(Block::Table(
            Medium::Page,
            slowdowns(inputs, &choice.policies),
        ));
        if let ([first, _, ..], Grade::Valid) = (choice.policies.as_slice(), summary.verdict) {
            let title = format!("Change against {}, of flows with a choice", first.policy);
            blocks.push(heading(title));
            blocks.push(Block::Table(
                Medium::Page,
                changes(inputs, &choice.policies),
            ));
        }
        blocks.push(Block::Note(Medium::Page, choice.words()));
    }
    blocks.extend(about_losses(inputs.run).map(|it| Block::Note(Medium::Page, it)));
    blocks.push(Block::Note(Medium::Page, about_percentiles(summary)));
    blocks
}

fn about_percentiles(summary: &Summary) -> String {
    let slowdowns = || {
        summary
            .policies
            .iter()
            .filter_map(|it| it.slowdown.as_ref())
    };
    let mut notes = vec![
        "Percentiles by the nearest-rank rule, of the flows of all repetitions together."
            .to_owned(),
        summary.intervals.note().to_owned(),
    ];
    if slowdowns().any(|it| it.at_least) {
        notes.push(text::AT_LEAST.to_owned());
    }
    if slowdowns().any(|it| it.p99.is_none()) {
        notes.push(text::too_few());
    }
    notes.join(" ")
}

fn slowdowns(inputs: &ReportInputs<'_>, policies: &[PolicySummary]) -> Table {
    let numbers = [
        "p50", "p95", "p99", "mean", "max", "flows", "finished", "too fast",
    ];
    let columns = [Column::names("policy")]
        .into_iter()
        .chain(numbers.map(Column::numbers));
    let row = |policy: &PolicySummary| {
        let name = Cell::from(&*policy.policy);
        let mut cells = vec![match policy.departures.as_slice() {
            [] => name,
            departures => name.below(departures::listed(departures)),
        }];
        match &policy.slowdown {
            Some(it) => {
                let levels = [
                    it.p50,
                    it.p95,
                    it.p99,
                    it.mean,
                    Some(Estimate::exact(it.max)),
                ];
                cells.extend(levels.map(|estimate| Cell::level(estimate, it.at_least)));
            }
            None => cells.extend([(); 5].map(|()| Cell::none())),
        }
        let [finished, below_one] =
            [policy.finished, policy.below_one].map(|it| Cell::from(text::number(it)));
        cells.extend([
            text::number(policy.flows).into(),
            finished.bad(policy.unfinished > 0),
            below_one.bad(policy.below_one > 0),
        ]);
        cells
    };
    Table::new(columns)
        .colored(&inputs.run.flows.policies)
        .with(policies.iter().map(row))
}

fn changes(inputs: &ReportInputs<'_>, policies: &[PolicySummary]) -> Table {
    let numbers = ["p50", "p95", "p99", "mean", "flows"];
    let columns = [Column::names("policy")]
        .into_iter()
        .chain(numbers.map(Column::numbers));
    let row = |policy: &PolicySummary| {
        let change = policy.change.as_ref()?;
        let cell = |(estimate, name)| Cell::change(estimate, change.flows, name, true);
        let changes = [change.p50, change.p95, change.p99, change.mean]
            .into_iter()
            .zip(numbers);
        let first = [Cell::from(&*policy.policy)].into_iter();
        let last = [Cell::from(text::number(change.flows as u64))];
        Some(
            first
                .chain(changes.map(cell))
                .chain(last)
                .collect::<Vec<_>>(),
        )
    };
    Table::new(columns)
        .colored(&inputs.run.flows.policies)
        .with(policies.iter().filter_map(row))
}

/// Returns a note on the policies under which inter-DC links lost packets, because their slowest flows waited for
/// retransmissions.
fn about_losses(run: &Run) -> Option<String> {
    let drops = |policy: &String| {
        let uses = run.link_uses.iter().filter(|one| one.policy == *policy);
        uses.map(|one| one.drops).sum::<u64>()
    };
    let policies = &run.flows.policies;
    let lossy: Vec<String> = policies
        .iter()
        .map(|policy| (policy, drops(policy)))
        .filter(|(_, drops)| *drops > 0)
        .map(|(policy, drops)| format!("{policy} {}", text::number(drops)))
        .collect();
    if lossy.is_empty() {
        return None;
    }
    let end = run.end.as_ref();
    let counts = end.and_then(|end| go_backs(end, policies));
    let note = format!(
        "Packets lost on inter-DC links: {}. The FCTs of the flows that lost them contain retransmissions, and \
         retransmission time-outs where the last packets were lost: such a tail reflects time-outs more than \
         paths.",
        lossy.join(", ")
    );
    Some(
        [note]
            .into_iter()
            .chain(counts)
            .collect::<Vec<_>>()
            .join(" "),
    )
}

/// Returns a sentence with each policy's numbers of go-backs and time-outs; `None` if none were counted.
fn go_backs(end: &RunEnd, policies: &[String]) -> Option<String> {
    let least = if end.lab.is_some() { "at least " } else { "" };
    let counts: Vec<String> = policies
        .iter()
        .filter_map(|policy| {
            let Retransmissions { go_backs, timeouts } = *end.retransmissions.get(policy)?;
            (go_backs > 0).then(|| {
                let go_backs = text::number(go_backs);
                let timeouts = text::number(timeouts);
                format!("{policy} {go_backs}, {least}{timeouts} of them at a time-out")
            })
        })
        .collect();
    (!counts.is_empty()).then(|| format!("Go-backs of senders: {}.", counts.join("; ")))
}

#[cfg(test)]
mod tests {
    use lab_records::LabWork;
    use lab_sample as sample;

    use super::*;

    #[test]
    fn go_backs_are_counted_for_the_policies_that_had_any() {
        let policies = ["ecmp", "lcmp", "ucmp"].map(str::to_owned);
        let mut end = sample::end();
        assert_eq!(go_backs(&end, &policies), None);
        let counts = [("ecmp", 0, 0), ("lcmp", 1_234, 56), ("ucmp", 7, 0)];
        end.retransmissions = counts
            .map(|(policy, go_backs, timeouts)| {
                (policy.to_owned(), Retransmissions { go_backs, timeouts })
            })
            .into();
        insta::assert_snapshot!(
            go_backs(&end, &policies).unwrap_or_default(),
            @"Go-backs of senders: lcmp 1,234, 56 of them at a time-out; ucmp 7, 0 of them at a time-out."
        );
        end.lab = Some(LabWork::default());
        let text = go_backs(&end, &policies).unwrap_or_default();
        assert!(text.contains("at least 56 of them"), "{text}");
    }
}
