//! Flows, in memory, and what figures and tables ask of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    thread,
};

use lab_records::{FlowCounts, FlowFields, FlowRow, RecordsError, RunDir, RunInfo, WholeFlow};
use lab_units::{Bytes, FlowId, Nanos};

use super::{
    chosen::Chosen,
    interned::{Pairs, RouteNumbers},
    of_policy::{Flow, PolicyFlows, index},
    stories::FlowKey,
};
use crate::{error::ReportError, route::Routes, size_bins::SizeBins};

/// The flows of a run.
pub struct Flows {
    /// Labels of the policies.
    pub policies: Vec<String>,
    /// Counts of measured flows under each policy.
    pub counts: Vec<FlowCounts>,
    /// Counts of all flows under each policy.
    pub recorded: Vec<FlowCounts>,
    /// Worst flows and a sample of each policy, at most [`MAX_SHOWN`] in all, by policy, repetition and id.
    pub shown: Vec<FlowRow>,
    /// Latest start against the schedule; none if no flow started.
    pub max_lateness: Option<Nanos>,
    /// Largest error bound of a measured FCT; none if it is not known.
    pub max_resolution: Option<Nanos>,
    /// Bins of measured flows' sizes with about equally many flows.
    pub bins: SizeBins,
    /// Bins of measured flows' sizes between round sizes.
    pub log_bins: SizeBins,
    /// Routes, by their numbers.
    pub route_names: Vec<String>,
    /// Sending and receiving datacenters, by the number of each pair.
    pairs: Vec<(String, String)>,
    /// Flows of each policy.
    of_policies: Vec<PolicyFlows>,
}

/// Flows over one route under one policy.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RouteShare {
    /// The route.
    pub route: String,
    /// Number of flows.
    pub flows: u64,
    /// Sum of their sizes, in bytes.
    pub bytes: u64,
}

/// Slowdowns of one flow under two policies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Slowdown under the baseline.
    pub base: f64,
    /// Slowdown under the other policy.
    pub other: f64,
}

/// Time and route of one flow.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Span {
    /// Start time.
    pub start: Nanos,
    /// FCT; none if the flow did not finish.
    pub fct: Option<Nanos>,
    /// Number of the route; none if it is not known.
    pub route: Option<u32>,
}

/// Reader of flows, row by row.
struct Reader<'a> {
    info: &'a RunInfo,
    flows: Flows,
    routes: RouteNumbers<'a>,
    pairs: Pairs,
    /// Flows that the page shows one by one, by policy.
    chosen: Vec<Chosen>,
    /// Policy of the last row: the next one is of the same, as a rule.
    policy: usize,
}

impl Flows {
    /// Reads the flows of `run`, and the number of truncated rows.
    pub fn read(run: &RunDir, routes: &Routes) -> Result<(Self, u64), ReportError> {
        let policies = run.info().policies.clone();
        let count = policies.len();
        let room = MAX_SHOWN / 2 / count.max(1);
        let chosen = || Chosen::new(run.info().scheduled_flows, room);
        let mut reader = Reader {
            info: run.info(),
            flows: Self {
                counts: vec![FlowCounts::default(); count],
                recorded: vec![FlowCounts::default(); count],
                of_policies: (0..count).map(|_| PolicyFlows::default()).collect(),
                policies,
                shown: Vec::new(),
                max_lateness: None,
                max_resolution: None,
                bins: SizeBins::equal(&[], 1),
                log_bins: SizeBins::logarithmic(&[]),
                route_names: Vec::new(),
                pairs: Vec::new(),
            },
            routes: RouteNumbers::new(routes),
            pairs: Pairs::default(),
            chosen: (0..count).map(|_| chosen()).collect(),
            policy: 0,
        };
        let truncated = run.visit_flows(|flow, row| reader.add(flow, row))?;
        Ok((reader.finish(), truncated))
    }

    /// Returns policy, repetition and id of each flow that the page shows.
    pub fn shown_keys(&self) -> BTreeSet<FlowKey> {
        let key = |row: &FlowRow| (row.policy.clone(), row.repetition, row.flow_id.0);
        self.shown.iter().map(key).collect()
    }

    /// Returns the hosts of a flow, `dc1/h1 → dc2/h1`, if the page shows it.
    pub fn hosts(&self, flow: FlowId) -> Option<String> {
        let row = self.shown.iter().find(|row| row.flow_id == flow)?;
        Some(format!("{} → {}", row.src_host, row.dst_host))
    }

