//! Sending rates of the switch next to a fault over each of its links.

use plotters::{
    prelude::DrawingBackend,
    style::{
        RGBColor,
        text_anchor::{HPos, VPos},
    },
};

use super::{
    axis::{Axis, TimeUnit},
    canvas::{Canvas, Drawn, Lettering},
    chart::Plot,
    legend::{Entry, Key, Legend},
    render::Figure,
    theme::{INK, SMALL, WIDTH},
};
use crate::{error::DrawError, text};

/// The figure `around-faults`.
pub struct AroundFaults {
    /// Label and colour of each link.
    pub links: Vec<(String, RGBColor)>,
    /// Time of each fault, in seconds, and its label.
    pub faults: Vec<(f64, String)>,
    /// Start and end of the time axis, in seconds.
    pub time: (f64, f64),
    /// One panel for each policy and switch.
    pub panels: Vec<Sent>,
}

/// Sending rates of one switch under one policy.
pub struct Sent {
    /// Title.
    pub title: String,
    /// Start, end and Gbit/s of each span of time, by link.
    pub rates: Vec<Vec<(f64, f64, f64)>>,
}

impl AroundFaults {
    fn legend(&self) -> Result<Legend, DrawError> {
        let link = |(label, color): &(String, RGBColor)| Entry::new(*color, Key::Line, label);
        let fault = |(index, (_, label)): (usize, &(f64, String))| {
            Entry::new(INK, Key::Dashed, format!("{}: {label}", index + 1))
        };
        let links = self.links.iter().map(link);
        let faults = self.faults.iter().enumerate().map(fault);
        Legend::new(links.chain(faults).collect(), WIDTH)
    }

    fn spans(&self) -> impl Iterator<Item = &(f64, f64, f64)> {
        self.panels.iter().flat_map(|sent| &sent.rates).flatten()
    }
}

impl Figure for AroundFaults {
    const NAME: &'static str = "around-faults";

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
        let max = self.spans().map(|span| span.2).fold(0.0, f64::max);
        let unit = TimeUnit::of(end);
        for (index, sent) in (0u32..).zip(&self.panels) {
            let plot = Plot {
                at: (0.0, legend.height() + PANEL * f64::from(index)),
                size: (WIDTH, PANEL),
                x: Axis::between(start * unit.per_second, end * unit.per_second, 8),
                y: Axis::from_zero(max, 4),
                x_title: &unit.axis_title(),
                y_title: &format!("{} (Gbit/s)", sent.title),
            };
            self.draw_panel(canvas, &plot, sent, unit.per_second)?;
        }
        Ok(())
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
        for (number, (time, _)) in (1..).zip(&self.faults) {
            let (top, bottom) = (point(*time, max), point(*time, 0.0));
            canvas.dashes(top, bottom, INK, 1.0)?;
            let lettering = Lettering::new(SMALL, INK, HPos::Left, VPos::Top);
            canvas.text(&format!("{number}"), (top.0 + 3.0, top.1 + 1.0), lettering)?;
        }
        for ((_, color), rates) in self.links.iter().zip(&sent.rates) {
            let steps = rates
                .iter()
                .filter(|(_, end, _)| *end >= self.time.0)
                .flat_map(|&(start, end, rate)| {
                    [point(start.max(self.time.0), rate), point(end, rate)]
                });
            let steps: Vec<_> = steps.collect();
            if !steps.is_empty() {
                canvas.line(&steps, *color, 2.0)?;
            }
        }
        Ok(())
    }
}

/// Height of a panel.
const PANEL: f64 = 240.0;
