//! Flows of a run in memory, with the queries that figures and tables need.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter, thread,
};

use lab_records::{
    FlowCounts, FlowFields, FlowPaths, FlowRow, PathRow, RecordsError, RunInfo, WholeFlow,
};
use lab_units::{Bytes, FlowId, Nanos};

use super::{
    chosen::{Chosen, badness},
    extent::Extent,
    interned::{Pairs, RouteNumbers},
    of_policy::{ChoiceFlows, PolicyFlow, PolicyFlows, RouteShare, index},
    stories::FlowKey,
    unfinished::Unfinished,
};
use crate::{
    error::ReportError,
    facts::RunFacts,
    population::Population,
    route::Routes,
    size_bins::{PERCENTS, SizeBins},
    stats::Statistic,
};

/// Flows of a run, by policy.
pub struct Flows {
    /// Labels of the policies.
    pub policies: Vec<String>,
    /// Counts of the measured flows under each policy.
    pub counts: Vec<FlowCounts>,
    /// Counts of all flows, measured or not, under each policy.
    pub recorded: Vec<FlowCounts>,
    /// Flows that the report page lists: the worst flows and a sample of each policy, at most [`MAX_SHOWN`] in total,
    /// sorted by policy, repetition and number.
    pub shown: Vec<FlowRow>,
    /// Largest delay of a flow's start against its schedule; `None` if no flow started.
    pub max_lateness: Option<Nanos>,
    /// Largest error bound of a measured FCT; `None` if it is unknown.
    pub max_resolution: Option<Nanos>,
    /// Size bins with about equally many measured flows, for each of [`PERCENTS`].
    pub bins: [SizeBins; 2],
    /// Size bins with edges at round sizes; see [`SizeBins::logarithmic`].
    pub log_bins: SizeBins,
    /// Names of the routes by route number; routes on which flows began come first.
    pub route_names: Vec<String>,
    /// Number of routes on which flows began; these routes have the lowest numbers.
    first_routes: usize,
    /// End of each repetition, and utilisation of links while flows start.
    pub extent: Extent,
    /// Sending and receiving datacenter of each pair, by the pair's number.
    pairs: Vec<(String, String)>,
    /// True for each pair, by the pair's number, whose flows have a choice of paths while others have none.
    has_choice: Vec<bool>,
    /// Flows of each policy.
    of_policies: Vec<PolicyFlows>,
}

/// Times and route of a flow that started.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Span {
    /// Start of the flow from the start of the repetition.
    pub start: Nanos,
    /// Completion of the flow; the end of the repetition if it did not finish.
    pub end: Nanos,
    /// True if the flow finished.
    pub is_finished: bool,
    /// Number of the flow's first route; `None` if it is unknown.
    pub route: Option<u32>,
}

/// Reader that collects the flows of a run row by row.
struct Reader<'a> {
    info: &'a RunInfo,
    flows: Flows,
    routes: RouteNumbers<'a>,
    /// Paths of the re-routed flows.
    paths: FlowPaths,
    pairs: Pairs,
    /// Flows that the report page lists, by policy.
    chosen: Vec<Chosen>,
    unfinished: Unfinished,
    /// Index of the policy of the last row; the next row usually has the same policy.
    policy: usize,
}