    /// Returns the largest number of flows of a policy.
    pub fn max_flows(&self) -> usize {
        let counts = self.counts.iter().map(|counts| counts.flows);
        usize::try_from(counts.max().unwrap_or(0)).unwrap_or(usize::MAX)
    }

    /// Returns the counts of all flows, measured or not, under all policies.
    pub fn total(&self) -> FlowCounts {
        let mut total = FlowCounts::default();
        for counts in &self.recorded {
            total.flows += counts.flows;
            total.finished += counts.finished;
            total.unfinished += counts.unfinished;
            total.below_one += counts.below_one;
        }
        total
    }

    /// Returns the sorted slowdowns of a policy's finished flows.
    pub fn slowdowns(&self, policy: usize) -> &[f64] {
        &self.of_policies[policy].slowdowns
    }

    /// Returns the sorted slowdowns of a policy's finished flows in each repetition.
    pub fn slowdowns_by_repetition(&self, policy: usize) -> Vec<Vec<f64>> {
        let of = &self.of_policies[policy];
        let last = of.flows.iter().rfind(|flow| flow.slowdown.is_some());
        let count = last.map_or(0, |flow| index(flow.repetition) + 1);
        of.groups(count, |flow| flow.repetition)
    }

    /// Returns the sorted slowdowns of a policy's finished flows in each of `bins`.
    pub fn slowdowns_by_size(&self, policy: usize, bins: &SizeBins) -> Vec<Vec<f64>> {
        let count = bins.upper().len();
        let bin = |flow: &Flow| u32::try_from(bins.of(flow.size)).unwrap_or(u32::MAX);
        self.of_policies[policy].groups(count, bin)
    }

    /// Returns the flows that finished under both policies, by repetition and id.
    pub fn pairs(&self, base: usize, other: usize) -> Vec<Pair> {
        let mut others = self.of_policies[other].flows.iter().peekable();
        let pair = |base: &Flow| {
            while others.next_if(|other| other.key() < base.key()).is_some() {}
            let other = others.next_if(|other| other.key() == base.key())?;
            Some(Pair {
                base: base.slowdown?,
                other: other.slowdown?,
            })
        };
        self.of_policies[base]
            .flows
            .iter()
            .filter_map(pair)
            .collect()
    }

    /// Returns the routes of a policy's flows, most bytes first.
    pub fn routes(&self, policy: usize) -> &[RouteShare] {
        &self.of_policies[policy].routes
    }

    /// Returns the flows of a policy's first repetition, by start and id.
    pub fn spans(&self, policy: usize) -> Vec<Span> {
        let mut spans: Vec<Span> = self.first_repetition(policy).collect();
        spans.sort_by_key(|span| span.start);
        spans
    }

    /// Returns the flows of a policy's first repetition.
    pub fn first_repetition(&self, policy: usize) -> impl Iterator<Item = Span> {
        let flows = self.of_policies[policy].all();
        flows
            .filter(|flow| flow.repetition == 0)
            .map(|flow| flow.span)
    }

    /// Returns the times at which the flows of first repetitions ended, ns.
    pub fn ends(&self) -> impl Iterator<Item = u64> {
        let spans = (0..self.policies.len()).flat_map(|policy| self.first_repetition(policy));
        spans.filter_map(|span| Some(span.start.get().saturating_add(span.fct?.get())))
    }

    /// Returns the start of the last flow.
    pub fn last_start(&self) -> Nanos {
        let flows = self.of_policies.iter().flat_map(PolicyFlows::all);
        flows.map(|flow| flow.span.start).max().unwrap_or_default()
    }

    /// Returns the number of pairs of datacenters that have flows.
    pub fn pair_count(&self) -> usize {
        self.pairs.len()
    }

    /// Returns the sorted slowdowns of a policy's finished flows between each pair of datacenters.
    pub fn slowdowns_by_pair(&self, policy: usize) -> BTreeMap<(&str, &str), Vec<f64>> {
        let of = &self.of_policies[policy];
        let groups = of.groups(self.pairs.len(), |flow| flow.pair);
        let pairs = self
            .pairs
            .iter()
            .map(|(src, dst)| (src.as_str(), dst.as_str()));
        pairs
            .zip(groups)
            .filter(|(_, group)| !group.is_empty())
            .collect()
    }
}

