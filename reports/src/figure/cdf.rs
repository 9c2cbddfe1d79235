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
use crate::{
    stats::{self, Interval, Statistic, nearest_rank},
    text,
};

/// The figure `fct-slowdown-cdf`.
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
    /// Sorted slowdowns of all repetitions.
    pub sorted: &'a [f64],
    /// Sorted slowdowns of each repetition.
    pub repetitions: Vec<Vec<f64>>,
}

impl Curve<'_> {
    /// Returns the corners of the empirical distribution function, in percent: all of few flows, else
    /// of [`MAX_RANKS`] evenly spaced ranks and the slowest flows.
    fn corners(&self) -> Vec<(f64, f64)> {
        let len = self.sorted.len();
        let every = len.div_ceil(MAX_RANKS).max(1);
        let slowest = len.saturating_sub(MAX_SLOWEST);
        let total = text::to_float(len as u64);
        let mut corners = Vec::new();
        let mut below = 0.0;
        for rank in (0..slowest).step_by(every).chain(slowest..len) {
            let (value, share) = (
                self.sorted[rank],
                100.0 * text::to_float(rank as u64 + 1) / total,
            );
            corners.extend([(value, below), (value, share)]);
            below = share;
        }
        corners
    }

    /// Returns the 95 % interval of a percentile over the repetitions.
    fn interval(&self, percent: u32) -> Option<Interval> {
        let statistic = Statistic::Percentile(percent);
        stats::estimate(self.sorted, &self.repetitions, statistic)?.interval
    }
}

impl Figure for Cdf<'_> {
    fn name(&self) -> &'static str {
        "fct-slowdown-cdf"
    }

    fn missing(&self) -> Option<String> {
        let none = self.curves.iter().all(|curve| curve.sorted.is_empty());
        none.then(|| "no flow finished".into())
    }

    fn height(&self) -> f64 {
        430.0
    }

    fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Drawn {
        let entry = |curve: &Curve<'_>| {
            let flows = text::count(curve.sorted.len(), "flow");
            Entry::line(&curve.style, format!("{} ({flows})", curve.policy))
        };
        let legend = Legend::new(self.curves.iter().map(entry).collect(), WIDTH)?;
        legend.draw(canvas, (0.0, 0.0))?;

        let sorted = self.curves.iter().map(|curve| curve.sorted);
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
            let ends = (1..100).filter_map(|percent| Some((percent, curve.interval(percent)?)));
            let ends: Vec<(u32, Interval)> = ends.collect();
            let low = ends
                .iter()
                .map(|(at, it)| point(it.low.max(start), f64::from(*at)));
            let high = ends.iter().rev();
            let high = high.map(|(at, it)| point(it.high.min(end), f64::from(*at)));
            let corners: Vec<Point> = low.chain(high).collect();
            if !corners.is_empty() {
                canvas.area(&corners, curve.style.color, BAND)?;
            }
        }
        let lines: Vec<&[f64]> = self.curves.iter().map(|it| it.sorted).collect();
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
            for percent in 1..=100 {
                let Some(value) = nearest_rank(curve.sorted, percent) else {
                    continue;
                };
                match curve.interval(percent) {
                    Some(Interval { low, high }) => {
                        numbers.row([&curve.policy, &percent, &value, &low, &high]);
                    }
                    None => numbers.row([&curve.policy, &percent, &value, &"", &""]),
                }
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
