//! Figures of a run with values over time.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
};

use lab_records::LinkChange;
use lab_units::{FlowId, Nanos};
use plotters::style::RGBColor;

use super::{Draw, Plotted, Section};
use crate::{
    figure::{
        AroundFaults, Bar, FaultMark, Lane, MAX_STRIPS, Sent, StackPanel, Stacks, Strip, Strips,
        Timeline, attributes,
        theme::{ROUTES, UNUSED},
    },
    frames::{
        DirectionSeries, FlowsOverTime, LinkSeries, Span, jains_index, largest, mean, merged,
        time_around,
    },
    run::Run,
    text,
};

impl Draw<'_> {
    pub fn timeline(&self) -> Plotted {
        let flows = &self.run.flows;
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
            routes: self.route_labels(),
            panels: lanes,
            faults: self.faults(),
            end: None,
            has_legend: true,
        };
        let mut caption = "Each flow from its start to the sender's completion, coloured by the \
                           route of its data, either direction; its acknowledgements may come back \
                           over another."
            .to_owned();
        caption += self.about_routes();
        caption += self.run.about_rerouted();
        self.captioned(&figure, (Section::Flows, "Flows over time"), caption)
    }

    /// Plots the mean number of flows in flight over time, by route.
    pub fn flows_in_flight(&self) -> Plotted {
        let mut figure = self.stacks(
            "flows-in-flight",
            "flows under way",
            IN_FLIGHT_MERGED,
            |flows, edges| {
                let mean = |layer: &Vec<f64>| {
                    edges
                        .windows(2)
                        .map(|edge| {
                            let (sum, time) =
                                (edge[0]..edge[1]).fold((0.0, 0.0), |(sum, time), index| {
                                    let width = self.width(index);
                                    (sum + layer[index] * width, time + width)
                                });
                            sum / time
                        })
                        .collect()
                };
                flows.under_way.iter().map(mean).collect()
            },
        );
        let highest = |panel: &StackPanel| {
            let at = |index| panel.layers.iter().map(|layer| layer[index]).sum::<f64>();
            (0..panel.layers[0].len()).map(at).fold(0.0, f64::max)
        };
        figure.max = figure.panels.iter().map(highest).fold(1.0, f64::max);
        let mut caption =
            "Flows between start and the sender's completion, coloured by the route of \
                           their data, either direction."
                .to_owned();
        caption += self.about_routes();
        caption += self.run.about_rerouted();
        if self.run.flows.total().unfinished > 0 {
            caption += " A flow that did not finish is under way until the run's end.";
        }
        caption += &self.beyond();
        self.captioned(&figure, (Section::Flows, "Flows in flight"), caption)
    }

    /// Plots the share of starting flows that each route gets over time.
    pub fn paths_over_time(&self) -> Plotted {
        let mut figure = self.stacks(
            "paths-over-time",
            "flows that start (%)",
            SHARES_MERGED,
            |flows, edges| {
                let count = |layer: &Vec<u32>, edge: &[usize]| {
                    layer[edge[0]..edge[1]]
                        .iter()
                        .copied()
                        .map(f64::from)
                        .sum::<f64>()
                };
                let all = |edge: &[usize]| {
                    flows
                        .started
                        .iter()
                        .map(|layer| count(layer, edge))
                        .sum::<f64>()
                };
                let share = |layer: &Vec<u32>| {
                    edges
                        .windows(2)
                        .map(|edge| 100.0 * count(layer, edge) / all(edge).max(1.0))
                        .collect()
                };
                flows.started.iter().map(share).collect()
            },
        );
        figure.max = 100.0;
        let last = figure
            .edges
            .partition_point(|&edge| edge <= text::seconds(self.run.last_start));
        figure.edges.truncate((last + 1).max(2));
        let intervals = figure.edges.len() - 1;
        for layer in figure.panels.iter_mut().flat_map(|panel| &mut panel.layers) {
            layer.truncate(intervals);
        }
        let mut caption =
            "Share of the flows starting in each interval whose data took each route, \
                           in either direction. An interval in which no flow starts is empty."
                .to_owned();
        caption += self.about_routes();
        caption += self.run.about_rerouted();
        self.captioned(&figure, (Section::Paths, "Paths over time"), caption)
    }

    /// Returns the panels of flows by route. Every `merged` intervals of the grid become one; `layers` returns the
    /// layers of a policy between the edges of these intervals.
    fn stacks(
        &self,
        name: &'static str,
        y_title: &'static str,
        merged: usize,
        layers: impl Fn(&FlowsOverTime, &[usize]) -> Vec<Vec<f64>>,
    ) -> Stacks {
        let edges = self.run.grid.narrow_edges(merged);
        let mut panels = Vec::new();
        for ((policy, _), flows) in self.policies.iter().zip(&self.run.by_group) {
            panels.push(StackPanel {
                policy: policy.clone(),
                layers: layers(flows, &edges),
            });
        }
        let seconds = |&edge: &usize| text::seconds(Nanos::new(self.run.grid.edge(edge)));
        Stacks {
            name,
            routes: self.route_labels(),
            panels,
            edges: edges.iter().map(seconds).collect(),
            faults: self.faults(),
            y_title,
            max: 1.0,
            has_legend: true,
        }
    }

    /// Plots the utilisation of the busiest link directions over time.
    pub fn links_over_time(&self) -> Plotted {
        let busiest = |one: &DirectionSeries| self.run.used_while_arriving(one);
        let value =
            |one: &DirectionSeries, index: usize| one.utilisation[index].map(|it| it * 100.0);
        let (strips, left_out) = self.strips((busiest, true), value, mean);
        let figure = Strips {
            name: "links-over-time",
            title: "utilisation (% of capacity)",
            missing: "no link was measured",
            ..strips
        };
        let mut caption = "Bytes carried ÷ bytes that fit, in each direction of a link, between \
                           samples; one scale for each strip."
            .to_owned();
        caption += &left_out;
        caption += &self.beyond();
        self.captioned(&figure, (Section::Links, "Links over time"), caption)
    }

    /// Plots the queues of the link directions with the longest queues over time.
    pub fn queues_over_time(&self) -> Plotted {
        let longest = |one: &DirectionSeries| {
            text::to_float(one.queue.iter().flatten().copied().max().unwrap_or(0))
        };
        let value = |one: &DirectionSeries, index: usize| {
            one.queue[index].map(|bytes| text::to_float(bytes) / 1e6)
        };
        let (strips, left_out) = self.strips((longest, false), value, largest);
        let figure = Strips {
            name: "queues-over-time",
            title: "longest queue sampled (MB)",
            missing: "no queue was sampled, or every sampled queue was empty",
            ..strips
        };
        let mut caption =
            "Longest sample of each egress queue in each interval; one scale for each \
                           strip. Between samples a queue may have been longer: the table has the \
                           maxima that ports counted, where the engine counts them."
                .to_owned();
        caption += &left_out;
        caption += &self.beyond();
        self.captioned(&figure, (Section::Links, "Queues over time"), caption)
    }

    /// Returns the strips of the at most [`MAX_STRIPS`] directions with the largest `weight`, and a sentence on those
    /// omitted. `merge` computes the value of several intervals that become one.
    fn strips(
        &self,
        (weight, is_share): (impl Fn(&DirectionSeries) -> f64, bool),
        value: impl Fn(&DirectionSeries, usize) -> Option<f64>,
        merge: impl Fn(&[f64]) -> f64,
    ) -> (Strips, String) {
        let series = &self.run.over_time;
        let of_direction = series
            .chunk_by(|a, b| (&a.link, &a.from_dc, &a.to_dc) == (&b.link, &b.from_dc, &b.to_dc));
        let mut directions: Vec<(f64, usize, &[DirectionSeries])> = of_direction
            .enumerate()
            .map(|(index, of)| (of.iter().map(&weight).fold(0.0, f64::max), index, of))
            .collect();
        directions.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let max = directions.first().map_or(0.0, |first| first.0);
        let used = directions.iter().take_while(|one| one.0 > max * NEGLIGIBLE);
        let shown = used.clone().count().min(MAX_STRIPS);
        let others = directions.len() - shown;
        let edges = self.run.grid.narrow_edges(STRIP_MERGED);
        let merged = |one: &DirectionSeries| merged(&edges, |index| value(one, index), &merge);
        let strip = |of: &[DirectionSeries]| {
            let line = |(policy, _): &(String, _)| {
                let found = of.iter().find(|one| one.policy == *policy);
                found.map_or_else(|| vec![None; edges.len() - 1], merged)
            };
            let link = self
                .run
                .info
                .links
                .iter()
                .find(|link| link.name == of[0].link);
            Strip {
                label: format!("{} → {}", of[0].from_dc, of[0].to_dc),
                attributes: link.map_or_else(String::new, attributes),
                is_share,
                lines: self.policies.iter().map(line).collect(),
            }
        };
        let left_out = match others {
            0 => String::new(),
            others => format!(
                " {} with smaller values are omitted.",
                text::count(others, "direction")
            ),
        };
        let strips = Strips {
            name: "",
            of: "direction",
            each: "policy",
            lines: self.policies.clone(),
            parameters: self.parameters(),
            strips: directions[..shown]
                .iter()
                .map(|(.., of)| strip(of))
                .collect(),
            times: self.run.grid.middles(&edges),
            faults: self.faults(),
            title: "",
            missing: "",
            has_legend: true,
        };
        (strips, left_out)
    }

    /// Plots the rates of QPs under congestion control over time, and their fairness.
    pub fn rates_over_time(&self) -> Plotted {
        let rates = &self.run.rates;
        let edges = self.run.grid.narrow_edges(STRIP_MERGED);
        let means = |values: &[Option<f64>]| {
            let value = |index: usize| values.get(index).copied().flatten();
            merged(&edges, value, mean)
        };
        let flows: BTreeSet<FlowId> = rates.values().flatten().map(|(flow, _)| *flow).collect();
        let left_out = flows.len().saturating_sub(MAX_STRIPS);
        let strip = |&flow: &FlowId| {
            let line = |(policy, _): &(String, _)| {
                let series = rates.get(policy).and_then(|flows| flows.get(&flow));
                let gigabits = |rate: Option<f64>| rate.map(|rate| rate / 1e9);
                series.map_or_else(Vec::new, |series| {
                    means(&series.means).into_iter().map(gigabits).collect()
                })
            };
            Strip {
                label: self.run.flows.hosts(flow).unwrap_or_default(),
                attributes: format!("flow {flow}"),
                is_share: false,
                lines: self.policies.iter().map(line).collect(),
            }
        };
        let mut strips: Vec<Strip> = flows.iter().take(MAX_STRIPS).map(strip).collect();
        let fairness = |(policy, _): &(String, _)| {
            let index = rates.get(policy).map(jains_index).unwrap_or_default();
            means(&index)
        };
        strips.push(Strip {
            label: "Jain's index".to_owned(),
            attributes: "of all sampled flows".to_owned(),
            is_share: false,
            lines: self.policies.iter().map(fairness).collect(),
        });
        let figure = Strips {
            name: "rates-over-time",
            of: "flow",
            each: "policy",
            lines: self.policies.clone(),
            parameters: self.parameters(),
            strips,
            times: self.run.grid.middles(&edges),
            faults: self.faults(),
            title: "rate of the sending QP (Gbit/s), and fairness of these rates",
            missing: "no rate was sampled",
            has_legend: true,
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
        self.captioned(&figure, (Section::Flows, "Rates over time"), caption)
    }

    pub fn around_faults(&self) -> Plotted {
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
        let switches: BTreeSet<&String> = series.iter().map(|one| &one.from_dc).collect();
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
            faults: self.faults(),
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
        if self.run.info.repetitions > 1 {
            caption += " Only the first repetition is shown.";
        }
        self.captioned(&figure, (Section::Links, "Around the faults"), caption)
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

    fn route_labels(&self) -> Vec<(String, RGBColor)> {
        let routes = &self.run.routes;
        self.run
            .groups
            .labels(|route| routes.delay(&routes.named(route)))
    }

    fn width(&self, index: usize) -> f64 {
        let grid = &self.run.grid;
        text::to_float(grid.edge(index + 1) - grid.edge(index))
    }

    fn faults(&self) -> Vec<FaultMark> {
        fault_marks(self.run)
    }
}

/// Returns the marks of faults that occurred before the end of `run`; faults at the same time share one.
pub fn fault_marks(run: &Run) -> Vec<FaultMark> {
    let mut changes: BTreeMap<Nanos, Vec<String>> = BTreeMap::new();
    for fault in run.faults() {
        let change = match fault.change {
            LinkChange::Down => "cut",
            LinkChange::Up => "back",
            LinkChange::Changed => "changed",
        };
        let change = format!("{} {change}", fault.link);
        changes.entry(fault.time_ns).or_default().push(change);
    }
    let mark = |(time, changes): (Nanos, Vec<String>)| FaultMark {
        at: text::seconds(time),
        label: format!("{} at {}", changes.join(", "), text::time(time)),
    };
    changes.into_iter().map(mark).collect()
}

/// Number of grid intervals that are merged into one in the figure of flows in flight.
const IN_FLIGHT_MERGED: usize = 2;

/// Number of grid intervals that are merged into one in the figure of paths.
const SHARES_MERGED: usize = 4;

/// Number of grid intervals that are merged into one in the figures of links.
pub const STRIP_MERGED: usize = 2;

/// Share of the largest weight below which a direction is omitted.
const NEGLIGIBLE: f64 = 0.02;
