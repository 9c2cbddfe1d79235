//! Slowdowns of each policy and their changes against the first, for a terminal.

use lab_records::Grade;
use lab_units::show::commas;

use crate::{
    departures,
    document::{Block, Cell, Column, Medium, Table},
    stats::{Estimate, Interval, Slowdowns},
    summary::{PolicySummary, Summary},
    text::{self, WIDTH, grouped},
    words,
};

/// Returns the FCT slowdowns of all policies, the parameters that depart from the paper, the changes against the first
/// policy, and notes on slowdowns and changes.
pub fn blocks<'a>(summary: &Summary) -> Vec<Block<'a>> {
    let table = slowdowns("FCT slowdown", &summary.policies);
    let mut blocks = vec![Block::Table(Medium::Terminal, table)];
    let unfinished = words::unfinished(&summary.evidence).into_iter();
    blocks.extend(unfinished.map(|it| Block::Text(Medium::Terminal, it + ".")));
    blocks.extend(changes(summary.verdict, &summary.policies));
    if let Some(choice) = &summary.with_choice {
        blocks.push(Block::Text(Medium::Terminal, choice.words()));
        let table = slowdowns("with a choice", &choice.policies);
        blocks.push(Block::Table(Medium::Terminal, table));
        if summary.verdict == Grade::Valid {
            blocks.extend(changes(summary.verdict, &choice.policies));
        }
    }
    let notes = notes(summary).into_iter();
    blocks.extend(notes.map(|note| Block::Note(Medium::Terminal, note)));
    blocks
}

/// Returns the table of the policies' slowdowns, whose first column has the head `title`.
fn slowdowns(title: &str, policies: &[PolicySummary]) -> Table {
    let has_intervals = policies.iter().any(|it| {
        let percentiles = it.slowdown.into_iter().flat_map(|it| [it.p50, it.p99]);
        percentiles.flatten().any(|it| it.interval.is_some())
    });
    // With intervals the cells have different lengths, so they are aligned on the left.
    let percentile = |name: &str| {
        if has_intervals {
            Column::names(format!("{name} [95 %]"))
        } else {
            Column::numbers(name)
        }
    };
    let columns = [
        Column::names(title),
        Column::numbers("flows"),
        percentile("p50"),
        percentile("p99"),
        Column::numbers("max"),
        Column::sentences("parameters"),
    ];
    Table::new(columns).with(policies.iter().map(slowdown_row))
}

fn slowdown_row(policy: &PolicySummary) -> [Cell; 6] {
    let flows = if policy.finished == policy.flows {
        commas(policy.flows)
    } else {
        format!("{}/{}", commas(policy.finished), commas(policy.flows))
    };
    let least = policy.slowdown.is_some_and(|it| it.at_least);
    let least = if least { "≥ " } else { "" };
    let percentile =
        |estimate: Option<Estimate>| Cell::of(estimate.map(|it| format!("{least}{}", cell(&it))));
    let slowdown = policy.slowdown.as_ref();
    [
        policy.policy.as_str().into(),
        flows.into(),
        percentile(slowdown.and_then(|it| it.p50)),
        percentile(slowdown.and_then(|it| it.p99)),
        Cell::of(slowdown.map(|it| format!("{least}{}", rounded(it.max)))),
        departures::listed(&policy.departures).into(),
    ]
}

/// Formats a value, followed by its interval if it has one.
fn cell(estimate: &Estimate) -> String {
    let value = rounded(estimate.value);
    match estimate.interval {
        Some(Interval { low, high }) => format!("{value} [{}, {}]", rounded(low), rounded(high)),
        None => value,
    }
}

