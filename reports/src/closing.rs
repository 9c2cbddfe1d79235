//! Text at the end of a run: slowdowns of the policies side by side, what they stand on, and the policies'
//! mechanisms at work.

use lab_units::show::{self, Side};

use crate::{
    at_work,
    report::{PolicySummary, Summary},
    stats::{Change, Estimate, Percentile, Range, Slowdown},
};

/// Returns the FCT slowdowns of all policies, one line each, the notes that a reader of them needs, and
/// the run's evidence.
///
/// Lines have at most [`WIDTH`] characters, except in runs of long labels and large slowdowns.
#[must_use]
pub fn closing_table(summary: &Summary) -> String {
    let precise = rows(summary, true);
    let table = match width(&precise) <= WIDTH {
        true => precise,
        false => rows(summary, false),
    };
    let notes = notes(summary, &table).into_iter().map(|note| note + "\n");
    let notes: String = notes.collect();
    table + &notes + &at_work::section(&summary.evidence, &summary.unexercised)
}

/// Returns the table; with `precise`, changes have half the width of their bootstrap intervals.
fn rows(summary: &Summary, precise: bool) -> String {
    let heads = [
        "FCT slowdown",
        "flows",
        "p50",
        "[95 %]",
        "p95",
        "[95 %]",
        "p99",
        "[95 %]",
        "against the first",
    ];
    let mut rows = vec![heads.map(str::to_owned)];
    let first = summary.policies.first().and_then(|first| first.slowdown);
    let policies = summary.policies.iter();
    rows.extend(policies.map(|policy| row(policy, first.as_ref(), precise)));
    let mut sides = [Side::Right; 9];
    for left in [0, 3, 5, 7, 8] {
        sides[left] = Side::Left;
    }
    show::table(0, sides, &rows)
}

fn row(policy: &PolicySummary, first: Option<&Slowdown>, precise: bool) -> [String; 9] {
    let name = policy.policy.clone();
    let flows = match policy.finished == policy.flows {
        true => policy.flows.to_string(),
        false => format!("{}/{}", policy.finished, policy.flows),
    };
    let Some(slowdown) = &policy.slowdown else {
        let [a, b, c, d, e, f] = ["-", "", "-", "", "-", ""].map(str::to_owned);
        let last = "no flow finished".to_owned();
        return [name, flows, a, b, c, d, e, f, last];
    };
    let [a, b] = cells(&slowdown.p50);
    let [c, d] = cells(&slowdown.p95);
    let [e, f] = cells(&slowdown.p99);
    let against = match (&policy.change, first) {
        (Some(change), Some(first)) => against(slowdown, first, change, precise),
        _ => String::new(),
    };
    [name, flows, a, b, c, d, e, f, against]
}

/// Returns a percentile and its interval; the largest value is called so.
fn cells(percentile: &Percentile) -> [String; 2] {
    let value = slowdown(percentile.value);
    if percentile.is_largest() {
        return ["max".to_owned(), value];
    }
    let end = |end: Option<f64>, unknown: &str| end.map_or(unknown.to_owned(), slowdown);
    let interval = format!(
        "[{}–{}]",
        end(percentile.low, "0"),
        end(percentile.high, "∞")
    );
    match percentile.is_thin() {
        true => [value, interval + "*"],
        false => [value, interval],
    }
}

