//! A case's values: of a run, or as published.

use std::collections::BTreeMap;

use lab_artifact::average_utilisation;
use lab_records::{FlowFields, LinkRow, RecordsError, RunDir};
use lab_reports::{Change, Pair, PaperReductions, change, paper_bins, reductions};
use lab_units::{Bytes, FlowId, Nanos};
use serde::Serialize;

use crate::{
    catalogue::{Case, LCMP},
    published::Published,
};

/// Values of a case that claims are judged by, by the labels of its policies.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Values {
    /// Slowdowns.
    pub slowdowns: BTreeMap<String, Slowdowns>,
    /// 95 % intervals of the changes of p50 and p99 under LCMP against each other policy, of all flows by
    /// the nearest rank; none of published values.
    pub intervals: BTreeMap<String, [[f64; 2]; 2]>,
    /// Reductions under LCMP against each other policy by the paper's methods.
    pub reductions: BTreeMap<String, PaperReductions>,
    /// Average utilisation of the links at the sending datacenter by policy, in percent.
    pub utilisation: BTreeMap<String, BTreeMap<String, f64>>,
}

/// Slowdowns of a policy: p50 and p99 by the authors' bins.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slowdowns {
    /// Median.
    pub p50: Spread,
    /// 99th percentile; none where so many flows did not finish that it is not known.
    pub p99: Option<Spread>,
}

/// A percentile over the bins of sizes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Mean over the bins.
    pub mean: f64,
    /// Lowest and highest bin, where known.
    pub ends: Option<[f64; 2]>,
}

/// Flows that a run played.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Played {
    /// True if the flows were drawn; false if the published ones were played.
    pub is_drawn: bool,
    /// True if flows arrived for a tenth of the duration only.
    pub is_short: bool,
}

/// A case in a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Flows that the run played.
    pub played: Played,
    /// Name of the run directory.
    pub run: String,
    /// Commit of the tool that made the run.
    pub commit: String,
    /// Flows of each policy.
    pub flows: usize,
    /// Reasons not to trust the run.
    pub doubts: Vec<String>,
    /// The values.
    pub values: Values,
}

impl Values {
    /// Returns the published values of a case; none if there are none.
    #[must_use]
    pub fn published(case: &Case, published: &Published) -> Option<Self> {
        let is_of = |figure: &str, name: &str| figure == case.figure.name() && name == case.name;
        let mut values = Self::default();
        for row in &published.slowdowns {
            if is_of(&row.figure, &row.case) {
                let spread = |mean, min: Option<f64>, max: Option<f64>| Spread {
                    mean,
                    ends: min.zip(max).map(<[f64; 2]>::from),
                };
                let slowdowns = Slowdowns {
                    p50: spread(row.p50, row.p50_min, row.p50_max),
                    p99: Some(spread(row.p99, row.p99_min, row.p99_max)),
                };
                values.slowdowns.insert(row.policy.clone(), slowdowns);
            }
        }
        for row in &published.utilisation {
            if is_of(&row.figure, &row.case) {
                let policies = [
                    ("ecmp", row.ecmp),
                    ("ucmp-artifact", row.ucmp),
                    (LCMP, row.lcmp),
                ];
                for (policy, percent) in policies {
                    let links = values.utilisation.entry(policy.to_owned()).or_default();
                    links.insert(row.link.clone(), percent);
                }
            }
        }
        (!values.slowdowns.is_empty()).then_some(values)
    }
}

impl Measured {
    /// Reads the case's flows, and the use of the links at the first flow's datacenter, from a run that
    /// played `played`.
    ///
    /// # Errors
    /// If the tables cannot be read.
    pub fn read(run: &RunDir, case: &Case, played: Played) -> Result<Self, RecordsError> {
        let is_counted = |flow: &FlowFields<'_>| {
            let ends = [flow.src_dc, flow.dst_dc];
            run.info().is_measured(flow.flow_id)
                && case
                    .pair
                    .is_none_or(|[a, b]| ends == [a, b] || ends == [b, a])
        };
        let mut policies: BTreeMap<String, Vec<Flow>> = BTreeMap::new();
        let mut first: Option<(Key, String)> = None;
        run.visit_flow_fields(|fields| {
            if !is_counted(&fields) {
                return;
            }
            let flow = Flow::of(&fields);
            if first.as_ref().is_none_or(|(key, _)| flow.key < *key) {
                first = Some((flow.key, fields.src_dc.to_owned()));
            }
            match policies.get_mut(fields.policy) {
                Some(flows) => flows.push(flow),
                None => drop(policies.insert(fields.policy.to_owned(), vec![flow])),
            }
        })?;
        for flows in policies.values_mut() {
            flows.sort_by_key(|flow| flow.key);
        }
        let mut values = values(&policies);
        let sender = first.map(|(_, src_dc)| src_dc).unwrap_or_default();
        values.utilisation = utilisation(run, &policies, &sender)?;
        let doubts = match run.outcome() {
            Some(outcome) => outcome.verdict.sentences(),
            None => vec!["the run did not end".to_owned()],
        };
        let name = run.path().file_name().unwrap_or_default();
        Ok(Self {
            played,
            run: name.to_string_lossy().into_owned(),
            commit: run.info().provenance.tool_commit.clone(),
            flows: policies.values().map(Vec::len).max().unwrap_or(0),
            doubts,
            values,
        })
    }
}

