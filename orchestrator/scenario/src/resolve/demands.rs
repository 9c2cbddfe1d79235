//! Resolution of the two ends of every demand in a matrix to datacenters.

use std::{collections::BTreeMap, ops::Range};

use lab_topologies::{Format, names::plain_letters};
use lab_units::BitsPerSec;

use super::{context::Context, topology::IndexedTopology};
use crate::{
    error::{DemandError, Finding, ProblemKind, ScenarioErrors, SourceText},
    files::demands::{DemandEnd, DemandFormat, FileDemand, parse_demands},
    limits,
    model::{Files, PairRate},
    suggest::did_you_mean,
};

/// Returns the rates of the matrix at `path`, whose text is in `files`: one per ordered pair, sorted by datacenter.
/// Demands between the same pair are added up. `range` is the byte range of the path in the scenario.
///
/// # Errors
/// With the problems of the file.
pub(super) fn rates(
    context: &mut Context<'_>,
    network: &IndexedTopology,
    (range, path): (&Range<usize>, &str),
    files: &Files,
) -> Result<Vec<PairRate>, ScenarioErrors> {
    let Some(format) = DemandFormat::of_path(path) else {
        let path = path.to_owned();
        let known = DemandFormat::EXTENSIONS.iter().map(|(it, _)| *it).collect();
        context.problem(range, ProblemKind::DemandExtension { path, known });
        return Ok(Vec::new());
    };
    let import = network.model.import.as_deref();
    if format == DemandFormat::Repetita
        && import.and_then(Format::of_path) != Some(Format::Repetita)
    {
        let path = path.to_owned();
        context.problem(range, ProblemKind::NodesOfNoGraph { path });
        return Ok(Vec::new());
    }
    let Some(text) = files.get(path) else {
        let path = path.to_owned();
        context.problem(range, ProblemKind::NoText { path });
        return Ok(Vec::new());
    };
    let source = SourceText { name: path, text };
    let is_own_graph = import == Some(path);
    let demands = parse_demands(format, source, is_own_graph, network.dc_of_node.len())?;
    let (sums, mut findings) = sums(network, &demands);
    if demands.is_empty() {
        let end = text.trim_end().len();
        findings.push(Finding {
            range: end..end,
            kind: DemandError::NoDemand,
        });
    }
    ScenarioErrors::check(source, findings, |_| None)?;
    let rates = sums.into_iter().filter_map(|((from, to), bps)| {
        Some(PairRate {
            from: network.name(from).to_owned(),
            to: network.name(to).to_owned(),
            rate: BitsPerSec::new(bps)?,
        })
    });
    Ok(rates.collect())
}

/// Summed rates in bits per second, by the indices of the sending and the receiving datacenter.
type Sums = BTreeMap<(usize, usize), u64>;

/// Returns the summed rate of every pair, and the problems of the demands.
fn sums(network: &IndexedTopology, demands: &[FileDemand]) -> (Sums, Vec<Finding<DemandError>>) {
    let labels = Labels::of(network);
    let mut sums = Sums::new();
    let mut findings = Vec::new();
    for demand in demands {
        let finding = |kind| Finding {
            range: demand.range.clone(),
            kind,
        };
        let [from, to] =
            match [&demand.from, &demand.to].map(|end| with_hosts(network, &labels, end)) {
                [Ok(from), Ok(to)] => [from, to],
                [Err(kind), _] | [_, Err(kind)] => {
                    findings.push(finding(kind));
                    continue;
                }
            };
        if from == to {
            let dc = network.name(from).to_owned();
            findings.push(finding(DemandError::ToItself { dc }));
            continue;
        }
        let sum = sums.entry((from, to)).or_default();
        let before = *sum;
        *sum = before.saturating_add(demand.rate.get());
        if *sum > limits::MAX_DEMAND_BPS && before <= limits::MAX_DEMAND_BPS {
            findings.push(finding(DemandError::TooMuch {
                from: network.name(from).to_owned(),
                to: network.name(to).to_owned(),
            }));
        }
    }
    (sums, findings)
}

/// Indices of the datacenters by the labels of their nodes.
#[derive(Default)]
struct Labels<'n> {
    exact: BTreeMap<&'n str, Vec<usize>>,
    /// By the labels without accents, case and all but letters and digits.
    plain: BTreeMap<String, Vec<usize>>,
}

impl<'n> Labels<'n> {
    fn of(network: &'n IndexedTopology) -> Self {
        let mut labels = Self::default();
        for (index, dc) in network.model.dcs.iter().enumerate() {
            if let Some(label) = &dc.label {
                labels.exact.entry(label).or_default().push(index);
                let plain = labels.plain.entry(plain_letters(label));
                plain.or_default().push(index);
            }
        }
        labels
    }

    /// Returns the datacenters with the label `name` or, if there are none, with a label of the same letters and
    /// digits.
    fn find(&self, name: &str) -> &[usize] {
        let exact = self.exact.get(name);
        let found = exact.or_else(|| self.plain.get(&plain_letters(name)));
        found.map_or(&[], Vec::as_slice)
    }
}

/// Returns the index of the datacenter that `end` names.
///
/// # Errors
/// If there is no such datacenter, or several, or if it has no hosts.
fn with_hosts(
    network: &IndexedTopology,
    labels: &Labels<'_>,
    end: &DemandEnd,
) -> Result<usize, DemandError> {
    let index = match end {
        DemandEnd::Name(name) => named(network, labels, name)?,
        DemandEnd::Node(node) => {
            let dc = network.dc_of_node.get(*node).copied().flatten();
            dc.ok_or(DemandError::LeftOut { node: *node })?
        }
    };
    if network.hosts(index) == Some(0) {
        let dc = network.name(index).to_owned();
        return Err(DemandError::NoHosts { dc });
    }
    Ok(index)
}

/// Returns the index of the datacenter called `name`: by its name, by its label in the graph, or by another spelling of
/// the label, with the same letters and digits.
fn named(network: &IndexedTopology, labels: &Labels<'_>, name: &str) -> Result<usize, DemandError> {
    if let Some(index) = network.index_of(name) {
        return Ok(index);
    }
    match labels.find(name) {
        [index] => Ok(*index),
        [first, second, ..] => Err(DemandError::Ambiguous {
            found: name.to_owned(),
            first: network.name(*first).to_owned(),
            second: network.name(*second).to_owned(),
        }),
        [] => {
            let dcs = network.model.dcs.iter().map(|dc| dc.name.as_str());
            Err(DemandError::UnknownDc {
                found: crate::error::excerpt(name),
                suggestion: did_you_mean(name, dcs),
            })
        }
    }
}
