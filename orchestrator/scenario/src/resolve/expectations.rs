//! Resolution of assertions in scenarios and suites.

use std::ops::Range;

use super::context::Context;
use crate::{
    error::ProblemKind,
    expect::Expectation,
    limits,
    model::{PolicySpec, Topology},
    yaml::{At, Scalar, Text},
};

/// Parses assertions, and checks that the policies and datacenters that they name exist.
pub(super) fn expect(
    context: &mut Context<'_>,
    raw: Option<&At<Vec<Text<Expectation>>>>,
    topology: &Topology,
    policies: &[PolicySpec],
) -> Vec<Expectation> {
    let Some(list) = raw else {
        return Vec::new();
    };
    let found = list.value.len();
    if found > limits::MAX_EXPECTATIONS {
        context.count(&list.range, found, 1..=limits::MAX_EXPECTATIONS);
        return Vec::new();
    }
    let labels: Vec<String> = policies.iter().map(|it| it.label().to_owned()).collect();
    let dcs: Vec<String> = topology.dcs.iter().map(|dc| dc.name.clone()).collect();
    let mut read = Vec::new();
    for text in &list.value {
        let one = std::slice::from_ref(text);
        for expectation in read_all(one, |range, kind| context.problem(&range, kind)) {
            let names = (expectation
                .policies()
                .into_iter()
                .map(|name| (name, "policy", &labels)))
            .chain(
                expectation
                    .dcs()
                    .into_iter()
                    .map(|name| (name, "datacenter", &dcs)),
            );
            for (name, what, known) in names {
                if !known.iter().any(|it| it == name) {
                    let kind = ProblemKind::UnknownInExpectation {
                        name: name.to_owned(),
                        what,
                        known: known.clone(),
                    };
                    context.problem(&text.range(), kind);
                }
            }
            read.push(expectation);
        }
    }
    read
}

/// Parses assertions. Calls `problem` with the location and kind of each error.
pub(crate) fn read_all(
    texts: &[Text<Expectation>],
    mut problem: impl FnMut(Range<usize>, ProblemKind),
) -> Vec<Expectation> {
    let mut read = Vec::new();
    for text in texts {
        match Expectation::read(text.as_str()) {
            Ok(expectation) => read.push(expectation),
            Err(ProblemKind::Expectation(error)) => {
                let range = text.range();
                // Quotes and escapes shift positions within a value, so an error's offset is only used in an unquoted
                // value.
                let is_bare = range.len() == text.as_str().len();
                let start = if is_bare {
                    (range.start + error.offset).min(range.end)
                } else {
                    range.start
                };
                problem(start..range.end, ProblemKind::Expectation(error));
            }
            Err(kind) => problem(text.range(), kind),
        }
    }
    read
}
