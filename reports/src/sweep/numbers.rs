//! Results of a cell: what a sweep keeps of a run.

use std::collections::BTreeMap;

use lab_records::{FlowFields, Grade, Mechanism, PolicyEvidence, Reason, RecordsError, RunInfo};
use lab_units::{FlowId, Nanos};
use serde::{Deserialize, Serialize};

use crate::{
    facts::RunFacts,
    stats::{Statistic, WINDOWS},
};

/// Results of a cell. They depend only on the cell's identity, not on the machine, the number of threads or the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellNumbers {
    /// Name of the cell.
    pub cell: String,
    /// Identity of the cell.
    pub identity: String,
    /// Hash of the plan.
    pub plan: String,
    /// Verdict on the run.
    pub verdict: Grade,
    /// Reasons to distrust the run.
    pub reasons: Vec<Reason>,
    /// Number of measured flows per policy, over all repetitions.
    pub flows: u64,
    /// Number of them with a choice of paths; `None` if all or none have one.
    pub flows_with_choice: Option<u64>,
    /// Properties of the network and its traffic.
    pub network: CellNetwork,
    /// Results of each policy, in the order of the scenario.
    pub policies: Vec<CellPolicy>,
}

/// Properties of a cell's network that may explain its results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellNetwork {
    /// Number of datacenters.
    pub dcs: u64,
    /// Number of inter-DC links.
    pub links: u64,
    /// Number of pairs of a source and a destination datacenter between which data flows.
    pub pairs: u64,
    /// Number of them between which some switch has several candidates.
    pub pairs_with_choice: u64,
    /// Largest ÷ smallest delay of the candidates' paths, as the geometric mean over the pairs whose first switch has
    /// several candidates.
    pub delay_spread: f64,
    /// Largest ÷ smallest capacity of the candidates' paths, as the same mean.
    pub capacity_spread: f64,
}

/// Results of a policy in a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellPolicy {
    /// Label of the policy.
    pub policy: String,
    /// Number of measured flows that did not finish.
    pub unfinished: u64,
    /// Utilisation of the busiest link direction while flows start; `None` if the run did not record it.
    pub busiest: Option<f64>,
    /// Counts of the actions of the policy's own mechanism; `None` if the run did not record them.
    pub mechanism: Option<Mechanism>,
    /// Slowdowns of all measured flows, by repetition.
    pub all: Vec<DrawSlowdowns>,
    /// Slowdowns of the measured flows with a choice of paths, by repetition; empty if all or none have one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with_choice: Vec<DrawSlowdowns>,
}

/// Selection of flows.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Slice {
    /// All measured flows.
    All,
    /// Measured flows with a choice of paths.
    WithChoice,
}

/// FCT slowdowns in one draw of arrivals. A percentile is over all flows, and `None` where it falls on one that did not
/// finish.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DrawSlowdowns {
    /// Repetition, from 0.
    pub repetition: u32,
    /// Number of flows.
    pub flows: u64,
    pub p50: Option<f64>,
    pub p99: Option<f64>,
    /// Mean; `None` if a flow did not finish.
    pub mean: Option<f64>,
    /// p50 without the flows of each window; `None` if one falls on a flow that did not finish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_without_window: Option<[f64; WINDOWS]>,
    /// p99 without the flows of each window; `None` if one falls on a flow that did not finish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_without_window: Option<[f64; WINDOWS]>,
}

/// Start of a flow, which orders the flows of a draw, and its slowdown; infinite if it did not finish.
type StartedFlow = ((Nanos, FlowId), f64);

/// Flows by repetition.
type Draws = BTreeMap<u32, Vec<StartedFlow>>;

/// Flows of a policy while they are read.
#[derive(Default)]
struct Read {
    unfinished: u64,
    all: Draws,
    with_choice: Draws,
}

impl CellNumbers {
    /// Reads the results of the cell `name`, with this identity and `network`, from its ended run.
    ///
    /// # Errors
    /// If the flows cannot be read.
    pub fn read(
        name: &str,
        identity: &str,
        run: &RunFacts,
        network: CellNetwork,
    ) -> Result<Self, RecordsError> {
        let info = run.info();
        let mut read: Vec<Read> = info.policies.iter().map(|_| Read::default()).collect();
        run.visit_measured(|policy, flow| read[policy].add(flow, info))?;
        let flows = read.first().map_or(0, |read| count(&read.all));
        let evidence = run.outcome().map(|outcome| &outcome.end.evidence.policies);
        let policies = info.policies.iter().zip(read).map(|(label, read)| {
            let mut known = evidence.into_iter().flatten();
            let own = known.find(|evidence| evidence.policy == *label);
            read.of_policy(label, own)
        });
        let verdict = run.stored_verdict();
        Ok(Self {
            cell: name.to_owned(),
            identity: identity.to_owned(),
            plan: info.plan_hash.clone(),
            policies: policies.collect(),
            network,
            verdict: verdict.grade,
            reasons: verdict.reasons,
            flows,
            flows_with_choice: info.with_choice.as_ref().map(|choice| choice.flows),
        })
    }

    /// Returns the results of the policy `label`; `None` if the cell does not have it.
    #[must_use]
    pub fn policy(&self, label: &str) -> Option<&CellPolicy> {
        self.policies.iter().find(|it| it.policy == label)
    }
}

impl Slice {
    /// Returns the name in tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::WithChoice => "with a choice",
        }
    }
}

