//! Text at the end of a run: slowdowns of the policies, their changes against the first, and the policies'
//! mechanisms at work.

use anstyle::{AnsiColor, Style};
use lab_records::Grade;
use lab_units::show::{self, Side, commas};

use crate::{
    at_work,
    report::{PolicySummary, Summary},
    stats::{Change, Estimate, Meaning, Percentile, Range},
    text::grouped,
};

/// Returns the FCT slowdowns of all policies, one line each, their changes against the first policy, the
/// notes that a reader of them needs, and the run's evidence; with `colored`, in a terminal's colours.
///
/// Lines have at most [`WIDTH`] characters.
#[must_use]
pub fn closing_table(summary: &Summary, colored: bool) -> String {
    let notes = notes(summary);
    let notes: String = notes
        .iter()
        .map(|note| show::paragraph_of(WIDTH, "", note))
        .collect();
    let changes = changes(summary);
    let text = slowdowns(summary)
        + &changes
        + &notes
        + &at_work::section(&summary.evidence, &summary.unexercised);
    match colored {
        true => painted(&text),
        false => text,
    }
}

fn slowdowns(summary: &Summary) -> String {
    let heads = ["FCT slowdown", "flows", "p50", "[95 %]", "p99", "[95 %]"];
    let mut rows = vec![heads.map(str::to_owned)];
    rows.extend(summary.policies.iter().map(slowdown_row));
    let mut sides = [Side::Right; 6];
    for left in [0, 3, 5] {
        sides[left] = Side::Left;
    }
    show::table(0, sides, &rows)
}

fn slowdown_row(policy: &PolicySummary) -> [String; 6] {
    let name = policy.policy.clone();
    let flows = match policy.finished == policy.flows {
        true => commas(policy.flows),
        false => format!("{}/{}", commas(policy.finished), commas(policy.flows)),
    };
    let Some(slowdown) = &policy.slowdown else {
        let [a, b, c] = ["-", "no flow finished", "-"].map(str::to_owned);
        return [name, flows, a, b, c, String::new()];
    };
    let [a, b] = cells(&slowdown.p50);
    let [c, d] = match has_p99(policy) {
        true => cells(&slowdown.p99),
        false => [
            "max".to_owned(),
            policy.max.map_or_else(String::new, rounded),
        ],
    };
    [name, flows, a, b, c, d]
}

/// Returns a percentile and its interval; the largest value is called so.
fn cells(percentile: &Percentile) -> [String; 2] {
    let value = rounded(percentile.value);
    if percentile.is_largest() {
        return ["max".to_owned(), value];
    }
    let end = |end: Option<f64>, unknown: &str| end.map_or(unknown.to_owned(), rounded);
    let (low, high) = (end(percentile.low, "0"), end(percentile.high, "∞"));
    [value, format!("[{low}, {high}]")]
}

/// Returns the changes of p50 and p99 against the first policy with their meaning in words: in one line
/// for each policy where they fit, else in one for each percentile. A run that is not valid has
/// none.
fn changes(summary: &Summary) -> String {
    let Some((first, others)) = summary.policies.split_first() else {
        return String::new();
    };
    if others.is_empty() {
        return String::new();
    }
    if summary.verdict != Grade::Valid {
        let words = "The run is not valid: no change against the first policy is computed from it.";
        return show::paragraph_of(WIDTH, "", words);
    }
    let pair = |policy: &PolicySummary| {
        let change = policy.change?;
        let p50 = change_of(change.p50, None);
        let is_known = has_p99(first) && has_p99(policy);
        let p99 = change_of(change.p99, (!is_known).then_some(&change));
        Some([policy.policy.clone(), p50, p99])
    };
    let pairs: Vec<[String; 3]> = others.iter().filter_map(pair).collect();
    let head = format!("against {}", first.policy);
    let mut rows = vec![[head.clone(), "p50".to_owned(), "p99".to_owned()]];
    rows.extend(pairs.clone());
    let table = show::table(0, [Side::Left; 3], &rows);
    if width(&table) <= WIDTH {
        return table;
    }
    let mut rows = vec![[head, String::new(), String::new()]];
    for [policy, p50, p99] in pairs {
        rows.push([policy, "p50".to_owned(), p50]);
        rows.push([String::new(), "p99".to_owned(), p99]);
    }
    show::table(0, [Side::Left; 3], &rows)
}

