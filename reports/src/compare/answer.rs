//! Comparison of runs as an [`Answer`].

use std::path::Path;

use super::{Against, Comparison, document, figures};
use crate::{
    check::{Answer, Check},
    document::Document,
    error::ReportError,
    figures::Captioned,
};

impl Answer for Comparison {
    type Values = Self;

    const FOLDER: &'static str = "compare";

    fn values(&self) -> &Self {
        self
    }

    fn checks(&self) -> &[Check] {
        &self.checks
    }

    fn omissions(&self) -> Vec<String> {
        let of_run = |against: &Against| {
            let run = against.run.clone();
            let policies = against.in_one_run.clone().into_iter();
            policies.map(move |policy| {
                format!("{policy} is in only one of A and {run} and is not compared")
            })
        };
        self.against.iter().flat_map(of_run).collect()
    }

    fn figures(&self, dir: &Path) -> Result<Vec<Captioned>, ReportError> {
        figures::draw(self, dir)
    }

    fn document<'a>(&'a self, figures: &'a [Captioned]) -> Document<'a> {
        document::document(self, figures)
    }
}