impl CellPolicy {
    /// Returns the draws of the flows in `slice`.
    #[must_use]
    pub fn draws(&self, slice: Slice) -> &[DrawSlowdowns] {
        match slice {
            Slice::All => &self.all,
            Slice::WithChoice => &self.with_choice,
        }
    }
}

impl Read {
    fn add(&mut self, flow: FlowFields<'_>, info: &RunInfo) {
        self.unfinished += u64::from(flow.slowdown.is_none());
        let slowdown = flow.slowdown.unwrap_or(f64::INFINITY);
        let started = ((flow.start_ns, flow.flow_id), slowdown);
        self.all.entry(flow.repetition).or_default().push(started);
        let choice = info.with_choice.as_ref();
        let to = choice.and_then(|choice| choice.pairs.get(flow.src_dc));
        if to.is_some_and(|to| to.contains(flow.dst_dc)) {
            let of_repetition = self.with_choice.entry(flow.repetition);
            of_repetition.or_default().push(started);
        }
    }

    fn of_policy(self, label: &str, evidence: Option<&PolicyEvidence>) -> CellPolicy {
        let busiest = evidence.and_then(|it| it.met.busiest.as_ref());
        CellPolicy {
            policy: label.to_owned(),
            unfinished: self.unfinished,
            busiest: busiest.map(|link| link.utilisation),
            mechanism: evidence.map(|it| it.mechanism.clone()),
            all: draws(self.all),
            with_choice: draws(self.with_choice),
        }
    }
}

fn count(draws: &Draws) -> u64 {
    draws.values().map(|flows| flows.len() as u64).sum()
}

fn draws(draws: Draws) -> Vec<DrawSlowdowns> {
    let draw = |(repetition, flows)| DrawSlowdowns::new(repetition, flows);
    draws.into_iter().map(draw).collect()
}

impl DrawSlowdowns {
    /// Returns true if all numbers are the same as those of `other`, a draw of the same policy.
    pub(super) fn is_copy_of(&self, other: &Self) -> bool {
        let repetition = other.repetition;
        *other
            == Self {
                repetition,
                ..*self
            }
    }

    fn new(repetition: u32, mut flows: Vec<StartedFlow>) -> Self {
        flows.sort_unstable_by_key(|&(start, _)| start);
        let number = flows.len();
        let windows = (0..number).map(|at| at * WINDOWS / number);
        let slowdowns = flows.into_iter().map(|(_, slowdown)| slowdown);
        let mut sorted: Vec<(f64, usize)> = slowdowns.zip(windows).collect();
        sorted.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        let mut kept = Vec::with_capacity(number);
        let mut without = |left_out: Option<usize>| {
            kept.clear();
            let all = sorted
                .iter()
                .filter(|(_, window)| left_out != Some(*window));
            kept.extend(all.map(|&(slowdown, _)| slowdown));
            [Statistic::P50, Statistic::P99, Statistic::Mean]
                .map(|statistic| statistic.of(&kept).filter(|value| value.is_finite()))
        };
        let [p50, p99, mean] = without(None);
        let each: Vec<_> = (0..WINDOWS).map(|window| without(Some(window))).collect();
        let windows_of = |place: usize| {
            let values: Option<Vec<f64>> = each.iter().map(|values| values[place]).collect();
            values?.try_into().ok()
        };
        Self {
            repetition,
            flows: number as u64,
            p50,
            p99,
            mean,
            p50_without_window: windows_of(0),
            p99_without_window: windows_of(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(slowdowns: &[f64]) -> DrawSlowdowns {
        let flow = |(at, &slowdown): (u64, &f64)| ((Nanos::new(at), FlowId(0)), slowdown);
        DrawSlowdowns::new(3, (0..).zip(slowdowns).map(flow).collect())
    }

    /// Four flows are in the windows 0, 2, 5 and 7. Without the first or the second, the median of the other three is 2;
    /// without the third or the fourth, it is 4. All p99 but the one without the second flow are infinite.
    #[test]
    fn percentiles_are_of_all_flows_and_unknown_where_flows_did_not_finish() {
        let expected = DrawSlowdowns {
            repetition: 3,
            flows: 4,
            p50: Some(2.0),
            p99: None,
            mean: None,
            p50_without_window: Some([2.0, 2.0, 2.0, 2.0, 2.0, 4.0, 2.0, 4.0, 2.0, 2.0]),
            p99_without_window: None,
        };
        assert_eq!(draw(&[4.0, f64::INFINITY, 1.0, 2.0]), expected);
        assert_eq!(draw(&[1.0, 3.0]).mean, Some(2.0));
    }

    /// Twenty flows in the order of their starts: window 0 has the two slowest ones. Without it, the median of 18 is
    /// the ninth of 1 to 18; without window 9, with the slowdowns 17 and 18, it is the ninth of 1 to 16, 100 and 101.
    #[test]
    fn windows_have_flows_that_start_after_each_other() {
        let mut slowdowns = vec![101.0, 100.0];
        slowdowns.extend((1..=18).map(f64::from));
        let found = draw(&slowdowns);
        assert_eq!((found.p50, found.p99), (Some(10.0), Some(101.0)));
        let p50 = found.p50_without_window.unwrap();
        assert_eq!([p50[0], p50[1], p50[9]], [9.0, 11.0, 9.0]);
        let p99 = found.p99_without_window.unwrap();
        assert_eq!([p99[0], p99[1], p99[9]], [18.0, 101.0, 101.0]);
    }
}