impl Reader<'_> {
    fn add(&mut self, flow: FlowFields<'_>, row: WholeFlow<'_>) -> Result<(), RecordsError> {
        let flows = &mut self.flows;
        if flows.policies[self.policy] != flow.policy {
            let policy = flows.policies.iter().position(|it| *it == flow.policy);
            self.policy = policy.expect("records are read with rows of the run's policies only");
        }
        flows.recorded[self.policy].add(flow);
        flows.max_lateness = flows.max_lateness.max(flow.launch_lateness_ns);
        flows.max_resolution = flows.max_resolution.max(flow.emu_fct_resolution_ns);
        let of_policy = &mut flows.of_policies[self.policy];
        let is_measured = self.info.is_measured(flow.flow_id);
        let flows_of_policy = match is_measured {
            true => &mut of_policy.flows,
            false => &mut of_policy.unmeasured,
        };
        flows_of_policy.push(Flow {
            repetition: flow.repetition,
            id: flow.flow_id.0,
            size: flow.size_bytes,
            span: Span {
                start: flow.start_ns,
                fct: flow.fct_ns,
                route: flow.path.map(|path| self.routes.number(path)),
            },
            slowdown: flow.slowdown,
            pair: self.pairs.number(flow.src_dc, flow.dst_dc),
        });
        if !is_measured {
            return Ok(());
        }
        flows.counts[self.policy].add(flow);
        self.chosen[self.policy].add(flow.slowdown, || row.read())
    }

    fn finish(self) -> Flows {
        let mut flows = self.flows;
        flows.route_names = self.routes.into_names();
        flows.pairs = self.pairs.into_names();
        flows.shown = self
            .chosen
            .into_iter()
            .flat_map(Chosen::into_rows)
            .collect();
        let of_policies = &mut flows.of_policies;
        let mut sizes: Vec<Bytes> =
            Vec::with_capacity(of_policies.iter().map(|of| of.flows.len()).sum());
        sizes.extend(
            of_policies
                .iter()
                .flat_map(|of| &of.flows)
                .map(|flow| flow.size),
        );
        let names = &flows.route_names;
        thread::scope(|scope| {
            for of in of_policies {
                scope.spawn(|| of.finish(names));
            }
            sizes.sort_unstable();
        });
        flows.bins = SizeBins::equal(&sizes, flows.policies.len());
        flows.log_bins = SizeBins::logarithmic(&sizes);
        flows
    }
}

/// Number of flows on the page, with their decisions; one with more is large.
pub const MAX_SHOWN: usize = 3_000;

#[cfg(test)]
mod tests {
    use lab_records::{DcPath, MeasuredFlows};

    use super::*;
    use crate::testing;

    fn read(rows: &[FlowRow]) -> Flows {
        let info = testing::info();
        let run = testing::run(&info, |writer| {
            rows.iter().try_for_each(|row| writer.append_flow(row))
        });
        Flows::read(&run.dir, &Routes::new(&info)).unwrap().0
    }

    #[test]
    fn slowdowns_are_sorted_and_unfinished_flows_have_none() {
        let flows = read(&[
            testing::flow("b", 0, Some(3.0)),
            testing::flow("a", 1, None),
            testing::flow("b", 2, Some(1.5)),
            testing::flow("b", 1, None),
        ]);
        assert_eq!(
            [0, 1].map(|policy| flows.slowdowns(policy)),
            [&[][..], &[1.5, 3.0]]
        );
        let by_bin = [0, 1].map(|policy| flows.slowdowns_by_size(policy, &flows.bins));
        assert_eq!(by_bin, [[vec![]], [vec![1.5, 3.0]]]);
        assert_eq!((flows.counts[1].flows, flows.total().finished), (3, 2));
    }

    /// Flow 0 warms up and flow 3 starts too late: both load the network, and neither is a slowdown, a size or a
    /// pair.
    #[test]
    fn only_flows_of_the_window_are_measured() {
        let row = |id, size| FlowRow {
            size_bytes: Bytes::new(size),
            start_ns: Nanos::from_millis(u64::from(id)),
            path: Some(DcPath::new(["dc1-dc2-dc3"])),
            ..testing::flow("a", id, Some(f64::from(id) + 1.0))
        };
        let info = RunInfo {
            scheduled_flows: 4,
            measured: Some(MeasuredFlows {
                from_ns: Nanos::from_millis(1),
                to_ns: Some(Nanos::from_millis(3)),
                ids: vec![1..2, 2..3],
            }),
            ..testing::info()
        };
        let run = testing::run(&info, |writer| {
            let rows = [row(0, 9_000), row(1, 100), row(2, 200), row(3, 9_000)];
            rows.iter().try_for_each(|row| writer.append_flow(row))
        });
        let flows = Flows::read(&run.dir, &Routes::new(&info)).unwrap().0;
        assert_eq!(flows.slowdowns(0), [2.0, 3.0]);
        assert_eq!((flows.counts[0].flows, flows.total().flows), (2, 4));
        assert!(
            flows
                .log_bins
                .upper()
                .iter()
                .all(|upper| upper.get() <= 200)
        );
        assert_eq!(flows.pairs(0, 0).len(), 2);
        assert_eq!((flows.spans(0).len(), flows.routes(0)[0].flows), (4, 4));
        assert_eq!(flows.last_start(), Nanos::from_millis(3));
        assert_eq!(
            info.measured_sentence().unwrap(),
            "flows that start from 1 ms to 3 ms: 2 of 4"
        );
    }

