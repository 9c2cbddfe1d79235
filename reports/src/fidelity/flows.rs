//! Flows of two runs, paired by policy, repetition and number.

use std::{cmp::Ordering, collections::BTreeMap};

use lab_records::{Batch, FlowRow, RecordsError, RunInfo};
use lab_units::{FlowId, Ratio};

use crate::{error::ReportError, facts::RunFacts};

/// Key of a flow, equal in both runs.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct PolicyFlowKey {
    /// Index of the policy in [`Flows::policies`].
    pub policy: usize,
    /// Index of the repetition.
    pub repetition: u64,
    /// Number of the flow.
    pub id: u64,
}

/// Record of a flow in one run, at the paper's scale (before scaling for emulation). Hosts and paths are numbers of
/// texts in [`Names`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recorded {
    /// Key of the flow.
    pub key: PolicyFlowKey,
    /// Numbers, in [`Names`], of the sending and the receiving host.
    pub hosts: [u32; 2],
    /// Flow size, bytes.
    pub size: u64,
    /// Actual start, ns.
    pub start: u64,
    /// Actual minus scheduled start, ns; `None` if the flow never started.
    pub lateness: Option<u64>,
    /// Completion time, ns; `None` if the flow did not finish.
    pub fct: Option<u64>,
    /// Ideal completion time, ns.
    pub ideal_fct: u64,
    /// FCT divided by ideal FCT; `None` if the flow did not finish.
    pub slowdown: Option<f64>,
    /// Number, in [`Names`], of the data's path; `None` if the path is unknown.
    pub path: Option<u32>,
    /// Number, in [`Names`], of the acknowledgements' path; `None` if the path is unknown.
    pub ack_path: Option<u32>,
}

/// Table that assigns numbers to texts, so that equal texts are stored once.
#[derive(Debug, Default)]
pub struct Names {
    numbers: BTreeMap<String, u32>,
    texts: Vec<String>,
}

/// Measured flows of two runs, under the policies that both have.
#[derive(Debug)]
pub struct Flows {
    /// Labels of the policies that both runs have, in the first run's order.
    pub policies: Vec<String>,
    /// Table of the numbered texts: names of hosts and paths.
    pub names: Names,
    /// Flows of each run, sorted by key.
    pub runs: [Vec<Recorded>; 2],
    /// Indices of each flow that both runs have, in the first and in the second run; sorted by key.
    pairs: Vec<[usize; 2]>,
}

impl Names {
    /// Returns the number of `text`; a new text gets the next number.
    pub fn number(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.numbers.insert(text.to_owned(), number);
        self.texts.push(text.to_owned());
        number
    }

    /// Returns the number of `text`; `None` if `text` has no number.
    pub fn known(&self, text: &str) -> Option<u32> {
        self.numbers.get(text).copied()
    }

    /// Returns the text that has `number`.
    pub fn text(&self, number: u32) -> &str {
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        self.texts.get(index).map_or("", String::as_str)
    }
}

impl Recorded {
    /// Returns the scheduled start of the flow, ns.
    pub fn scheduled(&self) -> u64 {
        self.start.saturating_sub(self.lateness.unwrap_or(0))
    }

    /// Returns the time at which the flow finished, ns; the largest u64 for a flow that never finished.
    pub fn end(&self) -> u64 {
        self.fct
            .map_or(u64::MAX, |fct| self.start.saturating_add(fct))
    }
}

impl Flows {
    /// Reads the measured flows of two runs under `policies`.
    pub fn read(runs: [&RunFacts; 2], policies: Vec<String>) -> Result<Self, ReportError> {
        let mut names = Names::default();
        let mut flows = [Vec::new(), Vec::new()];
        for (run, flows) in runs.into_iter().zip(&mut flows) {
            run.visit_batches::<FlowRow, RecordsError>(&COLUMNS, |batch| {
                append(batch, run.info(), &policies, &mut names, flows);
                Ok(())
            })?;
            flows.sort_by_key(|flow| flow.key);
        }
        Ok(Self {
            pairs: pairs(&flows),
            policies,
            names,
            runs: flows,
        })
    }

    /// Returns each flow that both runs have, in order of keys.
    pub fn pairs(&self) -> impl Iterator<Item = [&Recorded; 2]> + Clone {
        let [first, second] = &self.runs;
        self.pairs.iter().map(|&[a, b]| [&first[a], &second[b]])
    }
}

/// Appends the flows in `batch` that ran under `policies` to `flows`.
fn append(
    batch: &Batch,
    info: &RunInfo,
    policies: &[String],
    names: &mut Names,
    flows: &mut Vec<Recorded>,
) {
    let time = info.scale.time.inverse().unwrap_or(Ratio::ONE);
    let integers = |column: &str| batch.integers(column);
    let [repetitions, ids, sizes] = ["repetition", "flow_id", "size_bytes"].map(integers);
    let [starts, fcts, lateness] = ["start_ns", "fct_ns", "launch_lateness_ns"].map(integers);
    let ideal_fcts = integers("ideal_fct_ns");
    let slowdowns = batch.floats("slowdown");
    let labels = batch.texts("policy");
    let hosts = ["src_host", "dst_host"].map(|column| batch.texts(column));
    let paths = ["path", "ack_path"].map(|column| batch.texts(column));
    for row in 0..batch.len() {
        let label = labels.at(row).unwrap_or_default();
        let Some(policy) = policies.iter().position(|policy| policy == label) else {
            continue;
        };
        let id = ids[row].unwrap_or_default();
        if !u32::try_from(id).is_ok_and(|id| info.is_measured(FlowId(id))) {
            continue;
        }
        let [path, ack_path] = paths.map(|paths| Some(names.number(paths.at(row)?)));
        flows.push(Recorded {
            key: PolicyFlowKey {
                policy,
                repetition: repetitions[row].unwrap_or_default(),
                id,
            },
            hosts: hosts.map(|hosts| names.number(hosts.at(row).unwrap_or_default())),
            size: sizes[row].unwrap_or_default(),
            start: starts[row].unwrap_or_default(),
            lateness: lateness[row].map(|late| time.scale_nearest(late)),
            fct: fcts[row],
            ideal_fct: ideal_fcts[row].unwrap_or_default(),
            slowdown: slowdowns[row].filter(|slowdown| slowdown.is_finite()),
            path,
            ack_path,
        });
    }
}

/// Returns the pairs of indices at which both sorted runs have equal keys.
fn pairs([first, second]: &[Vec<Recorded>; 2]) -> Vec<[usize; 2]> {
    let mut a = 0;
    let mut b = 0;
    let mut pairs = Vec::with_capacity(first.len().min(second.len()));
    while let (Some(one), Some(other)) = (first.get(a), second.get(b)) {
        let order = one.key.cmp(&other.key);
        if order == Ordering::Equal {
            pairs.push([a, b]);
        }
        a += usize::from(order != Ordering::Greater);
        b += usize::from(order != Ordering::Less);
    }
    pairs
}

/// Names of the columns of `flows.csv` that the comparison reads.
const COLUMNS: [&str; 13] = [
    "repetition",
    "flow_id",
    "policy",
    "src_host",
    "dst_host",
    "size_bytes",
    "start_ns",
    "fct_ns",
    "ideal_fct_ns",
    "slowdown",
    "path",
    "ack_path",
    "launch_lateness_ns",
];