/// Returns a slowdown with three significant digits, whole from 100 on.
fn slowdown(value: f64) -> String {
    let decimals = match value {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

/// Returns the change of p50 and p99 against the first policy, each only if the intervals are apart.
fn against(of: &Slowdown, first: &Slowdown, change: &Change, precise: bool) -> String {
    let p50 = part("p50", [&of.p50, &first.p50], change.p50, precise);
    let p99 = part("p99", [&of.p99, &first.p99], change.p99, precise);
    format!("{p50}, {p99}")
}

fn part(name: &str, pair: [&Percentile; 2], change: Estimate, precise: bool) -> String {
    let [one, other] = pair;
    if one.is_largest() || other.is_largest() {
        return format!("{name} -");
    }
    if one.overlaps(other) {
        return format!("{name} n.s.");
    }
    let percent = change.value * 100.0;
    let half = (change.high - change.low) / 2.0 * 100.0;
    match precise {
        true => format!("{name} {percent:+.0}±{half:.0} %"),
        false => format!("{name} {percent:+.0} %"),
    }
}

/// Returns the notes that explain the signs which `table` has.
fn notes(summary: &Summary, table: &str) -> Vec<String> {
    let slowdowns = || summary.policies.iter().filter_map(|policy| policy.slowdown);
    let percentiles =
        || slowdowns().flat_map(|slowdown| [slowdown.p50, slowdown.p95, slowdown.p99]);
    let signs = [
        ("[95 %]", "[95 %] by order statistics of the flows"),
        ("n.s.", "n.s.: the intervals overlap"),
        ("±", "±: half of the change's 95 % interval"),
    ];
    let signs = signs.into_iter().filter(|(sign, _)| table.contains(sign));
    let signs: Vec<&str> = signs.map(|(_, words)| words).collect();
    let mut notes = Vec::new();
    if slowdowns().next().is_some() {
        notes.push(signs.join("; "));
    }
    if percentiles().any(|percentile| percentile.is_largest()) {
        notes.push(format!(
            "max: {} of so few flows is the slowest flow, and no percentile",
            names(slowdowns(), Percentile::is_largest)
        ));
    }
    let is_marked = |percentile: &Percentile| percentile.is_thin() && !percentile.is_largest();
    if percentiles().any(|percentile| is_marked(&percentile)) {
        notes.push(format!(
            "*: {} stands on fewer than 10 flows beyond it",
            names(slowdowns(), is_marked)
        ));
    }
    notes.extend(summary.policies.iter().filter_map(spread));
    notes
}

/// Returns the names of the percentiles that any policy has `marked`.
fn names(
    slowdowns: impl Iterator<Item = Slowdown>,
    marked: impl Fn(&Percentile) -> bool,
) -> String {
    let mut found = [false; 3];
    for slowdown in slowdowns {
        let percentiles = [slowdown.p50, slowdown.p95, slowdown.p99];
        for (found, percentile) in found.iter_mut().zip(percentiles) {
            *found |= marked(&percentile);
        }
    }
    let names = ["p50", "p95", "p99"].into_iter().zip(found);
    let names: Vec<&str> = names
        .filter(|(_, found)| *found)
        .map(|(name, _)| name)
        .collect();
    names.join(", ")
}

/// Returns the spread of a policy's percentiles between its repetitions.
fn spread(policy: &PolicySummary) -> Option<String> {
    let spread = policy.spread.as_ref()?;
    let range = |range: Range| format!("{}–{}", slowdown(range.min), slowdown(range.max));
    Some(format!(
        "{}: between {} repetitions p50 {}, p95 {}, p99 {}",
        policy.policy,
        spread.repetitions,
        range(spread.p50),
        range(spread.p95),
        range(spread.p99),
    ))
}

fn width(table: &str) -> usize {
    let widths = table.lines().map(|line| line.chars().count());
    widths.max().unwrap_or(0)
}

/// Largest width of the table, in characters.
const WIDTH: usize = 110;

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
            slowdown: stats::slowdown(values),
            spread: stats::spread(repetitions),
            change: stats::change(&pairs),
        }
    }

    fn table(policies: Vec<PolicySummary>) -> String {
        let text = closing_table(&Summary {
            scenario: "test".to_owned(),
            clean: true,
            reasons: Vec::new(),
            unexercised: Vec::new(),
            policies,
            evidence: Evidence::default(),
        });
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
        let mut unfinished = policy("ucmp-artifact", &base, &near, &[]);
        unfinished.flows += 3;
        insta::assert_snapshot!(table(vec![
            policy("ecmp", &[], &base, &[]),
            policy("lcmp", &base, &values(2_000, 1.0, 20.0), &[]),
            unfinished,
            policy("te-100ms", &base, &far, &[]),
        ]));
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
    fn long_labels_give_up_the_widths_of_changes() {
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
