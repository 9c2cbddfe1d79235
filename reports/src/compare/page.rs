//! The HTML page of a comparison.

use lab_units::Bytes;
use maud::{Markup, html};

use super::{Against, BinChange, Comparison, PolicyComparison};
use crate::{
    fidelity::RunFacts,
    figures::Captioned,
    page::{NONE, captioned, change_cell, document, level_cell, number_cell, swatched},
    stats::{Estimate, Interval, Slowdowns},
    text,
};

/// Returns the page's HTML.
pub fn page(comparison: &Comparison, figures: &[Captioned]) -> String {
    let first = &comparison.runs[0];
    let others: Vec<&str> = comparison.runs[1..].iter().map(|run| &*run.name).collect();
    let title = format!(
        "{}: {} against {}",
        comparison.scenario,
        others.join(", "),
        first.name
    );
    let body = html! {
        header {
            h1 { (title) }
            p.note { @for run in &comparison.runs { (run.name) ": " (run.directory) " " } }
        }
        (banner(comparison))
        main {
            section {
                h2 { "Differences of the plans" }
                (differences(comparison))
            }
            @for against in &comparison.against {
                section {
                    h2 { (against.run) " against " (first.name) }
                    div.wide { (changes(against)) }
                    @if against.not_valid.is_empty() { div.wide { (reductions(against)) } }
                    (note(against))
                }
            }
            section {
                h2 { "Figures" }
                @for figure in figures { (captioned(figure, "")) }
            }
            @for against in comparison.against.iter().filter(|it| it.not_valid.is_empty()) {
                section {
                    h2 { (against.run) " against " (first.name) " by size" }
                    @for policy in &against.policies {
                        h3 { (policy.policy) }
                        div.wide { (bins(&policy.bins, &against.run)) }
                    }
                }
            }
            section {
                h2 { "The runs" }
                @for run in &comparison.runs { (facts(run)) }
            }
        }
        footer {
            p {
                "Written by lcmp-lab " (first.tool_version) " from the records of the runs. Figures are \
                 beside this file as SVG and PNG."
            }
        }
    };
    document(&format!("{title} · lcmp-lab"), &first.tool_version, &body)
}

fn banner(comparison: &Comparison) -> Markup {
    let problems = comparison.runs.iter().flat_map(|run| {
        let named = |problem| format!("{}: {problem}", run.name);
        run.problems.iter().map(named)
    });
    let alone = comparison.against.iter().flat_map(|against| {
        let named = |policy| {
            format!(
                "{policy} is not in both {} and A and is not compared",
                against.run
            )
        };
        against.in_one_run.iter().map(named)
    });
    let problems: Vec<String> = problems.chain(alone).collect();
    html! {
        @if !problems.is_empty() {
            div.banner.bad role="alert" {
                strong { "Not everything could be compared, or a run is not clean." }
                ul { @for problem in &problems { li { (problem) } } }
            }
        }
    }
}

fn differences(comparison: &Comparison) -> Markup {
    html! {
        @if comparison.differences.is_empty() { p { "None: the runs are of one plan." } }
        @else {
            dl {
                @for difference in &comparison.differences {
                    dt { (difference.aspect.name()) }
                    dd {
                        @for (run, value) in comparison.runs.iter().zip(&difference.values) {
                            div { (run.name) ": " (value) }
                        }
                    }
                }
            }
        }
    }
}

fn labels(against: &Against) -> Vec<String> {
    against
        .policies
        .iter()
        .map(|it| it.policy.clone())
        .collect()
}

fn changes(against: &Against) -> Markup {
    let labels = labels(against);
    html! {
        table {
            thead {
                tr {
                    th rowspan="2" { "policy" }
                    th.n colspan="3" { "p50 of slowdowns" }
                    th.n colspan="3" { "p99 of slowdowns" }
                }
                tr {
                    @for _ in 0..2 {
                        @for name in ["A", &*against.run, "change"] { th.n { (name) } }
                    }
                }
            }
            tbody {
                @for policy in &against.policies {
                    tr {
                        th { (swatched(&labels, &policy.policy)) }
                        (row(policy, against.is_of_two_engines))
                    }
                }
            }
        }
    }
}

fn row(policy: &PolicyComparison, is_of_two_engines: bool) -> Markup {
    let change = if is_of_two_engines {
        number_cell
    } else {
        change_cell
    };
    let cell = |slowdowns: Option<Slowdowns>, of: fn(&Slowdowns) -> Option<Estimate>| {
        let at_least = slowdowns.is_some_and(|it| it.at_least);
        level_cell(slowdowns.as_ref().and_then(of), at_least)
    };
    html! {
        (cell(policy.base, |it| it.p50))
        (cell(policy.other, |it| it.p50))
        (change(policy.change.and_then(|it| it.p50)))
        (cell(policy.base, |it| it.p99))
        (cell(policy.other, |it| it.p99))
        (change(policy.change.and_then(|it| it.p99)))
    }
}

