//! The figures of a run, from its records.

mod over_time;
mod routes;

use std::{collections::BTreeSet, path::Path};

use lab_records::LinkInfo;
use plotters::style::RGBColor;

pub use self::over_time::{STRIP_MERGED, fault_marks};
pub use self::routes::Groups;
use crate::{
    error::ReportError,
    figure::{
        Cdf, Curve, DcPairs, Figure, Image, LinkBars, PairCell, PairPanel, Panel, PathMap,
        SizePanels, Utilisation, render,
        theme::{Style, policy_styles},
    },
    frames::RouteShare,
    parallel,
    route::Route,
    run::Run,
    size_bins::SizeBins,
    text,
};

/// A figure with its texts.
pub struct Captioned {
    /// Title of the figure.
    pub title: String,
    /// Explanation of the figure; none if it has no data.
    pub caption: Option<String>,
    /// Section of the page that the figure belongs to.
    pub section: Section,
    /// The drawing.
    pub image: Image,
}

/// Section of the page.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Section {
    /// Slowdowns.
    Slowdown,
    /// Paths and decisions.
    Paths,
    /// Links and queues.
    Links,
    /// Flows over time.
    Flows,
}

impl Section {
    /// Returns the section's anchor on the page.
    pub fn id(self) -> &'static str {
        match self {
            Self::Slowdown => "slowdown",
            Self::Paths => "paths",
            Self::Links => "links",
            Self::Flows => "flows",
        }
    }
}

/// Draws all figures of `run`, several at a time.
pub fn draw_figures<'a>(
    run: &'a Run,
    figures_dir: &'a Path,
) -> Result<Vec<Captioned>, ReportError> {
    let policies = &run.flows.policies;
    let styles = policy_styles(policies);
    let end = run.grid.edge(run.grid.narrow_len());
    let draw = Draw {
        run,
        policies: policies.iter().cloned().zip(styles).collect(),
        ended_later: run.flows.ends().filter(|&time| time > end).count(),
        figures_dir,
    };
    let mut figures: Vec<fn(&Draw<'a>) -> Plotted> = vec![Draw::cdf, Draw::by_size];
    figures.push(Draw::by_log_size);
    if run.flows.pair_count() > FEW_PAIRS {
        figures.push(Draw::dc_pairs);
    }
    figures.push(Draw::map);
    figures.push(Draw::paths_over_time);
    figures.push(Draw::utilisation);
    figures.push(Draw::links_over_time);
    figures.push(Draw::queues_over_time);
    if !run.info.faults.is_empty() {
        figures.push(Draw::around_faults);
    }
    figures.push(match run.flows.max_flows() > MAX_BARS {
        true => Draw::flows_in_flight,
        false => Draw::timeline,
    });
    if !run.rates.is_empty() {
        figures.push(Draw::rates_over_time);
    }
    let drawn = parallel::map(figures, |figure| figure(&draw));
    drawn.into_iter().filter_map(Result::transpose).collect()
}

/// A plotted figure; none if it would compare nothing.
type Plotted = Result<Option<Captioned>, ReportError>;

struct Draw<'a> {
    run: &'a Run,
    policies: Vec<(String, Style)>,
    /// Number of flows of first repetitions that ended after the narrow intervals of time.
    ended_later: usize,
    figures_dir: &'a Path,
}

