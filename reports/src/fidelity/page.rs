//! The HTML page of a comparison.

use std::cmp::Reverse;

use lab_units::{Bytes, Nanos};
use maud::{Markup, html};

use super::{Agreement, Broken, Fidelity, FlowSide, LinkPair, LinkSide, RunFacts, WorstFlow};
use crate::{
    figures::Captioned,
    page::{NONE, captioned, document, swatched},
    text,
};

/// Returns the page's HTML; `broken` are the bounds that do not hold, none if there are no bounds.
pub fn page(fidelity: &Fidelity, figures: &[Captioned], broken: Option<&[Broken]>) -> String {
    let [first, second] = &fidelity.runs;
    let title = format!(
        "{}: {} against {}",
        fidelity.scenario, first.name, second.name
    );
    let body = html! {
        header {
            h1 { (title) }
            p.lead { (headline(fidelity)) }
            p.note { (first.directory) " against " (second.directory) }
        }
        (banner(fidelity, broken))
        main {
            section {
                h2 { "Agreement" }
                div.wide { (agreement(fidelity)) }
                (note(fidelity))
            }
            section {
                h2 { "Links" }
                (links(fidelity))
            }
            section {
                h2 { "Figures" }
                @for figure in figures { (captioned(figure, "")) }
            }
            section {
                h2 { "The flows that differ most" }
                (worst(fidelity))
            }
            section {
                h2 { "The runs" }
                @for run in &fidelity.runs { (facts(run)) }
            }
        }
        footer {
            p {
                "Written by lcmp-lab " (first.tool_version) " from the records of both runs. Figures \
                 are beside this file as SVG and PNG."
            }
        }
    };
    document(&format!("{title} · lcmp-lab"), &first.tool_version, &body)
}

fn headline(fidelity: &Fidelity) -> String {
    let all = &fidelity.all;
    let mut text = format!(
        "{} of {} flows finished in both runs; {} of {} took the same paths",
        all.compared, all.scheduled, all.same_paths, all.recorded
    );
    if let Some(fct) = all.fct_difference {
        text += &format!(
            "; half of the FCTs agree within {}, 99 of 100 within {}",
            text::small_percent(fct.p50),
            text::small_percent(fct.p99)
        );
    }
    text + "."
}

fn banner(fidelity: &Fidelity, broken: Option<&[Broken]>) -> Markup {
    let unclean = fidelity.runs.iter().filter(|run| !run.problems.is_empty());
    let problems = unclean.flat_map(|run| {
        let named = |problem| format!("{}: {problem}", run.name);
        run.problems.iter().map(named)
    });
    let alone = fidelity
        .in_one_run
        .iter()
        .map(|(policy, run)| format!("{policy} is only in the {run} and is not compared"));
    let problems: Vec<String> = problems.chain(alone).collect();
    let broken_list = broken.unwrap_or_default();
    html! {
        @if !broken_list.is_empty() {
            div.banner.bad role="alert" {
                strong { "Bounds that do not hold: " (broken_list.len()) "." }
                ul { @for one in broken_list { li { (one.text) } } }
            }
        } @else if broken.is_some() {
            div.banner role="status" { strong { "All bounds hold." } }
        }
        @if !problems.is_empty() {
            div.banner.bad role="alert" {
                strong { "Not everything could be compared, or a run is not clean." }
                ul { @for problem in &problems { li { (problem) } } }
            }
        }
    }
}

fn agreement(fidelity: &Fidelity) -> Markup {
    let labels = fidelity.labels();
    html! {
        table {
            thead {
                tr {
                    th rowspan="2" { "policy" }
                    th.n rowspan="2" { "flows" }
                    th.n rowspan="2" { "same paths" }
                    th.n colspan="4" { "|ΔFCT| ÷ FCT" }
                    th.n colspan="2" { "slowdowns" }
                    th.n colspan="2" { "Pearson by size" }
                }
                tr {
                    @for name in [
                        "p50", "p95", "p99", "max", "Pearson", "Spearman", "p50", "p99",
                    ] { th.n { (name) } }
                }
            }
            tbody {
                @for one in fidelity.policies.iter().chain([&fidelity.all]) {
                    tr {
                        th {
                            @match &one.policy {
                                Some(policy) => (swatched(&labels, policy)),
                                None => "all",
                            }
                        }
                        (cells(one))
                    }
                }
            }
        }
    }
}

