//! Figures that show a comparison between two runs of one plan.

use std::path::Path;

use lab_units::Bytes;
use plotters::style::RGBColor;

use super::{
    BinPoint, FidelityComparison,
    agreement::{difference, is_on_same_paths, slowdowns_of},
    flows::{Flows, Recorded},
};
use crate::{
    error::ReportError,
    figure::{
        Axis, Dot, DotPanel, DotStyle, Figure, Guide, Marker, Points, render,
        theme::{INK, policy_colors},
    },
    figures::Captioned,
    text::{self, to_float},
};

/// Draws the figures: writes PNG files into `dir`, and returns the SVG texts with captions.
pub fn draw(comparison: &FidelityComparison, dir: &Path) -> Result<Vec<Captioned>, ReportError> {
    let names = comparison
        .fidelity
        .runs
        .each_ref()
        .map(|run| run.name.as_str());
    let drawn = Drawn {
        flows: &comparison.flows,
        bins: &comparison.bins,
        colors: policy_colors(&comparison.flows.policies),
        names,
        dir,
    };
    let over_time = &comparison.over_time;
    let mut figures = vec![drawn.slowdowns()?, drawn.residuals()?, drawn.bins()?];
    figures.push(drawn.queues_over_time(over_time)?);
    if !comparison.fidelity.cnps.is_empty() {
        figures.push(drawn.rates_over_time(over_time)?);
    }
    Ok(figures)
}

/// Inputs of the figures of a comparison.
pub struct Drawn<'a> {
    /// Flows of both runs.
    pub flows: &'a Flows,
    bins: &'a [BinPoint],
    colors: Vec<RGBColor>,
    /// Name of each run in texts.
    pub names: [&'a str; 2],
    dir: &'a Path,
}

