//! `lcmp-lab fidelity`: two runs of one plan, flow by flow.

use std::path::Path;

use lab_reports::fidelity::{
    self, Agreement, Bounds, Broken, Comparison, Fidelity, FidelityError, LinkPair, LinkSide,
    PausePair, Written,
};
use lab_units::{
    Bytes,
    show::{self, commas, sides},
};
use serde::Serialize;

use crate::{
    args::{FidelityArgs, Global},
    caller,
    failure::{During, Exit, Failure, Outcome},
    load,
    terminal::{note, print, print_json},
};

/// Result of a comparison, for `--json`.
#[derive(Serialize)]
struct Output<'a> {
    #[serde(flatten)]
    fidelity: &'a Fidelity,
    /// Bounds that do not hold; empty if all hold, or none were given.
    broken: &'a [Broken],
    /// The page.
    page: &'a Path,
}

/// Runs `lcmp-lab fidelity`.
pub fn fidelity(arguments: &FidelityArgs, global: &Global) -> Outcome {
    let comparison = fidelity::compare(&arguments.first, &arguments.second).map_err(failure)?;
    let bounds = bounds(arguments);
    let broken = bounds.broken(&comparison.fidelity).map_err(failure)?;
    let written = write(&comparison, arguments, &bounds, &broken)?;
    let fidelity = &comparison.fidelity;
    if global.json {
        print_json(&Output {
            fidelity,
            broken: &broken,
            page: &written.html,
        });
    } else {
        print(&text(fidelity));
        print(&format!("page: {}", written.html.display()));
    }
    for line in doubts(fidelity) {
        note(&line);
    }
    for one in &broken {
        note(&format!("out of bounds: {}", one.text));
    }
    let is_clean = fidelity.runs.iter().all(|run| run.problems.is_empty());
    Ok(match (broken.is_empty(), is_clean) {
        (false, _) => Exit::Failed,
        (true, false) => Exit::Inconclusive,
        (true, true) => Exit::Pass,
    })
}

fn bounds(arguments: &FidelityArgs) -> Bounds {
    Bounds {
        max_p50: arguments.max_p50.clone(),
        max_p95: arguments.max_p95.clone(),
        max_p99: arguments.max_p99.clone(),
        max_difference: arguments.max_difference.clone(),
        min_paths: arguments.min_paths.clone(),
        min_pearson: arguments.min_pearson.clone(),
        min_compared: arguments.min_compared.clone(),
    }
}

fn write(
    comparison: &Comparison,
    arguments: &FidelityArgs,
    bounds: &Bounds,
    broken: &[Broken],
) -> Result<Written, Failure> {
    let dir = match &arguments.output {
        Some(dir) => dir.clone(),
        None => load::absolute(&arguments.first)?.join(fidelity::DIR),
    };
    let broken = (!bounds.is_empty()).then_some(broken);
    caller::check_links(&dir).during(format_args!("use `{}`", dir.display()))?;
    let written = comparison.write(&dir, broken);
    caller::hand_over(&dir);
    written.during(format_args!(
        "write the comparison into `{}`",
        dir.display()
    ))
}

fn failure(error: FidelityError) -> Failure {
    let report = match &error {
        FidelityError::Report(report) => Some(report),
        _ => None,
    };
    Failure::comparison(&error, report)
}

/// Returns what keeps the runs from being compared in full, a line each.
fn doubts(fidelity: &Fidelity) -> Vec<String> {
    let problems = fidelity.runs.iter().flat_map(|run| {
        let line = |problem| format!("not clean: {}: {problem}", run.name);
        run.problems.iter().map(line)
    });
    let alone = fidelity
        .in_one_run
        .iter()
        .map(|(policy, run)| format!("not compared: {policy} is only in the {run}"));
    problems.chain(alone).collect()
}

