//! What the switch next to a fault sent over each of its links as time went by.

use plotters::{
    prelude::DrawingBackend,
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
    theme::{INK, SMALL, WIDTH},
    time_unit::TimeUnit,
};
use crate::{error::DrawError, text};

/// The figure.
pub struct AroundFaults {
    /// Label and colour of each link.
    pub links: Vec<(String, RGBColor)>,
    /// What happened: when, in seconds, and what.
    pub faults: Vec<(f64, String)>,
    /// From when to when it shows, in seconds.
    pub time: (f64, f64),
    /// One panel for each policy and switch.
    pub panels: Vec<Sent>,
}

/// What one switch sent under one policy.
pub struct Sent {
    /// What is written over it.
    pub title: String,
    /// By link: start, end and Gbit/s of each span of time.
    pub rates: Vec<Vec<(f64, f64, f64)>>,
}

impl AroundFaults {
    fn legend(&self) -> Result<Legend, DrawError> {
        let link = |(label, color): &(String, RGBColor)| Entry {
            color: *color,
            key: Key::Line,
            label: label.clone(),
        };
        let fault = |(place, (_, what)): (usize, &(f64, String))| Entry {
            color: INK,
            key: Key::Dashed,
            label: format!("{}: {what}", place + 1),
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
        (self.spans().next().is_none()).then(|| "what links carried is not recorded".into())
    }

    fn height(&self) -> f64 {
        let legend = self.legend().map_or(0.0, |legend| legend.height());
        legend + PANEL * text::to_float(self.panels.len() as u64)
    }

    fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Drawn {
        let legend = self.legend()?;
        legend.draw(canvas, (0.0, 0.0))?;
        let (start, end) = self.time;
        let most = self.spans().map(|span| span.2).fold(0.0, f64::max);
        let unit = TimeUnit::of(end);
        for (index, sent) in (0u32..).zip(&self.panels) {
            let plot = Plot {
                at: (0.0, legend.height() + PANEL * f64::from(index)),
                size: (WIDTH, PANEL),
                x: Axis::between(start * unit.per_second, end * unit.per_second, 8),
                y: Axis::from_zero(most, 4),
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
        let place = |x: f64, y: f64| canvas.logical(chart.backend_coord(&(x * per_second, y)));
        let (_, most) = plot.y.ends();
        for (number, (time, _)) in (1..).zip(&self.faults) {
            let (top, bottom) = (place(*time, most), place(*time, 0.0));
            canvas.dashes(top, bottom, INK, 1.0)?;
            let lettering = Lettering {
                em: SMALL,
                color: INK,
                h: HPos::Left,
                v: VPos::Top,
            };
            canvas.text(&format!("{number}"), (top.0 + 3.0, top.1 + 1.0), lettering)?;
        }
        for ((_, color), rates) in self.links.iter().zip(&sent.rates) {
            let steps = rates
                .iter()
                .filter(|(_, end, _)| *end >= self.time.0)
                .flat_map(|&(start, end, rate)| {
                    [place(start.max(self.time.0), rate), place(end, rate)]
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