/// Returns the changes of p50 and p99 against the first policy, with their meaning in words. Each policy has one line,
/// or two if a line would be too long. A run that is not valid has a note instead.
fn changes<'a>(verdict: Grade, policies: &[PolicySummary]) -> Option<Block<'a>> {
    let (first, others) = policies.split_first()?;
    if others.is_empty() {
        return None;
    }
    if verdict != Grade::Valid {
        let words = "The run is not valid: no change against the first policy is computed from it.";
        return Some(Block::Text(Medium::Terminal, words.to_owned()));
    }
    let pair = |policy: &PolicySummary| {
        let change = policy.change?;
        let [p50, p99] = [(change.p50, "p50"), (change.p99, "p99")]
            .map(|(it, name)| text::change_in_words(it, change.flows, name));
        Some([policy.policy.clone(), p50, p99])
    };
    let pairs: Vec<[String; 3]> = others.iter().filter_map(pair).collect();
    let head = format!("against {}", first.policy);
    let table = Table::of([&head, "p50", "p99"], 3, pairs.clone());
    let is_narrow = |line: &str| line.chars().count() <= WIDTH;
    if table.terminal(WIDTH).lines().all(is_narrow) {
        return Some(Block::Table(Medium::Terminal, table));
    }
    let rows = pairs.into_iter().flat_map(|[policy, p50, p99]| {
        let name = |it: &str| it.to_owned();
        [
            [policy, name("p50"), p50],
            [String::new(), name("p99"), p99],
        ]
    });
    let table = Table::of([&head, "", ""], 3, rows);
    Some(Block::Table(Medium::Terminal, table))
}

