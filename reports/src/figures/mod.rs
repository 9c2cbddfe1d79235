//! Figures of a run, made from its records.

mod over_time;
mod routes;

use std::{collections::BTreeSet, path::Path};

use lab_records::LinkInfo;
use plotters::style::RGBColor;

pub use self::routes::Groups;
use crate::{
    departures,
    error::ReportError,
    figure::{
        Cdf, Curve, DcPairs, Figure, Image, LinkBars, PairCell, PairDots, PairPanel, PairValue,
        Panel, PathMap, SizeBin, SizePanel, SizePanels, Utilisation, render,
        theme::{Style, policy_styles},
    },
    parallel,
    population::Population,
    route::UndirectedRoute,
    run::Run,
    size_bins::{PERCENTS, SizeBins},
    stats::{Intervals, Statistic},
    text,
};

/// Drawn figure with its title and caption.
pub struct Captioned {
    pub title: String,
    /// Caption; `None` if the figure has no data to explain.
    pub caption: Option<String>,
    pub image: Image,
}

/// Function that plots a figure of a run.
pub type Plotter = fn(&Draw<'_>) -> Plotted;

/// Result of plotting a figure; `None` if the figure would have nothing to compare.
pub type Plotted = Result<Option<Captioned>, ReportError>;

/// Run whose figures are drawn, and where their files are written.
pub struct Draw<'a> {
    run: &'a Run,
    policies: Vec<(String, Style)>,
    /// Number of flows in first repetitions that ended after the last narrow interval of the time grid, where the time
    /// axis ends.
    ended_later: usize,
    figures_dir: &'a Path,
}

impl<'a> Draw<'a> {
    /// Prepares to draw the figures of `run` into `figures_dir`.
    pub fn new(run: &'a Run, figures_dir: &'a Path) -> Self {
        let policies = &run.flows.policies;
        let end = run.grid.edge(run.grid.narrow_len());
        Self {
            run,
            policies: policies
                .iter()
                .cloned()
                .zip(policy_styles(policies))
                .collect(),
            ended_later: run.flows.ends().filter(|&time| time > end).count(),
            figures_dir,
        }
    }
}

