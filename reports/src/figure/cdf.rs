//! CDF of the FCT slowdown under each policy.

use plotters::{
    prelude::DrawingBackend,
    series::LineSeries,
    style::{
        RGBColor,
        text_anchor::{HPos, VPos},
    },
};

use super::{
    axis::Axis,
    canvas::{Canvas, Drawn, Lettering},
    chart::Plot,
    legend::{Entry, Key, Legend},
    render::Figure,
    theme::{MUTED, SMALL, WIDTH, extra_widths},
};
use crate::text;

/// The figure `fct-slowdown-cdf`.
pub struct Cdf {
    /// Label, colour and sorted slowdowns of each policy.
    pub policies: Vec<(String, RGBColor, Vec<f64>)>,
}

impl Figure for Cdf {
    const NAME: &'static str = "fct-slowdown-cdf";

    fn missing(&self) -> Option<String> {
        let none = self.policies.iter().all(|(.., sorted)| sorted.is_empty());
        none.then(|| "no flow finished".into())
    }

    fn height(&self) -> f64 {
        430.0
    }

    fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Drawn {
        let entry = |(label, color, sorted): &(String, RGBColor, Vec<f64>)| {
            Entry::new(
                *color,
                Key::Line,
                format!("{label} ({})", text::count(sorted.len(), "flow")),
            )
        };
        let legend = Legend::new(self.policies.iter().map(entry).collect(), WIDTH)?;
        legend.draw(canvas, (0.0, 0.0))?;

        let values = self
            .policies
            .iter()
            .flat_map(|(.., sorted)| sorted.iter().copied());
        let x = Axis::of_ratios(values, 8);
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
            x_title,
            y_title: "flows (%)",
        };
        let mut chart = plot.draw(canvas)?;
        for percent in [50.0, 99.0] {
            let left = canvas.logical(chart.backend_coord(&(start, percent)));
            let (x, y) = canvas.logical(chart.backend_coord(&(end, percent)));
            canvas.dashes(left, (x, y), MUTED, 0.8)?;
            let lettering = Lettering::new(SMALL, MUTED, HPos::Left, VPos::Center);
            canvas.text(&format!("p{percent}"), (x + 6.0, y), lettering)?;
        }
        let lines: Vec<Vec<f64>> = (self.policies.iter())
            .map(|(.., sorted)| sorted.clone())
            .collect();
        let extra = extra_widths(&lines);
        for ((_, color, sorted), extra) in self.policies.iter().zip(extra) {
            let stroke = canvas.stroke(*color, 2.2 + extra);
            chart.draw_series(LineSeries::new(steps(sorted), stroke))?;
        }
        Ok(())
    }
}

/// Returns the corners of the empirical distribution function, in percent.
fn steps(sorted: &[f64]) -> Vec<(f64, f64)> {
    let total = text::to_float(sorted.len() as u64);
    let mut corners = Vec::new();
    let mut below = 0.0;
    for (rank, &value) in (1..).zip(sorted) {
        let share = 100.0 * text::to_float(rank) / total;
        corners.extend([(value, below), (value, share)]);
        below = share;
    }
    corners
}

/// Width of the labels of percentiles.
const RIGHT: f64 = 24.0;
