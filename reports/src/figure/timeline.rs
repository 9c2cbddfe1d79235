//! Figure of the start, end and route of each flow.

use plotters::{prelude::DrawingBackend, style::RGBColor};

use super::{
    axis::{Axis, TimeUnit},
    canvas::{Canvas, Drawn},
    chart::Plot,
    faults::{self, FaultMark},
    legend::{self, Entry, Key, Legend},
    numbers::Numbers,
    render::Figure,
    theme::{INK, UNUSED, WIDTH},
};
use crate::{error::DrawError, text};

/// Data of the figure `flow-timeline`.
pub struct Timeline {
    /// Label and colour of each route; the last entry is for all other flows.
    pub routes: Vec<(String, RGBColor)>,
    /// Panels, one per policy.
    pub panels: Vec<Lane>,
    pub faults: Vec<FaultMark>,
    /// End of the time axis, seconds; `None` for the end of the last flow.
    pub end: Option<f64>,
    /// True if the legend is drawn; later parts of a split figure have no legend.
    pub has_legend: bool,
}

/// Bars of the flows under one policy.
#[derive(Clone)]
pub struct Lane {
    /// Label of the policy.
    pub policy: String,
    /// Started flows of the first repetition, in order of start.
    pub flows: Vec<Bar>,
    /// Number of flows in the first repetition that did not start.
    pub never_started: usize,
}

/// Bar of one flow.
#[derive(Clone, Copy, Debug)]
pub struct Bar {
    /// Start of the flow, in seconds.
    pub start: f64,
    /// Completion of the flow, seconds; for a flow that did not finish, the end of the repetition.
    pub end: f64,
    /// True if the flow finished.
    pub is_finished: bool,
    /// Index of the route in [`Timeline::routes`]; `None` for any other route.
    pub route: Option<usize>,
}

impl Timeline {
    fn legend(&self) -> Result<Legend, DrawError> {
        let flows = self.panels.iter().flat_map(|lane| &lane.flows);
        let mut finished = flows.clone().filter(|flow| flow.is_finished);
        let has_others = finished.any(|flow| flow.route.is_none());
        let mut entries = legend::routes(&self.routes, has_others);
        if flows.clone().any(|flow| !flow.is_finished) {
            entries.push(Entry::new(INK, Key::Dashed, "did not finish"));
        }
        entries.extend(faults::entries(&self.faults));
        if !self.has_legend {
            entries.clear();
        }
        Legend::new(entries, WIDTH)
    }

    fn max_flows(&self) -> usize {
        self.panels
            .iter()
            .map(|lane| lane.flows.len())
            .max()
            .unwrap_or(0)
    }

    /// Returns the height of one flow's bar and gap, logical pixels.
    fn pitch(&self) -> f64 {
        (LANE_HEIGHT / text::to_float(self.max_flows().max(1) as u64)).clamp(1.0, 8.0)
    }

    fn lane_height(&self) -> f64 {
        let rows = text::to_float(self.max_flows() as u64);
        rows * self.pitch() + AROUND
    }

    /// Returns the time at which the last flow ended, in seconds.
    fn end(&self) -> f64 {
        if let Some(end) = self.end {
            return end;
        }
        let flows = self.panels.iter().flat_map(|lane| &lane.flows);
        flows
            .map(|flow| flow.end)
            .chain(self.faults.iter().map(|fault| fault.at))
            .fold(0.0, f64::max)
    }
}

impl Figure for Timeline {
    fn name(&self) -> &'static str {
        "flow-timeline"
    }

    fn missing(&self) -> Option<String> {
        (self.max_flows() == 0).then(|| "no flow is recorded".into())
    }

    fn height(&self) -> f64 {
        let legend = self.legend().map_or(0.0, |legend| legend.height());
        legend + self.lane_height() * text::to_float(self.panels.len() as u64)
    }

    fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Drawn {
        let legend = self.legend()?;
        legend.draw(canvas, (0.0, 0.0))?;
        for (index, lane) in (0u32..).zip(&self.panels) {
            let top = legend.height() + self.lane_height() * f64::from(index);
            self.draw_lane(canvas, lane, top)?;
        }
        Ok(())
    }

    fn numbers(&self) -> String {
        let mut numbers = Numbers::new(["policy", "start_s", "end_s", "route"]);
        for lane in &self.panels {
            for flow in &lane.flows {
                let end = if flow.is_finished {
                    flow.end.to_string()
                } else {
                    String::new()
                };
                let route = flow
                    .route
                    .and_then(|route| self.routes.get(route))
                    .map_or("", |(label, _)| label);
                numbers.row([&lane.policy, &flow.start, &end, &route]);
            }
        }
        numbers.into_text()
    }

    fn parts(&self) -> Vec<Self> {
        let part = |(index, lane): (usize, &Lane)| Self {
            routes: self.routes.clone(),
            panels: vec![lane.clone()],
            faults: self.faults.clone(),
            end: Some(self.end()),
            has_legend: index == 0,
        };
        self.panels.iter().enumerate().map(part).collect()
    }
}

impl Timeline {
    fn draw_lane<DB: DrawingBackend>(
        &self,
        canvas: &Canvas<'_, DB>,
        lane: &Lane,
        top: f64,
    ) -> Drawn {
        let finished = lane.flows.iter().filter(|flow| flow.is_finished).count();
        let finished = match lane.flows.len() + lane.never_started {
            all if all == finished => text::count(all, "flow"),
            all => format!("{finished} of {} finished", text::count(all, "flow")),
        };
        let unit = TimeUnit::of(self.end());
        let rows = text::to_float(self.max_flows() as u64);
        let x = Axis::until(self.end() * unit.per_second, 8);
        let (_, axis_end) = x.ends();
        let plot = Plot {
            at: (0.0, top),
            size: (WIDTH, self.lane_height()),
            x,
            y: Axis::bare(rows..0.0),
            min_left: 0.0,
            x_title: &unit.axis_title(),
            y_title: &format!("{}: {finished}, by start", lane.policy),
        };
        let chart = plot.draw(canvas)?;
        let point = |x: f64, y: f64| canvas.logical(chart.backend_coord(&(x, y)));
        faults::draw(canvas, &self.faults, |at| {
            let at = at * unit.per_second;
            (at <= axis_end).then(|| [point(at, 0.0), point(at, rows)])
        })?;
        for (row, flow) in (0u32..).map(f64::from).zip(&lane.flows) {
            let (start, top) = point(flow.start * unit.per_second, row);
            let (_, bottom) = point(0.0, row + 1.0);
            let color = flow
                .route
                .and_then(|route| self.routes.get(route))
                .map_or(UNUSED, |(_, color)| *color);
            let (end, _) = point(flow.end * unit.per_second, row);
            if !flow.is_finished {
                let middle = f64::midpoint(top, bottom);
                canvas.dashes((start, middle), (end, middle), INK, 1.5)?;
                continue;
            }
            let gap = if self.pitch() > 3.0 { 1.0 } else { 0.0 };
            canvas.fill(
                (start, top + gap),
                (end.max(start + 1.0), bottom - gap),
                color,
            )?;
        }
        Ok(())
    }
}

/// Height of all bars in a panel, logical pixels, before the limits on the height of one bar apply.
const LANE_HEIGHT: f64 = 400.0;

/// Height of margins, tick labels and title together, logical pixels.
const AROUND: f64 = 80.0;
