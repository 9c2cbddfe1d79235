//! The report as an answer.

use lab_reports::check::{Answer, Check, Judgement};
use serde::Serialize;

use crate::{
    claim::ClaimVerdict,
    document::document,
    report::{ClaimReport, Report},
    variant::Source,
};

impl Answer for Report {
    const STATES_CHECKS: bool = true;

    fn values(&self) -> impl Serialize {
        self
    }

    /// Returns a check for each claim and source: the sources are `simulated` and `fair`, or with `--trains` only
    /// `trains`. A check is inconclusive if the runs cannot decide the claim. Also returns an inconclusive check for each coefficient of figure 6 that cannot be
    /// decided.
    fn checks(&self) -> Vec<Check> {
        let of_claim = |claim| {
            let simulated: &[Source] = if self.settings.is_in_trains {
                &[Source::Trains]
            } else {
                &[Source::Simulated, Source::Fair]
            };
            let checks = simulated.iter();
            checks.filter_map(move |&source| self.claim_check(claim, source))
        };
        let coefficients = self.fidelity.iter().filter_map(|row| {
            let code = format!("fig6 {}", row.percentile);
            Some(Check::inconclusive(&code, row.undecided.clone()?))
        });
        let claims = self.claims.iter().flat_map(of_claim);
        claims.chain(coefficients).collect()
    }

    fn text(&self) -> String {
        document(self).terminal()
    }
}

impl Report {
    /// Returns the check of a claim; `None` if `source` has no verdict on the claim. The check passes if the claim is
    /// decided, even if it does not hold, or if only shortened runs (`--quick`) prevent a decision; otherwise, the
    /// check is inconclusive.
    fn claim_check(&self, claim: &ClaimReport, source: Source) -> Option<Check> {
        let judged = claim.verdicts.get(&source)?;
        let lacks_run = || {
            let mut cases = self.cases.iter();
            cases.any(|case| {
                claim.figures[0].contains(&case.figure) && !case.runs.contains_key(&source)
            })
        };
        let is_told =
            judged.verdict != ClaimVerdict::CannotTell || (judged.is_weak && !lacks_run());
        Some(Check {
            code: format!("{} {}", claim.id, source.name()),
            grade: if is_told {
                Judgement::Pass
            } else {
                Judgement::Inconclusive
            },
            found: None,
            bound: None,
            reason: format!("{}: {}", judged.verdict.words(), judged.reason()),
        })
    }
}
