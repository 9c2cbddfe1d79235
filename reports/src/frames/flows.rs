//! Queries on flows.

use std::collections::{BTreeMap, BTreeSet};

use lab_records::{DcPath, FlowCounts, FlowRow, RunDir};
use lab_units::{Bytes, Nanos};
use polars::prelude::*;

use super::{chosen::Chosen, numbers, stories::FlowKey};
use crate::{error::ReportError, route::Routes, size_bins::SizeBins};

/// The flows of a run.
pub struct Flows {
    /// Labels of the policies: those of the run, then any that only rows have.
    pub policies: Vec<String>,
    /// Counts of flows under each policy.
    pub counts: Vec<FlowCounts>,
    /// Worst flows and a sample of each policy, at most [`MAX_SHOWN`] in all, by policy, repetition and id.
    pub shown: Vec<FlowRow>,
    /// Latest start against the schedule; none if no flow started.
    pub max_lateness: Option<Nanos>,
    /// Largest error bound of a measured FCT; none if it is not known.
    pub max_resolution: Option<Nanos>,
    /// Bins of all flows' sizes with about equally many flows.
    pub bins: SizeBins,
    /// Bins of all flows' sizes between round sizes.
    pub log_bins: SizeBins,
    /// Sending and receiving datacenters, by the number that the frame has for each pair.
    pairs: Vec<(String, String)>,
    /// Routes, by the number that the frame has for each.
    routes: Vec<String>,
    frame: LazyFrame,
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
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Span<'a> {
    /// Start time.
    pub start: Nanos,
    /// FCT; none if the flow did not finish.
    pub fct: Option<Nanos>,
    /// The route; none if it is not known.
    pub route: Option<&'a str>,
}

/// Columns of the frame, while rows are read: about 60 bytes for each flow.
#[derive(Default)]
struct Columns {
    policies: Vec<u32>,
    repetitions: Vec<u32>,
    flows: Vec<u32>,
    sizes: Vec<u64>,
    starts: Vec<u64>,
    fcts: Vec<Option<u64>>,
    slowdowns: Vec<Option<f64>>,
    routes: Vec<Option<u32>>,
    pairs: Vec<u32>,
}

/// Reader of flows, row by row.
struct Reader<'a> {
    known_routes: &'a Routes,
    flows: Flows,
    route_of_path: BTreeMap<DcPath, u32>,
    number_of_pair: BTreeMap<String, BTreeMap<String, u32>>,
    columns: Columns,
    /// Flows that the page shows one by one, by policy.
    chosen: Vec<Chosen>,
    /// Number of flows of a policy.
    expected: u64,
    /// Number of a policy's worst flows that the page has room for.
    room: usize,
}

impl Flows {
    /// Reads the flows of `run`, and the number of truncated rows.
    pub fn read(run: &RunDir, routes: &Routes) -> Result<(Self, u64), ReportError> {
        let policies = run.info().policies.clone();
        let policies_count = policies.len();
        let mut reader = Reader {
            known_routes: routes,
            flows: Self {
                counts: vec![FlowCounts::default(); policies.len()],
                policies,
                shown: Vec::new(),
                max_lateness: None,
                max_resolution: None,
                bins: SizeBins::new(Vec::new(), 1),
                log_bins: SizeBins::logarithmic(&[]),
                pairs: Vec::new(),
                routes: Vec::new(),
                frame: LazyFrame::default(),
            },
            route_of_path: BTreeMap::new(),
            number_of_pair: BTreeMap::new(),
            columns: Columns::default(),
            chosen: Vec::new(),
            expected: run.info().scheduled_flows,
            room: MAX_SHOWN / 2 / policies_count.max(1),
        };
        let truncated = run.visit(|row| reader.add(row))?;
        Ok((reader.finish()?, truncated))
    }

