//! Results of a run in a few numbers.

use lab_records::{Evidence, FlowCounts};
use lab_units::show;

use super::headline::Headline;
use crate::{
    departures, parallel,
    run::Run,
    stats::{self, Intervals},
    summary::{PolicySummary, Summary, WithChoice},
    words,
};

/// Returns the summary of `run`: headline, verdict with reasons, warnings, and each policy's slowdowns and changes.
pub fn summary(run: &Run) -> Summary {
    let flows = &run.flows;
    let is_compared = run.verdict.is_valid();
    let repetitions = parallel::map(0..flows.policies.len(), |index| {
        flows.slowdowns_by_repetition(index)
    });
    let policies = parallel::map(0..flows.policies.len(), |index| PolicySummary {
        departures: departures::of(&run.info, &flows.policies[index]).to_vec(),
        ..policy(
            &flows.policies[index],
            flows.counts[index],
            [&repetitions[0], &repetitions[index]],
            flows.unfinished(index),
            is_compared && index > 0,
        )
    });
    let end = run.end.as_ref();
    let evidence = end.map_or_else(Evidence::default, |end| end.evidence.clone());
    let warnings = words::warnings(&evidence.warnings());
    let intervals = Intervals::of(run.info.repetitions).over_same_flows(run.info.has_same_flows);
    let results = Headline {
        verdict: run.verdict.grade,
        reasons: &run.verdict.reasons,
        warnings: warnings.len(),
        policies: &policies,
        slowdowns: &repetitions,
        is_one_draw: intervals != Intervals::Student,
    }
    .words();
    let approximation = run.info.trains().map(|length| {
        let length = show::commas(length.into());
        format!(" Simulated in trains of {length} packets, an approximation.")
    });
    Summary {
        headline: results + approximation.as_deref().unwrap_or_default(),
        trains: run.info.trains(),
        scenario: run.info.scenario.clone(),
        verdict: run.verdict.grade,
        reasons: run.verdict.reasons.clone(),
        unexercised: warnings,
        intervals,
        measured: words::measured(&run.info),
        with_choice: with_choice(run),
        policies,
        evidence,
    }
}

/// Returns the results of the flows with a choice of paths; `None` if all measured flows or none have one.
fn with_choice(run: &Run) -> Option<WithChoice> {
    let flows = &run.flows;
    let is_compared = run.verdict.is_valid();
    let scheduled = run.info.with_choice.as_ref()?.flows;
    let repetitions = parallel::map(0..flows.policies.len(), |index| {
        flows.slowdowns_with_choice(index)
    });
    let policies = parallel::map(0..flows.policies.len(), |index| {
        let choice = flows.with_choice(index);
        policy(
            &flows.policies[index],
            choice.counts,
            [&repetitions[0], &repetitions[index]],
            &choice.unfinished,
            is_compared && index > 0,
        )
    });
    Some(WithChoice {
        scheduled,
        scheduled_in_all: run.info.measured_flows(),
        policies,
    })
}

/// Returns the results of some flows of the policy `label`, without parameters. The slowdowns of the flows that
/// finished, sorted in each repetition, are those of the first policy and of this one; `unfinished` has a lower bound for
/// each of this policy's other flows.
fn policy(
    label: &str,
    counts: FlowCounts,
    [first, own]: [&[Vec<f64>]; 2],
    unfinished: &[f64],
    is_compared: bool,
) -> PolicySummary {
    PolicySummary {
        policy: label.to_owned(),
        departures: Vec::new(),
        flows: counts.flows,
        finished: counts.finished,
        unfinished: counts.unfinished,
        below_one: counts.below_one,
        slowdown: stats::slowdowns(own, unfinished),
        change: is_compared.then(|| stats::change(first, own)),
    }
}
