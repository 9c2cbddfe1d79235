//! Values of a case, either measured in a run or published.

use std::collections::BTreeMap;

use lab_artifact::{UTILISATION_STEP, average_utilisation};
use lab_records::{FlowFields, Grade, LinkRow, RecordsError};
use lab_reports::{PaperReductions, facts::RunFacts, paper_bins, reductions, student, words};
use lab_units::{Bytes, FlowId, Nanos};
use serde::Serialize;

use crate::{
    catalogue::{Case, LCMP},
    network::PathCounts,
    published::Published,
};

/// Values of a case from one source, by the labels of its policies.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CaseValues {
    /// Slowdowns per policy.
    pub slowdowns: BTreeMap<String, Slowdowns>,
    /// p50 and p99 of each size bin per policy; empty for published values.
    pub bins: BTreeMap<String, Vec<Bin>>,
    /// 95 % intervals (Student's t over the repetitions) of the relative changes in p50 and p99 from each policy to
    /// LCMP. `None` for a percentile that fewer than two repetitions have; empty for published values.
    pub intervals: BTreeMap<String, [Option<[f64; 2]>; 2]>,
    /// Relative changes from each other policy to LCMP, computed by the paper's methods.
    pub reductions: BTreeMap<String, PaperReductions>,
    /// Average utilisation of each link at the sending datacenter, in percent, by policy and link.
    pub utilisation: BTreeMap<String, BTreeMap<String, f64>>,
    /// Counts of paths in the network; `None` for published values.
    pub network: Option<PathCounts>,
}

/// Slowdowns of the flows in one size bin; each bin has a twentieth of all flows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bin {
    /// Largest flow size in the bin, bytes.
    pub largest: u64,
    /// Median slowdown.
    pub p50: f64,
    /// 99th percentile of the slowdown.
    pub p99: f64,
}

/// p50 and p99 of a policy's slowdowns over the authors' 20 size bins.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slowdowns {
    /// Distribution of p50 over the size bins.
    pub p50: Spread,
    /// Distribution of p99 over the size bins; `None` if p99 is unknown because too many flows did not finish.
    pub p99: Option<Spread>,
}

/// Distribution of a percentile over the size bins.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Mean over the bins.
    pub mean: f64,
    /// Smallest and largest value over the bins, if known.
    pub ends: Option<[f64; 2]>,
}

/// Origin and duration of the flows in a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Played {
    /// True if the flows were drawn at random; false if the run used the published flows.
    pub is_drawn: bool,
    /// True if flows arrived only during a tenth of the duration.
    pub is_short: bool,
}

/// Values of a case, measured in one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Origin and duration of the run's flows.
    pub played: Played,
    /// Name of the run directory.
    pub run: String,
    /// Commit of the lcmp-lab that made the run.
    pub commit: String,
    /// Number of flows under each policy.
    pub flows: usize,
    /// Number of repetitions under each policy.
    pub repetitions: u32,
    /// Reasons to distrust the run; empty if it is valid.
    pub doubts: Vec<String>,
    /// Warnings of the plan, and warnings about a ranking of the run's policies.
    pub warnings: Vec<String>,
    pub values: CaseValues,
}

