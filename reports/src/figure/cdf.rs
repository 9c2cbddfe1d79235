//! CDF of the FCT slowdown under each policy.

use plotters::{
    prelude::DrawingBackend,
    style::text_anchor::{HPos, VPos},
};

use super::{
    axis::Axis,
    canvas::{Canvas, Drawn, Lettering, Point},
    chart::Plot,
    legend::{Entry, Legend},
    numbers::Numbers,
    render::Figure,
    theme::{MUTED, SMALL, Style, WIDTH, extra_widths},
};
use crate::{population::Population, stats::order::percentile, text};

/// The figure `fct-slowdown-cdf`: the share of all scheduled flows, so a curve ends at the share that finished.
pub struct Cdf<'a> {
    /// One curve for each policy.
    pub curves: Vec<Curve<'a>>,
}

/// Slowdowns of one policy.
pub struct Curve<'a> {
    /// Label of the policy.
    pub policy: String,
    /// Style of the policy.
    pub style: Style,
    /// Slowdowns of all repetitions.
    pub flows: Population<'a>,
    /// Slowdowns of each repetition.
    pub repetitions: Vec<Population<'a>>,
}

/// Percentile of the slowdowns, with its lowest and highest value; no highest one if it is among the flows that did
/// not finish.
struct Bound {
    percent: u32,
    value: f64,
    low: f64,
    high: Option<f64>,
}

impl Curve<'_> {
    /// Returns the corners of the empirical distribution function, in percent: all of few flows, else
    /// of [`MAX_RANKS`] evenly spaced ranks and the slowest flows.
    fn corners(&self) -> Vec<(f64, f64)> {
        let finished = self.flows.finished();
        let len = finished.len();
        let every = len.div_ceil(MAX_RANKS).max(1);
        let slowest = len.saturating_sub(MAX_SLOWEST);
        let total = text::to_float(self.flows.len() as u64);
        let mut corners = Vec::new();
        let mut below = 0.0;
        for rank in (0..slowest).step_by(every).chain(slowest..len) {
            let (value, share) = (
                finished[rank],
                100.0 * text::to_float(rank as u64 + 1) / total,
            );
            corners.extend([(value, below), (value, share)]);
            below = share;
        }
        corners
    }

    /// Returns the band of the percentiles that are known: the range of the repetitions' percentiles, or 95 %
    /// intervals by order statistics of one repetition.
    fn band(&self) -> Vec<Bound> {
        let measured = self.repetitions.iter().filter(|it| it.len() > 0);
        let measured: Vec<&Population<'_>> = measured.collect();
        let bound = |percent| {
            let value = self.flows.percentile(percent)?;
            let (low, high) = match measured.len() {
                0 | 1 => self.interval(percent)?,
                _ => range(&measured, percent),
            };
            Some(Bound {
                percent,
                value,
                low,
                high: high.is_finite().then_some(high),
            })
        };
        (1..100).filter_map(bound).collect()
    }

    fn interval(&self, percent: u32) -> Option<(f64, f64)> {
        let all = self.flows.all();
        let at = percentile(all, percent)?;
        Some((
            at.low.unwrap_or(*all.first()?),
            at.high.unwrap_or(*all.last()?),
        ))
    }

    /// Returns the share of the flows that finished, in percent.
    fn finished_percent(&self) -> f64 {
        let count = |flows: usize| text::to_float(flows as u64);
        100.0 * count(self.flows.finished().len()) / count(self.flows.len().max(1))
    }
}