/// Returns the agreement of each policy and the flows that differ most.
fn text(fidelity: &Fidelity) -> String {
    let [first, second] = &fidelity.runs;
    let mut text = format!(
        "{}: {} {} against {} {}\n",
        fidelity.scenario, first.name, first.directory, second.name, second.directory
    );
    let heads = [
        "|ΔFCT| / FCT",
        "flows",
        "paths",
        "p50",
        "p95",
        "p99",
        "max",
        "Pearson",
        "Spearman",
        "p50s",
        "p99s",
    ];
    let mut rows = vec![heads.map(str::to_owned)];
    rows.extend(fidelity.policies.iter().chain([&fidelity.all]).map(row));
    text += &show::table(0, sides(1), &rows);
    text +=
        "p50s, p99s: Pearson's coefficient over bins of flow sizes, as in the paper's Figure 6\n";
    text += &links(fidelity);
    if !fidelity.worst.is_empty() {
        text += &format!(
            "largest differences ({} first, {} second)\n",
            first.name, second.name
        );
    }
    for flow in &fidelity.worst {
        let head = format!("  {} {}: ", flow.policy, flow.flow_id);
        text += &show::paragraph(&head, &flow.explanation);
    }
    text
}

/// Returns each policy's direction with the longest mean queue, in the first run and the second.
fn links(fidelity: &Fidelity) -> String {
    let heads = [
        "first · second",
        "direction",
        "mean queue",
        "longest queue",
        "marks",
        "CNPs",
    ];
    let mut rows = vec![heads.map(str::to_owned)];
    for policy in fidelity.labels() {
        let of_policy = fidelity.links.iter().filter(|pair| pair.policy == policy);
        let mean = |pair: &&LinkPair| pair.runs[0].mean_queue_bytes;
        let Some(pair) = of_policy.max_by_key(mean) else {
            continue;
        };
        let size = |bytes: u64| fidelity::size(Bytes::new(bytes));
        let both = |value: fn(&LinkSide) -> Option<u64>, show: fn(u64) -> String| {
            let shown = |side| value(side).map_or("–".to_owned(), show);
            pair.runs.each_ref().map(shown).join(" · ")
        };
        let cnps = fidelity.cnps.iter().find(|it| it.policy == policy);
        rows.push([
            policy,
            format!("{} → {}", pair.from_dc, pair.to_dc),
            both(|side| side.mean_queue_bytes, size),
            both(|side| side.peak_queue_bytes, size),
            both(|side| side.marks, commas),
            cnps.map_or("–".to_owned(), |it| it.cnps.map(commas).join(" · ")),
        ]);
    }
    match rows.len() {
        1 => String::new(),
        _ => show::table(0, sides(2), &rows) + &pauses(fidelity),
    }
}

/// Returns the times that PFC paused ports, in the first run and the second; nothing without PFC.
fn pauses(fidelity: &Fidelity) -> String {
    let of_policy = |pair: &PausePair| {
        let times = pair.paused_ns.map(show::about_time).join(" · ");
        format!("{} {times}", pair.policy)
    };
    let pauses: Vec<String> = fidelity.pauses.iter().map(of_policy).collect();
    if pauses.is_empty() {
        String::new()
    } else {
        show::paragraph("paused by PFC: ", &pauses.join("; "))
    }
}

fn row(one: &Agreement) -> [String; 11] {
    let differences = match one.fct_difference {
        Some(it) => [it.p50, it.p95, it.p99, it.max].map(fidelity::percent),
        None => ["–"; 4].map(str::to_owned),
    };
    let [p50, p95, p99, max] = differences;
    let flows = if one.compared == one.scheduled {
        one.compared.to_string()
    } else {
        format!("{}/{}", one.compared, one.scheduled)
    };
    [
        one.policy.clone().unwrap_or_else(|| "all".to_owned()),
        flows,
        fidelity::share_of(one.same_paths, one.recorded),
        p50,
        p95,
        p99,
        max,
        fidelity::coefficient(one.pearson),
        fidelity::coefficient(one.spearman),
        fidelity::coefficient(one.pearson_of_p50),
        fidelity::coefficient(one.pearson_of_p99),
    ]
}
