//! Figure of the cumulative distribution of FCT slowdowns under each policy.

use plotters::{
    prelude::DrawingBackend,
    style::text_anchor::{HPos, VPos},
};

use super::{
    axis::Axis,
    canvas::{Canvas, Drawn, Lettering, Point},
    chart::Plot,
    legend::{Entry, Legend, noted},
    numbers::Numbers,
    render::Figure,
    theme::{MUTED, SMALL, Style, WIDTH, extra_widths},
};
use crate::{
    population::Population,
    stats::{self, Interval, Statistic},
    text,
};

/// Data of the figure `fct-slowdown-cdf`. Shares are of all scheduled flows, so a curve ends at the share that
/// finished.
pub struct Cdf<'a> {
    /// Curves, one per policy.
    pub curves: Vec<Curve<'a>>,
}

/// Slowdowns of one policy.
pub struct Curve<'a> {
    /// Label of the policy.
    pub policy: String,
    /// Legend text of the policy's parameters that differ from its publication; empty if no parameter differs.
    pub parameters: String,
    /// Style of the policy.
    pub style: Style,
    /// Slowdowns of all repetitions.
    pub flows: Population<'a>,
    /// Sorted slowdowns of each repetition, from which intervals are computed; empty if any flow did not finish.
    pub repetitions: Vec<Vec<f64>>,
}

impl Curve<'_> {
    /// Returns the corners of the empirical distribution function, as slowdown and percent. For many flows these are
    /// only [`MAX_RANKS`] evenly spaced ranks and the slowest flows.
    fn corners(&self) -> Vec<(f64, f64)> {
        let finished = self.flows.finished();
        let len = finished.len();
        let every = len.div_ceil(MAX_RANKS).max(1);
        let slowest = len.saturating_sub(MAX_SLOWEST);
        let total = text::to_float(self.flows.len() as u64);
        let mut corners = Vec::new();
        let mut below = 0.0;
        for rank in (0..slowest).step_by(every).chain(slowest..len) {
            let value = finished[rank];
            let share = 100.0 * text::to_float(rank as u64 + 1) / total;
            corners.extend([(value, below), (value, share)]);
            below = share;
        }
        corners
    }

    /// Returns the 95 % interval of a percentile over the repetitions; `None` for the largest slowdown, which has no
    /// flows beyond it.
    fn interval(&self, percent: u32) -> Option<Interval> {
        let statistic = (percent < 100).then_some(Statistic::Percentile(percent))?;
        stats::estimate(self.flows.all(), &self.repetitions, statistic)?.interval
    }

    /// Returns the legend text of a curve, with its number of flows, such as `ecmp (902 of 6,635 finished)`.
    fn label(&self) -> String {
        let all = self.flows.len();
        let flows = if self.flows.is_finished() {
            text::count(all, "flow")
        } else {
            format!(
                "{} of {} finished",
                text::number(self.flows.finished().len() as u64),
                text::number(all as u64)
            )
        };
        noted(&self.policy, [&self.parameters, &flows])
    }

    /// Returns the share of scheduled flows that finished, in percent.
    fn finished_percent(&self) -> f64 {
        let count = |flows: usize| text::to_float(flows as u64);
        100.0 * count(self.flows.finished().len()) / count(self.flows.len())
    }
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
        let entry = |curve: &Curve<'_>| Entry::line(&curve.style, curve.label());
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
            let ends: Vec<(u32, Interval)> = (1..100)
                .filter_map(|percent| Some((percent, curve.interval(percent)?)))
                .collect();
            let low = ends
                .iter()
                .map(|(at, it)| point(it.low.max(start), f64::from(*at)));
            let high = ends
                .iter()
                .rev()
                .map(|(at, it)| point(it.high.min(end), f64::from(*at)));
            let corners: Vec<Point> = low.chain(high).collect();
            if !corners.is_empty() {
                canvas.area(&corners, curve.style.color, BAND)?;
            }
        }
        let lines: Vec<&[f64]> = self.curves.iter().map(|it| it.flows.finished()).collect();
        for (curve, extra) in self.curves.iter().zip(extra_widths(&lines)) {
            let corners: Vec<Point> = curve
                .corners()
                .into_iter()
                .map(|(x, y)| point(x, y))
                .collect();
            canvas.dashed(&corners, curve.style.dash, curve.style.color, 2.0 + extra)?;
        }
        Ok(())
    }

    fn numbers(&self) -> String {
        let mut numbers = Numbers::new(["policy", "percent", "slowdown", "low", "high"]);
        for curve in &self.curves {
            for percent in 1..=100 {
                let Some(value) = curve.flows.percentile(percent) else {
                    continue;
                };
                match curve.interval(percent) {
                    Some(Interval { low, high }) => {
                        numbers.row([&curve.policy, &percent, &value, &low, &high]);
                    }
                    None => numbers.row([&curve.policy, &percent, &value, &"", &""]),
                }
            }
            if let Some(last) = curve
                .flows
                .finished()
                .last()
                .filter(|_| !curve.flows.is_finished())
            {
                let share = curve.finished_percent();
                numbers.row([&curve.policy, &share, last, &"", &""]);
            }
        }
        numbers.into_text()
    }
}