/// Returns the least and the largest percentile of the repetitions; infinite if it is not known of one.
fn range(repetitions: &[&Population<'_>], percent: u32) -> (f64, f64) {
    let values = repetitions.iter().map(|it| it.percentile(percent));
    let values = values.map(|value| value.unwrap_or(f64::INFINITY));
    let low = values.clone().fold(f64::INFINITY, f64::min);
    (low, values.fold(0.0, f64::max))
}

impl Figure for Cdf<'_> {
    fn name(&self) -> &'static str {
        "fct-slowdown-cdf"
    }

    fn missing(&self) -> Option<String> {
        let none = self
            .curves
            .iter()
            .all(|curve| curve.flows.finished().is_empty());
        none.then(|| "no flow finished".into())
    }

    fn height(&self) -> f64 {
        430.0
    }

    fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Drawn {
        let entry = |curve: &Curve<'_>| {
            let all = curve.flows.len();
            let flows = match curve.flows.is_finished() {
                true => text::count(all, "flow"),
                false => format!(
                    "{} of {} finished",
                    text::number(curve.flows.finished().len() as u64),
                    text::number(all as u64)
                ),
            };
            Entry::line(&curve.style, format!("{} ({flows})", curve.policy))
        };
        let legend = Legend::new(self.curves.iter().map(entry).collect(), WIDTH)?;
        legend.draw(canvas, (0.0, 0.0))?;

        let sorted = self.curves.iter().map(|curve| curve.flows.finished());
        let ends = sorted.flat_map(|it| it.first().into_iter().chain(it.last()));
        let x = Axis::of_ratios(ends.copied(), 8);
        let x_title = if x.is_logarithmic() {
            "FCT slowdown (FCT ÷ ideal FCT), logarithmic"
        } else {
            "FCT slowdown (FCT ÷ ideal FCT)"
        };
        let (start, end) = x.ends();
        let top = legend.height();
        let plot = Plot {
            at: (0.0, top),
            size: (WIDTH - RIGHT, self.height() - top),
            x,
            y: Axis::linear(0.0..100.0, 20.0),
            min_left: 0.0,
            x_title,
            y_title: "flows (%)",
        };
        let chart = plot.draw(canvas)?;
        let point = |x: f64, y: f64| canvas.logical(chart.backend_coord(&(x, y)));
        for percent in [50.0, 99.0] {
            let (x, y) = point(end, percent);
            canvas.dashes(point(start, percent), (x, y), MUTED, 0.8)?;
            let lettering = Lettering::new(SMALL, MUTED, HPos::Left, VPos::Center);
            canvas.text(&format!("p{percent}"), (x + 6.0, y), lettering)?;
        }
        for curve in &self.curves {
            let band = curve.band();
            let low = band.iter().map(|at| point(at.low, f64::from(at.percent)));
            let high = band.iter().rev();
            let high = high.map(|at| point(at.high.unwrap_or(end), f64::from(at.percent)));
            let corners: Vec<Point> = low.chain(high).collect();
            if !corners.is_empty() {
                canvas.area(&corners, curve.style.color, BAND)?;
            }
        }
        let lines = self.curves.iter().map(|it| it.flows.finished());
        let lines: Vec<&[f64]> = lines.collect();
        for (curve, extra) in self.curves.iter().zip(extra_widths(&lines)) {
            let corners = curve.corners().into_iter();
            let corners: Vec<Point> = corners.map(|(x, y)| point(x, y)).collect();
            canvas.dashed(&corners, curve.style.dash, curve.style.color, 2.0 + extra)?;
        }
        Ok(())
    }

    fn numbers(&self) -> String {
        let mut numbers = Numbers::new(["policy", "percent", "slowdown", "low", "high"]);
        for curve in &self.curves {
            for at in curve.band() {
                let high = at.high.map_or_else(String::new, |high| high.to_string());
                numbers.row([&curve.policy, &at.percent, &at.value, &at.low, &high]);
            }
            if let Some(last) = curve.flows.finished().last() {
                let share = curve.finished_percent();
                numbers.row([&curve.policy, &share, last, &"", &""]);
            }
        }
        numbers.into_text()
    }
}

/// Width of the labels of percentiles.
const RIGHT: f64 = 24.0;

/// Number of ranks that a curve is drawn through: more would not be seen.
const MAX_RANKS: usize = 1_000;

/// Number of slowest flows that are always drawn.
const MAX_SLOWEST: usize = 50;

/// Share of the background that a band covers.
const BAND: f64 = 0.22;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::theme::policy_styles;

    /// Three of ten flows finished: the curve ends at 30 %, and so do its numbers.
    #[test]
    fn a_curve_ends_at_the_share_of_the_flows_that_finished() {
        let policies = ["ecmp".to_owned()];
        let curve = Curve {
            policy: "ecmp".to_owned(),
            style: policy_styles(&policies)[0],
            flows: Population::new(vec![1.0, 2.0, 4.0], 10),
            repetitions: Vec::new(),
        };
        let ends: Vec<(f64, f64)> = curve.corners().into_iter().skip(1).step_by(2).collect();
        assert_eq!(ends, [(1.0, 10.0), (2.0, 20.0), (4.0, 30.0)]);
        let numbers = Cdf {
            curves: vec![curve],
        }
        .numbers();
        let rows: Vec<&str> = numbers.lines().collect();
        assert_eq!(rows.len(), 1 + 30 + 1, "{numbers}");
        assert!(rows[10].starts_with("ecmp,10,1,") && rows[11].starts_with("ecmp,11,2,"));
        assert_eq!(rows[31], "ecmp,30,4,,");
    }
}