impl Flows {
    /// Reads the flows of `run`.
    pub fn read(run: &RunFacts, routes: &Routes) -> Result<Self, ReportError> {
        let policies = run.info().policies.clone();
        let count = policies.len();
        let room = MAX_SHOWN / 2 / count.max(1);
        let chosen = || Chosen::new(run.info().measured_flows(), room);
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
                bins: PERCENTS.map(|_| SizeBins::equal(&[], 1, 1)),
                log_bins: SizeBins::logarithmic(&[]),
                route_names: Vec::new(),
                first_routes: 0,
                extent: Extent::new(count),
                pairs: Vec::new(),
                has_choice: Vec::new(),
            },
            routes: RouteNumbers::new(routes),
            paths: FlowPaths::default(),
            pairs: Pairs::default(),
            chosen: (0..count).map(|_| chosen()).collect(),
            unfinished: Unfinished::of(run),
            policy: 0,
        };
        run.visit(|row: PathRow| reader.paths.add(&row))?;
        run.visit_flows(|flow, row| reader.add(flow, row))?;
        reader.flows.first_routes = reader.routes.count();
        // Routes on which flows began come first, so the paths' routes can only be numbered now.
        run.visit(|row: PathRow| reader.add_path(&row))?;
        reader.flows.extent.read_counters(run)?;
        Ok(reader.finish())
    }

    /// Returns policy, repetition and number of each flow that the report page lists.
    pub fn shown_keys(&self) -> BTreeSet<FlowKey> {
        let key = |row: &FlowRow| (row.policy.clone(), row.repetition, row.flow_id.0);
        self.shown.iter().map(key).collect()
    }

    /// Returns the hosts of a flow, such as `dc1/h1 → dc2/h1`; `None` if the report page does not list the flow.
    pub fn hosts(&self, flow: FlowId) -> Option<String> {
        let row = self.shown.iter().find(|row| row.flow_id == flow)?;
        Some(format!("{} → {}", row.src_host, row.dst_host))
    }

    /// Returns the largest number of flows, measured or not, that a policy has.
    pub fn max_flows(&self) -> usize {
        let counts = self.recorded.iter().map(|counts| counts.flows);
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

    /// Returns the slowdowns of a policy's finished flows, sorted.
    pub fn slowdowns(&self, policy: usize) -> &[f64] {
        &self.of_policies[policy].slowdowns
    }

    /// Returns the slowdowns of a policy's finished flows, sorted, by repetition.
    pub fn slowdowns_by_repetition(&self, policy: usize) -> Vec<Vec<f64>> {
        let of = &self.of_policies[policy];
        let last = of.flows.iter().rfind(|flow| flow.slowdown.is_some());
        let count = last.map_or(0, |flow| index(flow.repetition) + 1);
        let repetitions = of.groups(index(self.repetitions_of(policy)), |flow| flow.repetition);
        let finished = repetitions.into_iter().map(|it| it.finished().to_vec());
        finished.take(count).collect()
    }

    /// Returns the slowdowns of a policy's finished flows that have a choice of paths, sorted, by repetition.
    pub fn slowdowns_with_choice(&self, policy: usize) -> Vec<Vec<f64>> {
        let of = &self.of_policies[policy];
        let group_of = |flow: &PolicyFlow| {
            let has_choice = self.has_choice[index(flow.pair)];
            2 * flow.repetition + u32::from(has_choice)
        };
        let groups = of.groups(2 * index(self.repetitions_of(policy)), group_of);
        let with_choice = groups.into_iter().skip(1).step_by(2);
        with_choice.map(|it| it.finished().to_vec()).collect()
    }

    /// Returns the counts of a policy's measured flows with a choice, and lower bounds on the slowdowns of those that did
    /// not finish.
    pub fn with_choice(&self, policy: usize) -> &ChoiceFlows {
        &self.of_policies[policy].with_choice
    }

    fn repetitions_of(&self, policy: usize) -> u32 {
        let last = self.of_policies[policy].flows.last();
        last.map_or(0, |flow| flow.repetition + 1)
    }

    /// Returns the slowdowns of a policy's flows, including scheduled flows without a row; `scheduled` is the number of
    /// all scheduled flows.
    pub fn of_policy(&self, policy: usize, scheduled: u64) -> Population<'_> {
        let scheduled = scheduled.max(self.counts[policy].flows);
        let scheduled = usize::try_from(scheduled).unwrap_or(usize::MAX);
        Population::new(self.slowdowns(policy), scheduled)
    }

    /// Returns a lower bound on the slowdown of each of a policy's scheduled flows that did not finish.
    pub fn unfinished(&self, policy: usize) -> &[f64] {
        &self.of_policies[policy].unfinished
    }

    /// Returns the slowdowns of a policy's flows in each bin of `bins`.
    pub fn by_size(&self, policy: usize, bins: &SizeBins) -> Vec<Population<'_>> {
        let count = bins.upper().len();
        let bin = |flow: &PolicyFlow| u32::try_from(bins.of(flow.size)).unwrap_or(u32::MAX);
        self.of_policies[policy].groups(count, bin)
    }

    /// Returns the routes of a policy's flows, those with the most bytes first.
    pub fn routes(&self, policy: usize) -> &[RouteShare] {
        &self.of_policies[policy].routes
    }

    /// Returns the number of a policy's flows whose route is known.
    pub fn with_route(&self, policy: usize) -> u64 {
        let flows = self.of_policies[policy].all();
        flows.filter(|flow| flow.route.is_some()).count() as u64
    }

    /// Returns the names of the routes on which flows began.
    pub fn first_routes(&self) -> &[String] {
        &self.route_names[..self.first_routes]
    }

    /// Returns the route numbers of each re-routed flow of a policy, with the bytes on each route.
    pub fn rerouted(&self, policy: usize) -> impl Iterator<Item = &[(u32, u64)]> {
        self.of_policies[policy]
            .rerouted
            .values()
            .map(Vec::as_slice)
    }

    /// Returns true if the records have the routes of at least one re-routed flow.
    pub fn has_rerouted(&self) -> bool {
        self.of_policies.iter().any(|of| !of.rerouted.is_empty())
    }

    /// Returns the flows of a policy's first repetition that started, sorted by start and number.
    pub fn spans(&self, policy: usize) -> Vec<Span> {
        let mut spans: Vec<Span> = self.first_repetition(policy).collect();
        spans.sort_by_key(|span| span.start);
        spans
    }

    /// Returns the flows of a policy's first repetition that started.
    pub fn first_repetition(&self, policy: usize) -> impl Iterator<Item = Span> {
        let flows = self.of_policies[policy].all();
        let end = self.extent.end(policy, 0);
        flows
            .filter(|flow| flow.repetition == 0 && flow.has_started)
            .map(move |flow| Span {
                start: flow.start,
                end: flow.end().unwrap_or(end),
                is_finished: flow.fct.is_some(),
                route: flow.route,
            })
    }

    /// Returns the number of flows in a policy's first repetition that did not start.
    pub fn never_started(&self, policy: usize) -> usize {
        let flows = self.of_policies[policy].all();
        flows
            .filter(|flow| flow.repetition == 0 && !flow.has_started)
            .count()
    }

    /// Returns the end of each flow in first repetitions, ns; for an unfinished flow, this is the end of the
    /// repetition.
    pub fn ends(&self) -> impl Iterator<Item = u64> {
        let spans = (0..self.policies.len()).flat_map(|policy| self.first_repetition(policy));
        spans.map(|span| span.end.get())
    }

    /// Returns the latest end of a first repetition under any policy.
    pub fn first_end(&self) -> Nanos {
        let policies = 0..self.policies.len();
        let ends = policies.map(|policy| self.extent.end(policy, 0));
        ends.max().unwrap_or_default()
    }

    /// Returns the start time of the last flow that started.
    pub fn last_start(&self) -> Nanos {
        self.started()
            .map(|flow| flow.start)
            .max()
            .unwrap_or_default()
    }

    /// Returns the completion time of the last flow that finished.
    pub fn last_completion(&self) -> Nanos {
        self.started()
            .filter_map(PolicyFlow::end)
            .max()
            .unwrap_or_default()
    }

    /// Returns the number of flows that started, under all policies.
    pub fn started_count(&self) -> u64 {
        self.started().count() as u64
    }

    /// Returns the number of a policy's flows that started.
    pub fn started_under(&self, policy: usize) -> u64 {
        let flows = self.of_policies[policy].all();
        flows.filter(|flow| flow.has_started).count() as u64
    }

    fn started(&self) -> impl Iterator<Item = &PolicyFlow> {
        let flows = self.of_policies.iter().flat_map(PolicyFlows::all);
        flows.filter(|flow| flow.has_started)
    }

    /// Returns the number of datacenter pairs between which there are flows.
    pub fn pair_count(&self) -> usize {
        self.pairs.len()
    }

    /// Returns the slowdowns of a policy's flows for each pair of datacenters.
    pub fn by_pair(&self, policy: usize) -> BTreeMap<(&str, &str), Population<'_>> {
        let of = &self.of_policies[policy];
        let groups = of.groups(self.pairs.len(), |flow| flow.pair);
        self.pairs
            .iter()
            .map(|(src, dst)| (src.as_str(), dst.as_str()))
            .zip(groups)
            .filter(|(_, group)| group.len() > 0)
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
        let paths = self.paths.of(flow);
        flows.recorded[self.policy].add(flow, paths);
        flows.extent.flow(self.policy, flow);
        flows.max_lateness = flows.max_lateness.max(flow.launch_lateness_ns);
        flows.max_resolution = flows.max_resolution.max(flow.emu_fct_resolution_ns);
        let of = &mut flows.of_policies[self.policy];
        let is_measured = self.info.is_measured(flow.flow_id);
        let pair = self.pairs.number(flow.src_dc, flow.dst_dc);
        if flows.has_choice.len() <= index(pair) {
            flows
                .has_choice
                .push(self.info.has_choice(flow.src_dc, flow.dst_dc));
        }
        let has_choice = flows.has_choice[index(pair)];
        if is_measured && flow.slowdown.is_none() {
            let ideal = self.unfinished.paper_time(flow.emu_ideal_fct_ns);
            let least = self.unfinished.least_slowdown(flow.start_ns, ideal);
            of.unfinished.push(least);
            of.with_choice
                .unfinished
                .extend(has_choice.then_some(least));
        }
        if is_measured && has_choice {
            of.with_choice.counts.add(flow, paths);
        }
        let flows_of_policy = if is_measured {
            &mut of.flows
        } else {
            &mut of.unmeasured
        };
        flows_of_policy.push(PolicyFlow {
            repetition: flow.repetition,
            id: flow.flow_id.0,
            size: flow.size_bytes,
            start: flow.start_ns,
            fct: flow.fct_ns,
            route: flow.path.map(|path| self.routes.number(path)),
            has_started: flow.has_started(),
            slowdown: flow.slowdown,
            pair,
        });
        if !is_measured {
            return Ok(());
        }
        flows.counts[self.policy].add(flow, paths);
        self.chosen[self.policy].add(badness(flow), || row.read())
    }

    fn add_path(&mut self, row: &PathRow) {
        let route = self.routes.number(row.path.as_str());
        let of_policies = self.flows.policies.iter().zip(&mut self.flows.of_policies);
        for (_, of) in of_policies.filter(|(policy, _)| **policy == row.policy) {
            let routes = of.rerouted.entry((row.repetition, row.flow_id.0));
            routes.or_default().push((route, row.sent_bytes.get()));
        }
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
        let scheduled = self.info.with_choice.as_ref().map_or(0, |it| it.flows);
        let of_policies = &mut flows.of_policies;
        for of in &mut *of_policies {
            let unrecorded = self.unfinished.unrecorded(of.flows.len());
            of.unfinished.extend(iter::repeat_n(1.0, unrecorded));
            let choice = &mut of.with_choice;
            let scheduled = usize::try_from(scheduled).unwrap_or(usize::MAX);
            let recorded = usize::try_from(choice.counts.flows).unwrap_or(usize::MAX);
            let unrecorded = scheduled.saturating_sub(recorded);
            choice.unfinished.extend(iter::repeat_n(1.0, unrecorded));
        }
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
        flows.bins = PERCENTS.map(|percent| {
            let min_flows = Statistic::Percentile(percent).min_values();
            SizeBins::equal(&sizes, flows.policies.len(), min_flows)
        });
        flows.log_bins = SizeBins::logarithmic(&sizes);
        flows
    }
}

