//! Results of a run in a few numbers.

use lab_records::Evidence;

use super::headline::Headline;
use crate::{
    departures, parallel,
    run::Run,
    stats::{self, Intervals},
    summary::{PolicySummary, Summary},
    words,
};

/// Returns the summary of `run`: headline, verdict with reasons, warnings, and each policy's slowdowns and changes.
pub fn summary(run: &Run) -> Summary {
    let flows = &run.flows;
    let is_compared = run.verdict.is_valid();
    let repetitions = parallel::map(0..flows.policies.len(), |index| {
        flows.slowdowns_by_repetition(index)
    });
    let policies = parallel::map(0..flows.policies.len(), |index| {
        let counts = flows.counts[index];
        PolicySummary {
            policy: flows.policies[index].clone(),
            departures: departures::of(&run.info, &flows.policies[index]).to_vec(),
            flows: counts.flows,
            finished: counts.finished,
            unfinished: counts.unfinished,
            below_one: counts.below_one,
            slowdown: stats::slowdowns(&repetitions[index], flows.unfinished(index)),
            change: (is_compared && index > 0)
                .then(|| stats::change(&repetitions[0], &repetitions[index])),
        }
    });
    let end = run.end.as_ref();
    let evidence = end.map_or_else(Evidence::default, |end| end.evidence.clone());
    let warnings = words::warnings(&evidence.warnings());
    let headline = Headline {
        verdict: run.verdict.grade,
        reasons: &run.verdict.reasons,
        warnings: warnings.len(),
        policies: &policies,
        slowdowns: &repetitions,
        is_one_draw: Intervals::of(run.info.repetitions) == Intervals::OneDraw,
    }
    .words();
    Summary {
        headline,
        scenario: run.info.scenario.clone(),
        verdict: run.verdict.grade,
        reasons: run.verdict.reasons.clone(),
        unexercised: warnings,
        intervals: Intervals::of(run.info.repetitions),
        measured: words::measured(&run.info),
        policies,
        evidence,
    }
}
