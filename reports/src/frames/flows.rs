//! Questions about flows.

use std::collections::BTreeMap;

use lab_records::FlowRow;
use polars::prelude::*;

use super::values;
use crate::{route::Routes, size_bins::SizeBins};

/// The flows of a run, to be asked.
pub struct FlowFrame {
    lazy: LazyFrame,
}

/// The flows over one route.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RouteShare {
    /// The route.
    pub route: String,
    /// Flows over it.
    pub flows: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Slowdowns of one flow under two policies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Under the policy compared with.
    pub base: f64,
    /// Under the other.
    pub other: f64,
}

impl FlowFrame {
    /// A frame of `flows`, each with its route and size bin.
    pub fn new(flows: &[FlowRow], routes: &Routes, bins: &SizeBins) -> PolarsResult<Self> {
        let route = |flow: &FlowRow| routes.of(flow).map(|route| route.text);
        let columns = vec![
            Column::new(POLICY.into(), values(flows, |flow| flow.policy.as_str())),
            Column::new(REPETITION.into(), values(flows, |flow| flow.repetition)),
            Column::new(FLOW.into(), values(flows, |flow| flow.flow_id.0)),
            Column::new(BIN.into(), values(flows, |flow| bins.of(flow.size_bytes))),
            Column::new(BYTES.into(), values(flows, |flow| flow.size_bytes.get())),
            Column::new(SLOWDOWN.into(), values(flows, |flow| flow.slowdown)),
            Column::new(ROUTE.into(), values(flows, route)),
        ];
        let lazy = DataFrame::new(flows.len(), columns)?.lazy();
        Ok(Self { lazy })
    }

    /// The slowdowns of each policy's finished flows, sorted.
    pub fn slowdowns(&self) -> PolarsResult<BTreeMap<String, Vec<f64>>> {
        let frame = self.sorted_slowdowns(&[POLICY])?;
        let policies = frame.column(POLICY)?.str()?.iter();
        let slowdowns = frame.column(SLOWDOWN)?.f64()?.iter();
        Ok(grouped(
            policies.map(|policy| policy.map(str::to_owned)),
            slowdowns,
        ))
    }

    /// The slowdowns of each policy's finished flows by size bin, sorted.
    pub fn slowdowns_by_bin(&self) -> PolarsResult<BTreeMap<(String, u32), Vec<f64>>> {
        let frame = self.sorted_slowdowns(&[POLICY, BIN])?;
        let policies = frame.column(POLICY)?.str()?.iter();
        let bins = frame.column(BIN)?.u32()?.iter();
        let slowdowns = frame.column(SLOWDOWN)?.f64()?.iter();
        let key = |(policy, bin): (Option<&str>, Option<u32>)| Some((policy?.to_owned(), bin?));
        Ok(grouped(policies.zip(bins).map(key), slowdowns))
    }

    /// The flows that finished under both policies, by repetition and id.
    pub fn pairs(&self, base: &str, other: &str) -> PolarsResult<Vec<Pair>> {
        let keys = [col(REPETITION), col(FLOW)];
        let inner = JoinArgs::new(JoinType::Inner);
        let of_base =
            self.finished(base)
                .select([col(REPETITION), col(FLOW), col(SLOWDOWN).alias(BASE)]);
        let frame = of_base
            .join(self.finished(other), keys.clone(), keys, inner)
            .sort([REPETITION, FLOW], SortMultipleOptions::default())
            .collect()?;
        let bases = frame.column(BASE)?.f64()?.iter();
        let others = frame.column(SLOWDOWN)?.f64()?.iter();
        let pair = |(base, other): (Option<f64>, Option<f64>)| {
            Some(Pair {
                base: base?,
                other: other?,
            })
        };
        Ok(bases.zip(others).filter_map(pair).collect())
    }

    /// The routes of `policy`'s flows, most bytes first.
    pub fn routes(&self, policy: &str) -> PolarsResult<Vec<RouteShare>> {
        let most_bytes = SortMultipleOptions::default().with_order_descending_multi([true, false]);
        let frame = self
            .of_policy(policy)
            .filter(col(ROUTE).is_not_null())
            .group_by([col(ROUTE)])
            .agg([col(FLOW).count().cast(DataType::UInt64), col(BYTES).sum()])
            .sort([BYTES, ROUTE], most_bytes)
            .collect()?;
        let routes = frame.column(ROUTE)?.str()?.iter();
        let flows = frame.column(FLOW)?.u64()?.iter();
        let bytes = frame.column(BYTES)?.u64()?.iter();
        let share = |((route, flows), bytes): ((Option<&str>, Option<u64>), Option<u64>)| {
            Some(RouteShare {
                route: route?.to_owned(),
                flows: flows?,
                bytes: bytes?,
            })
        };
        Ok(routes.zip(flows).zip(bytes).filter_map(share).collect())
    }