/// Reason for which a run has no values for a case.
#[derive(Debug, thiserror::Error)]
pub enum NotMeasured {
    /// The run has no outcome because it did not end.
    #[error("the run did not end")]
    Unfinished,
    /// The results of the run do not correspond to its scenario.
    #[error("the run is invalid: {0}")]
    Invalid(String),
    /// The tables of the run are damaged.
    #[error(transparent)]
    Records(#[from] RecordsError),
}

impl CaseValues {
    /// Returns the published values of a case; `None` if it has no published values.
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
    /// Reads the values of `case` from a run. Utilisation covers the links at the first flow's sending datacenter;
    /// `played` states the origin of the flows.
    ///
    /// # Errors
    /// If the run did not end, is invalid, or has tables that cannot be read.
    pub fn read(run: &RunFacts, case: &Case, played: Played) -> Result<Self, NotMeasured> {
        let outcome = run.outcome().ok_or(NotMeasured::Unfinished)?;
        let is_counted = |flow: &FlowFields<'_>| {
            let ends = [flow.src_dc, flow.dst_dc];
            let is_of = |[a, b]: [&str; 2]| ends == [a, b] || ends == [b, a];
            case.pair.is_none_or(is_of)
        };
        let mut policies: BTreeMap<String, Vec<MeasuredFlow>> = BTreeMap::new();
        let mut first: Option<(MeasuredKey, String)> = None;
        run.visit_measured(|_, fields| {
            if !is_counted(&fields) {
                return;
            }
            let flow = MeasuredFlow::of(&fields);
            if first.as_ref().is_none_or(|(key, _)| flow.key < *key) {
                first = Some((flow.key, fields.src_dc.to_owned()));
            }
            match policies.get_mut(fields.policy) {
                Some(flows) => flows.push(flow),
                None => drop(policies.insert(fields.policy.to_owned(), vec![flow])),
            }
        })?;
        // Only now, since rows that were lost after the run's end make it invalid, too.
        if run.stored_verdict().grade == Grade::Invalid {
            return Err(NotMeasured::Invalid(run.doubts().join("; ")));
        }
        for flows in policies.values_mut() {
            flows.sort_by_key(|flow| flow.key);
        }
        let mut values = values(&policies);
        let sender = first.map(|(_, src_dc)| src_dc).unwrap_or_default();
        values.utilisation = utilisation(run, &policies, &sender)?;
        values.network = Some(PathCounts::of(&run.info().dcs, &run.info().links));
        let mut warnings = run.info().warnings.clone();
        warnings.extend(words::warnings(&outcome.end.evidence.warnings()));
        let name = run.path().file_name().unwrap_or_default();
        Ok(Self {
            played,
            run: name.to_string_lossy().into_owned(),
            commit: run.info().provenance.tool_commit.clone(),
            flows: policies.values().map(Vec::len).max().unwrap_or(0),
            repetitions: run.info().repetitions,
            doubts: run.doubts(),
            warnings,
            values,
        })
    }
}

/// Key of a flow under one policy: repetition and flow number.
type MeasuredKey = (u32, FlowId);

/// Columns of a flow that the values are computed from.
#[derive(Clone, Copy)]
struct MeasuredFlow {
    key: MeasuredKey,
    size: u64,
    start: Nanos,
    slowdown: Option<f64>,
    /// Completion time; `None` if the flow did not finish.
    end: Option<Nanos>,
}

impl MeasuredFlow {
    fn of(flow: &FlowFields<'_>) -> Self {
        Self {
            key: (flow.repetition, flow.flow_id),
            size: flow.size_bytes.get(),
            start: flow.start_ns,
            slowdown: flow.slowdown,
            end: flow.fct_ns.map(|fct| flow.start_ns.saturating_add(fct)),
        }
    }
}

fn values(policies: &BTreeMap<String, Vec<MeasuredFlow>>) -> CaseValues {
    let mut values = CaseValues::default();
    for (policy, rows) in policies {
        if let Some(slowdowns) = slowdowns(rows) {
            values.slowdowns.insert(policy.clone(), slowdowns);
            values.bins.insert(policy.clone(), bins(rows));
        }
    }
    let Some(lcmp) = policies.get(LCMP) else {
        return values;
    };
    for (policy, rows) in policies.iter().filter(|(policy, _)| *policy != LCMP) {
        values
            .intervals
            .insert(policy.clone(), intervals(rows, lcmp));
        if let Some(reductions) = reductions(sized(rows), sized(lcmp))
            && reductions.is_complete()
        {
            values.reductions.insert(policy.clone(), reductions);
        }
    }
    values
}

fn sized(rows: &[MeasuredFlow]) -> Vec<(u64, f64)> {
    let sized = rows.iter().map(|row| Some((row.size, row.slowdown?)));
    sized.flatten().collect()
}

