//! Comparison as an answer.

use std::path::Path;

use serde::Serialize;

use super::{Against, Comparison, document, figures};
use crate::{
    check::{Answer, Check, PageAnswer},
    document::Document,
    error::ReportError,
    figures::Captioned,
};

impl Answer for Comparison {
    const STATES_CHECKS: bool = false;

    fn values(&self) -> impl Serialize {
        self
    }

    fn checks(&self) -> Vec<Check> {
        self.checks.clone()
    }

    fn omissions(&self) -> Vec<String> {
        let of_run = |against: &Against| {
            let run = against.run.clone();
            let policies = against.in_one_run.clone().into_iter();
            policies.map(move |policy| {
                format!(
                    "policy {policy} is in only one of the runs A and {run}, and is not compared"
                )
            })
        };
        self.against.iter().flat_map(of_run).collect()
    }

    fn text(&self) -> String {
        document::document(self, &[]).terminal()
    }
}

impl PageAnswer for Comparison {
    const FOLDER: &'static str = "compare";

    fn figures(&self, dir: &Path) -> Result<Vec<Captioned>, ReportError> {
        figures::draw(self, dir)
    }

    fn document<'a>(&'a self, figures: &'a [Captioned]) -> Document<'a> {
        document::document(self, figures)
    }
}
