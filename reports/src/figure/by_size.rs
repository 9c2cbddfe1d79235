//! p50 and p99 FCT slowdown by flow size.

use lab_units::Bytes;
use plotters::{prelude::DrawingBackend, series::LineSeries, style::RGBColor};

use super::{
    axis::Axis,
    canvas::{Canvas, Drawn, Marker},
    chart::Plot,
    font,
    legend::{Entry, Key, Legend},
    render::Figure,
    theme::{SMALL, WIDTH, extra_widths},
};
use crate::{error::DrawError, stats::nearest_rank, text};

/// The figure `fct-slowdown-by-size`.
pub struct BySize {
    /// Label and colour of each policy.
    pub policies: Vec<(String, RGBColor)>,
    /// Largest size of each bin.
    pub upper: Vec<Bytes>,
    /// Sorted slowdowns by policy and bin.
    pub slowdowns: Vec<Vec<Vec<f64>>>,
}

/// Position and value of a bin.
type Dot = (f64, f64);

impl Figure for BySize {
    const NAME: &'static str = "fct-slowdown-by-size";

    fn missing(&self) -> Option<String> {
        let none = self.slowdowns.iter().flatten().all(Vec::is_empty);
        none.then(|| "no flow finished".into())
    }

    fn height(&self) -> f64 {
        390.0
    }

    fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Drawn {
        let entry = |(index, (label, color)): (usize, &(String, RGBColor))| {
            Entry::new(*color, Key::Marked(Marker::of(index)), label)
        };
        let entries = self.policies.iter().enumerate().map(entry).collect();
        let legend = Legend::new(entries, WIDTH)?;
        legend.draw(canvas, (0.0, 0.0))?;
        self.panel(canvas, 50, 0.0, legend.height())?;
        self.panel(canvas, 99, WIDTH / 2.0, legend.height())
    }
}

impl BySize {
    fn panel<DB: DrawingBackend>(
        &self,
        canvas: &Canvas<'_, DB>,
        percent: u32,
        left: f64,
        top: f64,
    ) -> Drawn {
        let dots = |bins: &Vec<Vec<f64>>| {
            let dot = |(bin, sorted): (f64, &Vec<f64>)| Some((bin, nearest_rank(sorted, percent)?));
            let bins = (0u32..).map(f64::from).zip(bins);
            bins.filter_map(dot).collect()
        };
        let series: Vec<Vec<Dot>> = self.slowdowns.iter().map(dots).collect();
        let values = series.iter().flatten().map(|dot| dot.1);
        let y = Axis::of_ratios(values, 6);
        let logarithmic = if y.is_logarithmic() {
            ", logarithmic"
        } else {
            ""
        };
        let plot = Plot {
            at: (left, top),
            size: (PANEL, self.height() - top),
            x: self.size_axis()?,
            y,
            x_title: "flow size, up to",
            y_title: &format!("p{percent} FCT slowdown{logarithmic}"),
        };
        let mut chart = plot.draw(canvas)?;
        let values = |dots: &Vec<Dot>| dots.iter().map(|dot| dot.1).collect();
        let extra = extra_widths(&series.iter().map(values).collect::<Vec<_>>());
        for (index, ((_, color), dots)) in self.policies.iter().zip(&series).enumerate() {
            let extra = extra[index];
            let line = LineSeries::new(dots.iter().copied(), canvas.stroke(*color, 2.0 + extra));
            chart.draw_series(line)?;
            for dot in dots {
                let at = canvas.logical(chart.backend_coord(dot));
                canvas.marker(Marker::of(index), at, 4.5 + extra, *color)?;
            }
        }
        Ok(())
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

/// Width of a panel, less a space to the next.
const PANEL: f64 = WIDTH / 2.0 - 12.0;
