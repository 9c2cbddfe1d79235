//! The figures of a run, from its records.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
    path::Path,
};

use lab_records::{LinkChange, LinkInfo};
use lab_units::Nanos;
use plotters::style::RGBColor;

use crate::{
    error::ReportError,
    figure::{
        AroundFaults, Bar, BySize, Cdf, Figure, Image, Lane, LinkBars, Panel, PathMap, Sent,
        Timeline, Utilisation, render,
        theme::{SERIES, UNUSED, policy_colors},
    },
    frames::{LinkSeries, RouteShare, Span, time_around},
    route::Route,
    run::Run,
    text,
};

/// A figure with its texts.
pub struct Captioned {
    /// Title of the figure.
    pub title: String,
    /// Explanation of the figure; none if it has no data.
    pub caption: Option<String>,
    /// The drawing.
    pub image: Image,
}

/// Draws all figures of `run`.
pub fn draw_figures(run: &Run, figures_dir: &Path) -> Result<Vec<Captioned>, ReportError> {
    let policies = &run.flows.policies;
    let colors = policy_colors(policies);
    let draw = Draw {
        run,
        policies: policies.iter().cloned().zip(colors).collect(),
        figures_dir,
    };
    let mut figures = vec![
        draw.cdf()?,
        draw.by_size()?,
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
        let policies = self.policies.iter().zip(self.run.flows.slowdowns()?);
        let policies = policies.map(|((policy, color), sorted)| (policy.clone(), *color, sorted));
        let figure = Cdf {
            policies: policies.collect(),
        };
        let caption = "Share of each policy's finished flows whose FCT slowdown is at most the \
                       value below. Further left is better; 1 is a flow alone on the path of least \
                       delay.";
        self.captioned(&figure, "FCT slowdown", caption.into())
    }

    fn by_size(&self) -> Result<Captioned, ReportError> {
        let bins = &self.run.flows.bins;
        let figure = BySize {
            policies: self.policies.clone(),
            upper: bins.upper().to_vec(),
            slowdowns: self.run.flows.slowdowns_by_bin()?,
        };
        let counts = figure.slowdowns.iter().flatten().map(Vec::len);
        let fewest = counts.filter(|&count| count > 0).min().unwrap_or(0);
        let mut caption = format!(
            "Nearest-rank percentiles in {} of flow sizes with about equally many flows; the \
             smallest flow has {}.",
            text::count(bins.upper().len(), "bin"),
            text::size(bins.min()),
        );
        if fewest < 100 {
            caption += &format!(
                " A bin holds as few as {} of a policy: under 100 its p99 is its slowest flow.",
                text::count(fewest, "flow")
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
                " The {} least used are left out.",
                text::count(figure.left_out, "link")
            );
        }
        self.captioned(&figure, "Link utilisation", caption)
    }

    fn map(&self) -> Result<Captioned, ReportError> {
        let mut panels = Vec::new();
        for (index, (policy, color)) in self.policies.iter().enumerate() {
            let shares = self.run.flows.routes(index)?;
            let known: u64 = shares.iter().map(|share| share.flows).sum();
            panels.push(Panel {
                policy: policy.clone(),
                color: *color,
                known,
                unknown: self.run.flows.counts[index].flows - known,
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

    fn timeline(&self) -> Result<Captioned, ReportError> {
        let flows = &self.run.flows;
        let groups = self.colored_groups()?;
        let max_shown = MAX_TIMELINE_FLOWS / self.policies.len().max(2);
        let bar = |span: &Span<'_>| Bar {
            start: text::seconds(span.start),
            end: span
                .fct
                .map(|fct| text::seconds(span.start.saturating_add(fct))),
            route: span
                .route
                .and_then(|route| groups.position(&self.run.routes.named(route))),
        };
        let (mut lanes, mut all) = (Vec::new(), 0);
        for (index, (policy, _)) in self.policies.iter().enumerate() {
            let spans = flows.spans(index)?;
            all += spans.len();
            let every = spans.len().div_ceil(max_shown).max(1);
            lanes.push(Lane {
                policy: policy.clone(),
                flows: spans.iter().step_by(every).map(bar).collect(),
            });
        }
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
        let of_policy = all / self.policies.len().max(1);
        if of_policy > shown {
            caption +=
                &format!(" Of {of_policy} flows of a policy {shown} are shown, evenly picked.");
        }
        self.captioned(&figure, "Flows over time", caption)
    }

    fn around_faults(&self) -> Result<Captioned, ReportError> {
        let series = &self.run.around_faults;
        // One colour for each destination, whichever the switch, in order of delay: the colours of
        // flows over time, where a route crosses one datacenter.
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
            let label = format!("{} at {}", changes.join(", "), text::time(time));
            (text::seconds(time), label)
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

    /// Returns the changes of links, by time.
    fn changes(&self) -> BTreeMap<Nanos, Vec<String>> {
        let mut changes: BTreeMap<Nanos, Vec<String>> = BTreeMap::new();
        for fault in &self.run.info.faults {
            let change = match fault.change {
                LinkChange::Down => "cut",
                LinkChange::Up => "back",
                LinkChange::Changed => "changed",
            };
            let change = format!("{} {change}", fault.link);
            changes.entry(fault.time_ns).or_default().push(change);
        }
        changes
    }

    /// Returns the groups that flows over time are coloured by.
    fn colored_groups(&self) -> Result<Groups, ReportError> {
        let mut routes: BTreeSet<String> = BTreeSet::new();
        for policy in 0..self.policies.len() {
            let shares = self.run.flows.routes(policy)?;
            routes.extend(shares.into_iter().map(|share| share.route));
        }
        if routes.len() > SERIES.len() {
            let routes = routes.iter().map(|route| self.run.routes.named(route));
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
        let routes = &self.run.routes;
        routes.delay(&routes.named(route))
    }
}

/// Groups that flows are coloured by, in the order of the colours.
enum Groups {
    /// Routes, the least delay first.
    Routes(Vec<String>),
    /// Numbers of links of the routes, the fewest first.
    Lengths(Vec<usize>),
}

impl Groups {
    /// Returns the position of the group of `route`.
    fn position(&self, route: &Route) -> Option<usize> {
        match self {
            Self::Routes(routes) => routes.iter().position(|one| *one == route.text),
            Self::Lengths(lengths) => {
                let links = links_of(route)?;
                lengths.iter().position(|&one| one == links)
            }
        }
    }

    /// Returns the label and colour of each group.
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

/// Returns the number of links of a route, if it is known.
fn links_of(route: &Route) -> Option<usize> {
    route.hops.len().checked_sub(1)
}

/// Maximum number of flows shown, of two or more policies: each is at least a pixel high, and all
/// panels together should fit on two pages.
const MAX_TIMELINE_FLOWS: usize = 1_600;