    #[test]
    fn slowdowns_of_repetitions_stay_apart() {
        let rows = [(1, 4.0), (0, 2.0), (1, 3.0)].map(|(repetition, slowdown)| FlowRow {
            repetition,
            ..testing::flow("b", 0, Some(slowdown))
        });
        let flows = read(&rows);
        assert_eq!(
            flows.slowdowns_by_repetition(1),
            [vec![2.0], vec![3.0, 4.0]]
        );
        assert_eq!(flows.slowdowns_by_repetition(0), Vec::<Vec<f64>>::new());
    }

    #[test]
    fn only_flows_that_finished_under_both_are_pairs() {
        let mut rows = vec![
            testing::flow("a", 0, Some(2.0)),
            testing::flow("a", 1, Some(4.0)),
            testing::flow("a", 2, None),
            testing::flow("b", 2, Some(9.0)),
            testing::flow("b", 1, Some(3.0)),
            testing::flow("b", 0, Some(1.0)),
        ];
        // The same flow of another repetition is another flow.
        rows.push(FlowRow {
            repetition: 1,
            ..testing::flow("b", 2, Some(7.0))
        });
        let pair = |base: f64, other: f64| Pair { base, other };
        let pairs = read(&rows).pairs(0, 1);
        assert_eq!(pairs, [pair(2.0, 1.0), pair(4.0, 3.0)]);
        assert_eq!(read(&rows[..3]).pairs(0, 1), []);
    }

    #[test]
    fn both_directions_of_a_route_are_one_and_unknown_ones_are_none() {
        let on = |id: u32, path: &[&str]| FlowRow {
            path: (!path.is_empty()).then(|| DcPath::new(path)),
            ..testing::flow("a", id, Some(2.0))
        };
        let flows = read(&[
            on(0, &["dc1", "dc2", "dc3"]),
            on(1, &["dc3", "dc2", "dc1"]),
            on(2, &["dc1", "dc3"]),
            on(3, &[]),
        ]);
        let share = |route: &str, flows: u64| RouteShare {
            route: route.into(),
            flows,
            bytes: flows * 1_000,
        };
        let shares = [share("dc1-dc2-dc3", 2), share("dc1-dc3", 1)];
        assert_eq!(flows.routes(0), shares);
        let name = |route: u32| flows.route_names[index(route)].as_str();
        let spans = flows.spans(0);
        let routes: Vec<_> = spans.iter().map(|span| span.route.map(name)).collect();
        assert_eq!(routes[1..], [Some("dc1-dc2-dc3"), Some("dc1-dc3"), None]);
    }

    #[test]
    fn flows_are_shown_by_policy_repetition_and_id_and_many_are_chosen_from() {
        let count = 3 * MAX_SHOWN;
        let rows: Vec<FlowRow> = (0..count)
            .map(|number| FlowRow {
                policy: ["b", "a"][number % 2].into(),
                ..testing::flow("", u32::try_from(count - number).unwrap(), None)
            })
            .collect();
        let info = RunInfo {
            scheduled_flows: count as u64 / 2,
            ..testing::info()
        };
        let run = testing::run(&info, |writer| {
            rows.iter().try_for_each(|row| writer.append_flow(row))
        });
        let flows = Flows::read(&run.dir, &Routes::new(&info)).unwrap().0;
        assert_eq!(flows.policies, ["a", "b"]);
        assert_eq!(flows.shown.len(), MAX_SHOWN);
        let key = |row: &FlowRow| (row.policy.clone(), row.repetition, row.flow_id);
        assert!(flows.shown.is_sorted_by_key(key));
        // None finished: the first are the worst.
        assert_eq!(flows.shown[0].flow_id.0, 1);
    }
}
