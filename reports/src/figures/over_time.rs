//! Figures of a run with values over time.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
};

use lab_units::{FlowId, Nanos};
use plotters::style::RGBColor;

use super::{Draw, MAX_BARS, Plotted};
use crate::{
    figure::{
        AroundFaults, Bar, Lane, MAX_STRIPS, Sent, Stacks, Strips, Timeline,
        theme::{ROUTES, UNUSED},
    },
    frames::{FlowRates, LinkSeries, Span, jains_index, time_around},
    run::Run,
    series::{self, Line, Series, fault_marks, largest, mean, sum, total},
    text,
};

impl Draw<'_> {
    /// Plots each flow as a bar over time; `None` if there are more than [`MAX_BARS`] flows per policy.
    pub fn timeline(&self) -> Plotted {
        let flows = &self.run.flows;
        if flows.max_flows() > MAX_BARS {
            return Ok(None);
        }
        let positions = self.run.groups.positions(flows, &self.run.routes);
        let bar = |span: Span| Bar {
            start: text::seconds(span.start),
            end: text::seconds(span.end),
            is_finished: span.is_finished,
            route: positions.of(&span),
        };
        let mut lanes = Vec::new();
        for (index, (policy, _)) in self.policies.iter().enumerate() {
            lanes.push(Lane {
                policy: policy.clone(),
                flows: flows.spans(index).into_iter().map(bar).collect(),
                never_started: flows.never_started(index),
            });
        }
        let figure = Timeline {
            routes: self.routes(),
            panels: lanes,
            faults: fault_marks(self.run),
            end: None,
            has_legend: true,
        };
        let mut caption = "Each flow from its start to the sender's completion, coloured by the \
                           route of its data, in either direction; its acknowledgements may come back \
                           over another route."
            .to_owned();
        caption += self.about_routes();
        caption += self.run.about_rerouted();
        self.captioned(&figure, "Flows over time", caption)
    }

    /// Plots the mean number of flows in flight over time, by route; `None` if [`Self::timeline`] shows each flow.
    pub fn flows_in_flight(&self) -> Plotted {
        if self.run.flows.max_flows() <= MAX_BARS {
            return Ok(None);
        }
        let flows = series::under_way(self.run);
        let mut figure = Stacks {
            name: "flows-in-flight",
            y_title: flows.title,
            ..self.stacks(flows.series, IN_FLIGHT_MERGED, mean)
        };
        let sums = Series::new("", "", total(&figure.layers));
        figure.max = sums.max().max(1.0);
        let mut caption =
            "Flows between start and the sender's completion, coloured by the route of \
                           their data, in either direction."
                .to_owned();
        caption += self.about_routes();
        caption += self.run.about_rerouted();
        if self.run.flows.total().unfinished > 0 {
            caption += " A flow that did not finish is under way until the run's end.";
        }
        caption += &self.beyond();
        self.captioned(&figure, "Flows in flight", caption)
    }

    /// Plots the share of starting flows that each route gets over time.
    pub fn paths_over_time(&self) -> Plotted {
        let flows = series::started(self.run);
        let mut figure = Stacks {
            name: "paths-over-time",
            y_title: flows.title,
            max: 100.0,
            ..self.stacks(flows.series, SHARES_MERGED, sum)
        };
        let all = total(&figure.layers);
        let last = text::seconds(self.run.last_start);
        let last = figure.edges.partition_point(|&edge| edge <= last);
        figure.edges.truncate((last + 1).max(2));
        for layer in &mut figure.layers {
            for (line, all) in layer.lines.iter_mut().zip(&all) {
                line.truncate(figure.edges.len() - 1);
                for (count, all) in line.iter_mut().zip(all) {
                    *count = count
                        .zip(*all)
                        .map(|(count, all)| 100.0 * count / all.max(1.0));
                }
            }
        }
        let mut caption =
            "Share of the flows starting in each interval whose data took each route, \
                           in either direction. An interval in which no flow starts is empty."
                .to_owned();
        caption += self.about_routes();
        caption += self.run.about_rerouted();
        self.captioned(&figure, "Paths over time", caption)
    }

    /// Returns the panels of flows by route, in which every `count` intervals of the time grid are merged into one.
    fn stacks(&self, layers: Vec<Series>, count: usize, merge: fn(&[f64]) -> f64) -> Stacks {
        let Run { grid, flows, .. } = self.run;
        let merged = |layer: Series| layer.merged(grid, count, merge);
        Stacks {
            name: "",
            routes: self.routes(),
            panels: flows.policies.iter().cloned().enumerate().collect(),
            layers: layers.into_iter().map(merged).collect(),
            edges: grid.merged_edges(count).map(text::seconds).collect(),
            faults: fault_marks(self.run),
            y_title: "",
            max: 1.0,
            has_legend: true,
        }
    }

    /// Plots the utilisation of the busiest link directions over time.
    pub fn links_over_time(&self) -> Plotted {
        if self.run.info.has_only_totals() {
            return Ok(None);
        }
        let utilisation = series::utilisation(self.run);
        let (shown, left_out) = largest_of(utilisation.series, |one| one.busy);
        let figure = Strips {
            name: "links-over-time",
            title: utilisation.title.into(),
            missing: "no link was measured",
            is_share: true,
            ..self.strips("direction", shown, mean)
        };
        let mut caption =
            "Bytes carried ÷ bytes that the link could carry, in each direction of a \
                           link, between samples; each strip has its own scale."
                .to_owned();
        caption += &left_out;
        caption += &self.beyond();
        self.captioned(&figure, "Links over time", caption)
    }

    /// Plots the egress queues over time, for the link directions with the longest queues.
    pub fn queues_over_time(&self) -> Plotted {
        if self.run.info.has_only_totals() {
            return Ok(None);
        }
        let queues = series::queues(self.run);
        let megabytes = queues.series.into_iter().map(|one| one.per(1e6));
        let (shown, left_out) = largest_of(megabytes.collect(), Series::max);
        let figure = Strips {
            name: "queues-over-time",
            title: format!("{} (MB)", queues.title),
            missing: "no queue was sampled, or every sampled queue was empty",
            ..self.strips("direction", shown, largest)
        };
        let mut caption =
            "Longest sample of each egress queue in each interval; each strip has \
                           its own scale. Between samples a queue may have been longer: the table has the \
                           maxima that ports counted, where the engine counts them."
                .to_owned();
        caption += &left_out;
        caption += &self.beyond();
        self.captioned(&figure, "Queues over time", caption)
    }

    fn strips(&self, of: &'static str, series: Vec<Series>, merge: fn(&[f64]) -> f64) -> Strips {
        Strips {
            parameters: self.parameters(),
            faults: fault_marks(self.run),
            ..Strips::new(
                [of, "policy"],
                self.policies.clone(),
                series,
                (&self.run.grid, merge),
            )
        }
    }

    /// Plots the rates of QPs over time, and their fairness (Jain's index); `None` without congestion control.
    pub fn rates_over_time(&self) -> Plotted {
        let rates = &self.run.rates;
        if rates.is_empty() {
            return Ok(None);
        }
        let flows: BTreeSet<FlowId> = rates.values().flatten().map(|(flow, _)| *flow).collect();
        let left_out = flows.len().saturating_sub(MAX_STRIPS);
        let lines = |of: &dyn Fn(&FlowRates) -> Line| {
            let rates = self.policies.iter().map(|(policy, _)| rates.get(policy));
            rates.map(|rates| rates.map_or_else(Vec::new, of)).collect()
        };
        let series = |flow: &FlowId| {
            let means = |flows: &FlowRates| {
                let rate = flows.get(flow);
                rate.map_or_else(Vec::new, |rate| rate.means.clone())
            };
            let hosts = self.run.flows.hosts(*flow).unwrap_or_default();
            Series::new(hosts, format!("flow {flow}"), lines(&means)).per(1e9)
        };
        let mut shown: Vec<Series> = flows.iter().take(MAX_STRIPS).map(series).collect();
        let fairness = lines(&jains_index);
        shown.push(Series::new(
            "Jain's index",
            "of all sampled flows",
            fairness,
        ));
        let figure = Strips {
            name: "rates-over-time",
            title: "rate of the sending QP (Gbit/s), and fairness of these rates".into(),
            missing: "no rate was sampled",
            ..self.strips("flow", shown, mean)
        };
        let mut caption =
            "Rate R_C that congestion control allows each QP of the repetition's largest flows, \
                           mean of the samples in each interval. \
                           Jain's index is 1 if all flows under way have equal rates."
                .to_owned();
        if left_out > 0 {
            caption += &format!(
                " {} with higher flow numbers are omitted here but included in the index.",
                text::count(left_out, "flow")
            );
        }
        caption += &self.beyond();
        self.captioned(&figure, "Rates over time", caption)
    }

    /// Plots the rates at which the switches next to faulty links sent, shortly before and after the faults; `None`
    /// without faults.
    pub fn around_faults(&self) -> Plotted {
        if self.run.faults().next().is_none() || self.run.info.has_only_totals() {
            return Ok(None);
        }
        let series = &self.run.around_faults;
        // Each destination has the same colour at all switches, in order of delay. If routes cross a single datacenter,
        // these are the colours of the figure of flows over time.
        let label = |one: &LinkSeries| format!("to {}", one.to_dc);
        let routes = &self.run.routes;
        let delay = |one: &LinkSeries| {
            routes.delay(&routes.named(&format!("{}-{}", one.from_dc, one.to_dc)))
        };
        let mut labels: BTreeMap<String, Option<Nanos>> = BTreeMap::new();
        for one in series {
            labels.entry(label(one)).or_insert_with(|| delay(one));
        }
        let mut labels: Vec<(String, Option<Nanos>)> = labels.into_iter().collect();
        labels.sort_by_key(|(_, delay)| *delay);
        let colors = ROUTES.into_iter().chain(iter::repeat(UNUSED));
        let links: Vec<(String, RGBColor)> = labels
            .into_iter()
            .map(|(label, _)| label)
            .zip(colors)
            .collect();
        let all: BTreeSet<&String> = series.iter().map(|one| &one.from_dc).collect();
        let room = (MAX_FAULT_PANELS / self.policies.len().max(1)).max(1);
        let switches: BTreeSet<&String> = all.iter().copied().take(room).collect();
        let rates = |one: &LinkSeries| {
            let gigabits = |(start, end, rate)| (start, end, rate * 8.0 / 1e9);
            one.rates().map(gigabits).collect()
        };
        let panel = |policy: &String, switch: &String| {
            let sent: Vec<_> = series
                .iter()
                .filter(|one| one.policy == *policy && one.from_dc == *switch)
                .map(|one| (label(one), rates(one)))
                .collect();
            let of = |(link, _): &(String, RGBColor)| {
                let found = sent.iter().find(|(label, _)| label == link);
                found.map_or_else(Vec::new, |(_, rates): &(_, Vec<_>)| rates.clone())
            };
            Sent {
                title: format!("{policy}: sent by {switch}"),
                rates: links.iter().map(of).collect(),
            }
        };
        let panels = self
            .policies
            .iter()
            .flat_map(|(policy, _)| switches.iter().map(move |switch| (policy, *switch)))
            .map(|(policy, switch)| panel(policy, switch))
            .collect();
        let faults: Vec<_> = self.run.faults().cloned().collect();
        let (start, end) = time_around(&faults);
        let figure = AroundFaults {
            time: (text::seconds(start), text::seconds(end)),
            faults: fault_marks(self.run),
            links,
            panels,
            max: None,
            has_legend: true,
        };
        let mut caption =
            "Rate at which the DCI switch next to a fault sent over each of its links, averaged \
                           between samples; headers and acknowledgements are included. The switch \
                           is at the faulty link's end with more links."
                .to_owned();
        if switches.len() < all.len() {
            caption += &format!(
                " {} of {} switches are shown, the first by name.",
                switches.len(),
                all.len()
            );
        }
        if self.run.info.repetitions > 1 {
            caption += " Only the first repetition is shown.";
        }
        self.captioned(&figure, "Around the faults", caption)
    }

    /// Returns the caption's sentences on repetitions and times that a figure omits; empty if it omits none.
    fn beyond(&self) -> String {
        let grid = &self.run.grid;
        let mut words = match self.run.info.repetitions {
            0 | 1 => String::new(),
            _ => " Only the first repetition is shown.".to_owned(),
        };
        if self.ended_later > 0 {
            let end = grid.edge(grid.narrow_len());
            words += &format!(
                " The axis ends at {}, where {} had not finished yet; the interactive timeline has \
                 the rest.",
                text::time(Nanos::new(end)),
                text::count(self.ended_later, "flow")
            );
        }
        words
    }

    fn about_routes(&self) -> &'static str {
        if self.run.groups.is_by_length() {
            " There are more routes than colours, so routes with the same number of links share a colour."
        } else {
            ""
        }
    }

    fn routes(&self) -> Vec<(String, RGBColor)> {
        self.run.groups.labels(&self.run.routes)
    }
}

/// Maximum number of panels in the figure of rates around faults, except that each policy has one.
const MAX_FAULT_PANELS: usize = 16;

/// Returns the link directions with the largest `weight`, at most [`MAX_STRIPS`], and a caption sentence about the
/// omitted directions.
fn largest_of(mut series: Vec<Series>, weight: impl Fn(&Series) -> f64) -> (Vec<Series>, String) {
    series.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    let max = series.first().map_or(0.0, &weight);
    let used = series
        .iter()
        .take_while(|one| weight(one) > max * NEGLIGIBLE);
    let shown = used.count().min(MAX_STRIPS);
    let left_out = match series.len() - shown {
        0 => String::new(),
        others => format!(
            " {} with smaller values are omitted.",
            text::count(others, "direction")
        ),
    };
    series.truncate(shown);
    (series, left_out)
}

/// Number of time-grid intervals that are merged into one in the figure of flows in flight.
const IN_FLIGHT_MERGED: usize = 2;

/// Number of time-grid intervals that are merged into one in the figure of paths over time.
const SHARES_MERGED: usize = 4;

/// Share of the largest weight at or below which a link direction is omitted from a figure.
const NEGLIGIBLE: f64 = 0.02;
