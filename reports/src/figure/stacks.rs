//! Figures of flows by route over time, as stacked layers.

use plotters::{prelude::DrawingBackend, style::RGBColor};

use super::{
    axis::{Axis, TimeUnit},
    canvas::{Canvas, Drawn, Point},
    chart::Plot,
    faults::{self, FaultMark},
    legend::{self, Legend},
    numbers::Numbers,
    render::Figure,
    theme::WIDTH,
};
use crate::{error::DrawError, series::Series, text};

/// Data of a figure with stacked layers, one for each route.
#[derive(Clone)]
pub struct Stacks {
    /// Name of the figure's files.
    pub name: &'static str,
    /// Label and colour of each route; the last entry is for all other flows.
    pub routes: Vec<(String, RGBColor)>,
    /// Panels, one per policy: index of the policy's line in every layer, and label of the policy.
    pub panels: Vec<(usize, String)>,
    /// Layers from bottom to top, one per route.
    pub layers: Vec<Series>,
    /// Start of each interval, and the end of the last one, in seconds.
    pub edges: Vec<f64>,
    pub faults: Vec<FaultMark>,
    /// Title of the vertical axis.
    pub y_title: &'static str,
    /// Upper end of the vertical axis, equal for all panels.
    pub max: f64,
    /// True if the legend is drawn; later parts of a split figure have no legend.
    pub has_legend: bool,
}

impl Figure for Stacks {
    fn name(&self) -> &'static str {
        self.name
    }

    fn missing(&self) -> Option<String> {
        let is_empty = self.layers.iter().all(|layer| layer.max() == 0.0);
        is_empty.then(|| "no flow is recorded".into())
    }

    fn height(&self) -> f64 {
        let legend = self.legend().map_or(0.0, |legend| legend.height());
        legend + PANEL * text::to_float(self.panels.len() as u64)
    }

    fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Drawn {
        let legend = self.legend()?;
        legend.draw(canvas, (0.0, 0.0))?;
        let unit = TimeUnit::of(self.edges.last().copied().unwrap_or(0.0));
        let end = self.edges.last().copied().unwrap_or(0.0) * unit.per_second;
        for (index, (line, policy)) in (0u32..).zip(&self.panels) {
            let plot = Plot {
                at: (0.0, legend.height() + PANEL * f64::from(index)),
                size: (WIDTH, PANEL),
                x: Axis::until(end, 8),
                y: Axis::from_zero(self.max, 3),
                min_left: 0.0,
                x_title: &unit.axis_title(),
                y_title: &format!("{policy}: {}", self.y_title),
            };
            self.draw_panel(canvas, &plot, *line, unit.per_second)?;
        }
        Ok(())
    }

    fn numbers(&self) -> String {
        let mut numbers = Numbers::new(["policy", "start_s", "end_s", "route", "value"]);
        for (line, policy) in &self.panels {
            for (layer, (route, _)) in self.layers.iter().zip(&self.routes) {
                for (edges, value) in self
                    .edges
                    .windows(2)
                    .zip(layer.lines[*line].iter().flatten())
                {
                    numbers.row([policy, &edges[0], &edges[1], route, value]);
                }
            }
        }
        numbers.into_text()
    }

    fn parts(&self) -> Vec<Self> {
        let part = |(index, panel): (usize, &(usize, String))| Self {
            panels: vec![panel.clone()],
            has_legend: index == 0,
            ..self.clone()
        };
        self.panels.iter().enumerate().map(part).collect()
    }
}

impl Stacks {
    fn legend(&self) -> Result<Legend, DrawError> {
        let has_others = self.layers.last().is_some_and(|layer| layer.max() > 0.0);
        let mut entries = legend::routes(&self.routes, has_others);
        entries.extend(faults::entries(&self.faults));
        if !self.has_legend {
            entries.clear();
        }
        Legend::new(entries, WIDTH)
    }

    fn draw_panel<DB: DrawingBackend>(
        &self,
        canvas: &Canvas<'_, DB>,
        plot: &Plot<'_>,
        line: usize,
        per_second: f64,
    ) -> Drawn {
        let chart = plot.draw(canvas)?;
        let point = |x: f64, y: f64| canvas.logical(chart.backend_coord(&(x * per_second, y)));
        let times = self.times();
        let mut below = vec![0.0; times.len()];
        for (layer, (_, color)) in self.layers.iter().zip(&self.routes) {
            let layer: Vec<f64> = layer.lines[line].iter().flatten().copied().collect();
            let ends = [layer.first(), layer.last()].map(Option::into_iter);
            let [first, last] = ends;
            let values = first.chain(&layer).chain(last);
            let above: Vec<f64> = below
                .iter()
                .zip(values)
                .map(|(below, value)| below + value)
                .collect();
            if layer.iter().any(|&value| value > 0.0) {
                let upper = times.iter().zip(&above).map(|(&x, &y)| point(x, y));
                let lower = times.iter().zip(&below).rev().map(|(&x, &y)| point(x, y));
                let corners: Vec<Point> = upper.chain(lower).collect();
                canvas.area(&corners, *color, 1.0)?;
            }
            below = above;
        }
        let (_, end) = plot.x.ends();
        faults::draw(canvas, &self.faults, |at| {
            let is_shown = at * per_second <= end;
            is_shown.then(|| [point(at, plot.y.ends().1), point(at, 0.0)])
        })
    }

    /// Returns the times at which layers have corners: the middle of each interval, and both ends of the axis.
    fn times(&self) -> Vec<f64> {
        let middles = self
            .edges
            .windows(2)
            .map(|edge| f64::midpoint(edge[0], edge[1]));
        let first = self.edges.first().copied();
        let last = self.edges.last().copied();
        first.into_iter().chain(middles).chain(last).collect()
    }
}

/// Height of a panel, logical pixels.
const PANEL: f64 = 190.0;
