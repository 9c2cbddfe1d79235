//! Figure of slowdowns between each pair of datacenters.

use std::collections::BTreeMap;

use plotters::{
    prelude::DrawingBackend,
    style::text_anchor::{HPos, VPos},
};

use super::{
    canvas::{Canvas, Drawn, Lettering},
    numbers::Numbers,
    render::Figure,
    theme::{INK, MUTED, SMALL, Style, TEXT, WIDTH},
};
use crate::{population::Population, stats::Statistic, text};

/// Data for the figure `dc-pairs`: p50, p99 and flow count for each pair of datacenters, under each policy.
#[derive(Clone)]
pub struct DcPairs {
    /// Sending datacenters, one per row.
    pub sources: Vec<String>,
    /// Receiving datacenters, one per column.
    pub sinks: Vec<String>,
    /// Panels, one per policy.
    pub panels: Vec<PairPanel>,
    /// Largest p50 over all panels, which gets the strongest colour.
    pub max: f64,
}

/// Slowdowns under one policy, by pair of datacenters.
#[derive(Clone)]
pub struct PairPanel {
    /// Label of the policy.
    pub policy: String,
    /// Style of the policy.
    pub style: Style,
    /// Slowdowns by sending and receiving datacenter.
    pub cells: BTreeMap<(String, String), PairCell>,
}

/// Slowdowns of the flows from one datacenter to another.
#[derive(Clone, Copy)]
pub struct PairCell {
    /// Median slowdown; `None` if there are too few flows, or if the median falls on an unfinished flow.
    pub p50: Option<f64>,
    /// 99th percentile of the slowdowns; `None` if there are too few flows, or if the percentile falls on an unfinished
    /// flow.
    pub p99: Option<f64>,
    /// Largest slowdown; `None` if a flow did not finish.
    pub max: Option<f64>,
    /// Number of scheduled flows.
    pub flows: usize,
    /// Number of flows that finished.
    pub finished: usize,
}

impl PairCell {
    /// Returns the cell for the flows between two datacenters.
    pub fn of(flows: &Population<'_>) -> Self {
        Self {
            p50: flows.shown(Statistic::P50),
            p99: flows.shown(Statistic::P99),
            max: flows.percentile(100),
            flows: flows.len(),
            finished: flows.finished().len(),
        }
    }

    /// Formats the number of flows, such as `20`, or `3 of 20` if only 3 finished.
    fn count(&self) -> String {
        let flows = text::number(self.flows as u64);
        if self.finished == self.flows {
            flows
        } else {
            format!("{} of {flows}", text::number(self.finished as u64))
        }
    }
}

impl DcPairs {
    fn panel_height(&self) -> f64 {
        TITLE + HEAD + CELL * text::to_float(self.sources.len() as u64) + GAP
    }

    fn draw_panel<DB: DrawingBackend>(
        &self,
        canvas: &Canvas<'_, DB>,
        panel: &PairPanel,
        top: f64,
    ) -> Drawn {
        let title = Lettering::new(TEXT, INK, HPos::Left, VPos::Center);
        let middle = top + TITLE / 2.0;
        canvas.fill((0.0, middle - 6.0), (22.0, middle + 6.0), panel.style.color)?;
        canvas.text(&panel.policy, (29.0, middle), title)?;
        let sinks = text::to_float(self.sinks.len() as u64);
        let width = ((WIDTH - SIDE) / sinks.max(1.0)).min(MAX_WIDTH);
        let head = Lettering::new(SMALL, MUTED, HPos::Center, VPos::Center);
        for (column, sink) in (0u32..).map(f64::from).zip(&self.sinks) {
            let x = SIDE + width * (column + 0.5);
            canvas.text(sink, (x, top + TITLE + HEAD / 2.0), head)?;
        }
        for (row, source) in (0u32..).map(f64::from).zip(&self.sources) {
            let y = top + TITLE + HEAD + CELL * row;
            let beside = Lettering {
                h: HPos::Right,
                ..head
            };
            canvas.text(source, (SIDE - 8.0, y + CELL / 2.0), beside)?;
            for (column, sink) in (0u32..).map(f64::from).zip(&self.sinks) {
                let cell = panel.cells.get(&(source.clone(), sink.clone()));
                if let Some(cell) = cell {
                    let x = SIDE + width * column;
                    self.draw_cell(canvas, panel, cell, [(x, y), (x + width, y + CELL)])?;
                }
            }
        }
        Ok(())
    }