/// Repetition and number of a flow.
type Key = (u32, FlowId);

/// What the values need of a flow.
#[derive(Clone, Copy)]
struct Flow {
    key: Key,
    size: u64,
    slowdown: Option<f64>,
    /// Completion; none of a flow that did not finish.
    end: Option<Nanos>,
}

impl Flow {
    fn of(flow: &FlowFields<'_>) -> Self {
        Self {
            key: (flow.repetition, flow.flow_id),
            size: flow.size_bytes.get(),
            slowdown: flow.slowdown,
            end: flow.fct_ns.map(|fct| flow.start_ns.saturating_add(fct)),
        }
    }
}

fn values(policies: &BTreeMap<String, Vec<Flow>>) -> Values {
    let mut values = Values::default();
    for (policy, rows) in policies {
        if let Some(slowdowns) = slowdowns(rows) {
            values.slowdowns.insert(policy.clone(), slowdowns);
        }
    }
    let Some(lcmp) = policies.get(LCMP) else {
        return values;
    };
    for (policy, rows) in policies.iter().filter(|(policy, _)| *policy != LCMP) {
        if let Some(change) = paired(rows, lcmp) {
            let ends = [change.p50, change.p99].map(|change| [change.low, change.high]);
            values.intervals.insert(policy.clone(), ends);
        }
        if let Some(reductions) = reductions(sized(rows), sized(lcmp))
            && reductions.bins == BINS
        {
            values.reductions.insert(policy.clone(), reductions);
        }
    }
    values
}

fn sized(rows: &[Flow]) -> Vec<(u64, f64)> {
    let sized = rows.iter().map(|row| Some((row.size, row.slowdown?)));
    sized.flatten().collect()
}

fn slowdowns(rows: &[Flow]) -> Option<Slowdowns> {
    let finished = sized(rows);
    let is_p99_known = (rows.len() - finished.len()) * MIN_SHARE_UNKNOWN < rows.len();
    let bins: Vec<[f64; 2]> = paper_bins(finished).into_iter().flatten().collect();
    let spread = |at: usize| {
        let values = bins.iter().map(|bin| bin[at]);
        let ends = values
            .clone()
            .fold([f64::INFINITY, 0.0], |[min, max], value| {
                [value.min(min), value.max(max)]
            });
        Spread {
            mean: values.sum::<f64>() / float(bins.len()),
            ends: Some(ends),
        }
    };
    (bins.len() == BINS).then(|| Slowdowns {
        p50: spread(0),
        p99: is_p99_known.then(|| spread(1)),
    })
}

/// Returns the changes from `base` to `other` of the flows that finished under both, by id.
fn paired(base: &[Flow], other: &[Flow]) -> Option<Change> {
    let finished = other
        .iter()
        .filter_map(|row| Some((row.key, row.slowdown?)));
    let finished: BTreeMap<_, _> = finished.collect();
    let pairs = base.iter().filter_map(|row| {
        Some(Pair {
            base: row.slowdown?,
            other: *finished.get(&row.key)?,
        })
    });
    change(&pairs.collect::<Vec<_>>())
}

/// Bytes of both directions of a link by time.
type Carried = BTreeMap<Nanos, u64>;

/// Returns the average utilisation of the links of `sender` by policy, as the authors' script has it.
fn utilisation(
    run: &RunDir,
    policies: &BTreeMap<String, Vec<Flow>>,
    sender: &str,
) -> Result<BTreeMap<String, BTreeMap<String, f64>>, RecordsError> {
    let links = run.info().links.iter();
    let own = links.filter(|link| [&link.a, &link.b].contains(&&sender.to_owned()));
    let rates: BTreeMap<_, _> = own.map(|link| (link.name.clone(), link.rate_bps)).collect();
    let mut carried: BTreeMap<(String, String), Carried> = BTreeMap::new();
    run.visit(|row: LinkRow| {
        if rates.contains_key(&row.link) && row.repetition == 0 {
            let samples = carried.entry((row.policy, row.link)).or_default();
            *samples.entry(row.time_ns).or_default() += row.tx_bytes.get();
        }
    })?;
    let end = |rows: &[Flow]| {
        let ends = rows.iter().filter_map(|row| row.end);
        ends.max().unwrap_or(Nanos::ZERO)
    };
    let span = policies.values().map(|rows| end(rows)).max();
    let span = span.unwrap_or(Nanos::ZERO);
    let mut found: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    for ((policy, link), samples) in carried {
        let (Some(rows), Some(rate)) = (policies.get(&*policy), rates.get(&link)) else {
            continue;
        };
        let samples: Vec<_> = samples
            .into_iter()
            .map(|(at, sent)| (at, Bytes::new(sent)))
            .collect();
        let percent = average_utilisation(&samples, *rate, end(rows), span);
        found.entry(policy).or_default().insert(link, percent);
    }
    Ok(found)
}

/// Number of bins of sizes, each of which must have a flow: means over fewer bins are of other sizes.
const BINS: usize = 20;

/// Reciprocal of the share of unfinished flows from which a 99th percentile is not known.
const MIN_SHARE_UNKNOWN: usize = 100;

#[expect(clippy::cast_precision_loss, reason = "there are 20 bins at most")]
const fn float(value: usize) -> f64 {
    value as f64
}