/// Width reserved for the percentile labels at the right, logical pixels.
const RIGHT: f64 = 24.0;

/// Maximum number of evenly spaced ranks that a curve draws; more would not be visible.
const MAX_RANKS: usize = 1_000;

/// Number of slowest flows that a curve always draws, in addition to the evenly spaced ranks.
const MAX_SLOWEST: usize = 50;

/// Opacity of an interval's band, from 0 to 1.
const BAND: f64 = 0.22;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::theme::policy_styles;

    /// Three of eight flows finished: the curve and its numbers end at 37.5 %.
    #[test]
    fn a_curve_ends_at_the_share_of_the_flows_that_finished() {
        let policies = ["ecmp".to_owned()];
        let curve = Curve {
            policy: "ecmp".to_owned(),
            parameters: String::new(),
            style: policy_styles(&policies)[0],
            flows: Population::new(vec![1.0, 2.0, 4.0], 8),
            repetitions: Vec::new(),
        };
        assert_eq!(curve.label(), "ecmp (3 of 8 finished)");
        let ends: Vec<(f64, f64)> = curve.corners().into_iter().skip(1).step_by(2).collect();
        assert_eq!(ends, [(1.0, 12.5), (2.0, 25.0), (4.0, 37.5)]);
        let curves = vec![curve];
        let numbers = Cdf { curves }.numbers();
        let rows: Vec<&str> = numbers.lines().collect();
        assert_eq!(rows.len(), 1 + 37 + 1, "{numbers}");
        assert_eq!((rows[12], rows[13]), ("ecmp,12,1,,", "ecmp,13,2,,"));
        assert_eq!(rows[38], "ecmp,37.5,4,,");
    }

    /// Two repetitions of 1,000 flows: ten flows lie beyond the 99th percentile, and no flow beyond the largest
    /// slowdown.
    #[test]
    fn percentiles_have_intervals_and_the_largest_slowdown_has_none() {
        let policies = ["ecmp".to_owned()];
        let draw: Vec<f64> = (0..1_000).map(|flow| 1.0 + f64::from(flow)).collect();
        let mut all = [draw.clone(), draw.clone()].concat();
        all.sort_by(f64::total_cmp);
        let curve = Curve {
            policy: "ecmp".to_owned(),
            parameters: String::new(),
            style: policy_styles(&policies)[0],
            flows: Population::new(all, 2_000),
            repetitions: vec![draw.clone(), draw],
        };
        assert!((1..100).all(|percent| curve.interval(percent).is_some()));
        assert_eq!(curve.interval(100), None);
    }
}
