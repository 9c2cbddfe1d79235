//! The figures of a run, from its rows.

use std::{collections::BTreeMap, path::Path};

use lab_records::{FlowRow, LinkInfo};
use lab_units::Nanos;
use plotters::style::RGBColor;

use crate::{
    error::ReportError,
    figure::{
        BySize, Cdf, Figure, Image, Lane, LinkBars, Panel, PathMap, Span, Timeline, Utilisation,
        render,
        theme::{SERIES, policy_colors},
    },
    frames::{FlowFrame, RouteShare},
    route::{Route, Routes},
    run::Run,
    size_bins::SizeBins,
    text,
};

/// A figure with its words.
pub struct Captioned {
    /// What it shows, in a few words.
    pub title: String,
    /// How to read it; nothing if there is nothing to read.
    pub caption: Option<String>,
    /// The figure.
    pub image: Image,
}

/// Draws all figures of `run`.
pub fn draw_figures(
    run: &Run,
    frame: &FlowFrame,
    routes: &Routes,
    bins: &SizeBins,
    figures_dir: &Path,
) -> Result<Vec<Captioned>, ReportError> {
    let colors = policy_colors(&run.policies);
    let policies = run.policies.iter().cloned().zip(colors);
    let policies: Vec<(String, RGBColor)> = policies.collect();
    let draw = Draw {
        run,
        frame,
        routes,
        policies,
        figures_dir,
    };
    Ok(vec![
        draw.cdf()?,
        draw.by_size(bins)?,
        draw.utilisation()?,
        draw.map()?,
        draw.timeline()?,
    ])
}

struct Draw<'a> {
    run: &'a Run,
    frame: &'a FlowFrame,
    routes: &'a Routes,
    policies: Vec<(String, RGBColor)>,
    figures_dir: &'a Path,
}