/// Returns a change with its interval and its meaning; none that is known if it stands on too few flows.
fn change_of(change: Estimate, too_few: Option<&Change>) -> String {
    if let Some(change) = too_few {
        return format!("- ({} flows have no p99)", commas(change.pairs as u64));
    }
    let percent = |value: f64| signed(value * 100.0);
    let interval = format!("[{}, {}]", percent(change.low), percent(change.high));
    format!(
        "{} % {interval}: {}",
        percent(change.value),
        change.meaning().name()
    )
}

/// Returns a number of percent with its sign: `−54`, `+0.1`, `+1,190`.
fn signed(percent: f64) -> String {
    let digits = usize::from(percent.abs() < 9.95);
    let text = grouped(format!("{:.digits$}", percent.abs()));
    match text.as_str() {
        "0.0" => "0".to_owned(),
        _ if percent < 0.0 => format!("−{text}"),
        _ => format!("+{text}"),
    }
}

/// Returns a slowdown with three significant digits, whole from 100 on.
fn rounded(value: f64) -> String {
    let decimals = match value {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    grouped(format!("{value:.decimals$}"))
}

/// Returns the notes that a reader of the tables needs.
fn notes(summary: &Summary) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(summary.measured.iter().map(|it| format!("Measured: {it}.")));
    let finished = || summary.policies.iter().filter(|it| it.slowdown.is_some());
    if finished().next().is_none() {
        return notes;
    }
    let mut words = "Brackets are 95 % intervals".to_owned();
    if summary.verdict == Grade::Valid && summary.policies.len() > 1 {
        words += ", of changes by the bootstrap over windows of arrivals, of the flows that \
                  finished under both";
    }
    let fewest = finished()
        .filter(|it| has_p99(it))
        .min_by_key(|it| it.finished);
    if let Some(policy) = fewest {
        let beyond = policy.slowdown.map_or(0, |slowdown| slowdown.p99.beyond);
        words += &format!(
            "; a p99 stands on the {} slowest of {} flows",
            commas(beyond + 1),
            commas(policy.finished)
        );
    }
    notes.push(words + ".");
    if finished().any(|policy| !has_p99(policy)) {
        notes.push(format!(
            "max: of fewer than {MIN_FOR_P99} flows the slowest is shown, and no p99."
        ));
    }
    notes.extend(summary.policies.iter().filter_map(spread));
    notes
}

/// Returns the spread of a policy's percentiles between its repetitions.
fn spread(policy: &PolicySummary) -> Option<String> {
    let spread = policy.spread.as_ref()?;
    let range = |range: Range| format!("{} to {}", rounded(range.min), rounded(range.max));
    Some(format!(
        "{}: between {} repetitions p50 {}, p95 {}, p99 {}",
        policy.policy,
        spread.repetitions,
        range(spread.p50),
        range(spread.p95),
        range(spread.p99),
    ))
}

/// True if a policy has flows enough for a 99th percentile.
fn has_p99(policy: &PolicySummary) -> bool {
    policy.finished >= MIN_FOR_P99
}

/// Returns the text with the meanings of changes and the warnings in colours.
fn painted(text: &str) -> String {
    let color = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
    let mut painted = text.to_owned();
    for meaning in Meaning::ALL {
        let style = match meaning {
            Meaning::Better => color(AnsiColor::Green),
            Meaning::Worse => color(AnsiColor::Red),
            Meaning::Same | Meaning::Unknown => Style::new().dimmed(),
        };
        let words = format!(": {}", meaning.name());
        painted = painted.replace(&words, &format!("{style}{words}{style:#}"));
    }
    let warning = color(AnsiColor::Yellow);
    painted.replace("\nwarning: ", &format!("\n{warning}warning:{warning:#} "))
}

fn width(table: &str) -> usize {
    let widths = table.lines().map(|line| line.chars().count());
    widths.max().unwrap_or(0)
}

/// Largest width of the text, in characters.
pub const WIDTH: usize = 80;

/// Number of flows from which a 99th percentile says something: two are beyond it.
const MIN_FOR_P99: u64 = 200;

#[cfg(test)]
mod tests {
    use lab_records::Evidence;

    use super::*;
    use crate::stats;

