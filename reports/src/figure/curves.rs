//! Curves of slowdowns along the axes of a sweep.

use plotters::prelude::DrawingBackend;

use super::{
    axis::Axis,
    canvas::{Canvas, Drawn, Lettering, Point},
    chart::Plot,
    legend::{Entry, Key, Legend},
    numbers::Numbers,
    render::Figure,
    theme::{INK, Style, TEXT, WIDTH},
};
use crate::{error::DrawError, text::to_float};

use plotters::style::text_anchor::{HPos, VPos};

/// Data of the figure `sweep-curves`: a panel for each axis.
pub struct Curves {
    /// Labels and styles of the curves.
    pub series: Vec<(String, Style)>,
    pub panels: Vec<CurvePanel>,
    /// Title of the vertical axis.
    pub y_title: String,
}

/// Panel with a curve of each series along one axis.
pub struct CurvePanel {
    /// Name of the axis.
    pub title: String,
    /// Values of the axis, at equal distances.
    pub values: Vec<String>,
    /// Slowdowns by series and value.
    pub curves: Vec<Vec<f64>>,
}

impl Curves {
    /// Name of the figure's files.
    pub const NAME: &str = "sweep-curves";
}

impl Figure for Curves {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn missing(&self) -> Option<String> {
        let none = self.panels.is_empty();
        none.then(|| "no axis has several values with a p99".into())
    }

    fn height(&self) -> f64 {
        let legend = self.legend().map_or(0.0, |legend| legend.height());
        legend + PANEL * to_float(self.panels.len().div_ceil(COLUMNS) as u64)
    }

    fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Drawn {
        let legend = self.legend()?;
        legend.draw(canvas, (0.0, 0.0))?;
        let columns = self.panels.len().min(COLUMNS);
        let width = WIDTH / to_float(columns.max(1) as u64);
        let slowdowns = self.panels.iter().flat_map(|panel| &panel.curves).flatten();
        let y = Axis::of_ratios(slowdowns.copied(), 6);
        for (index, panel) in self.panels.iter().enumerate() {
            let [column, row] = [index % columns, index / columns].map(|at| to_float(at as u64));
            let at = (width * column, legend.height() + PANEL * row);
            self.draw_panel(canvas, panel, (at, width), y.clone())?;
        }
        Ok(())
    }

    fn numbers(&self) -> String {
        let mut numbers = Numbers::new(["axis", "value", "series", "slowdown"]);
        for panel in &self.panels {
            for ((label, _), curve) in self.series.iter().zip(&panel.curves) {
                for (value, slowdown) in panel.values.iter().zip(curve) {
                    numbers.row([
                        &panel.title as &dyn std::fmt::Display,
                        value,
                        label,
                        slowdown,
                    ]);
                }
            }
        }
        numbers.into_text()
    }
}

impl Curves {
    fn legend(&self) -> Result<Legend, DrawError> {
        let entry = |(label, style): &(String, Style)| {
            Entry::new(style.color, Key::Dot(style.marker), &**label)
        };
        Legend::new(self.series.iter().map(entry).collect(), WIDTH)
    }

    fn draw_panel<DB: DrawingBackend>(
        &self,
        canvas: &Canvas<'_, DB>,
        panel: &CurvePanel,
        (at, width): (Point, f64),
        y: Axis,
    ) -> Drawn {
        let title = Lettering::new(TEXT, INK, HPos::Left, VPos::Center);
        canvas.text(&panel.title, (at.0, at.1 + TITLE / 2.0), title)?;
        let place = |index: usize| to_float(index as u64);
        let values = panel.values.iter().enumerate();
        let ticks = values.map(|(index, value)| (place(index), value.clone()));
        let end = place(panel.values.len().saturating_sub(1));
        let plot = Plot {
            at: (at.0, at.1 + TITLE),
            size: (width - GAP, PANEL - TITLE - GAP),
            x: Axis::bare(-0.3..end + 0.3).with_ticks(ticks.collect()),
            y,
            min_left: 0.0,
            x_title: "",
            y_title: &self.y_title,
        };
        let chart = plot.draw(canvas)?;
        for ((_, style), curve) in self.series.iter().zip(&panel.curves) {
            let point = |(index, slowdown): (usize, &f64)| {
                canvas.logical(chart.backend_coord(&(place(index), *slowdown)))
            };
            let points: Vec<Point> = curve.iter().enumerate().map(point).collect();
            canvas.dashed(&points, style.dash, style.color, 1.6)?;
            for at in points {
                canvas.marker(style.marker, at, 3.2, style.color)?;
            }
        }
        Ok(())
    }
}

/// Maximum number of panels in a row.
const COLUMNS: usize = 2;

/// Height of a panel, logical pixels.
const PANEL: f64 = 300.0;

/// Height of a panel's title, logical pixels.
const TITLE: f64 = 22.0;

/// Space beside and below a panel, logical pixels.
const GAP: f64 = 14.0;