    fn of_policy(&self, policy: &str) -> LazyFrame {
        let wanted = col(POLICY).eq(lit(policy.to_owned()));
        self.lazy.clone().filter(wanted)
    }

    fn finished(&self, policy: &str) -> LazyFrame {
        self.of_policy(policy).filter(col(SLOWDOWN).is_not_null())
    }

    fn sorted_slowdowns(&self, keys: &[&str]) -> PolarsResult<DataFrame> {
        let order: Vec<&str> = keys.iter().copied().chain([SLOWDOWN]).collect();
        let finished = self.lazy.clone().filter(col(SLOWDOWN).is_not_null());
        finished
            .sort(order, SortMultipleOptions::default())
            .collect()
    }
}

/// Values by key, in their order.
fn grouped<K: Ord>(
    keys: impl Iterator<Item = Option<K>>,
    values: impl Iterator<Item = Option<f64>>,
) -> BTreeMap<K, Vec<f64>> {
    let mut groups: BTreeMap<K, Vec<f64>> = BTreeMap::new();
    for (key, value) in keys.zip(values) {
        if let (Some(key), Some(value)) = (key, value) {
            groups.entry(key).or_default().push(value);
        }
    }
    groups
}

const POLICY: &str = "policy";
const REPETITION: &str = "repetition";
const FLOW: &str = "flow_id";
const BIN: &str = "bin";
const BYTES: &str = "size_bytes";
const SLOWDOWN: &str = "slowdown";
const BASE: &str = "base_slowdown";
const ROUTE: &str = "route";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn frame(flows: &[FlowRow]) -> FlowFrame {
        let sizes = flows.iter().map(|flow| flow.size_bytes).collect();
        let bins = SizeBins::new(sizes, 1);
        FlowFrame::new(flows, &Routes::new(&testing::info()), &bins).unwrap()
    }

    #[test]
    fn slowdowns_are_sorted_and_unfinished_flows_have_none() {
        let flows = [
            testing::flow("b", 0, Some(3.0)),
            testing::flow("a", 1, None),
            testing::flow("b", 2, Some(1.5)),
            testing::flow("b", 1, None),
        ];
        let slowdowns = frame(&flows).slowdowns().unwrap();
        assert_eq!(
            slowdowns,
            BTreeMap::from([("b".to_owned(), vec![1.5, 3.0])])
        );
        let by_bin = frame(&flows).slowdowns_by_bin().unwrap();
        assert_eq!(by_bin[&("b".to_owned(), 0)], [1.5, 3.0]);
    }

    #[test]
    fn only_flows_that_finished_under_both_are_pairs() {
        let mut flows = vec![
            testing::flow("a", 0, Some(2.0)),
            testing::flow("a", 1, Some(4.0)),
            testing::flow("a", 2, None),
            testing::flow("b", 2, Some(9.0)),
            testing::flow("b", 1, Some(3.0)),
            testing::flow("b", 0, Some(1.0)),
        ];
        // The same flow of another repetition is another flow.
        flows.push(FlowRow {
            repetition: 1,
            ..testing::flow("b", 2, Some(7.0))
        });
        let pair = |base: f64, other: f64| Pair { base, other };
        let pairs = frame(&flows).pairs("a", "b").unwrap();
        assert_eq!(pairs, [pair(2.0, 1.0), pair(4.0, 3.0)]);
        assert_eq!(frame(&flows).pairs("a", "c").unwrap(), []);
    }

    #[test]
    fn both_directions_of_a_route_are_one_and_unknown_ones_are_none() {
        let on = |id: u32, path: &[&str]| FlowRow {
            path: (!path.is_empty()).then(|| lab_records::DcPath::new(path)),
            ..testing::flow("a", id, Some(2.0))
        };
        let flows = [
            on(0, &["dc1", "dc2", "dc3"]),
            on(1, &["dc3", "dc2", "dc1"]),
            on(2, &["dc1", "dc3"]),
            on(3, &[]),
        ];
        let routes = frame(&flows).routes("a").unwrap();
        let share = |route: &str, flows: u64| RouteShare {
            route: route.into(),
            flows,
            bytes: flows * 1_000,
        };
        assert_eq!(routes, [share("dc1-dc2-dc3", 2), share("dc1-dc3", 1)]);
    }
}
