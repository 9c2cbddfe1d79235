//! p50 and p99 FCT slowdown by flow size.

use lab_units::Bytes;
use plotters::prelude::DrawingBackend;

use super::{
    axis::Axis,
    canvas::{Canvas, Drawn, Point},
    chart::Plot,
    font,
    legend::{Entry, Key, Legend, noted},
    numbers::Numbers,
    render::Figure,
    theme::{SMALL, Style, WIDTH, extra_widths},
};
use crate::{error::DrawError, stats::nearest_rank, text};

/// Slowdowns in bins of flow sizes.
pub struct SizePanels {
    /// Name of the figure's files.
    pub name: &'static str,
    /// Label and style of each policy.
    pub policies: Vec<(String, Style)>,
    /// Parameters of each policy in the legend; empty without any.
    pub parameters: Vec<String>,
    /// Largest size of each bin.
    pub upper: Vec<Bytes>,
    /// Sorted slowdowns by policy and bin.
    pub slowdowns: Vec<Vec<Vec<f64>>>,
    /// Minimum number of flows of a bin that has a dot.
    pub min_flows: usize,
}

/// Position and value of a bin.
type Dot = (f64, f64);

impl Figure for SizePanels {
    fn name(&self) -> &'static str {
        self.name
    }

    fn missing(&self) -> Option<String> {
        if self.slowdowns.iter().flatten().all(Vec::is_empty) {
            return Some("no flow finished".into());
        }
        let table = "the table of results has their percentiles";
        if self.upper.len() < 2 {
            return Some(format!("all flows have about one size: {table}"));
        }
        let largest = self.slowdowns.iter().flatten().map(Vec::len).max()?;
        (largest < self.min_flows)
            .then(|| format!("no bin holds {} flows of a policy: {table}", self.min_flows))
    }

    fn height(&self) -> f64 {
        HEIGHT
    }

    fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Drawn {
        let entry = |((label, style), parameters): (&(String, Style), &String)| {
            let key = Key::Marked(style.dash, style.marker);
            Entry::new(style.color, key, noted(label, [parameters]))
        };
        let entries = self.policies.iter().zip(&self.parameters).map(entry);
        let legend = Legend::new(entries.collect(), WIDTH)?;
        legend.draw(canvas, (0.0, 0.0))?;
        self.panel(canvas, 50, 0.0, legend.height())?;
        self.panel(canvas, 99, WIDTH / 2.0, legend.height())
    }

    fn numbers(&self) -> String {
        let heads = ["policy", "size_up_to_bytes", "flows", "p50", "p99"];
        let mut numbers = Numbers::new(heads);
        for ((policy, _), bins) in self.policies.iter().zip(&self.slowdowns) {
            for (upper, sorted) in self.upper.iter().zip(bins) {
                let [p50, p99] = [50, 99].map(|percent| {
                    let value = nearest_rank(sorted, percent);
                    value.map_or_else(String::new, |value| value.to_string())
                });
                numbers.row([policy, &upper.get(), &sorted.len(), &p50, &p99]);
            }
        }
        numbers.into_text()
    }
}

impl SizePanels {
    fn panel<DB: DrawingBackend>(
        &self,
        canvas: &Canvas<'_, DB>,
        percent: u32,
        left: f64,
        top: f64,
    ) -> Drawn {
        let series: Vec<Vec<Dot>> = (0..self.policies.len())
            .map(|policy| self.dots(policy, percent))
            .collect();
        let y = Axis::of_ratios(series.iter().flatten().map(|dot| dot.1), 6);
        let logarithmic = if y.is_logarithmic() {
            ", logarithmic"
        } else {
            ""
        };
        let plot = Plot {
            at: (left, top),
            size: (PANEL, HEIGHT - top),
            x: self.size_axis()?,
            y,
            min_left: 0.0,
            x_title: "flow size, up to",
            y_title: &format!("p{percent} FCT slowdown{logarithmic}"),
        };
        let chart = plot.draw(canvas)?;
        let values = |dots: &Vec<Dot>| -> Vec<f64> { dots.iter().map(|dot| dot.1).collect() };
        let extra = extra_widths(&series.iter().map(values).collect::<Vec<_>>());
        for ((_, style), (dots, extra)) in self.policies.iter().zip(series.iter().zip(extra)) {
            let points = dots
                .iter()
                .map(|dot| canvas.logical(chart.backend_coord(dot)));
            let points: Vec<Point> = points.collect();
            canvas.dashed(&points, style.dash, style.color, 1.6 + extra)?;
            for point in points {
                canvas.marker(style.marker, point, 3.6 + extra / 2.0, style.color)?;
            }
        }
        Ok(())
    }

    /// Returns the dots of a policy: beside those of other policies in the same bin, so that equal ones
    /// do not hide each other.
    fn dots(&self, policy: usize, percent: u32) -> Vec<Dot> {
        let policies = text::to_float(self.policies.len() as u64);
        let side = text::to_float(policy as u64) - (policies - 1.0) / 2.0;
        let side = side * SPREAD / policies;
        let dot = |(bin, sorted): (f64, &Vec<f64>)| {
            let value = nearest_rank(sorted, percent)?;
            (sorted.len() >= self.min_flows).then_some((bin + side, value))
        };
        let bins = (0u32..).map(f64::from).zip(&self.slowdowns[policy]);
        bins.filter_map(dot).collect()
    }

    /// Returns an axis with a position for each bin, labelled by its largest size where there is
    /// room.
    fn size_axis(&self) -> Result<Axis, DrawError> {
        let labels: Vec<String> = self.upper.iter().map(|&size| text::size(size)).collect();
        let mut widest: f64 = 0.0;
        for label in &labels {
            widest = widest.max(font::width(label, SMALL)?);
        }
        let bins = text::to_float(labels.len() as u64);
        let fitting = ((PANEL - 60.0) / (widest + 10.0)).floor().max(1.0);
        let every = (bins / fitting).ceil().max(1.0);
        let position = (0u32..).map(f64::from);
        // The largest bin, at the end of the axis, always has its label.
        let ticks = position
            .zip(labels)
            .filter(|(at, _)| (bins - 1.0 - at) % every == 0.0);
        Ok(Axis::bare(-0.5..bins - 0.5).with_ticks(ticks.collect()))
    }
}

/// Height of the figure.
const HEIGHT: f64 = 390.0;

/// Width of a panel, less a space to the next.
const PANEL: f64 = WIDTH / 2.0 - 12.0;

/// Share of a bin's width that the policies' dots spread over.
const SPREAD: f64 = 0.6;

#[cfg(test)]
mod tests {
    use super::*;

    fn panels(flows: usize, min_flows: usize) -> SizePanels {
        let policies = ["ecmp".to_owned()];
        let styles = crate::figure::theme::policy_styles(&policies);
        SizePanels {
            name: "by-size",
            policies: policies.into_iter().zip(styles).collect(),
            parameters: vec![String::new()],
            upper: vec![Bytes::new(10), Bytes::new(20)],
            slowdowns: vec![vec![vec![1.0], vec![1.5; flows]]],
            min_flows,
        }
    }

    #[test]
    fn panels_without_a_dot_are_left_out() {
        assert_eq!(panels(10, 10).missing(), None);
        let missing = panels(9, 10).missing().unwrap();
        assert!(
            missing.starts_with("no bin holds 10 flows of a policy"),
            "{missing}"
        );
        assert_eq!(panels(0, 1).missing(), None);
    }
}
