//! Figures with queues and rates over time, of both runs in one strip.

use std::collections::BTreeMap;

use lab_units::FlowId;

use super::{figures::Drawn, links::OverTime};
use crate::{
    error::ReportError,
    figure::{MAX_STRIPS, Strips, theme::policy_styles},
    figures::Captioned,
    frames::{DirectionSeries, RateSeries, TimeGrid},
    series::{Line, Series, largest, mean},
    text,
};

impl Drawn<'_> {
    /// Draws the queues of both runs over time, in the link directions with the longest queues.
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
            let shown = |one: &&DirectionSeries| one.queue[..over_time.grid.narrow_len()].to_vec();
            let shown: Vec<f64> = runs.iter().flatten().flat_map(shown).flatten().collect();
            largest(&shown)
        };
        let mut directions: Vec<_> = directions.into_iter().collect();
        directions.retain(|(_, runs)| longest(runs) > 0.0);
        let left_out = directions.len().saturating_sub(MAX_STRIPS);
        directions.sort_by(|a, b| longest(&b.1).total_cmp(&longest(&a.1)));
        directions.truncate(MAX_STRIPS);
        let megabytes = directions.into_iter().map(|([policy, from, to], runs)| {
            let label = format!("{policy}: {from} → {to}");
            series(label, runs, |one| &one.queue).per(1e6)
        });
        let figure = Strips {
            name: "fidelity-queues",
            title: "longest queue sampled (MB)".into(),
            missing: "no queue was sampled, or every sampled queue was empty",
            ..self.strips("direction", megabytes, (&over_time.grid, largest))
        };
        let mut caption =
            "Longest sample of each link direction's egress queue in each time interval, in the \
                           first repetition of both runs; each link direction has its own scale."
                .to_owned();
        if left_out > 0 {
            let left_out = text::count(left_out, "direction");
            caption += &format!(" Left out: {left_out} with shorter queues.");
        }
        self.captioned(&figure, "Queues over time", caption)
    }

    /// Draws, over time, the rate that congestion control allows each flow's QP in both runs.
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
        let shown = flows.into_iter().take(MAX_STRIPS);
        let gigabits = shown.map(|((policy, flow), runs)| {
            let label = format!("{}: flow {flow}", self.flows.policies[policy]);
            series(label, runs, |rate| &rate.means).per(1e9)
        });
        let figure = Strips {
            name: "fidelity-rates",
            title: "rate of the sending QP (Gbit/s)".into(),
            missing: "No rate was sampled.",
            ..self.strips("flow", gigabits, (&over_time.grid, mean))
        };
        let mut caption =
            "Rate R_C that congestion control allows the flow's queue pair: mean of the samples in \
                           each time interval, in the first repetition of both runs."
                .to_owned();
        if left_out > 0 {
            let left_out = text::count(left_out, "flow");
            caption +=
                &format!(" Left out: {left_out} of later policies or with higher flow numbers.");
        }
        self.captioned(&figure, "Rates over time", caption)
    }

    fn strips(
        &self,
        of: &'static str,
        series: impl Iterator<Item = Series>,
        merged: (&TimeGrid, fn(&[f64]) -> f64),
    ) -> Strips {
        let runs = self.names.map(str::to_owned);
        let styles = policy_styles(&runs);
        Strips::new(
            [of, "run"],
            runs.into_iter().zip(styles).collect(),
            series,
            merged,
        )
    }
}

/// Returns a series with one line per run, made by `line`; the line of a run that is `None` is empty.
fn series<T>(label: String, runs: [Option<&T>; 2], line: impl Fn(&T) -> &Line) -> Series {
    let lines = runs.map(|run| run.map_or_else(Vec::new, |run| line(run).clone()));
    Series::new(label, "", lines.into())
}
