//! Comparison as an answer.

use std::path::Path;

use serde::Serialize;

use super::{FidelityComparison, document, figures};
use crate::{
    check::{Answer, Check, PageAnswer},
    document::Document,
    error::ReportError,
    figures::Captioned,
};

impl Answer for FidelityComparison {
    const STATES_CHECKS: bool = false;

    fn values(&self) -> impl Serialize {
        &self.fidelity
    }

    fn checks(&self) -> Vec<Check> {
        self.checks.clone()
    }

    fn omissions(&self) -> Vec<String> {
        // With bounds, such a policy already has a failed check.
        if self.checks.iter().any(|check| check.bound.is_some()) {
            return Vec::new();
        }
        let alone = self.fidelity.in_one_run.iter();
        alone
            .map(|(policy, run)| {
                format!("policy {policy} was run only in the {run} and is not compared")
            })
            .collect()
    }

    fn text(&self) -> String {
        document::document(self, &[]).terminal()
    }
}

impl PageAnswer for FidelityComparison {
    const FOLDER: &'static str = "fidelity";

    fn figures(&self, dir: &Path) -> Result<Vec<Captioned>, ReportError> {
        figures::draw(self, dir)
    }

    fn document<'a>(&'a self, figures: &'a [Captioned]) -> Document<'a> {
        document::document(self, figures)
    }
}