    /// Slowdowns of `len` flows from `low` to `high`.
    fn values(len: u32, low: f64, high: f64) -> Vec<f64> {
        let at = |index: u32| low + (high - low) * (f64::from(index) / f64::from(len - 1)).powi(3);
        (0..len).map(at).collect()
    }

    fn policy(name: &str, base: &[f64], values: &[f64], repetitions: &[Vec<f64>]) -> PolicySummary {
        let count = u64::try_from(values.len()).expect("a few");
        let pair = |(&base, &other): (&f64, &f64)| crate::frames::Pair { base, other };
        let pairs: Vec<_> = base.iter().zip(values).map(pair).collect();
        PolicySummary {
            policy: name.to_owned(),
            flows: count,
            finished: count,
            unfinished: 0,
            below_one: 0,
            max: values.last().copied(),
            slowdown: stats::slowdown(values),
            spread: stats::spread(repetitions),
            change: stats::change(&pairs),
        }
    }

    fn table(policies: Vec<PolicySummary>) -> String {
        let clean = policies
            .iter()
            .all(|policy| policy.flows == policy.finished);
        let summary = Summary {
            measured: None,
            scenario: "test".to_owned(),
            verdict: match clean {
                true => Grade::Valid,
                false => Grade::Doubtful,
            },
            reasons: Vec::new(),
            unexercised: Vec::new(),
            policies,
            evidence: Evidence::default(),
        };
        let text = closing_table(&summary, false);
        let too_wide: Vec<_> = text
            .lines()
            .filter(|line| line.chars().count() > WIDTH)
            .collect();
        assert!(too_wide.is_empty(), "{too_wide:#?}");
        text
    }

    #[test]
    fn percentiles_of_two_thousand_flows() {
        let base = values(2_000, 1.0, 60.0);
        let near = values(2_000, 1.0, 58.0);
        let far = values(2_000, 1.0, 1_200.0);
        insta::assert_snapshot!(table(vec![
            policy("ecmp", &[], &base, &[]),
            policy("lcmp", &base, &values(2_000, 1.0, 20.0), &[]),
            policy("ucmp-artifact", &base, &near, &[]),
            policy("te-100ms", &base, &far, &[]),
        ]));
    }

    #[test]
    fn survivors_of_an_unclean_run_are_not_compared() {
        let base = values(2_000, 1.0, 60.0);
        let mut unfinished = policy("lcmp", &base, &values(2_000, 1.0, 20.0), &[]);
        unfinished.flows += 3;
        insta::assert_snapshot!(table(vec![policy("ecmp", &[], &base, &[]), unfinished]));
    }

    #[test]
    fn colours_change_no_character() {
        let base = values(2_000, 1.0, 60.0);
        let lcmp = policy("lcmp", &base, &values(2_000, 1.0, 20.0), &[]);
        let text = table(vec![policy("ecmp", &[], &base, &[]), lcmp]);
        let colored = painted(&text);
        assert!(colored.contains("\u{1b}[32m: better"), "{colored}");
        let mut plain = colored;
        for code in ["\u{1b}[32m", "\u{1b}[0m"] {
            plain = plain.replace(code, "");
        }
        assert_eq!(plain, text);
    }

    #[test]
    fn percentiles_of_few_flows() {
        let base = values(44, 1.0, 50.0);
        insta::assert_snapshot!(table(vec![
            policy("ecmp", &[], &base, &[]),
            policy("lcmp", &base, &values(44, 1.0, 5.0), &[]),
            policy("wcmp", &base, &values(44, 1.5, 55.0), &[]),
            policy("none", &base, &[], &[]),
        ]));
    }

    #[test]
    fn long_labels_put_each_percentile_on_a_line_of_its_own() {
        let base = values(99_999, 100.0, 6_000.0);
        let other = values(99_999, 900.0, 60_000.0);
        insta::assert_snapshot!(table(vec![
            policy("a-label-of-16-ch", &[], &base, &[]),
            policy("b-label-of-16-ch", &base, &other, &[]),
        ]));
    }

    #[test]
    fn several_repetitions_show_their_spread() {
        let (one, other) = (values(300, 1.0, 9.0), values(300, 1.0, 12.0));
        let mut all = [one.clone(), other.clone()].concat();
        all.sort_by(f64::total_cmp);
        insta::assert_snapshot!(table(vec![policy("ecmp", &[], &all, &[one, other])]));
    }
}
