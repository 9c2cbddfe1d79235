//! The figures of a run, from its rows.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
    path::Path,
};

use lab_records::{FlowRow, LinkChange, LinkInfo};
use lab_units::Nanos;
use plotters::style::RGBColor;

use crate::{
    error::ReportError,
    figure::{
        AroundFaults, BySize, Cdf, Figure, Image, Lane, LinkBars, Panel, PathMap, Sent, Span,
        Timeline, Utilisation, render,
        theme::{SERIES, UNUSED, policy_colors},
    },
    frames::{FlowFrame, LinkSeries, RouteShare, time_around},
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
    let mut figures = vec![
        draw.cdf()?,
        draw.by_size(bins)?,
        draw.utilisation()?,
        draw.map()?,
        draw.timeline()?,
    ];
    if !run.info.faults.is_empty() {
        figures.push(draw.around_faults()?);
    }
    Ok(figures)
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
        let groups = self.colored_groups()?;
        let most_shown = MAX_TIMELINE_FLOWS / self.policies.len().max(2);
        let span = |flow: &FlowRow| {
            let route = self.routes.of(flow);
            Span {
                start: text::seconds(flow.start_ns),
                end: flow
                    .fct_ns
                    .map(|fct| text::seconds(flow.start_ns.saturating_add(fct))),
                route: route.and_then(|route| groups.place(&route)),
            }
        };
        let lane = |(policy, _): &(String, RGBColor)| {
            let rows = self.run.flows.iter();
            let rows = rows.filter(|flow| flow.policy == *policy && flow.repetition == 0);
            let mut rows: Vec<&FlowRow> = rows.collect();
            rows.sort_by_key(|flow| (flow.start_ns, flow.flow_id));
            let every = rows.len().div_ceil(most_shown).max(1);
            Lane {
                policy: policy.clone(),
                flows: rows.into_iter().step_by(every).map(span).collect(),
            }
        };
        let lanes: Vec<Lane> = self.policies.iter().map(lane).collect();
        let shown = lanes.iter().map(|lane| lane.flows.len()).max().unwrap_or(0);
        let figure = Timeline {
            routes: groups.labels(|route| self.delay(route)),
            panels: lanes,
        };
        let mut caption = "Each flow from its start to the sender's completion, coloured by the \
                           route of its data, either direction; its acknowledgements may come back \
                           over another."
            .to_owned();
        if matches!(groups, Groups::Lengths(_)) {
            caption += " There are more routes than colours, so those of as many links share one.";
        }
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

    fn around_faults(&self) -> Result<Captioned, ReportError> {
        let series = &self.run.around_faults;
        // One colour for where they lead, whichever switch it is, and the nearest first: the colours
        // of flows over time, where a route is a way by one datacenter.
        let label = |one: &LinkSeries| format!("to {}", one.to_dc);
        let delay = |one: &LinkSeries| self.delay(&format!("{}-{}", one.from_dc, one.to_dc));
        let mut labels: BTreeMap<String, Option<Nanos>> = BTreeMap::new();
        for one in series {
            labels.entry(label(one)).or_insert_with(|| delay(one));
        }
        let mut labels: Vec<(String, Option<Nanos>)> = labels.into_iter().collect();
        labels.sort_by_key(|(_, delay)| *delay);
        let colors = SERIES.into_iter().chain(iter::repeat(UNUSED));
        let links = labels.into_iter().map(|(label, _)| label).zip(colors);
        let links: Vec<(String, RGBColor)> = links.collect();
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
        let policies = self.policies.iter();
        let panels = policies.flat_map(|(policy, _)| {
            let switches = switches.iter();
            switches.map(move |switch| (policy, *switch))
        });
        let panels = panels
            .map(|(policy, switch)| panel(policy, switch))
            .collect();
        let changes = self.changes();
        let faults = changes.into_iter().map(|(time, changes)| {
            let what = format!("{} at {}", changes.join(", "), text::time(time));
            (text::seconds(time), what)
        });
        let (start, end) = time_around(&self.run.info.faults);
        let figure = AroundFaults {
            time: (text::seconds(start), text::seconds(end)),
            faults: faults.collect(),
            links,
            panels,
        };
        let mut caption =
            "What the DCI switch at the faulty link's end with more links sent over each of \
                           its links, averaged from sample to sample; headers and acknowledgements \
                           count."
                .to_owned();
        if self.run.info.repetitions > 1 {
            caption += " Only the first repetition is shown.";
        }
        self.captioned(&figure, "Around the faults", caption)
    }

    /// What became of links, by time.
    fn changes(&self) -> BTreeMap<Nanos, Vec<String>> {
        let mut changes: BTreeMap<Nanos, Vec<String>> = BTreeMap::new();
        for fault in &self.run.info.faults {
            let change = match fault.change {
                LinkChange::Down => "cut",
                LinkChange::Up => "back",
                LinkChange::Changed => "changed",
            };
            let what = format!("{} {change}", fault.link);
            changes.entry(fault.time_ns).or_default().push(what);
        }
        changes
    }

    /// What flows over time are coloured by.
    fn colored_groups(&self) -> Result<Groups, ReportError> {
        let mut routes: BTreeSet<String> = BTreeSet::new();
        for (policy, _) in &self.policies {
            let shares = self.frame.routes(policy)?;
            routes.extend(shares.into_iter().map(|share| share.route));
        }
        if routes.len() > SERIES.len() {
            let routes = routes.iter().map(|route| self.routes.named(route));
            let lengths: BTreeSet<usize> = routes.filter_map(|route| links_of(&route)).collect();
            return Ok(Groups::Lengths(
                lengths.into_iter().take(SERIES.len()).collect(),
            ));
        }
        // Routes of unknown delay come last.
        let order = |route: &str| {
            self.delay(route)
                .map_or((1, Nanos::ZERO), |delay| (0, delay))
        };
        let mut routes: Vec<String> = routes.into_iter().collect();
        routes.sort_by(|a, b| (order(a), a).cmp(&(order(b), b)));
        Ok(Groups::Routes(routes))
    }

    fn delay(&self, route: &str) -> Option<Nanos> {
        self.routes.delay(&self.routes.named(route))
    }
}

/// What flows are coloured by, in the order of the colours.
enum Groups {
    /// Their route, the fastest first.
    Routes(Vec<String>),
    /// The links of their route, the fewest first.
    Lengths(Vec<usize>),
}

impl Groups {
    fn place(&self, route: &Route) -> Option<usize> {
        match self {
            Self::Routes(routes) => routes.iter().position(|one| *one == route.text),
            Self::Lengths(lengths) => {
                let links = links_of(route)?;
                lengths.iter().position(|&one| one == links)
            }
        }
    }

    /// The name of each group and its colour.
    fn labels(&self, delay: impl Fn(&str) -> Option<Nanos>) -> Vec<(String, RGBColor)> {
        let route = |route: &String| match delay(route) {
            Some(delay) => format!("{route} · {}", text::time(delay)),
            None => route.clone(),
        };
        let names: Vec<String> = match self {
            Self::Routes(routes) => routes.iter().map(route).collect(),
            Self::Lengths(lengths) => {
                let name = |&links: &usize| format!("over {}", text::count(links, "link"));
                lengths.iter().map(name).collect()
            }
        };
        names.into_iter().zip(SERIES).collect()
    }
}

/// The links a route goes over, if it is known.
fn links_of(route: &Route) -> Option<usize> {
    route.hops.len().checked_sub(1)
}

/// Flows that are shown of all policies, if there are two or more: each is a pixel high at least,
/// and all panels together should fit on two pages.
const MAX_TIMELINE_FLOWS: usize = 1_600;