impl Drawn<'_> {
    fn slowdowns(&self) -> Result<Captioned, ReportError> {
        let slowdowns = self.flows.pairs().filter_map(slowdowns_of).flatten();
        let axis = axis_over(slowdowns);
        let figure = Points {
            name: "fidelity-slowdowns",
            panels: self.panels(|pair| slowdowns_of(pair).map(<(f64, f64)>::from)),
            styles: self.styles(),
            x: axis.clone(),
            y: axis,
            x_title: format!("FCT slowdown, {}", self.names[0]),
            y_title: format!("FCT slowdown, {}", self.names[1]),
            guide: Guide::Diagonal,
        };
        let caption = format!(
            "Each flow that finished in both runs, on logarithmic axes: its slowdown in the {} and in \
             the {}. Flows at the same point share a dot; flows that took different paths in the two \
             runs are drawn on top.",
            self.names[0], self.names[1]
        );
        self.captioned(&figure, "FCT slowdown of each flow", caption)
    }

    fn residuals(&self) -> Result<Captioned, ReportError> {
        let differences = self.flows.pairs().filter_map(difference);
        let max = differences.map(f64::abs).fold(0.0, f64::max);
        let sizes = self.flows.pairs().map(|pair| to_float(pair[0].size.max(1)));
        let sizes = axis_over(sizes);
        let label = |&(at, _): &(f64, String)| (at, text::size(Bytes::new(whole(at))));
        let labels = sizes.ticks().iter().map(label).collect();
        let figure = Points {
            name: "fidelity-residuals",
            panels: self.panels(|pair| Some((to_float(pair[0].size.max(1)), difference(pair)?))),
            styles: self.styles(),
            x: sizes.with_ticks(labels),
            y: Axis::of_differences(max),
            x_title: "flow size, logarithmic".into(),
            y_title: "ΔFCT ÷ FCT".into(),
            guide: Guide::Zero,
        };
        let caption = format!(
            "FCT in the {1} minus FCT in the {0}, divided by the FCT in the {0}, of each flow that \
             finished in both runs: above zero, the flow is slower in the {1}. The axis is linear up to ±0.01 % and \
             logarithmic beyond.",
            self.names[0], self.names[1]
        );
        self.captioned(&figure, "Differences of FCTs by flow size", caption)
    }

    fn bins(&self) -> Result<Captioned, ReportError> {
        let style = |(index, (policy, color)): (usize, (&String, &RGBColor))| DotStyle {
            label: policy.clone(),
            color: *color,
            marker: Marker::of(index),
            radius: 3.5,
        };
        let policies = self.flows.policies.iter().zip(&self.colors);
        let panel = |title: &str, value: fn(&BinPoint) -> [f64; 2]| DotPanel {
            title: title.into(),
            color: INK,
            dots: (self.bins.iter())
                .map(|bin| Dot {
                    at: value(bin).into(),
                    style: bin.policy,
                })
                .collect(),
        };
        let axis = axis_over(
            self.bins
                .iter()
                .flat_map(|bin| [bin.p50, bin.p99])
                .flatten(),
        );
        let figure = Points {
            name: "fidelity-bins",
            panels: vec![panel("p50", |bin| bin.p50), panel("p99", |bin| bin.p99)],
            styles: policies.enumerate().map(style).collect(),
            x: axis.clone(),
            y: axis,
            x_title: format!("FCT slowdown, {}", self.names[0]),
            y_title: format!("FCT slowdown, {}", self.names[1]),
            guide: Guide::Diagonal,
        };
        let caption = "Nearest-rank p50 and p99 of each policy's slowdowns in each bin of flow sizes, \
                       as in the paper's Figure 6. Each bin has about the same number of flows; there are \
                       20 bins as in the paper, or fewer if a bin would have fewer than ten flows.";
        self.captioned(&figure, "FCT slowdown by flow size", caption.into())
    }

    /// Returns a panel for each policy, with the policy's flows for which `at` returns a point.
    fn panels(&self, at: impl Fn([&Recorded; 2]) -> Option<(f64, f64)>) -> Vec<DotPanel> {
        let other_path = self.flows.policies.len();
        let panel = |(policy, label): (usize, &String)| {
            let pairs = self
                .flows
                .pairs()
                .filter(|pair| pair[0].key.policy == policy);
            let dots: Vec<Dot> = pairs
                .filter_map(|pair| {
                    let style = if is_on_same_paths(pair) {
                        policy
                    } else {
                        other_path
                    };
                    let at = at(pair)?;
                    Some(Dot { at, style })
                })
                .collect();
            let others = dots.iter().filter(|dot| dot.style == other_path).count();
            let counts = match others {
                0 => text::count(dots.len(), "flow"),
                others => format!("{others} of {} elsewhere", dots.len()),
            };
            DotPanel {
                title: format!("{label} ({counts})"),
                color: self.colors[policy],
                dots,
            }
        };
        self.flows.policies.iter().enumerate().map(panel).collect()
    }

    /// Returns a style for the flows of each policy, and one for all flows that took different paths.
    fn styles(&self) -> Vec<DotStyle> {
        let own = self.colors.iter().map(|&color| DotStyle {
            label: String::new(),
            color,
            marker: Marker::Circle,
            radius: 1.8,
        });
        let other = DotStyle {
            label: "took different paths in the two runs (data or acknowledgements)".into(),
            color: INK,
            marker: Marker::Diamond,
            radius: 2.6,
        };
        own.chain([other]).collect()
    }

    /// Draws a figure, and returns it with its title and caption.
    pub fn captioned<F: Figure>(
        &self,
        figure: &F,
        title: &str,
        caption: String,
    ) -> Result<Captioned, ReportError> {
        Ok(Captioned {
            title: title.into(),
            caption: figure.missing().is_none().then_some(caption),
            image: render(figure, self.dir)?,
        })
    }
}

/// Returns a logarithmic axis over `values`; a default axis if they are not all positive.
fn axis_over(values: impl Iterator<Item = f64> + Clone) -> Axis {
    let min = values.clone().fold(f64::INFINITY, f64::min);
    let max = values.fold(0.0, f64::max);
    if min <= max && min > 0.0 {
        Axis::logarithmic(min, max)
    } else {
        Axis::logarithmic(1.0, 10.0)
    }
}

/// Converts a tick of a size axis to whole bytes.
fn whole(tick: f64) -> u64 {
    format!("{tick:.0}").parse().unwrap_or(u64::MAX)
}