    /// Returns policy, repetition and id of each flow that the page shows.
    pub fn shown_keys(&self) -> BTreeSet<FlowKey> {
        let key = |row: &FlowRow| (row.policy.clone(), row.repetition, row.flow_id.0);
        self.shown.iter().map(key).collect()
    }

    /// Returns the largest number of flows of a policy.
    pub fn max_flows(&self) -> usize {
        let counts = self.counts.iter().map(|counts| counts.flows);
        usize::try_from(counts.max().unwrap_or(0)).unwrap_or(usize::MAX)
    }

    /// Returns the counts of all flows.
    pub fn total(&self) -> FlowCounts {
        let mut total = FlowCounts::default();
        for counts in &self.counts {
            total.flows += counts.flows;
            total.finished += counts.finished;
            total.unfinished += counts.unfinished;
            total.below_one += counts.below_one;
        }
        total
    }

    /// Returns the sorted slowdowns of each policy's finished flows.
    pub fn slowdowns(&self) -> PolarsResult<Vec<Vec<f64>>> {
        let frame = self.all_finished(&[POLICY])?;
        let mut slowdowns = vec![Vec::new(); self.policies.len()];
        for (policy, slowdown) in ids(&frame, POLICY)?.zip(floats(&frame, SLOWDOWN)?) {
            slowdowns[policy].push(slowdown);
        }
        sort(&mut slowdowns);
        Ok(slowdowns)
    }

    /// Returns the sorted slowdowns of each policy's finished flows in each repetition.
    pub fn slowdowns_by_repetition(&self) -> PolarsResult<Vec<Vec<Vec<f64>>>> {
        let frame = self.all_finished(&[POLICY, REPETITION])?;
        let mut slowdowns: Vec<Vec<Vec<f64>>> = vec![Vec::new(); self.policies.len()];
        let rows = ids(&frame, POLICY)?.zip(ids(&frame, REPETITION)?);
        for ((policy, repetition), slowdown) in rows.zip(floats(&frame, SLOWDOWN)?) {
            let repetitions = &mut slowdowns[policy];
            if repetitions.len() <= repetition {
                repetitions.resize(repetition + 1, Vec::new());
            }
            repetitions[repetition].push(slowdown);
        }
        slowdowns.iter_mut().for_each(|groups| sort(groups));
        Ok(slowdowns)
    }

    /// Returns the sorted slowdowns of each policy's finished flows in each bin of [`bins`](Self::bins).
    pub fn slowdowns_by_bin(&self) -> PolarsResult<Vec<Vec<Vec<f64>>>> {
        self.slowdowns_in(&self.bins, BIN)
    }

    /// Returns the sorted slowdowns of each policy's finished flows in each bin of
    /// [`log_bins`](Self::log_bins).
    pub fn slowdowns_by_log_bin(&self) -> PolarsResult<Vec<Vec<Vec<f64>>>> {
        self.slowdowns_in(&self.log_bins, LOG_BIN)
    }

    fn slowdowns_in(&self, bins: &SizeBins, column: &str) -> PolarsResult<Vec<Vec<Vec<f64>>>> {
        let frame = self.all_finished(&[POLICY, column])?;
        let bins = vec![Vec::new(); bins.upper().len()];
        let mut slowdowns = vec![bins; self.policies.len()];
        let rows = ids(&frame, POLICY)?.zip(ids(&frame, column)?);
        for ((policy, bin), slowdown) in rows.zip(floats(&frame, SLOWDOWN)?) {
            slowdowns[policy][bin].push(slowdown);
        }
        slowdowns.iter_mut().for_each(|groups| sort(groups));
        Ok(slowdowns)
    }