/// Returns the table of each flow's ratio with itself, if the runs have the same flows, and of the paper's
/// reductions.
fn reductions(against: &Against) -> Markup {
    let labels = labels(against);
    // Between two engines no flow is called faster or slower.
    let columns = if against.is_of_two_engines {
        &["ratio"][..]
    } else {
        &["ratio", "faster", "effect"]
    };
    let is_paired = against.policies.iter().any(|it| it.paired.is_some());
    html! {
        table {
            thead {
                tr {
                    th rowspan="2" { "policy" }
                    @if is_paired { th.n colspan=(columns.len()) { "each flow with itself" } }
                    th.n colspan="2" { "as the paper reduces" }
                }
                tr {
                    @if is_paired { @for name in columns { th.n { (name) } } }
                    th.n { "median-bin p50" }
                    th.n { "worst-bin P99" }
                }
            }
            tbody {
                @for policy in &against.policies {
                    tr {
                        th { (swatched(&labels, &policy.policy)) }
                        @if is_paired { (paired(policy, against.is_of_two_engines)) }
                        @match &policy.paper {
                            Some(it) => {
                                td.n { (text::change(it.median_bin_p50)) }
                                td.n { (text::change(it.worst_bin_p99)) }
                            }
                            None => @for _ in 0..2 { td.n { (NONE) } },
                        }
                    }
                }
            }
        }
    }
}

fn paired(policy: &PolicyComparison, is_of_two_engines: bool) -> Markup {
    html! {
        @match &policy.paired {
            Some(it) => {
                td.n {
                    @match it.median_ratio {
                        Some(Estimate { value, interval }) => {
                            "× " (text::significant(value, 4))
                            @if let Some(Interval { low, high }) = interval {
                                span.ci {
                                    "[" (text::significant(low, 4)) ", " (text::significant(high, 4)) "]"
                                }
                            }
                        }
                        None => (NONE),
                    }
                }
                @if !is_of_two_engines {
                    td.n {
                        (text::percent(it.faster))
                        span.ci { "slower " (text::percent(it.slower)) }
                    }
                    td.n {
                        (it.effect.name())
                        span.ci { "δ " (text::significant(it.cliffs_delta, 2)) }
                    }
                }
            }
            None => @for _ in 0..(if is_of_two_engines { 1 } else { 3 }) { td.n { (NONE) } },
        }
    }
}

fn note(against: &Against) -> Markup {
    html! {
        p.note {
            @for note in against.notes() { (note) " " }
            @if against.not_valid.is_empty() {
                @if !against.is_of_two_engines {
                    "Faster and slower: by more than 1 %. δ is Cliff's delta, in words by Romano and others. "
                }
                "As the paper reduces: median over 20 bins of sizes of the change of the bin's median, and \
                 the largest change of a bin's P99, with the ranks and bins of its authors' scripts."
            }
        }
    }
}

fn bins(bins: &[BinChange], run: &str) -> Markup {
    html! {
        table {
            thead {
                tr {
                    @for name in ["percentile", "up to", "flows", "A", run, "change"] {
                        th.n { (name) }
                    }
                }
            }
            tbody {
                @for bin in bins {
                    tr {
                        th.n { "p" (bin.percentile) }
                        th.n { (text::size(Bytes::new(bin.upper_bytes))) }
                        td.n { (bin.flows[0]) "/" (bin.flows[1]) }
                        @for slowdown in bin.slowdown { td.n { (text::slowdown(slowdown)) } }
                        td.n { (text::change(bin.change())) }
                    }
                }
            }
        }
    }
}

fn facts(run: &RunFacts) -> Markup {
    html! {
        h3 { (run.name) }
        dl {
            dt { "directory" } dd { (run.directory) }
            dt { "engine" } dd { (run.engine) ", on kernel " (run.kernel_release) }
            dt { "plan" } dd { "SHA-256 " (run.plan_hash) }
            dt { "version" } dd { "lcmp-lab " (run.tool_version) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{Intervals, Pair, paired};

    fn against(is_of_two_engines: bool) -> Against {
        let pair = |flow: u32| Pair {
            base: 2.0,
            other: 1.0 + f64::from(flow % 3),
        };
        let policy = PolicyComparison {
            policy: "lcmp".to_owned(),
            unfinished: [0, 0],
            base: None,
            other: None,
            change: None,
            paired: paired(&[(0..100).map(pair).collect()]),
            paper: None,
            bins: Vec::new(),
        };
        assert!(policy.paired.is_some());
        Against {
            run: "B".to_owned(),
            is_paired: true,
            is_of_two_engines,
            not_valid: Vec::new(),
            intervals: Intervals::OneDraw,
            policies: vec![policy],
            in_one_run: Vec::new(),
        }
    }

    #[test]
    fn between_two_engines_no_flow_is_called_faster_or_slower() {
        for (is_of_two_engines, count) in [(false, 1), (true, 0)] {
            let against = against(is_of_two_engines);
            let page = reductions(&against).into_string() + &note(&against).into_string();
            assert!(page.contains("ratio"), "{page}");
            for words in [
                "<th class=\"n\">faster",
                "slower ",
                "δ ",
                "Faster and slower",
            ] {
                assert_eq!(page.matches(words).count().min(1), count, "{words}: {page}");
            }
        }
    }
}