impl Draw<'_> {
    fn captioned<F: Figure>(
        &self,
        figure: &F,
        (section, title): (Section, &str),
        caption: String,
    ) -> Plotted {
        let drawn = figure.missing().is_none();
        Ok(Some(Captioned {
            title: title.into(),
            caption: drawn.then_some(caption),
            section,
            image: render(figure, self.figures_dir)?,
        }))
    }

    fn cdf(&self) -> Plotted {
        let flows = &self.run.flows;
        let curve = |(index, (policy, style)): (usize, &(String, Style))| Curve {
            policy: policy.clone(),
            style: *style,
            sorted: flows.slowdowns(index),
            repetitions: flows.slowdowns_by_repetition(index),
        };
        let figure = Cdf {
            curves: self.policies.iter().enumerate().map(curve).collect(),
        };
        let band = match self.run.info.repetitions {
            0 | 1 => {
                "Bands are 95 % intervals by order statistics of the flows, as if flows were \
                 independent; those of another seed would be wider."
            }
            _ => "Bands are the range of the repetitions' percentiles.",
        };
        let caption = format!(
            "Share of each policy's finished flows whose FCT slowdown is at most the value below. \
             Further left is better; 1 is a flow alone on the path of least delay. {band}"
        );
        self.captioned(&figure, (Section::Slowdown, "FCT slowdown"), caption)
    }

    fn by_size(&self) -> Plotted {
        let bins = &self.run.flows.bins;
        let figure = SizePanels {
            name: "fct-slowdown-by-size",
            policies: self.policies.clone(),
            upper: bins.upper().to_vec(),
            slowdowns: self.slowdowns_by_size(bins),
            min_flows: 1,
        };
        let counts = figure.slowdowns.iter().flatten().map(Vec::len);
        let fewest = counts.filter(|&count| count > 0).min().unwrap_or(0);
        let mut caption = format!(
            "Nearest-rank percentiles in {} of flow sizes with about equally many flows; the \
             smallest flow has {}. Markers of one bin stand side by side.",
            text::count(bins.upper().len(), "bin"),
            text::size(bins.min()),
        );
        if fewest < 100 {
            caption += &format!(
                " A bin holds as few as {} of a policy: under 100 its p99 is its slowest flow.",
                text::count(fewest, "flow")
            );
        }
        let title = "FCT slowdown by flow size, bins of equal count";
        self.captioned(&figure, (Section::Slowdown, title), caption)
    }

    fn by_log_size(&self) -> Plotted {
        let bins = &self.run.flows.log_bins;
        let figure = SizePanels {
            name: "fct-slowdown-by-size-log",
            policies: self.policies.clone(),
            upper: bins.upper().to_vec(),
            slowdowns: self.slowdowns_by_size(bins),
            min_flows: MIN_FLOWS,
        };
        let caption = format!(
            "The same in bins between 1, 2 and 5 times powers of ten: how small and large flows \
             fare, however many there are. Bins of fewer than {MIN_FLOWS} flows of a policy have no \
             marker; a p99 of fewer than 100 is the slowest flow."
        );
        let title = "FCT slowdown by flow size, logarithmic bins";
        self.captioned(&figure, (Section::Slowdown, title), caption)
    }

    /// Returns each policy's slowdowns in each of `bins`.
    fn slowdowns_by_size(&self, bins: &SizeBins) -> Vec<Vec<Vec<f64>>> {
        let flows = &self.run.flows;
        let policies = 0..flows.policies.len();
        parallel::map(policies, |policy| flows.slowdowns_by_size(policy, bins))
    }

    /// Returns the matrix of datacenter pairs; none if flows are between two pairs at most.
    fn dc_pairs(&self) -> Plotted {
        let panel = |(index, (policy, style)): (usize, &(String, Style))| {
            let slowdowns = self.run.flows.slowdowns_by_pair(index);
            let cell = |((source, sink), sorted): ((&str, &str), Vec<f64>)| {
                Some(((source.to_owned(), sink.to_owned()), PairCell::of(&sorted)?))
            };
            PairPanel {
                policy: policy.clone(),
                style: *style,
                cells: slowdowns.into_iter().filter_map(cell).collect(),
            }
        };
        let panels = parallel::map(self.policies.iter().enumerate(), panel);
        let cells = || panels.iter().flat_map(|panel| &panel.cells);
        let pairs: BTreeSet<&(String, String)> = cells().map(|(pair, _)| pair).collect();
        if pairs.len() <= FEW_PAIRS {
            return Ok(None);
        }
        let dcs = || self.run.info.dcs.iter().map(|dc| &dc.name);
        let figure = DcPairs {
            sources: dcs()
                .filter(|dc| pairs.iter().any(|pair| pair.0 == **dc))
                .cloned()
                .collect(),
            sinks: dcs()
                .filter(|dc| pairs.iter().any(|pair| pair.1 == **dc))
                .cloned()
                .collect(),
            max: cells().map(|(_, cell)| cell.p99).fold(1.0, f64::max),
            panels,
        };
        let caption = "From the datacenter of the row to that of the column: p50, p99 and number of \
                       finished flows. The larger the p99, the fuller the colour; a p99 of fewer \
                       than 100 flows is the slowest one.";
        let title = "FCT slowdown between datacenters";
        self.captioned(&figure, (Section::Slowdown, title), caption.into())
    }

    fn map(&self) -> Plotted {
        let mut panels = Vec::new();
        for (index, (policy, style)) in self.policies.iter().enumerate() {
            let shares = self.run.flows.routes(index);
            let known: u64 = shares.iter().map(|share| share.flows).sum();
            panels.push(Panel {
                policy: policy.clone(),
                color: style.color,
                known,
                unknown: self.run.flows.recorded[index].flows - known,
                uses: self.uses_of_links(shares),
            });
        }
        let figure = PathMap {
            dcs: self.run.info.dcs.clone(),
            links: self.run.info.links.clone(),
            panels,
        };
        let mut caption = "Share of all data bytes on routes over each link, in either direction, \
                           and, where there is room, of how many flows; a line is the wider the more \
                           bytes. Rates and one-way delays are the scenario's."
            .to_owned();
        caption += self.run.about_rerouted();
        self.captioned(&figure, (Section::Paths, "Paths taken"), caption)
    }

    /// Returns the number of flows over each link and their share of all bytes.
    fn uses_of_links(&self, shares: &[RouteShare]) -> Vec<(u64, f64)> {
        let all: u64 = shares.iter().map(|share| share.bytes).sum();
        let routes = shares
            .iter()
            .map(|share| self.run.routes.named(&share.route));
        let routes: Vec<Route> = routes.collect();
        let of = |link: &LinkInfo| {
            let over = shares
                .iter()
                .zip(&routes)
                .filter(|(_, route)| route.crosses(link));
            let (flows, bytes) = over.fold((0, 0), |(flows, bytes), (share, _)| {
                (flows + share.flows, bytes + share.bytes)
            });
            (flows, text::to_float(bytes) / text::to_float(all.max(1)))
        };
        self.run.info.links.iter().map(of).collect()
    }

    fn utilisation(&self) -> Plotted {
        let series = &self.run.over_time;
        let share = |link: &LinkInfo, policy: &str| {
            let of = series
                .iter()
                .filter(|one| one.policy == policy && one.link == link.name);
            of.map(|one| one.while_arriving).reduce(f64::max)
        };
        let is_measured = |policy: &String| series.iter().any(|one| one.policy == *policy);
        let policies = self
            .policies
            .iter()
            .filter(|(policy, _)| is_measured(policy));
        let policies = policies.map(|(policy, style)| (policy.clone(), style.color));
        let policies: Vec<(String, RGBColor)> = policies.collect();
        let bars = |link: &LinkInfo| LinkBars {
            link: link.clone(),
            shares: (policies.iter().map(|(policy, _)| share(link, policy))).collect(),
        };
        let bars = self.run.info.links.iter().map(bars).collect();
        let figure = Utilisation::new(policies.clone(), bars);
        let mut caption = format!(
            "Bytes carried ÷ bytes that would have fitted, in the busier direction of each link, \
             while flows arrived: until the last flow's start at {}, interpolated between samples; \
             headers and acknowledgements count.",
            text::time(self.run.last_start)
        );
        if self.run.info.repetitions > 1 {
            caption += " Only the first repetition is shown.";
        }
        if figure.is_overfull() {
            caption += " More than 100 % cannot be: a counter, a capacity or a time is wrong.";
        }
        if figure.left_out > 0 {
            caption += &format!(
                " The {} least used are left out.",
                text::count(figure.left_out, "link")
            );
        }
        let title = "Link utilisation while flows arrived";
        self.captioned(&figure, (Section::Links, title), caption)
    }
}

/// Number of pairs of datacenters up to which there is nothing to compare.
const FEW_PAIRS: usize = 2;

/// Maximum number of a policy's flows that are drawn as bars: each has its row.
const MAX_BARS: usize = 100;

/// Minimum number of flows of a logarithmic bin that has a marker.
const MIN_FLOWS: usize = 10;
