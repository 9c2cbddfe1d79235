//! Figure of the rates at which the switch next to a fault sends over each of its links.

use plotters::{prelude::DrawingBackend, style::RGBColor};

use super::{
    axis::{Axis, TimeUnit},
    canvas::{Canvas, Drawn},
    chart::Plot,
    faults::{self, FaultMark},
    legend::{Entry, Key, Legend},
    numbers::Numbers,
    render::Figure,
    theme::WIDTH,
};
use crate::{error::DrawError, text};

/// Data of the figure `around-faults`: rates at which a switch with a faulty link sends on each of its links.
pub struct AroundFaults {
    /// Label and colour of each link.
    pub links: Vec<(String, RGBColor)>,
    pub faults: Vec<FaultMark>,
    /// Start and end of the time axis, in seconds.
    pub time: (f64, f64),
    /// Panels, one per policy and switch.
    pub panels: Vec<Sent>,
    /// Largest rate on the vertical axis, in Gbit/s; `None` selects the largest rate in the panels.
    pub max: Option<f64>,
    /// True if the legend is drawn; later parts of a split figure have no legend.
    pub has_legend: bool,
}

/// Sending rates of one switch under one policy.
#[derive(Clone)]
pub struct Sent {
    pub title: String,
    /// Start and end in seconds, and rate in Gbit/s, of each time span, by link.
    pub rates: Vec<Vec<(f64, f64, f64)>>,
}

impl AroundFaults {
    fn legend(&self) -> Result<Legend, DrawError> {
        let link = |(label, color): &(String, RGBColor)| Entry::new(*color, Key::Line, label);
        let entries = self.links.iter().map(link);
        let mut entries: Vec<Entry> = entries.chain(faults::entries(&self.faults)).collect();
        if !self.has_legend {
            entries.clear();
        }
        Legend::new(entries, WIDTH)
    }

    /// Returns the largest rate on the axes, in Gbit/s.
    fn max(&self) -> f64 {
        let found = || self.spans().map(|span| span.2).fold(0.0, f64::max);
        self.max.unwrap_or_else(found)
    }

    fn spans(&self) -> impl Iterator<Item = &(f64, f64, f64)> {
        self.panels.iter().flat_map(|sent| &sent.rates).flatten()
    }
}

impl Figure for AroundFaults {
    fn name(&self) -> &'static str {
        "around-faults"
    }

    fn missing(&self) -> Option<String> {
        (self.spans().next().is_none()).then(|| "no link counters are recorded".into())
    }

    fn height(&self) -> f64 {
        let legend = self.legend().map_or(0.0, |legend| legend.height());
        legend + PANEL * text::to_float(self.panels.len() as u64)
    }

    fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Drawn {
        let legend = self.legend()?;
        legend.draw(canvas, (0.0, 0.0))?;
        let (start, end) = self.time;
        let max = self.max();
        let unit = TimeUnit::of(end);
        for (index, sent) in (0u32..).zip(&self.panels) {
            let plot = Plot {
                at: (0.0, legend.height() + PANEL * f64::from(index)),
                size: (WIDTH, PANEL),
                x: Axis::between(start * unit.per_second, end * unit.per_second, 8),
                y: Axis::from_zero(max, 4),
                min_left: 0.0,
                x_title: &unit.axis_title(),
                y_title: &format!("{} (Gbit/s)", sent.title),
            };
            self.draw_panel(canvas, &plot, sent, unit.per_second)?;
        }
        Ok(())
    }

    fn numbers(&self) -> String {
        let mut numbers = Numbers::new(["panel", "link", "start_s", "end_s", "gbit_per_s"]);
        for sent in &self.panels {
            for ((link, _), rates) in self.links.iter().zip(&sent.rates) {
                for (start, end, rate) in rates {
                    numbers.row([&sent.title, link, start, end, rate]);
                }
            }
        }
        numbers.into_text()
    }

    fn parts(&self) -> Vec<Self> {
        let part = |(index, sent): (usize, &Sent)| Self {
            links: self.links.clone(),
            faults: self.faults.clone(),
            time: self.time,
            panels: vec![sent.clone()],
            max: Some(self.max()),
            has_legend: index == 0,
        };
        self.panels.iter().enumerate().map(part).collect()
    }
}

impl AroundFaults {
    fn draw_panel<DB: DrawingBackend>(
        &self,
        canvas: &Canvas<'_, DB>,
        plot: &Plot<'_>,
        sent: &Sent,
        per_second: f64,
    ) -> Drawn {
        let chart = plot.draw(canvas)?;
        let point = |x: f64, y: f64| canvas.logical(chart.backend_coord(&(x * per_second, y)));
        let (_, max) = plot.y.ends();
        faults::draw(canvas, &self.faults, |at| {
            Some([point(at, max), point(at, 0.0)])
        })?;
        for ((_, color), rates) in self.links.iter().zip(&sent.rates) {
            let steps: Vec<_> = rates
                .iter()
                .filter(|(_, end, _)| *end >= self.time.0)
                .flat_map(|&(start, end, rate)| {
                    [point(start.max(self.time.0), rate), point(end, rate)]
                })
                .collect();
            if !steps.is_empty() {
                canvas.line(&steps, *color, 2.0)?;
            }
        }
        Ok(())
    }
}

/// Height of a panel, logical pixels.
const PANEL: f64 = 240.0;