    /// Draws a cell, whose background is stronger the larger its p50 is.
    fn draw_cell<DB: DrawingBackend>(
        &self,
        canvas: &Canvas<'_, DB>,
        panel: &PairPanel,
        cell: &PairCell,
        [(left, top), (right, bottom)]: [(f64, f64); 2],
    ) -> Drawn {
        let depth =
            (cell.p50.unwrap_or(1.0).max(1.0).ln() / self.max.max(1.1).ln()).clamp(0.0, 1.0);
        let left = left + 1.0;
        let top = top + 1.0;
        let right = right - 1.0;
        let bottom = bottom - 1.0;
        let corners = [(left, top), (right, top), (right, bottom), (left, bottom)];
        canvas.area(&corners, panel.style.color, 0.04 + 0.4 * depth)?;
        let x = f64::midpoint(left, right);
        let ink = Lettering::new(SMALL, INK, HPos::Center, VPos::Center);
        let unknown = || "–".to_owned();
        let p50 = cell.p50.map_or_else(unknown, text::slowdown);
        let max = || {
            cell.max
                .map_or_else(unknown, |max| format!("max {}", text::slowdown(max)))
        };
        let p99 = cell.p99.map_or_else(max, text::slowdown);
        canvas.text(&p50, (x, top + 10.0), ink)?;
        canvas.text(&p99, (x, top + 23.0), ink)?;
        let muted = Lettering {
            color: MUTED,
            ..ink
        };
        canvas.text(&cell.count(), (x, top + 36.0), muted)
    }
}

impl Figure for DcPairs {
    fn name(&self) -> &'static str {
        "dc-pairs"
    }

    fn missing(&self) -> Option<String> {
        let mut cells = self.panels.iter().flat_map(|panel| panel.cells.values());
        let none = cells.all(|cell| cell.finished == 0);
        none.then(|| "no flow finished".into())
    }

    fn height(&self) -> f64 {
        self.panel_height() * text::to_float(self.panels.len() as u64)
    }

    fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Drawn {
        for (index, panel) in (0u32..).zip(&self.panels) {
            self.draw_panel(canvas, panel, self.panel_height() * f64::from(index))?;
        }
        Ok(())
    }

    fn numbers(&self) -> String {
        pair_numbers(&self.panels)
    }

    fn parts(&self) -> Vec<Self> {
        let part = |panel: &PairPanel| Self {
            panels: vec![panel.clone()],
            ..self.clone()
        };
        self.panels.iter().map(part).collect()
    }
}

/// Returns the rows of the figure's CSV, one per policy and pair.
pub fn pair_numbers(panels: &[PairPanel]) -> String {
    let heads = [
        "policy", "from_dc", "to_dc", "flows", "finished", "p50", "p99", "max",
    ];
    let mut numbers = Numbers::new(heads);
    for panel in panels {
        for ((source, sink), cell) in &panel.cells {
            let [p50, p99, max] = [cell.p50, cell.p99, cell.max]
                .map(|it| it.map_or_else(String::new, |it| it.to_string()));
            let policy = &panel.policy;
            let flows = &cell.flows;
            let finished = &cell.finished;
            numbers.row([policy, source, sink, flows, finished, &p50, &p99, &max]);
        }
    }
    numbers.into_text()
}

/// Height of a panel's title, logical pixels.
const TITLE: f64 = 24.0;

/// Height of the column heads, logical pixels.
const HEAD: f64 = 18.0;

/// Width of the row heads, logical pixels.
const SIDE: f64 = 60.0;

/// Height of a cell with three lines, logical pixels.
const CELL: f64 = 48.0;

/// Maximum width of a cell, logical pixels.
const MAX_WIDTH: f64 = 110.0;

/// Space below a panel, logical pixels.
const GAP: f64 = 10.0;