    /// Returns the flows that finished under both policies, by repetition and id.
    pub fn pairs(&self, base: usize, other: usize) -> PolarsResult<Vec<Pair>> {
        let keys = [col(REPETITION), col(FLOW)];
        let inner = JoinArgs::new(JoinType::Inner);
        let of_base =
            self.finished(base)
                .select([col(REPETITION), col(FLOW), col(SLOWDOWN).alias(BASE)]);
        let frame = of_base
            .join(self.finished(other), keys.clone(), keys, inner)
            .sort([REPETITION, FLOW], SortMultipleOptions::default())
            .collect()?;
        let pairs = floats(&frame, BASE)?.zip(floats(&frame, SLOWDOWN)?);
        Ok(pairs.map(|(base, other)| Pair { base, other }).collect())
    }

    /// Returns the routes of a policy's flows, most bytes first.
    pub fn routes(&self, policy: usize) -> PolarsResult<Vec<RouteShare>> {
        let frame = self
            .of_policy(policy)
            .filter(col(ROUTE).is_not_null())
            .group_by([col(ROUTE)])
            .agg([col(FLOW).count().cast(DataType::UInt64), col(BYTES).sum()])
            .collect()?;
        let routes = ids(&frame, ROUTE)?.zip(numbers(&frame, FLOW)?);
        let share = |((route, flows), bytes): ((usize, u64), u64)| RouteShare {
            route: self.routes[route].clone(),
            flows,
            bytes,
        };
        let mut shares: Vec<RouteShare> = routes.zip(numbers(&frame, BYTES)?).map(share).collect();
        shares.sort_by(|a, b| (b.bytes, &a.route).cmp(&(a.bytes, &b.route)));
        Ok(shares)
    }

    /// Returns the flows of a policy's first repetition, by start and id.
    pub fn spans(&self, policy: usize) -> PolarsResult<Vec<Span<'_>>> {
        let frame = self
            .of_policy(policy)
            .filter(col(REPETITION).eq(lit(0u32)))
            .sort([START, FLOW], SortMultipleOptions::default())
            .collect()?;
        let fcts = frame.column(FCT)?.u64()?.iter();
        let routes = frame.column(ROUTE)?.u32()?.iter();
        let span = |((start, fct), route): ((u64, Option<u64>), Option<u32>)| Span {
            start: Nanos::new(start),
            fct: fct.map(Nanos::new),
            route: route.map(|route| self.routes[index(route)].as_str()),
        };
        let rows = numbers(&frame, START)?.zip(fcts).zip(routes);
        Ok(rows.map(span).collect())
    }

    /// Returns the times at which the flows of first repetitions ended, ns.
    pub fn ends(&self) -> PolarsResult<Vec<u64>> {
        let frame = self.frame.clone().filter(col(REPETITION).eq(lit(0u32)));
        let end = (col(START) + col(FCT)).alias(FCT);
        let frame = frame
            .filter(col(FCT).is_not_null())
            .select([end])
            .collect()?;
        Ok(numbers(&frame, FCT)?.collect())
    }

    /// Returns the start of the last flow.
    pub fn last_start(&self) -> PolarsResult<Nanos> {
        let frame = self.frame.clone().select([col(START).max()]).collect()?;
        Ok(Nanos::new(numbers(&frame, START)?.next().unwrap_or(0)))
    }

    /// Returns the sorted slowdowns of a policy's finished flows between each pair of datacenters.
    pub fn slowdowns_by_pair(
        &self,
        policy: usize,
    ) -> PolarsResult<BTreeMap<(&str, &str), Vec<f64>>> {
        let frame = self.finished(policy).collect()?;
        let mut slowdowns: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
        for (pair, slowdown) in ids(&frame, PAIR)?.zip(floats(&frame, SLOWDOWN)?) {
            let (src, dst) = &self.pairs[pair];
            slowdowns.entry((src, dst)).or_default().push(slowdown);
        }
        let sorted = slowdowns.values_mut();
        sorted.for_each(|group| group.sort_unstable_by(f64::total_cmp));
        Ok(slowdowns)
    }

    fn of_policy(&self, policy: usize) -> LazyFrame {
        let policy = u32::try_from(policy).unwrap_or(u32::MAX);
        self.frame.clone().filter(col(POLICY).eq(lit(policy)))
    }

    fn finished(&self, policy: usize) -> LazyFrame {
        self.of_policy(policy).filter(col(SLOWDOWN).is_not_null())
    }

    /// Returns the slowdowns of all finished flows, with the columns `keys`.
    fn all_finished(&self, keys: &[&str]) -> PolarsResult<DataFrame> {
        let columns: Vec<Expr> = keys.iter().chain([&SLOWDOWN]).map(|it| col(*it)).collect();
        let finished = self.frame.clone().filter(col(SLOWDOWN).is_not_null());
        finished.select(columns).collect()
    }
}

