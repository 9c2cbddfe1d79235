//! Figures with a strip for each link direction or flow over time; a strip has a line for each policy or run.

use lab_units::Nanos;
use plotters::{
    prelude::DrawingBackend,
    style::text_anchor::{HPos, VPos},
};

use super::{
    axis::{Axis, TimeUnit},
    canvas::{Canvas, Drawn, Lettering, Point},
    chart::{Plot, label_width},
    faults::{self, FaultMark},
    font,
    legend::{Entry, Legend, noted},
    numbers::Numbers,
    render::Figure,
    theme::{INK, MUTED, SMALL, Style, TEXT, WIDTH},
};
use crate::{error::DrawError, frames::TimeGrid, series::Series, text};

/// Data of a figure of strips: line plots, one above the other, that share a time axis.
#[derive(Clone)]
pub struct Strips {
    /// Name of the figure's files.
    pub name: &'static str,
    /// Column names of strips and lines in the figure's CSV, such as `direction` and `policy`.
    pub columns: [&'static str; 2],
    /// Label and style of each line.
    pub lines: Vec<(String, Style)>,
    /// Legend text of each line's parameters; may be empty.
    pub parameters: Vec<String>,
    /// Strips, from top to bottom.
    pub strips: Vec<Series>,
    /// Times of the values, in seconds.
    pub times: Vec<f64>,
    pub faults: Vec<FaultMark>,
    /// Title of the values, with their unit.
    pub title: String,
    /// Text that replaces the figure if there are no data.
    pub missing: &'static str,
    /// True if the values are shares in percent.
    pub is_share: bool,
    /// True if the legend is drawn; later parts of a split figure have no legend.
    pub has_legend: bool,
}

impl Strips {
    /// Returns a figure with one strip per element of `series`, each with the lines `lines`. `merge` combines the
    /// values of each pair of neighbouring intervals of `grid` into one value. `columns` are the names of the series
    /// and the lines in the figure's CSV.
    pub fn new(
        columns: [&'static str; 2],
        lines: Vec<(String, Style)>,
        series: impl IntoIterator<Item = Series>,
        (grid, merge): (&TimeGrid, fn(&[f64]) -> f64),
    ) -> Self {
        let edges: Vec<Nanos> = grid.merged_edges(MERGED).collect();
        let middle = |edges: &[Nanos]| edges[0].get().midpoint(edges[1].get());
        let merged = |one: Series| one.merged(grid, MERGED, merge);
        Self {
            name: "",
            columns,
            parameters: vec![String::new(); lines.len()],
            lines,
            strips: series.into_iter().map(merged).collect(),
            times: edges
                .windows(2)
                .map(|pair| text::seconds(Nanos::new(middle(pair))))
                .collect(),
            faults: Vec::new(),
            title: String::new(),
            missing: "",
            is_share: false,
            has_legend: true,
        }
    }

    /// Returns the vertical axis of `strip`; for shares of at most 100 %, it ends at 100 %.
    fn axis(&self, strip: &Series) -> Axis {
        match (self.is_share, strip.max()) {
            (true, 50.0..102.0) => Axis::linear(0.0..102.0, 50.0),
            (_, max) => Axis::from_zero(max, 2),
        }
    }
}

impl Figure for Strips {
    fn name(&self) -> &'static str {
        self.name
    }

    fn missing(&self) -> Option<String> {
        let is_empty = self.strips.iter().all(|strip| strip.max() == 0.0);
        is_empty.then(|| self.missing.into())
    }

    fn height(&self) -> f64 {
        let legend = self.legend().map_or(0.0, |legend| legend.height());
        legend + TITLE + STRIP * text::to_float(self.strips.len() as u64) + AXIS
    }

    fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Drawn {
        let legend = self.legend()?;
        legend.draw(canvas, (0.0, 0.0))?;
        let mut left: f64 = 0.0;
        for strip in &self.strips {
            left = left.max(font::width(&strip.label, TEXT)?);
            left = left.max(font::width(&strip.about, SMALL)?);
        }
        let mut min_left: f64 = 0.0;
        for strip in &self.strips {
            min_left = min_left.max(label_width(&self.axis(strip))?);
        }
        let title = Lettering::new(TEXT, INK, HPos::Left, VPos::Center);
        canvas.text(&self.title, (0.0, legend.height() + TITLE / 2.0), title)?;
        let end = self.times.last().copied().unwrap_or(0.0);
        let unit = TimeUnit::of(end);
        for (index, strip) in (0u32..).zip(&self.strips) {
            let is_last = index as usize + 1 == self.strips.len();
            let top = legend.height() + TITLE + STRIP * f64::from(index);
            let x = Axis::until(end * unit.per_second, 8);
            let plot = Plot {
                at: (left + 10.0, top),
                size: (
                    WIDTH - left - 10.0,
                    STRIP + if is_last { AXIS } else { BELOW },
                ),
                x: if is_last { x } else { x.with_ticks(Vec::new()) },
                y: self.axis(strip),
                min_left,
                x_title: if is_last { &unit.axis_title() } else { "" },
                y_title: "",
            };
            write_label(canvas, strip, top + STRIP / 2.0)?;
            self.draw_strip(canvas, &plot, strip, unit.per_second)?;
        }
        Ok(())
    }

    fn numbers(&self) -> String {
        let [of, each] = self.columns;
        let mut numbers = Numbers::new([of, each, "time_s", "value"]);
        for strip in &self.strips {
            for ((label, _), line) in self.lines.iter().zip(&strip.lines) {
                for (time, value) in self.times.iter().zip(line) {
                    if let Some(value) = value {
                        numbers.row([&strip.label, label, time, value]);
                    }
                }
            }
        }
        numbers.into_text()
    }

    fn parts(&self) -> Vec<Self> {
        let part = |(index, strips): (usize, &[Series])| Self {
            strips: strips.to_vec(),
            has_legend: index == 0,
            ..self.clone()
        };
        self.strips.chunks(PART).enumerate().map(part).collect()
    }
}

impl Strips {
    fn legend(&self) -> Result<Legend, DrawError> {
        let entry = |((label, style), parameters): (&(String, Style), &String)| {
            Entry::line(style, noted(label, [parameters]))
        };
        let mut entries: Vec<Entry> = self.lines.iter().zip(&self.parameters).map(entry).collect();
        entries.extend(faults::entries(&self.faults));
        if !self.has_legend {
            entries.clear();
        }
        Legend::new(entries, WIDTH)
    }

    fn draw_strip<DB: DrawingBackend>(
        &self,
        canvas: &Canvas<'_, DB>,
        plot: &Plot<'_>,
        strip: &Series,
        per_second: f64,
    ) -> Drawn {
        let chart = plot.draw(canvas)?;
        let point = |x: f64, y: f64| canvas.logical(chart.backend_coord(&(x * per_second, y)));
        let (_, end) = plot.x.ends();
        faults::draw(canvas, &self.faults, |at| {
            let is_shown = at * per_second <= end;
            is_shown.then(|| [point(at, plot.y.ends().1), point(at, 0.0)])
        })?;
        for ((_, style), line) in self.lines.iter().zip(&strip.lines) {
            if line.iter().flatten().all(|&value| value == 0.0) {
                continue;
            }
            let points: Vec<Point> = self
                .times
                .iter()
                .zip(line)
                .filter_map(|(&time, value)| Some(point(time, (*value)?)))
                .collect();
            canvas.dashed(&points, style.dash, style.color, 1.5)?;
        }
        Ok(())
    }
}

fn write_label<DB: DrawingBackend>(canvas: &Canvas<'_, DB>, strip: &Series, middle: f64) -> Drawn {
    let name = Lettering::new(TEXT, INK, HPos::Left, VPos::Center);
    let small = Lettering {
        em: SMALL,
        color: MUTED,
        ..name
    };
    canvas.text(&strip.label, (0.0, middle), name)?;
    canvas.text(&strip.about, (0.0, middle + 16.0), small)
}

/// Height of a strip, logical pixels.
const STRIP: f64 = 84.0;

/// Height of the values' title, logical pixels.
const TITLE: f64 = 20.0;

/// Height of the time axis, its labels and its title, logical pixels.
const AXIS: f64 = 40.0;

/// Height of the axis below a strip that is not the last, logical pixels.
const BELOW: f64 = 4.0;

/// Number of intervals of the time grid that are merged into one.
const MERGED: usize = 2;

/// Largest number of strips in a figure.
pub const MAX_STRIPS: usize = 16;

/// Number of strips in each part of a figure that is split across pages.
const PART: usize = 8;
