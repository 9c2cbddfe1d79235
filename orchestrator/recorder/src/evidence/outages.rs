//! Flows of the pairs of datacenters that faults leave without a next hop.

use std::collections::{BTreeMap, BTreeSet};

use lab_plan::{OutageSpan, model::Plan};
use lab_records::{FlowRow, OutageFlows, OutageInfo, UnfinishedFlows};
use lab_units::DcId;

use super::share::count;

/// Time spans without a next hop, and those of each pair of datacenters.
pub(super) struct Outages {
    spans: Vec<OutageSpan>,
    /// Indices of the spans, ascending, by the pair of a flow's source and destination. Data or acknowledgements of the
    /// flow have no next hop in these spans.
    by_pair: BTreeMap<(DcId, DcId), BTreeSet<usize>>,
}

/// Flows of one policy, over all repetitions, in the time spans of [`Outages`].
#[derive(Default)]
pub(super) struct FlowsInOutages {
    counts: Vec<OutageFlows>,
    unfinished: u64,
    stranded: u64,
    /// Pairs of the stranded flows.
    pairs: BTreeSet<(DcId, DcId)>,
}

impl Outages {
    /// Returns the outages of the plan's faults.
    pub fn new(plan: &Plan) -> Self {
        Self::of(plan.outages())
    }

    fn of(spans: Vec<OutageSpan>) -> Self {
        let mut by_pair: BTreeMap<(DcId, DcId), BTreeSet<usize>> = BTreeMap::new();
        for (index, span) in spans.iter().enumerate() {
            for &(from, to) in &span.pairs {
                for pair in [(from, to), (to, from)] {
                    by_pair.entry(pair).or_default().insert(index);
                }
            }
        }
        Self { spans, by_pair }
    }

    /// Returns the outages for the records, with the names of the first pairs.
    pub fn infos(&self, plan: &Plan) -> Vec<OutageInfo> {
        let name = |dc: DcId| plan.dcs[dc.index()].name.clone();
        let info = |span: &OutageSpan| {
            let first = span.pairs.iter().take(NAMED_PAIRS);
            OutageInfo {
                from_ns: span.from_ns,
                to_ns: span.to_ns,
                pairs: count(span.pairs.len()),
                first_pairs: first.map(|&(from, to)| [name(from), name(to)]).collect(),
            }
        };
        self.spans.iter().map(info).collect()
    }
}

impl FlowsInOutages {
    /// Counts a flow in each outage of its pair during which it was under way. A flow that did not finish counts as under
    /// way from its start on.
    pub fn add(&mut self, outages: &Outages, plan: &Plan, row: &FlowRow) {
        let is_unfinished = !row.status.is_finished();
        self.unfinished += u64::from(is_unfinished);
        self.counts
            .resize_with(outages.spans.len(), Default::default);
        let Some(flow) = plan.flows.get(row.flow_id.index()) else {
            return;
        };
        let [from, to] = [flow.src, flow.dst].map(|node| plan.nodes[node.index()].dc);
        let fields = row.fields();
        let end = fields.end();
        let mut is_hit = false;
        for &index in outages.by_pair.get(&(from, to)).into_iter().flatten() {
            let span = &outages.spans[index];
            let is_before = end.is_some_and(|end| end <= span.from_ns);
            let is_after = span.to_ns.is_some_and(|to| to <= row.start_ns);
            if !fields.has_started() || is_before || is_after {
                continue;
            }
            is_hit = true;
            self.counts[index].flows += 1;
            self.counts[index].unfinished += u64::from(is_unfinished);
        }
        if is_hit && is_unfinished {
            self.stranded += 1;
            self.pairs.insert((from, to));
        }
    }

    /// Returns the counts of each outage, in the order of [`Outages::infos`]; empty without flows.
    pub fn counts(&self) -> Vec<OutageFlows> {
        self.counts.clone()
    }

    /// Returns the counts of unfinished flows; `None` if no flow under way during an outage of its pair is unfinished.
    pub fn unfinished(&self) -> Option<UnfinishedFlows> {
        (self.stranded > 0).then(|| UnfinishedFlows {
            flows: self.unfinished,
            stranded: self.stranded,
            pairs: count(self.pairs.len()),
        })
    }
}

/// Maximum number of pairs of an outage whose names are recorded.
const NAMED_PAIRS: usize = 3;

#[cfg(test)]
mod tests {
    use lab_plan::OutageEnd;
    use lab_records::FlowStatus;
    use lab_sample as sample;
    use lab_units::{FlowId, Nanos};

    use super::{super::tests::diamond, *};

    /// Data of flow 0, from dc1 to dc4, and acknowledgements of flow 1, from dc4 to dc1, have no next hop from 50 ms to
    /// 60 ms, and from 90 ms on. Flow 2 is of another pair.
    #[test]
    fn flows_under_way_in_an_outage_of_their_pair_are_counted() {
        let millis = Nanos::from_millis;
        let plan = diamond("policy");
        let span = |from, to: Option<u64>| OutageSpan {
            from_ns: millis(from),
            to_ns: to.map(millis),
            pairs: vec![(DcId(0), DcId(3))],
            end: OutageEnd::Repair,
        };
        let outages = Outages::of(vec![span(50, Some(60)), span(90, None)]);
        let flow = |id, start, fct: Option<u64>| FlowRow {
            flow_id: FlowId(id),
            start_ns: millis(start),
            launch_lateness_ns: Some(Nanos::ZERO),
            fct_ns: fct.map(millis),
            status: match fct {
                Some(_) => FlowStatus::Finished,
                None => FlowStatus::Failed,
            },
            ..sample::flow("ucmp")
        };
        let mut found = FlowsInOutages::default();
        for row in [
            // Ends when the outage begins.
            flow(0, 40, Some(10)),
            // Under way in the first outage, at its start and at its end.
            flow(0, 40, Some(11)),
            flow(1, 59, Some(20)),
            // Starts when the first outage ends.
            flow(1, 60, Some(5)),
            // Never ends: the first is under way in both outages, the second in the last.
            flow(0, 55, None),
            flow(1, 60, None),
            // Another pair, and a flow that never started.
            flow(2, 55, None),
            FlowRow {
                launch_lateness_ns: None,
                ..flow(0, 55, None)
            },
        ] {
            found.add(&outages, &plan, &row);
        }
        let counts: Vec<_> = found
            .counts()
            .iter()
            .map(|it| (it.flows, it.unfinished))
            .collect();
        assert_eq!(counts, [(3, 1), (2, 2)]);
        let unfinished = UnfinishedFlows {
            flows: 4,
            stranded: 2,
            pairs: 2,
        };
        assert_eq!(found.unfinished(), Some(unfinished));
        let infos = outages.infos(&plan);
        assert_eq!(infos[0].first_pairs, [["dc1", "dc4"]]);
        assert_eq!((infos[0].pairs, infos[1].to_ns), (1, None));
    }
}