/// Maximum number of flows that the report page lists with their decisions; more would make the page too large.
pub const MAX_SHOWN: usize = 3_000;

#[cfg(test)]
mod tests {
    use lab_records::{DcPath, FlowsWithChoice, MeasuredFlows};

    use super::*;
    use crate::testing;

    fn read(rows: &[FlowRow]) -> Flows {
        let info = testing::info();
        let run = testing::run(&info, |writer| writer.append_flows(rows));
        Flows::read(&run.dir, &Routes::new(&info)).unwrap()
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
        let of = |finished: &'static [f64], flows| vec![Population::new(finished, flows)];
        let by_bin = [0, 1].map(|policy| flows.by_size(policy, &flows.bins[0]));
        assert_eq!(by_bin, [of(&[], 1), of(&[1.5, 3.0], 3)]);
        assert_eq!((flows.counts[1].flows, flows.total().finished), (3, 2));
    }

    /// Flow 0 starts before the measured window, and flow 3 after it. Both load the network, but slowdowns, sizes and
    /// pairs leave them out.
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
            writer.append_flows(&rows)
        });
        let flows = Flows::read(&run.dir, &Routes::new(&info)).unwrap();
        assert_eq!(flows.slowdowns(0), [2.0, 3.0]);
        assert_eq!((flows.counts[0].flows, flows.total().flows), (2, 4));
        assert!(
            flows
                .log_bins
                .upper()
                .iter()
                .all(|upper| upper.get() <= 200)
        );
        assert_eq!(flows.slowdowns(0).len(), 2);
        assert_eq!((flows.spans(0).len(), flows.routes(0)[0].flows), (4, 4));
        assert_eq!(flows.max_flows(), 4);
        assert_eq!(flows.last_start(), Nanos::from_millis(3));
        assert_eq!(
            crate::words::measured(&info).unwrap(),
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

    /// Flows to dc3 have a choice, those to dc2 have none. Flow 3 to dc3 did not finish, and flow 5 has no row.
    #[test]
    fn flows_with_a_choice_are_those_between_the_runs_pairs() {
        let info = RunInfo {
            scheduled_flows: 6,
            repetitions: 2,
            with_choice: Some(FlowsWithChoice {
                flows: 4,
                pairs: [("dc1".to_owned(), ["dc3".to_owned()].into())].into(),
            }),
            ..testing::info()
        };
        let row = |repetition, id, dst_dc: &str, slowdown| FlowRow {
            repetition,
            dst_dc: dst_dc.into(),
            ..testing::flow("a", id, slowdown)
        };
        let run = testing::run(&info, |writer| {
            let rows = [
                row(0, 0, "dc2", Some(9.0)),
                row(0, 1, "dc3", Some(3.0)),
                row(1, 2, "dc3", Some(2.0)),
                row(1, 3, "dc3", None),
                row(1, 4, "dc2", Some(8.0)),
            ];
            writer.append_flows(&rows)
        });
        let flows = Flows::read(&run.dir, &Routes::new(&info)).unwrap();
        assert_eq!(flows.slowdowns_with_choice(0), [[3.0], [2.0]]);
        let choice = flows.with_choice(0);
        assert_eq!((choice.counts.flows, choice.counts.finished), (3, 2));
        assert_eq!(choice.unfinished, [1.0; 2]);
        assert_eq!(flows.with_choice(1).unfinished, [1.0; 4]);
    }

    #[test]
    fn scheduled_flows_that_did_not_finish_count_recorded_or_not() {
        let info = RunInfo {
            scheduled_flows: 3,
            ..testing::info()
        };
        let run = testing::run(&info, |writer| {
            writer.append_flows([&testing::flow("a", 0, None)])?;
            writer.append_flows([&testing::flow("a", 1, Some(2.0))])
        });
        let flows = Flows::read(&run.dir, &Routes::new(&info)).unwrap();
        assert_eq!(flows.unfinished(0), [1.0; 2]);
        assert_eq!(flows.unfinished(1), [1.0; 3]);
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

    /// Flow 0 sends 300 of its 1,000 bytes via dc2 and 700 over the direct link; flow 1 sends all bytes via dc2.
    #[test]
    fn a_re_routed_flow_counts_on_each_route_with_the_bytes_that_took_it() {
        let on = |id: u32| FlowRow {
            path: Some(DcPath::new(["dc1", "dc2", "dc3"])),
            ..testing::flow("a", id, Some(0.6))
        };
        let path = |dcs: &[&str], bytes| PathRow {
            policy: "a".into(),
            repetition: 0,
            flow_id: FlowId(0),
            path: DcPath::new(dcs),
            sent_bytes: Bytes::new(bytes),
            emu_sent_bytes: Bytes::new(bytes),
        };
        let info = testing::info();
        let run = testing::run(&info, |writer| {
            writer.append_paths(&[
                path(&["dc1", "dc2", "dc3"], 300),
                path(&["dc1", "dc3"], 700),
            ])?;
            writer.append_flows([&on(0)])?;
            writer.append_flows([&on(1)])
        });
        let flows = Flows::read(&run.dir, &Routes::new(&info)).unwrap();
        // On two paths, 0.6 of the ideal FCT is possible.
        let too_fast = [&flows.counts, &flows.recorded].map(|counts| counts[0].below_one);
        assert_eq!(too_fast, [1; 2]);
        let share = |route: &str, flows, bytes| RouteShare {
            route: route.into(),
            flows,
            bytes,
        };
        let shares = [share("dc1-dc2-dc3", 2, 1_300), share("dc1-dc3", 1, 700)];
        assert_eq!(flows.routes(0), shares);
        assert_eq!(flows.first_routes(), ["dc1-dc2-dc3"]);
        assert_eq!(
            flows.rerouted(0).collect::<Vec<_>>(),
            [[(0, 300), (1, 700)]]
        );
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
        let run = testing::run(&info, |writer| writer.append_flows(&rows));
        let flows = Flows::read(&run.dir, &Routes::new(&info)).unwrap();
        assert_eq!(flows.policies, ["a", "b"]);
        assert_eq!(flows.shown.len(), MAX_SHOWN);
        let key = |row: &FlowRow| (row.policy.clone(), row.repetition, row.flow_id);
        assert!(flows.shown.is_sorted_by_key(key));
        // No flow finished, so all are equally bad, and the first ones are kept.
        assert_eq!(flows.shown[0].flow_id.0, 1);
    }
}