fn slowdowns(rows: &[MeasuredFlow]) -> Option<Slowdowns> {
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

/// Returns the size bins, each with a twentieth of the finished flows.
fn bins(rows: &[MeasuredFlow]) -> Vec<Bin> {
    let finished = sized(rows);
    let mut sizes: Vec<u64> = finished.iter().map(|(size, _)| *size).collect();
    sizes.sort_unstable();
    paper_bins(finished)
        .into_iter()
        .enumerate()
        .filter_map(|(bin, slowdowns)| {
            let [p50, p99] = slowdowns?;
            let end = sizes.len() * (bin + 1) / BINS;
            let largest = *sizes.get(end.checked_sub(1)?)?;
            Some(Bin { largest, p50, p99 })
        })
        .collect()
}

/// Returns Student's 95 % intervals over the repetitions for the relative changes in p50 and p99 from `base` to
/// `other`. Each is centred on the change over all flows; `None` for a percentile that fewer than two repetitions have.
fn intervals(base: &[MeasuredFlow], other: &[MeasuredFlow]) -> [Option<[f64; 2]>; 2] {
    let ratios = |base: &[MeasuredFlow], other: &[MeasuredFlow]| {
        let (Some(base), Some(other)) = (slowdowns(base), slowdowns(other)) else {
            return [None; 2];
        };
        let p99 = other.p99.zip(base.p99);
        [
            Some((other.p50.mean / base.p50.mean).ln()),
            p99.map(|(other, base)| (other.mean / base.mean).ln()),
        ]
    };
    let all = ratios(base, other);
    let pairs = repetitions(base).zip(repetitions(other));
    let each: Vec<_> = pairs.map(|(base, other)| ratios(base, other)).collect();
    [0, 1].map(|at: usize| {
        let replicates: Vec<f64> = each.iter().filter_map(|it| it[at]).collect();
        let interval = student(all[at]?, &replicates)?;
        Some([interval.low.exp_m1(), interval.high.exp_m1()])
    })
}

/// Splits `rows`, which must be sorted by key, into the flows of each repetition.
fn repetitions(rows: &[MeasuredFlow]) -> impl Iterator<Item = &[MeasuredFlow]> {
    rows.chunk_by(|a, b| a.key.0 == b.key.0)
}

/// Bytes that a link has carried in both directions, by the time of the sample.
type Carried = BTreeMap<Nanos, u64>;

/// Returns the average utilisation of the links at `sender`, in percent, by policy and link, computed as in the
/// authors' script. The script leaves out the first time step, so the result is empty if more than [`MAX_LEFT_OUT`] of
/// the flows start in it.
fn utilisation(
    run: &RunFacts,
    policies: &BTreeMap<String, Vec<MeasuredFlow>>,
    sender: &str,
) -> Result<BTreeMap<String, BTreeMap<String, f64>>, RecordsError> {
    if policies.values().any(|rows| left_out(rows) > MAX_LEFT_OUT) {
        return Ok(BTreeMap::new());
    }
    let own = run
        .info()
        .links
        .iter()
        .filter(|link| [&link.a, &link.b].contains(&&sender.to_owned()));
    let rates: BTreeMap<_, _> = own.map(|link| (link.name.clone(), link.rate_bps)).collect();
    let mut carried: BTreeMap<(String, String), Carried> = BTreeMap::new();
    run.visit(|row: LinkRow| {
        if rates.contains_key(&row.link) && row.repetition == 0 {
            let samples = carried.entry((row.policy, row.link)).or_default();
            *samples.entry(row.time_ns).or_default() += row.tx_bytes.get();
        }
    })?;
    let end = |rows: &[MeasuredFlow]| {
        let ends = rows.iter().filter_map(|row| row.end);
        ends.max().unwrap_or(Nanos::ZERO)
    };
    let span = policies
        .values()
        .map(|rows| end(rows))
        .max()
        .unwrap_or(Nanos::ZERO);
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

/// Returns the share of flows that start in the first time step, which the authors' script leaves out.
fn left_out(rows: &[MeasuredFlow]) -> f64 {
    let early = rows.iter().filter(|row| row.start < UTILISATION_STEP);
    float(early.count()) / float(rows.len().max(1))
}

/// Maximum share of flows that start in the time step left out; in the published runs, a twentieth of the flows start
/// in it.
const MAX_LEFT_OUT: f64 = 0.25;

/// Number of size bins. Each bin must have a flow: a mean over fewer bins would describe other sizes.
const BINS: usize = 20;

/// A 99th percentile is unknown if at least one in this many flows did not finish.
const MIN_SHARE_UNKNOWN: usize = 100;

#[expect(
    clippy::cast_precision_loss,
    reason = "a run has fewer than 2^53 flows"
)]
const fn float(value: usize) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns flows of 1 to 40 bytes that start 10 µs apart, in `repetitions` repetitions; `slowdown` maps a
    /// repetition to its slowdown.
    fn flows(repetitions: u32, slowdown: impl Fn(u32) -> f64) -> Vec<MeasuredFlow> {
        let all = (0..repetitions).flat_map(|repetition| (1..=40).map(move |id| (repetition, id)));
        let flow = |(repetition, id): (u32, u32)| MeasuredFlow {
            key: (repetition, FlowId(id)),
            size: u64::from(id),
            start: Nanos::new(u64::from(id) * 10_000),
            slowdown: Some(slowdown(repetition)),
            end: None,
        };
        all.map(flow).collect()
    }

    #[test]
    fn a_bin_has_a_twentieth_of_the_flows_and_its_largest_size() {
        let found = bins(&flows(1, |_| 2.0));
        let sizes: Vec<u64> = found.iter().map(|bin| bin.largest).collect();
        assert_eq!(sizes, (1..=20).map(|bin| 2 * bin).collect::<Vec<_>>());
        assert!(found.iter().all(|bin| [bin.p50, bin.p99] == [2.0, 2.0]));
    }

    /// The slowdown ratios `other` ÷ `base` of the three repetitions are 0.4, 0.5 and 0.625. Their logarithms are
    /// −0.9163, −0.6931 and −0.4700, so s is 0.2231, and the half width is 4.3027 · 0.2231 / √3 = 0.5543. Over all
    /// flows, a bin's p50 is the middle ratio, 0.5, and its p99 the largest, 0.625. So the intervals are 0.5 ·
    /// e^∓0.5543 − 1, which is −0.713 and −0.130, and 0.625 · e^∓0.5543 − 1, which is −0.641 and +0.088.
    #[test]
    fn an_interval_is_students_over_the_repetitions_around_the_change_of_all_flows() {
        let base = flows(3, |_| 10.0);
        let other = flows(3, |repetition| [4.0, 5.0, 6.25][repetition as usize]);
        let found = intervals(&base, &other).map(Option::unwrap);
        for (found, expected) in found.iter().zip([[-0.713, -0.130], [-0.641, 0.088]]) {
            let apart = [0, 1].map(|end: usize| (found[end] - expected[end]).abs());
            assert!(apart[0].max(apart[1]) < 1e-3, "{found:?}");
        }
        let one_draw = intervals(&flows(1, |_| 10.0), &flows(1, |_| 5.0));
        assert_eq!(one_draw, [None; 2]);
    }

    /// One of the 40 flows in the last repetition (2.5 %) is unfinished, so the p99 of this repetition is unknown. Its
    /// p50 and both percentiles of the other repetitions are known.
    #[test]
    fn a_repetition_without_a_p99_leaves_the_interval_of_p50_as_it_is() {
        let base = flows(3, |_| 10.0);
        let mut other = flows(3, |repetition| [4.0, 5.0, 6.25][repetition as usize]);
        let whole = intervals(&base, &other);
        other.last_mut().unwrap().slowdown = None;
        let [p50, p99] = intervals(&base, &other);
        assert_eq!(p50, whole[0]);
        assert_ne!(p99, whole[1]);
        let mut one = other.split_off(80);
        one.iter_mut().for_each(|flow| flow.key.0 = 0);
        let [p50, p99] = intervals(&base[..40], &one);
        assert_eq!((p50, p99), (None, None));
    }

    #[test]
    fn a_short_run_leaves_out_its_arrivals_and_a_whole_one_a_twentieth() {
        let of = |duration_ms: u64| {
            let mut flows = flows(1, |_| 1.0);
            for flow in &mut flows {
                flow.start = Nanos::from_millis(flow.size * duration_ms / 40);
            }
            left_out(&flows)
        };
        assert!(of(20) > MAX_LEFT_OUT, "{}", of(20));
        assert!(of(200) < MAX_LEFT_OUT, "{}", of(200));
    }
}