/// Sorts each group of slowdowns: far faster than a frame of several keys.
fn sort(groups: &mut [Vec<f64>]) {
    for group in groups {
        group.sort_unstable_by(f64::total_cmp);
    }
}

impl Reader<'_> {
    fn add(&mut self, row: FlowRow) {
        let flows = &mut self.flows;
        let policy = flows.policies.iter().position(|it| *it == row.policy);
        let policy = policy.expect("records are read with rows of the run's policies only");
        flows.counts[policy].add(&row);
        flows.max_lateness = flows.max_lateness.max(row.launch_lateness_ns);
        flows.max_resolution = flows.max_resolution.max(row.emu_fct_resolution_ns);
        let route = row.path.as_ref().map(|path| self.route(path));
        let pair = self.pair(&row.src_dc, &row.dst_dc);
        let columns = &mut self.columns;
        columns.policies.push(id(policy));
        columns.repetitions.push(row.repetition);
        columns.flows.push(row.flow_id.0);
        columns.sizes.push(row.size_bytes.get());
        columns.starts.push(row.start_ns.get());
        columns.fcts.push(row.fct_ns.map(Nanos::get));
        columns.slowdowns.push(row.slowdown);
        columns.routes.push(route);
        columns.pairs.push(pair);
        if self.chosen.len() <= policy {
            self.chosen.resize_with(policy + 1, Chosen::default);
        }
        self.chosen[policy].add(row, self.expected, self.room);
    }

    /// Returns the number of a pair of datacenters.
    fn pair(&mut self, src: &str, dst: &str) -> u32 {
        let known = self
            .number_of_pair
            .get(src)
            .and_then(|sinks| sinks.get(dst));
        if let Some(&known) = known {
            return known;
        }
        let pairs = &mut self.flows.pairs;
        pairs.push((src.to_owned(), dst.to_owned()));
        let number = id(pairs.len() - 1);
        let sinks = self.number_of_pair.entry(src.to_owned()).or_default();
        sinks.insert(dst.to_owned(), number);
        number
    }

    /// Returns the number of the route of `path`; most paths are those of earlier flows.
    fn route(&mut self, path: &DcPath) -> u32 {
        if let Some(&known) = self.route_of_path.get(path) {
            return known;
        }
        let routes = &mut self.flows.routes;
        let text = self.known_routes.of_path(path).text;
        let known = routes.iter().position(|it| *it == text);
        let route = id(known.unwrap_or_else(|| {
            routes.push(text);
            routes.len() - 1
        }));
        self.route_of_path.insert(path.clone(), route);
        route
    }

    fn finish(self) -> PolarsResult<Flows> {
        let (mut flows, columns) = (self.flows, self.columns);
        let chosen = self.chosen.into_iter();
        flows.shown = chosen.flat_map(|one| one.into_rows(self.room)).collect();
        let sizes: Vec<Bytes> = columns.sizes.iter().copied().map(Bytes::new).collect();
        let bins = SizeBins::new(sizes.clone(), flows.policies.len());
        let log_bins = SizeBins::logarithmic(&sizes);
        let bin_of: Vec<u32> = sizes.iter().map(|&size| bins.of(size)).collect();
        let log_bin_of: Vec<u32> = sizes.iter().map(|&size| log_bins.of(size)).collect();
        let frame = vec![
            Column::new(POLICY.into(), columns.policies),
            Column::new(REPETITION.into(), columns.repetitions),
            Column::new(FLOW.into(), columns.flows),
            Column::new(BIN.into(), bin_of),
            Column::new(LOG_BIN.into(), log_bin_of),
            Column::new(PAIR.into(), columns.pairs),
            Column::new(BYTES.into(), columns.sizes),
            Column::new(START.into(), columns.starts),
            Column::new(FCT.into(), columns.fcts),
            Column::new(SLOWDOWN.into(), columns.slowdowns),
            Column::new(ROUTE.into(), columns.routes),
        ];
        flows.frame = DataFrame::new(sizes.len(), frame)?.lazy();
        flows.bins = bins;
        flows.log_bins = log_bins;
        Ok(flows)
    }
}