impl Draw<'_> {
    fn captioned<F: Figure>(&self, figure: &F, title: &str, caption: String) -> Plotted {
        let drawn = figure.missing().is_none();
        Ok(Some(Captioned {
            title: title.into(),
            caption: drawn.then_some(caption),
            image: render(figure, self.figures_dir)?,
        }))
    }

    pub fn cdf(&self) -> Plotted {
        let flows = &self.run.flows;
        let curve = |(index, (policy, style)): (usize, &(String, Style))| Curve {
            policy: policy.clone(),
            parameters: departures::legend(&self.run.info, policy),
            style: *style,
            flows: flows.of_policy(index, self.run.info.measured_flows()),
            // If any flow did not finish, there are no intervals.
            repetitions: match flows.unfinished(index) {
                [] => flows.slowdowns_by_repetition(index),
                _ => Vec::new(),
            },
        };
        let figure = Cdf {
            curves: self.policies.iter().enumerate().map(curve).collect(),
        };
        let band = match Intervals::of(self.run.info.repetitions) {
            Intervals::OneDraw => "",
            _ => " Bands are 95 % intervals, Student's t over the repetitions.",
        };
        let mut caption = format!(
            "Share of each policy's scheduled flows whose FCT slowdown is at most the value on the x axis. \
             Further left is better; 1 is a flow alone on the fastest path in the routing tables.{band}"
        );
        if figure.curves.iter().any(|curve| !curve.flows.is_finished()) {
            caption += " A curve ends at the share of the flows that finished: the slowdowns of \
                        unfinished flows are unknown.";
        }
        self.captioned(&figure, "FCT slowdown", caption)
    }

    pub fn by_size(&self) -> Plotted {
        let panels = self
            .run
            .flows
            .bins
            .iter()
            .zip(PERCENTS)
            .map(|(bins, percent)| {
                let slowdowns = self.slowdowns_by_size(bins);
                size_panel(&slowdowns, bins, percent)
            });
        let figure = SizePanels {
            name: "fct-slowdown-by-size",
            policies: self.policies.clone(),
            parameters: self.parameters(),
            panels: panels.collect(),
        };
        let [p50, p99] = &self.run.flows.bins;
        let mut caption = format!(
            "Nearest-rank percentiles in bins of flow sizes with about equal numbers of flows: p50 in \
             {}, p99 in {}, so that each bin has enough flows for its percentile. The smallest \
             flow has {}. Markers of the same bin are side by side. {}",
            text::count(p50.upper().len(), "bin"),
            text::count(p99.upper().len(), "bin"),
            text::size(p50.min()),
            least_flows(),
        );
        caption += about_unfinished(&figure);
        let title = "FCT slowdown by flow size, bins of equal count";
        self.captioned(&figure, title, caption)
    }

    pub fn by_log_size(&self) -> Plotted {
        let bins = &self.run.flows.log_bins;
        let slowdowns = self.slowdowns_by_size(bins);
        let panels = PERCENTS.map(|percent| size_panel(&slowdowns, bins, percent));
        let figure = SizePanels {
            name: "fct-slowdown-by-size-log",
            policies: self.policies.clone(),
            parameters: self.parameters(),
            panels: panels.into(),
        };
        let mut caption = format!(
            "Nearest-rank p50 and p99 in bins of flow sizes with edges at 1, 2 and 5 times powers of ten, so that small \
             and large flows are shown whatever their number. {}",
            least_flows()
        );
        caption += about_unfinished(&figure);
        let title = "FCT slowdown by flow size, logarithmic bins";
        self.captioned(&figure, title, caption)
    }

    /// Returns the legend text with each policy's parameters.
    fn parameters(&self) -> Vec<String> {
        self.policies
            .iter()
            .map(|(policy, _)| departures::legend(&self.run.info, policy))
            .collect()
    }

    /// Returns the slowdowns of each policy's flows in each of `bins`.
    fn slowdowns_by_size(&self, bins: &SizeBins) -> Vec<Vec<Population<'_>>> {
        let flows = &self.run.flows;
        let policies = 0..flows.policies.len();
        parallel::map(policies, |policy| flows.by_size(policy, bins))
    }

    /// Plots slowdowns between datacenters; `None` if at most [`FEW_PAIRS`] pairs have flows.
    pub fn dc_pairs(&self) -> Plotted {
        // Grouping millions of flows takes time, so it is not done for a matrix that would compare nothing.
        if self.run.flows.pair_count() <= FEW_PAIRS {
            return Ok(None);
        }
        let panel = |(index, (policy, style)): (usize, &(String, Style))| {
            let pairs = self.run.flows.by_pair(index);
            let cell = |((source, sink), flows): ((&str, &str), Population<'_>)| {
                ((source.to_owned(), sink.to_owned()), PairCell::of(&flows))
            };
            PairPanel {
                policy: policy.clone(),
                style: *style,
                cells: pairs.into_iter().map(cell).collect(),
            }
        };
        let panels = parallel::map(self.policies.iter().enumerate(), panel);
        let cells = || panels.iter().flat_map(|panel| &panel.cells);
        let pairs: BTreeSet<&(String, String)> = cells().map(|(pair, _)| pair).collect();
        if pairs.len() <= FEW_PAIRS {
            return Ok(None);
        }
        let dcs = || self.run.info.dcs.iter().map(|dc| &dc.name);
        let own_sources: BTreeSet<&String> = pairs.iter().map(|pair| &pair.0).collect();
        let own_sinks: BTreeSet<&String> = pairs.iter().map(|pair| &pair.1).collect();
        if own_sources.len().max(own_sinks.len()) > MAX_MATRIX {
            return self.pair_dots(panels);
        }
        let figure = DcPairs {
            sources: dcs()
                .filter(|dc| own_sources.contains(dc))
                .cloned()
                .collect(),
            sinks: dcs().filter(|dc| own_sinks.contains(dc)).cloned().collect(),
            max: cells().filter_map(|(_, cell)| cell.p50).fold(1.0, f64::max),
            panels,
        };
        let mut caption = format!(
            "From the row's datacenter to the column's datacenter: p50, p99 and number of flows. The \
             larger the p50, the stronger the colour. For fewer than {} flows, the largest slowdown, \
             max, replaces the p99.",
            text::number(Statistic::P99.min_values() as u64)
        );
        if self.run.flows.total().unfinished > 0 {
            caption += " Where some flows did not finish, the last line has the number of finished \
                        flows, and a percentile beyond these flows is unknown (–).";
        }
        let title = "FCT slowdown between datacenters";
        self.captioned(&figure, title, caption)
    }

    /// Plots the pairs of datacenters between which policies differ most, instead of a matrix that would not fit on a
    /// page.
    fn pair_dots(&self, panels: Vec<PairPanel>) -> Plotted {
        let figure = PairDots::new(panels);
        let shown = text::number(figure.shown.len() as u64);
        let mut caption = format!(
            "{shown} of {}, those whose {} differs most between policies, by its largest value ÷ its smallest. The \
             number of flows is in brackets; markers of a pair are below each other in the order of the policies.",
            text::count(figure.pairs, "pair"),
            figure.value.title(),
        );
        if figure.value == PairValue::Max {
            caption += &format!(
                " The largest slowdown of a pair is compared, because too few pairs have the {} flows that a p50 needs.",
                text::number(Statistic::P50.min_values() as u64)
            );
        }
        if figure.has_gaps() {
            caption += " A pair has no marker for a policy under which some of its flows did not finish, or are too few.";
        }
        self.captioned(&figure, "FCT slowdown between datacenters", caption)
    }

    pub fn map(&self) -> Plotted {
        let mut panels = Vec::new();
        for (index, (policy, style)) in self.policies.iter().enumerate() {
            let known = self.run.flows.with_route(index);
            panels.push(Panel {
                policy: policy.clone(),
                color: style.color,
                known,
                unknown: self.run.flows.started_under(index).saturating_sub(known),
                uses: self.uses_of_links(index),
            });
        }
        let figure = PathMap {
            dcs: self.run.info.dcs.clone(),
            links: self.run.info.links.clone(),
            panels,
        };
        let mut caption = "Share of all data bytes on routes over each link, in either direction, \
                           and, where there is room, the number of flows; the more bytes, the wider \
                           the line. Rates and one-way delays are the scenario's."
            .to_owned();
        if figure.is_dense() {
            caption = format!(
                "{}, each a dot: share of all data bytes on routes over each link, in either direction; the more bytes, \
                 the wider the line. Names and shares stand where they fit, those with the most bytes first; the \
                 figure's CSV has all.",
                text::count(figure.dcs.len(), "datacenter")
            );
        }
        caption += self.run.about_routes();
        self.captioned(&figure, "Paths taken", caption)
    }

    /// Returns the number of flows that crossed each link under a policy, and the share of all bytes that crossed the
    /// link.
    fn uses_of_links(&self, policy: usize) -> Vec<(u64, f64)> {
        let flows = &self.run.flows;
        let shares = flows.routes(policy);
        let all: u64 = shares.iter().map(|share| share.bytes).sum();
        let routes: Vec<UndirectedRoute> = shares
            .iter()
            .map(|share| self.run.routes.named(&share.route))
            .collect();
        let numbered: Vec<UndirectedRoute> = flows
            .route_names
            .iter()
            .map(|name| self.run.routes.named(name))
            .collect();
        let of = |link: &LinkInfo| {
            let over = shares
                .iter()
                .zip(&routes)
                .filter(|(_, route)| route.crosses(link));
            let (counted, bytes) = over.fold((0, 0), |(flows, bytes), (share, _)| {
                (flows + share.flows, bytes + share.bytes)
            });
            // A re-routed flow may have several routes over the same link; there it is counted once.
            let again = flows.rerouted(policy).map(|own| {
                let crossing = own.iter().filter(|(route, _)| {
                    let route = usize::try_from(*route)
                        .ok()
                        .and_then(|route| numbered.get(route));
                    route.is_some_and(|route| route.crosses(link))
                });
                (crossing.count() as u64).saturating_sub(1)
            });
            let once = counted.saturating_sub(again.sum());
            (once, text::to_float(bytes) / text::to_float(all.max(1)))
        };
        self.run.info.links.iter().map(of).collect()
    }

    pub fn utilisation(&self) -> Plotted {
        let uses = &self.run.arrival_uses;
        let share = |link: &LinkInfo, policy: &str| {
            let of = uses
                .iter()
                .filter(|(label, _)| label == policy)
                .filter(|(_, one)| one.link == link.name);
            of.map(|(_, one)| one.utilisation).reduce(f64::max)
        };
        let is_measured = |policy: &String| uses.iter().any(|(label, _)| label == policy);
        let policies: Vec<(String, RGBColor)> = self
            .policies
            .iter()
            .filter(|(policy, _)| is_measured(policy))
            .map(|(policy, style)| (policy.clone(), style.color))
            .collect();
        let bars = |link: &LinkInfo| LinkBars {
            link: link.clone(),
            shares: (policies.iter().map(|(policy, _)| share(link, policy))).collect(),
        };
        let bars = self.run.info.links.iter().map(bars).collect();
        let figure = Utilisation::new(policies.clone(), bars);
        let mut caption = format!(
            "Bytes carried ÷ bytes that the link could carry, in the busier direction of each link \
             while flows arrived: until the first sample of the counters after the last flow's start \
             at {}; headers and acknowledgements are included.",
            text::time(self.run.last_start)
        );
        if self.run.info.repetitions > 1 {
            caption += " The utilisation of a link direction is the mean over the repetitions.";
        }
        if figure.is_overfull() {
            caption += " More than 100 % is impossible: a counter, a capacity or a time is wrong.";
        }
        if figure.left_out > 0 {
            caption += &format!(
                " The {} with the lowest utilisation are omitted.",
                text::count(figure.left_out, "link")
            );
        }
        let title = "Link utilisation while flows arrived";
        self.captioned(&figure, title, caption)
    }
}

