//! Queues and rates of both runs over each other, in time.

use std::collections::BTreeMap;

use lab_units::FlowId;

use super::{figures::Drawn, links::Links};
use crate::{
    error::ReportError,
    figure::{MAX_STRIPS, Strip, Strips, theme::policy_styles},
    figures::{Captioned, STRIP_MERGED},
    frames::{DirectionSeries, RateSeries, largest, mean, merged},
    text::{self, to_float},
};

impl Drawn<'_> {
    /// Returns the queues of the directions where they are longest, of both runs.
    pub fn queues_over_time(&self, links: &Links) -> Result<Captioned, ReportError> {
        let edges = links.grid.narrow_edges(STRIP_MERGED);
        let mut directions: BTreeMap<[&str; 3], [Option<&DirectionSeries>; 2]> = BTreeMap::new();
        for (index, series) in links.over_time.iter().enumerate() {
            for one in series {
                if self.flows.policies.contains(&one.policy) {
                    let key = [&one.policy, &one.from_dc, &one.to_dc].map(String::as_str);
                    directions.entry(key).or_default()[index] = Some(one);
                }
            }
        }
        let longest = |runs: &[Option<&DirectionSeries>; 2]| {
            let shown = |one: &&DirectionSeries| {
                let queue = one.queue.iter().take(links.grid.narrow_len());
                queue.flatten().copied().max()
            };
            runs.iter().flatten().filter_map(shown).max().unwrap_or(0)
        };
        let mut directions: Vec<_> = directions.into_iter().collect();
        directions.retain(|(_, runs)| longest(runs) > 0);
        let left_out = directions.len().saturating_sub(MAX_STRIPS);
        directions.sort_by_key(|(_, runs)| std::cmp::Reverse(longest(runs)));
        directions.truncate(MAX_STRIPS);
        let line = |one: &Option<&DirectionSeries>| {
            let megabytes = |index: usize| {
                let bytes = (*one)?.queue[index]?;
                Some(to_float(bytes) / 1e6)
            };
            merged(&edges, megabytes, largest)
        };
        let strip = |([policy, from, to], runs): &([&str; 3], [_; 2])| Strip {
            label: format!("{policy}: {from} → {to}"),
            attributes: String::new(),
            is_share: false,
            lines: runs.iter().map(line).collect(),
        };
        let figure = Strips {
            name: "fidelity-queues",
            of: "direction",
            title: "longest queue sampled (MB)",
            missing: "no queue was sampled, or none held a byte when it was",
            ..self.strips(links, directions.iter().map(strip).collect())
        };
        let mut caption =
            "Longest sample of each egress queue in each interval, of both runs in their \
                           first repetition; one scale for each strip."
                .to_owned();
        if left_out > 0 {
            let left_out = text::count(left_out, "direction");
            caption += &format!(" {left_out} with shorter queues are left out.");
        }
        self.captioned(&figure, "Queues over time", caption)
    }

    /// Returns the rates of the QPs under congestion control, of both runs.
    pub fn rates_over_time(&self, links: &Links) -> Result<Captioned, ReportError> {
        let edges = links.grid.narrow_edges(STRIP_MERGED);
        let mut flows: BTreeMap<(usize, FlowId), [Option<&RateSeries>; 2]> = BTreeMap::new();
        for (position, policy) in self.flows.policies.iter().enumerate() {
            for (index, rates) in links.rates.iter().enumerate() {
                for (flow, series) in rates.get(policy).into_iter().flatten() {
                    flows.entry((position, *flow)).or_default()[index] = Some(series);
                }
            }
        }
        let left_out = flows.len().saturating_sub(MAX_STRIPS);
        let line = |series: &Option<&RateSeries>| {
            let gigabits = |index: usize| {
                let means = &(*series)?.means;
                means.get(index).copied().flatten().map(|rate| rate / 1e9)
            };
            merged(&edges, gigabits, mean)
        };
        let strip = |(&(policy, flow), runs): (&(usize, FlowId), &[_; 2])| Strip {
            label: format!("{}: flow {flow}", self.flows.policies[policy]),
            attributes: String::new(),
            is_share: false,
            lines: runs.iter().map(line).collect(),
        };
        let figure = Strips {
            name: "fidelity-rates",
            of: "flow",
            title: "rate of the sending QP (Gbit/s)",
            missing: "No rate was sampled.",
            ..self.strips(links, flows.iter().take(MAX_STRIPS).map(strip).collect())
        };
        let mut caption =
            "Rate that congestion control allows the flow's queue pair, R_C, mean of the \
                           samples of each interval, of both runs in their first repetition."
                .to_owned();
        if left_out > 0 {
            let left_out = text::count(left_out, "flow");
            caption +=
                &format!(" {left_out} of other policies or with higher numbers are left out.");
        }
        self.captioned(&figure, "Rates over time", caption)
    }

    fn strips(&self, links: &Links, strips: Vec<Strip>) -> Strips {
        let runs = self.names.map(str::to_owned);
        let edges = links.grid.narrow_edges(STRIP_MERGED);
        Strips {
            name: "",
            of: "",
            each: "run",
            lines: runs.iter().cloned().zip(policy_styles(&runs)).collect(),
            strips,
            times: links.grid.middles(&edges),
            faults: Vec::new(),
            title: "",
            missing: "",
            has_legend: true,
        }
    }
}
