//! Flows of one policy: concurrency, shared links, and paths in comparison with another policy.

use std::collections::BTreeMap;

use indexmap::IndexSet;
use lab_plan::Concurrency;
use lab_records::{FlowRow, RepetitionEnds};
use lab_units::{Nanos, PortId};
use rustc_hash::FxBuildHasher;

use super::share::count;

/// Flows of one policy that started, over all repetitions.
#[derive(Default)]
pub(super) struct Flows {
    flows: Vec<Seen>,
    paths: IndexSet<PortPath, FxBuildHasher>,
}

/// Egress ports on a path, one for each link direction.
pub(super) type PortPath = Box<[PortId]>;

/// Flow that started, with its end time and path.
struct Seen {
    repetition: u32,
    id: u32,
    start: Nanos,
    /// Time at which the flow ended; `None` if it did not finish and so counts as active until its repetition ends.
    end: Option<Nanos>,
    /// Index of the flow's path; `None` if the path is unknown.
    path: Option<usize>,
}

impl Flows {
    /// Adds a flow, if it started; `path` is the path in its row, `None` if unknown.
    pub fn add(&mut self, row: &FlowRow, path: Option<PortPath>) {
        if !row.fields().has_started() {
            return;
        }
        self.flows.push(Seen {
            repetition: row.repetition,
            id: row.flow_id.0,
            start: row.start_ns,
            end: row.fields().end(),
            path: path.map(|path| self.paths.insert_full(path).0),
        });
    }

    /// Returns the concurrency of the flows; `ends` gives the ends of the repetitions.
    pub fn concurrency(&self, ends: &RepetitionEnds) -> Concurrency {
        let spans = self.flows.iter();
        Concurrency::of(spans.map(|flow| (flow.repetition, flow.start, flow.end_by(ends))))
    }

    /// Returns the number of flows with known paths, and how many of these flows shared a link direction with another
    /// flow while both flows were active; `ends` gives each repetition's end.
    pub fn overlapping(&self, ends: &RepetitionEnds) -> (u64, u64) {
        let mut by_link: BTreeMap<(u32, PortId), Vec<u32>> = BTreeMap::new();
        let mut known = 0;
        for (index, flow) in (0u32..).zip(&self.flows) {
            let Some(path) = flow.path else {
                continue;
            };
            known += 1;
            for &port in &self.paths[path] {
                by_link
                    .entry((flow.repetition, port))
                    .or_default()
                    .push(index);
            }
        }
        let span = |index: u32| {
            let flow = &self.flows[index as usize];
            FlowSpan {
                start: flow.start,
                end: flow.end_by(ends),
                index: index as usize,
            }
        };
        let mut overlaps = vec![false; self.flows.len()];
        for flows in by_link.into_values() {
            let mut spans: Vec<FlowSpan> = flows.into_iter().map(span).collect();
            mark_overlaps(&mut spans, &mut overlaps);
        }
        let overlapping = overlaps.into_iter().filter(|&overlaps| overlaps);
        (known, count(overlapping.count()))
    }

    /// Returns the number of flows whose paths are known under both policies, `self` and `other`, and how many of these
    /// flows took different paths.
    pub fn paths_unlike(&self, other: &Self) -> (u64, u64) {
        let others: BTreeMap<(u32, u32), &PortPath> = other.known_paths().collect();
        let mut flows = 0;
        let mut differ = 0;
        for (flow, path) in self.known_paths() {
            if let Some(&other) = others.get(&flow) {
                flows += 1;
                differ += u64::from(path != other);
            }
        }
        (flows, differ)
    }

    /// Returns the flows with known paths, each as its repetition and id.
    fn known_paths(&self) -> impl Iterator<Item = ((u32, u32), &PortPath)> {
        let known = |flow: &Seen| Some(((flow.repetition, flow.id), &self.paths[flow.path?]));
        self.flows.iter().filter_map(known)
    }
}

impl Seen {
    fn end_by(&self, ends: &RepetitionEnds) -> Nanos {
        self.end.unwrap_or_else(|| ends.of(self.repetition))
    }
}

/// Sorts `spans` by start, and sets `overlaps` for each span that overlaps another span in time.
///
/// Each span is compared only with the earlier span that ends last: if this earlier span has ended, all earlier spans
/// have ended.
fn mark_overlaps(spans: &mut [FlowSpan], overlaps: &mut [bool]) {
    spans.sort_unstable();
    let mut last: Option<FlowSpan> = None;
    for &span in spans.iter() {
        if let Some(last) = last
            && span.start < last.end
        {
            overlaps[span.index] = true;
            overlaps[last.index] = true;
        }
        if last.is_none_or(|last| span.end > last.end) {
            last = Some(span);
        }
    }
}

/// Time span in which a flow was active.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct FlowSpan {
    start: Nanos,
    end: Nanos,
    /// Index of the flow.
    index: usize,
}

#[cfg(test)]
mod tests {
    use lab_records::FlowStatus;
    use lab_sample as sample;
    use proptest::prelude::*;

    use super::*;

    /// In a run of 20 ns, the flows from 0 to 10, from 4 to the end and from 12 to the end take 34 ns in total, so 1.7
    /// flows are active on average. The first two share a link from 4 to 10; the third takes another link; the fourth
    /// would start after the run's end.
    #[test]
    fn an_unfinished_flow_is_under_way_until_the_runs_end() {
        let row = |id: u32, start: u64, fct: Option<u64>| FlowRow {
            flow_id: lab_units::FlowId(id),
            start_ns: Nanos::new(start),
            fct_ns: fct.map(Nanos::new),
            status: FlowStatus::TimedOut,
            launch_lateness_ns: (start < 20).then_some(Nanos::ZERO),
            ..sample::flow("ecmp")
        };
        let mut flows = Flows::default();
        let mut ends = RepetitionEnds::default();
        for (row, port) in [
            (row(0, 0, Some(10)), 2),
            (row(1, 4, None), 2),
            (row(2, 12, None), 3),
            (row(3, 30, None), 2),
        ] {
            ends.flow(row.fields());
            flows.add(&row, Some(Box::new([PortId(port)])));
        }
        ends.at(0, Nanos::new(20));
        let concurrency = flows.concurrency(&ends);
        assert_eq!((concurrency.mean_hundredths, concurrency.peak), (170, 2));
        assert_eq!(flows.overlapping(&ends), (3, 2));
    }

    proptest! {
        #[test]
        fn overlaps_are_those_of_all_pairs(spans in prop::collection::vec((0u64..40, 1u64..12), 0..20)) {
            let span = |(index, (start, length)): (usize, (u64, u64))| FlowSpan {
                start: Nanos::new(start),
                end: Nanos::new(start + length),
                index,
            };
            let spans: Vec<FlowSpan> = spans.into_iter().enumerate().map(span).collect();
            let meets = |a: &FlowSpan, b: &FlowSpan| a.index != b.index && a.start < b.end && b.start < a.end;
            let expected: Vec<bool> = spans
                .iter()
                .map(|one| spans.iter().any(|other| meets(one, other)))
                .collect();
            let mut found = vec![false; spans.len()];
            mark_overlaps(&mut spans.clone(), &mut found);
            prop_assert_eq!(found, expected);
        }
    }
}