/// Returns a sentence for captions if flows did not finish in some bin, else an empty text.
fn about_unfinished(figure: &SizePanels) -> &'static str {
    if figure.has_unfinished() {
        " Percentiles include all scheduled flows of a bin; a percentile beyond the flows that \
             finished has no marker."
    } else {
        ""
    }
}

/// Maximum number of sending or receiving datacenters for which pairs are a matrix.
const MAX_MATRIX: usize = 20;

/// Maximum number of datacenter pairs for which the matrix is omitted, because it would compare little.
const FEW_PAIRS: usize = 2;

/// Maximum number of flows per policy for which the timeline is drawn, because each flow has a bar of its own.
const MAX_BARS: usize = 100;

/// Returns the panel of the figure for one percentile of slowdowns, by policy and size bin.
fn size_panel(slowdowns: &[Vec<Population<'_>>], bins: &SizeBins, percent: u32) -> SizePanel {
    let of_policy = |policy: &Vec<Population<'_>>| {
        policy
            .iter()
            .map(|flows| SizeBin::of(flows, percent))
            .collect()
    };
    SizePanel {
        percent,
        upper: bins.upper().to_vec(),
        bins: slowdowns.iter().map(of_policy).collect(),
    }
}

/// Returns the caption's sentence on how many flows a marker needs.
fn least_flows() -> String {
    let [p50, p99] = PERCENTS.map(|it| Statistic::Percentile(it).min_values() as u64);
    format!(
        "A p50 needs {} flows, a p99 {}, so that ten flows are beyond it.",
        text::number(p50),
        text::number(p99)
    )
}