fn id(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

fn index(id: u32) -> usize {
    usize::try_from(id).unwrap_or(usize::MAX)
}

fn ids(frame: &DataFrame, name: &str) -> PolarsResult<impl Iterator<Item = usize>> {
    let ids = frame.column(name)?.u32()?.iter();
    Ok(ids.map(|id| index(id.unwrap_or_default())))
}

fn floats(frame: &DataFrame, name: &str) -> PolarsResult<impl Iterator<Item = f64>> {
    let floats = frame.column(name)?.f64()?.iter();
    Ok(floats.map(Option::unwrap_or_default))
}

const POLICY: &str = "policy";
const REPETITION: &str = "repetition";
const FLOW: &str = "flow_id";
const BIN: &str = "bin";
const LOG_BIN: &str = "log_bin";
const PAIR: &str = "pair";
const BYTES: &str = "size_bytes";
const START: &str = "start_ns";
const FCT: &str = "fct_ns";
const SLOWDOWN: &str = "slowdown";
const BASE: &str = "base_slowdown";
const ROUTE: &str = "route";

/// Number of flows on the page, with their decisions; one with more is large.
pub const MAX_SHOWN: usize = 3_000;

#[cfg(test)]
mod tests {
    use lab_records::RunInfo;

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
        assert_eq!(flows.slowdowns().unwrap(), [vec![], vec![1.5, 3.0]]);
        let by_bin = flows.slowdowns_by_bin().unwrap();
        assert_eq!(by_bin, [[vec![]], [vec![1.5, 3.0]]]);
        assert_eq!((flows.counts[1].flows, flows.total().finished), (3, 2));
    }

    #[test]
    fn slowdowns_of_repetitions_stay_apart() {
        let rows = [(1, 4.0), (0, 2.0), (1, 3.0)].map(|(repetition, slowdown)| FlowRow {
            repetition,
            ..testing::flow("b", 0, Some(slowdown))
        });
        let found = read(&rows).slowdowns_by_repetition().unwrap();
        assert_eq!(found, [vec![], vec![vec![2.0], vec![3.0, 4.0]]]);
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
        let pairs = read(&rows).pairs(0, 1).unwrap();
        assert_eq!(pairs, [pair(2.0, 1.0), pair(4.0, 3.0)]);
        assert_eq!(read(&rows[..3]).pairs(0, 1).unwrap(), []);
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
        assert_eq!(flows.routes(0).unwrap(), shares);
        let spans = flows.spans(0).unwrap();
        let routes: Vec<_> = spans.iter().map(|span| span.route).collect();
        assert_eq!(routes[1..], [Some("dc1-dc2-dc3"), Some("dc1-dc3"), None]);
    }

    #[test]
    fn flows_are_shown_by_policy_repetition_and_id_and_many_are_chosen_from() {
        let count = 3 * MAX_SHOWN;
        let rows: Vec<FlowRow> = (0..count)
            .map(|number| FlowRow {
                policy: ["b", "a"][number % 2].into(),
                ..testing::flow("", id(count - number), None)
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