fn cells(one: &Agreement) -> Markup {
    let differences = match one.fct_difference {
        Some(it) => [it.p50, it.p95, it.p99, it.max].map(text::small_percent),
        None => [NONE; 4].map(str::to_owned),
    };
    html! {
        td.n.bad[one.compared < one.scheduled] { (one.compared) "/" (one.scheduled) }
        td.n {
            (text::share_of(one.same_paths, one.recorded))
            @if one.same_paths < one.recorded {
                span.ci { "data " (text::share_of(one.same_data_path, one.recorded)) }
                span.ci { "ACKs " (text::share_of(one.same_ack_path, one.recorded)) }
            }
        }
        @for difference in differences { td.n { (difference) } }
        @for coefficient in [one.pearson, one.spearman, one.pearson_of_p50, one.pearson_of_p99] {
            td.n { (text::coefficient(coefficient)) }
        }
    }
}

fn note(fidelity: &Fidelity) -> Markup {
    let bins = fidelity
        .policies
        .iter()
        .map(|it| it.bins)
        .max()
        .unwrap_or(0);
    let unknown = fidelity.all.unknown_paths;
    html! {
        p.note {
            "ΔFCT is relative to the FCT in the " (fidelity.runs[0].name) "; percentiles by the \
             nearest-rank rule. Spearman's ranks are the mean rank for equal slowdowns. By size: the \
             coefficient of each policy's p50 and p99 slowdowns over "
            (text::count(usize::try_from(bins).unwrap_or(usize::MAX), "bin"))
            " of flow sizes, as in the paper's Figure 6, which gives 0.95 and 0.97. A dash is a \
             coefficient of values that do not vary."
            @if unknown > 0 { " A path that is not known in one run counts as another one: " (unknown) "." }
        }
    }
}

fn links(fidelity: &Fidelity) -> Markup {
    let labels = fidelity.labels();
    html! {
        @if fidelity.links.is_empty() { p { "No link counters were recorded." } }
        @else {
            div.wide {
                table {
                    thead {
                        tr {
                            th { "policy" }
                            th { "direction" }
                            th.n { "carried" }
                            th.n { "mean queue" }
                            th.n { "longest queue" }
                            th.n { "marked" }
                            th.n { "dropped" }
                        }
                    }
                    tbody {
                        @for policy in &labels {
                            @for pair in longest_queues(fidelity, policy) {
                                tr {
                                    th { (swatched(&labels, policy)) }
                                    td.t { (pair.from_dc) " → " (pair.to_dc) }
                                    (link_cells(pair))
                                }
                            }
                        }
                    }
                }
            }
            p.note {
                "The directions with the longest queues, up to " (MAX_DIRECTIONS) " of each policy, over \
                 all repetitions: the " (fidelity.runs[0].name) " first and the "
                (fidelity.runs[1].name) " second, with the change under them. Queues are those of the \
                 samples, until the later run's last flow ended: between samples they may have been \
                 longer."
            }
        }
        @for pair in &fidelity.cnps {
            p {
                (swatched(&labels, &pair.policy)) ": " (text::number(pair.cnps[0])) " and "
                (text::number(pair.cnps[1])) " CNPs for the "
                (text::count(usize::try_from(pair.flows).unwrap_or(usize::MAX), "flow"))
                " whose rates were sampled"
                @if let Some(change) = change(pair.cnps) { " (" (change) ")" }
                "."
            }
        }
        @for pair in &fidelity.pauses {
            p {
                (swatched(&labels, &pair.policy)) ": PFC paused ports for "
                (text::time(pair.paused_ns[0])) " and " (text::time(pair.paused_ns[1])) " in all"
                @if let Some(change) = change(pair.paused_ns.map(Nanos::get)) { " (" (change) ")" }
                "."
            }
        }
    }
}

