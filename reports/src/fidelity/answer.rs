//! The comparison as an answer.

use std::path::Path;

use super::{Fidelity, FidelityComparison, document, figures};
use crate::{
    check::{Answer, Check},
    document::Document,
    error::ReportError,
    figures::Captioned,
};

impl Answer for FidelityComparison {
    type Values = Fidelity;

    const FOLDER: &'static str = "fidelity";

    fn values(&self) -> &Fidelity {
        &self.fidelity
    }

    fn checks(&self) -> &[Check] {
        &self.checks
    }

    fn omissions(&self) -> Vec<String> {
        // With bounds, a policy that one run lacks has a failed check.
        if self.checks.iter().any(|check| check.bound.is_some()) {
            return Vec::new();
        }
        let alone = self.fidelity.in_one_run.iter();
        alone
            .map(|(policy, run)| format!("{policy} is only in the {run} and is not compared"))
            .collect()
    }

    fn figures(&self, dir: &Path) -> Result<Vec<Captioned>, ReportError> {
        figures::draw(self, dir)
    }

    fn document<'a>(&'a self, figures: &'a [Captioned]) -> Document<'a> {
        document::document(self, figures)
    }
}
