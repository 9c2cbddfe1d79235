//! Figures with queues and rates over time, of both runs in one strip.

use std::collections::BTreeMap;

use lab_units::FlowId;

use super::{figures::Drawn, links::OverTime};
use crate::{
    error::ReportError,
    figure::{MAX_STRIPS, Strip, Strips, theme::policy_styles},
    figures::{Captioned, STRIP_MERGED},
    frames::{DirectionSeries, RateSeries, largest, mean, merged},
    text::{self, to_float},
};

impl Drawn<'_> {
    /// Draws the queues of both runs in the directions in which they are longest.
    pub fn queues_over_time(&self, over_time: &OverTime) -> Result<Captioned, ReportError> {
        let mut directions: BTreeMap<[&str; 3], [Option<&DirectionSeries>; 2]> = BTreeMap::new();
        for (index, series) in over_time.links.iter().enumerate() {
            for one in series {
                if self.flows.policies.contains(&one.policy) {
                    let key = [&one.policy, &one.from_dc, &one.to_dc].map(String::as_str);
                    directions.entry(key).or_default()[index] = Some(one);
                }
            }
        }
        let longest = |runs: &[Option<&DirectionSeries>; 2]| {
            let shown = |one: &&DirectionSeries| {
                one.queue
                    .iter()
                    .take(over_time.grid.narrow_len())
                    .flatten()
                    .copied()
                    .max()
            };
            runs.iter().flatten().filter_map(shown).max().unwrap_or(0)
        };
        let mut directions: Vec<_> = directions.into_iter().collect();
        directions.retain(|(_, runs)| longest(runs) > 0);
        let left_out = directions.len().saturating_sub(MAX_STRIPS);
        directions.sort_by_key(|(_, runs)| std::cmp::Reverse(longest(runs)));
        directions.truncate(MAX_STRIPS);
        let strips = directions.into_iter().map(|([policy, from, to], runs)| {
            let label = format!("{policy}: {from} → {to}");
            (label, runs)
        });
        let megabytes =
            |one: &DirectionSeries, index: usize| Some(to_float(one.queue[index]?) / 1e6);
        let figure = Strips {
            name: "fidelity-queues",
            of: "direction",
            title: "longest queue sampled (MB)",
            missing: "no queue was sampled, or none held a byte when it was",
            ..self.strips(over_time, strips, megabytes, largest)
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

    /// Draws the rates of the QPs under congestion control in both runs.
    pub fn rates_over_time(&self, over_time: &OverTime) -> Result<Captioned, ReportError> {
        let mut flows: BTreeMap<(usize, FlowId), [Option<&RateSeries>; 2]> = BTreeMap::new();
        for (position, policy) in self.flows.policies.iter().enumerate() {
            for (index, rates) in over_time.rates.iter().enumerate() {
                for (flow, series) in rates.get(policy).into_iter().flatten() {
                    flows.entry((position, *flow)).or_default()[index] = Some(series);
                }
            }
        }
        let left_out = flows.len().saturating_sub(MAX_STRIPS);
        let strips = flows
            .into_iter()
            .take(MAX_STRIPS)
            .map(|((policy, flow), runs)| {
                let label = format!("{}: flow {flow}", self.flows.policies[policy]);
                (label, runs)
            });
        let gigabits = |one: &RateSeries, index: usize| {
            let mean = one.means.get(index).copied().flatten();
            mean.map(|rate| rate / 1e9)
        };
        let figure = Strips {
            name: "fidelity-rates",
            of: "flow",
            title: "rate of the sending QP (Gbit/s)",
            missing: "No rate was sampled.",
            ..self.strips(over_time, strips, gigabits, mean)
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

    /// Returns the strips of the objects that have a label, each with the series of the runs that have it.
    fn strips<T>(
        &self,
        over_time: &OverTime,
        strips: impl Iterator<Item = (String, [Option<T>; 2])>,
        value: impl Fn(T, usize) -> Option<f64>,
        merge: fn(&[f64]) -> f64,
    ) -> Strips
    where
        T: Copy,
    {
        let edges = over_time.grid.narrow_edges(STRIP_MERGED);
        let strip = |(label, runs): (String, [Option<T>; 2])| Strip {
            label,
            attributes: String::new(),
            is_share: false,
            lines: (runs.iter())
                .map(|one| merged(&edges, |index| value((*one)?, index), merge))
                .collect(),
        };
        let runs = self.names.map(str::to_owned);
        Strips {
            name: "",
            of: "",
            each: "run",
            lines: runs.iter().cloned().zip(policy_styles(&runs)).collect(),
            parameters: runs.iter().map(|_| String::new()).collect(),
            strips: strips.map(strip).collect(),
            times: over_time.grid.middles(&edges),
            faults: Vec::new(),
            title: "",
            missing: "",
            has_legend: true,
        }
    }
}