/// Returns the directions with the longest queues under `policy` in either run, longest first.
fn longest_queues<'a>(fidelity: &'a Fidelity, policy: &str) -> Vec<&'a LinkPair> {
    let of_policy = fidelity.links.iter().filter(|pair| pair.policy == policy);
    let longest = |pair: &&LinkPair| pair.runs.iter().map(|side| side.peak_queue_bytes).max();
    let mut pairs: Vec<&LinkPair> = of_policy.collect();
    pairs.sort_by_key(|pair| Reverse(longest(pair)));
    pairs.truncate(MAX_DIRECTIONS);
    pairs
}

fn link_cells(pair: &LinkPair) -> Markup {
    let size = |bytes: u64| text::size(Bytes::new(bytes));
    let of = |value: fn(&LinkSide) -> Option<u64>| pair.runs.each_ref().map(value);
    html! {
        (beside(of(|side| Some(side.bytes)), size))
        (beside(of(|side| side.mean_queue_bytes), size))
        (beside(of(|side| side.peak_queue_bytes), size))
        (beside(of(|side| side.marks), text::number))
        (beside(of(|side| Some(side.drops)), text::number))
    }
}

/// Returns a cell with the values of both runs and the change from the first to the second.
fn beside(values: [Option<u64>; 2], show: impl Fn(u64) -> String) -> Markup {
    let [first, second] = values.map(|value| value.map_or_else(|| NONE.to_owned(), &show));
    html! {
        td.n {
            (first) " · " (second)
            @if let [Some(first), Some(second)] = values
                && let Some(change) = change([first, second]) {
                span.ci { (change) }
            }
        }
    }
}

/// Returns the change from the first value to the second; none from nothing, or between equal values.
fn change([first, second]: [u64; 2]) -> Option<String> {
    let is_change = first > 0 && first != second;
    is_change.then(|| text::change(text::to_float(second) / text::to_float(first) - 1.0))
}

fn worst(fidelity: &Fidelity) -> Markup {
    html! {
        @if fidelity.worst.is_empty() { p { "No flow finished in both runs." } }
        @else {
            p.note {
                "Largest |ΔFCT| ÷ FCT of all policies. Of two values side by side the first is of the "
                (fidelity.runs[0].name) ". A bottleneck is the link of least rate on the data's path."
            }
            div.wide {
                table {
                    thead {
                        tr {
                            th { "flow" }
                            th.n { "size" }
                            th.n { "ΔFCT" }
                            th.n { "slowdowns" }
                            th { "facts" }
                        }
                    }
                    tbody { @for flow in &fidelity.worst { (worst_row(flow)) } }
                }
            }
        }
    }
}

fn worst_row(flow: &WorstFlow) -> Markup {
    let slowdown = |side: &FlowSide| side.slowdown.map_or(NONE.to_owned(), text::slowdown);
    html! {
        tr {
            th {
                (flow.policy) " " (flow.flow_id)
                @if flow.repetition > 0 { span.ci { "repetition " (flow.repetition) } }
            }
            td.n { (text::size(Bytes::new(flow.size_bytes))) }
            td.n { (text::small_change(flow.fct_difference)) }
            td.n { (flow.runs.each_ref().map(slowdown).join(", ")) }
            td { (flow.explanation) }
        }
    }
}

fn facts(run: &RunFacts) -> Markup {
    let scale = &run.scale;
    html! {
        h3 { (run.name) }
        dl {
            dt { "directory" } dd { (run.directory) }
            dt { "engine" } dd { (run.engine) ", on kernel " (run.kernel_release) }
            dt { "scale" }
            dd {
                "rates × " (scale.rate) ", times × " (scale.time) ", sizes × " (scale.size)
                " (emulated ÷ paper)"
            }
            dt { "plan" } dd { "SHA-256 " (run.plan_hash) }
            dt { "version" } dd { "lcmp-lab " (run.tool_version) }
        }
    }
}

/// Number of directions per policy in the links table.
const MAX_DIRECTIONS: usize = 4;