impl Draw<'_> {
    fn captioned<F: Figure>(
        &self,
        figure: &F,
        title: &str,
        caption: String,
    ) -> Result<Captioned, ReportError> {
        let drawn = figure.missing().is_none();
        Ok(Captioned {
            title: title.into(),
            caption: drawn.then_some(caption),
            image: render(figure, self.figures_dir)?,
        })
    }

    fn cdf(&self) -> Result<Captioned, ReportError> {
        let slowdowns = self.frame.slowdowns()?;
        let of = |(policy, color): &(String, RGBColor)| {
            let sorted = slowdowns.get(policy).cloned().unwrap_or_default();
            (policy.clone(), *color, sorted)
        };
        let figure = Cdf {
            policies: self.policies.iter().map(of).collect(),
        };
        let caption = "Share of each policy's finished flows whose FCT slowdown is at most the \
                       value below. Further left is better; 1 is a flow alone on the path of least \
                       delay.";
        self.captioned(&figure, "FCT slowdown", caption.into())
    }

    fn by_size(&self, bins: &SizeBins) -> Result<Captioned, ReportError> {
        let figure = BySize {
            policies: self.policies.clone(),
            upper: bins.upper().to_vec(),
            slowdowns: self.frame.slowdowns_by_bin()?,
        };
        let least = figure.slowdowns.values().map(Vec::len).min().unwrap_or(0);
        let mut caption = format!(
            "Nearest-rank percentiles in {} of flow sizes with about equally many flows; the \
             smallest flow has {}.",
            text::count(bins.upper().len(), "bin"),
            text::size(bins.least()),
        );
        if least < 100 {
            caption += &format!(
                " A bin holds as few as {} of a policy: under 100 its p99 is its slowest flow.",
                text::count(least, "flow")
            );
        }
        self.captioned(&figure, "FCT slowdown by flow size", caption)
    }

    fn utilisation(&self) -> Result<Captioned, ReportError> {
        let link_uses = &self.run.link_uses;
        let share = |link: &LinkInfo, policy: &str| {
            let uses = link_uses.iter();
            let uses = uses.filter(|one| one.policy == policy && one.link == link.name);
            uses.map(|one| one.utilisation).reduce(f64::max)
        };
        let is_measured = |policy: &String| link_uses.iter().any(|one| one.policy == *policy);
        let policies = self
            .policies
            .iter()
            .filter(|(policy, _)| is_measured(policy));
        let policies: Vec<(String, RGBColor)> = policies.cloned().collect();
        let bars = |link: &LinkInfo| LinkBars {
            link: link.clone(),
            shares: (policies.iter().map(|(policy, _)| share(link, policy))).collect(),
        };
        let bars = self.run.info.links.iter().map(bars).collect();
        let figure = Utilisation::new(policies.clone(), bars);
        let mut caption =
            "Bytes carried ÷ bytes that would have fitted, in the busier direction of \
                           each link, from a repetition's start to the last sample of the policy \
                           that took longest; headers and acknowledgements count."
                .to_owned();
        if figure.is_overfull() {
            caption += " More than 100 % cannot be: a counter, a capacity or a time is wrong.";
        }
        if figure.left_out > 0 {
            caption += &format!(
                " The {} least busy are left out.",
                text::count(figure.left_out, "link")
            );
        }
        self.captioned(&figure, "Link utilisation", caption)
    }

    fn map(&self) -> Result<Captioned, ReportError> {
        let mut panels = Vec::new();
        for (policy, color) in &self.policies {
            let shares = self.frame.routes(policy)?;
            let known: u64 = shares.iter().map(|share| share.flows).sum();
            let rows = self.run.flows.iter().filter(|flow| flow.policy == *policy);
            panels.push(Panel {
                policy: policy.clone(),
                color: *color,
                known,
                unknown: rows.filter(|flow| flow.path.is_none()).count() as u64,
                uses: self.uses_of_links(&shares),
            });
        }
        let figure = PathMap {
            dcs: self.run.info.dcs.clone(),
            links: self.run.info.links.clone(),
            panels,
        };
        let caption = "Share of all data bytes that crossed each link in either direction, and, \
                       where there is room, of how many flows; a line is the wider the more bytes. \
                       Rates and one-way delays are the scenario's.";
        self.captioned(&figure, "Paths taken", caption.into())
    }

    /// Flows over each link, and their share of all bytes.
    fn uses_of_links(&self, shares: &[RouteShare]) -> Vec<(u64, f64)> {
        let all: u64 = shares.iter().map(|share| share.bytes).sum();
        let routes = shares.iter().map(|share| self.routes.named(&share.route));
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

    fn timeline(&self) -> Result<Captioned, ReportError> {
        let routes = self.colored_routes()?;
        let place: BTreeMap<&str, usize> = (routes.iter().enumerate())
            .map(|(index, (route, _))| (route.as_str(), index))
            .collect();
        let seconds = |nanos: u64| text::to_float(nanos) / 1e9;
        let span = |flow: &FlowRow| {
            let route = self.routes.of(flow);
            Span {
                start: seconds(flow.start_ns.get()),
                end: flow
                    .fct_ns
                    .map(|fct| seconds((flow.start_ns.saturating_add(fct)).get())),
                route: route.and_then(|route| place.get(route.text.as_str()).copied()),
            }
        };
        let lane = |(policy, _): &(String, RGBColor)| {
            let rows = self.run.flows.iter();
            let rows = rows.filter(|flow| flow.policy == *policy && flow.repetition == 0);
            let mut rows: Vec<&FlowRow> = rows.collect();
            rows.sort_by_key(|flow| (flow.start_ns, flow.flow_id));
            let every = rows.len().div_ceil(MAX_TIMELINE_FLOWS).max(1);
            Lane {
                policy: policy.clone(),
                flows: rows.into_iter().step_by(every).map(span).collect(),
            }
        };
        let lanes: Vec<Lane> = self.policies.iter().map(lane).collect();
        let shown = lanes.iter().map(|lane| lane.flows.len()).max().unwrap_or(0);
        let label = |(route, color): (String, RGBColor)| match self.delay(&route) {
            Some(delay) => (format!("{route} · {}", text::time(delay)), color),
            None => (route, color),
        };
        let figure = Timeline {
            routes: routes.iter().cloned().map(label).collect(),
            panels: lanes,
        };
        let mut caption = "Each flow from its start to the sender's completion, coloured by the \
                           route of its data, either direction; its acknowledgements may come back \
                           over another."
            .to_owned();
        if self.run.info.repetitions > 1 {
            caption += " Only the first repetition is shown.";
        }
        let first = |flow: &&FlowRow| flow.repetition == 0;
        let most = self.run.flows.iter().filter(first).count() / self.policies.len().max(1);
        if most > shown {
            caption += &format!(" Of {most} flows of a policy {shown} are shown, evenly picked.");
        }
        self.captioned(&figure, "Flows over time", caption)
    }

    /// The routes with a colour, the fastest first: those with most flows, as many as there are
    /// colours.
    fn colored_routes(&self) -> Result<Vec<(String, RGBColor)>, ReportError> {
        let mut flows: BTreeMap<String, u64> = BTreeMap::new();
        for (policy, _) in &self.policies {
            for share in self.frame.routes(policy)? {
                *flows.entry(share.route).or_default() += share.flows;
            }
        }
        let mut routes: Vec<(String, u64)> = flows.into_iter().collect();
        routes.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        routes.truncate(SERIES.len());
        // Routes of unknown delay come last.
        let order = |route: &str| {
            self.delay(route)
                .map_or((1, Nanos::ZERO), |delay| (0, delay))
        };
        routes.sort_by(|a, b| (order(&a.0), &a.0).cmp(&(order(&b.0), &b.0)));
        let names = routes.into_iter().map(|(route, _)| route);
        Ok(names.zip(SERIES).collect())
    }

    fn delay(&self, route: &str) -> Option<Nanos> {
        self.routes.delay(&self.routes.named(route))
    }
}

/// More would be less than a pixel high each.
const MAX_TIMELINE_FLOWS: usize = 800;