/// Formats a slowdown with three significant digits, without decimal places from 100 on.
fn rounded(value: f64) -> String {
    let decimals = match value {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    grouped(format!("{value:.decimals$}"))
}

/// Returns the notes below the tables.
fn notes(summary: &Summary) -> Vec<String> {
    let shown: Vec<Slowdowns> = summary
        .policies
        .iter()
        .filter_map(|it| it.slowdown)
        .collect();
    if shown.is_empty() {
        return Vec::new();
    }
    let mut notes: Vec<String> = summary
        .measured
        .iter()
        .map(|it| format!("Measured: {it}."))
        .collect();
    notes.push(summary.intervals.note().to_owned());
    if shown.iter().any(|it| it.at_least) {
        notes.push(text::AT_LEAST.to_owned());
    }
    if shown.iter().any(|it| it.p50.is_none() || it.p99.is_none()) {
        notes.push(text::too_few());
    }
    notes
}

#[cfg(test)]
mod tests {
    use lab_records::{Departure, Evidence, Reference};

    use super::*;
    use crate::{
        document::text_of,
        stats::{self, Intervals, Meaning},
        summary::WithChoice,
    };

    /// Returns `len` slowdowns, spread evenly from `low` to `high`.
    fn values(len: u32, low: f64, high: f64) -> Vec<f64> {
        let at = |index: u32| low + (high - low) * (f64::from(index) / f64::from(len - 1)).powi(3);
        (0..len).map(at).collect()
    }

    fn policy(name: &str, base: &[Vec<f64>], repetitions: &[Vec<f64>]) -> PolicySummary {
        let count = u64::try_from(repetitions.concat().len()).expect("a few");
        PolicySummary {
            policy: name.to_owned(),
            departures: Vec::new(),
            flows: count,
            finished: count,
            unfinished: 0,
            below_one: 0,
            slowdown: stats::slowdowns(repetitions, &[]),
            change: (!base.is_empty()).then(|| stats::change(base, repetitions)),
        }
    }

    fn table(repetitions: u32, policies: Vec<PolicySummary>) -> String {
        table_with(repetitions, policies, None)
    }

    fn table_with(
        repetitions: u32,
        policies: Vec<PolicySummary>,
        with_choice: Option<WithChoice>,
    ) -> String {
        let clean = policies
            .iter()
            .all(|policy| policy.flows == policy.finished);
        let summary = Summary {
            measured: None,
            trains: None,
            with_choice,
            scenario: "test".to_owned(),
            verdict: if clean { Grade::Valid } else { Grade::Doubtful },
            reasons: Vec::new(),
            unexercised: Vec::new(),
            intervals: Intervals::of(repetitions),
            policies,
            evidence: Evidence::default(),
            headline: String::new(),
        };
        let text = text_of(&blocks(&summary), WIDTH);
        let too_wide: Vec<_> = text
            .lines()
            .filter(|line| line.chars().count() > WIDTH)
            .collect();
        assert!(too_wide.is_empty(), "{too_wide:#?}");
        text
    }

    /// Returns true if the text calls a change better, worse or the same.
    fn ranks(text: &str) -> bool {
        Meaning::ALL.iter().any(|it| text.contains(it.name()))
    }

    #[test]
    fn one_draw_of_two_thousand_flows_has_values_and_no_meaning() {
        let base = [values(2_000, 1.0, 60.0)];
        let text = table(
            1,
            vec![
                policy("ecmp", &[], &base),
                policy("lcmp", &base, &[values(2_000, 1.0, 20.0)]),
                policy("te-100ms", &base, &[values(2_000, 1.0, 1_200.0)]),
            ],
        );
        assert!(!ranks(&text), "{text}");
        insta::assert_snapshot!(text);
    }

    /// A tenth of the flows has a choice and makes the difference.
    #[test]
    fn flows_with_a_choice_have_a_table_and_changes_of_their_own() {
        let same = values(1_800, 1.0, 4.0);
        let base = [values(200, 1.0, 60.0)];
        let fast = [values(200, 1.0, 20.0)];
        let all = |choice: &[Vec<f64>]| {
            let mut all = [same.as_slice(), &choice[0]].concat();
            all.sort_by(f64::total_cmp);
            [all]
        };
        let choice = WithChoice {
            scheduled: 200,
            scheduled_in_all: 2_000,
            policies: vec![policy("ecmp", &[], &base), policy("lcmp", &base, &fast)],
        };
        insta::assert_snapshot!(table_with(
            1,
            vec![
                policy("ecmp", &[], &all(&base)),
                policy("lcmp", &all(&base), &all(&fast)),
            ],
            Some(choice),
        ));
    }

    #[test]
    fn three_draws_have_intervals_and_meanings() {
        let draws = |high: f64| [0.95, 1.0, 1.05].map(|it| values(2_000, 1.0, high * it));
        let base = draws(60.0);
        insta::assert_snapshot!(table(
            3,
            vec![
                policy("ecmp", &[], &base),
                policy("lcmp", &base, &draws(20.0)),
                policy("ucmp-artifact", &base, &draws(60.1)),
                policy("te-100ms", &base, &draws(1_200.0)),
            ]
        ));
    }

    #[test]
    fn percentiles_of_an_unfinished_population_are_lower_bounds_and_not_compared() {
        let base = [values(2_000, 1.0, 60.0)];
        let finished = [values(1_200, 1.0, 20.0)];
        let mut unfinished = policy("lcmp", &[], &finished);
        unfinished.flows = 2_000;
        unfinished.slowdown = stats::slowdowns(&finished, &[1.0; 800]);
        let text = table(1, vec![policy("ecmp", &[], &base), unfinished]);
        assert!(!ranks(&text), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn few_flows_have_a_largest_slowdown_and_no_p99() {
        let base = [values(44, 1.0, 50.0)];
        insta::assert_snapshot!(table(
            1,
            vec![
                policy("ecmp", &[], &base),
                policy("lcmp", &base, &[values(44, 1.0, 5.0)]),
                policy("none", &base, &[]),
            ]
        ));
    }

    #[test]
    fn parameters_that_are_not_the_papers_stand_in_the_table() {
        let base = [values(300, 1.0, 50.0)];
        let mut lcmp = policy("lcmp", &base, &[values(300, 1.0, 5.0)]);
        let departure = |parameter: &str, value: &str, reference| Departure {
            parameter: parameter.to_owned(),
            value: value.to_owned(),
            reference,
        };
        lcmp.departures = vec![
            departure(
                "max_delay",
                "524 ms",
                Reference::Paper("32 or 64 ms".to_owned()),
            ),
            departure(
                "sample_interval",
                "10 ms",
                Reference::OurReading("1 ms".to_owned()),
            ),
        ];
        let text = table(1, vec![policy("ecmp", &[], &base), lcmp]);
        let (table, _) = text.split_once("against ecmp").expect("the changes");
        insta::assert_snapshot!(table, @r"
        FCT slowdown  flows   p50  p99   max
        ecmp            300  7.06    –  50.0
        lcmp            300  1.50    –  5.00
          max_delay 524 ms (paper: 32 or 64 ms), sample_interval 10 ms (our reading: 1
          ms)
        ");
    }

    #[test]
    fn long_labels_put_each_percentile_on_a_line_of_its_own() {
        let draws = |high: f64| [0.9, 1.1].map(|it| values(49_999, 100.0, high * it));
        let base = draws(6_000.0);
        insta::assert_snapshot!(table(
            2,
            vec![
                policy("a-label-of-16-ch", &[], &base),
                policy("b-label-of-16-ch", &base, &draws(9_000.0)),
            ]
        ));
    }
}
