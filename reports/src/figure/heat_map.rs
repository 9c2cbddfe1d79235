//! Heat maps of changes over two axes of a sweep.

use plotters::{
    prelude::DrawingBackend,
    style::{
        RGBColor,
        text_anchor::{HPos, VPos},
    },
};

use super::{
    canvas::{Canvas, Drawn, Lettering},
    font,
    numbers::Numbers,
    render::Figure,
    theme::{FASTER, INK, MUTED, SLOWER, SMALL, TEXT, WIDTH},
};
use crate::text::{self, to_float};

/// Data of the figure `sweep-heat-map`: a panel for each policy.
pub struct HeatMap {
    /// Name of the axis whose values are the rows, and these values.
    pub rows: (String, Vec<String>),
    /// Name of the axis whose values are the columns, and these values.
    pub columns: (String, Vec<String>),
    pub panels: Vec<HeatPanel>,
}

/// Panel of one policy.
pub struct HeatPanel {
    /// Label of the policy.
    pub policy: String,
    /// Relative changes by row and column; `None` if a change is unknown.
    pub changes: Vec<Vec<Option<f64>>>,
}

impl HeatMap {
    fn panel_height(&self) -> f64 {
        TITLE + HEAD + CELL * to_float(self.rows.1.len() as u64) + GAP
    }

    fn draw_panel<DB: DrawingBackend>(
        &self,
        canvas: &Canvas<'_, DB>,
        panel: &HeatPanel,
        top: f64,
    ) -> Drawn {
        let rows = &self.rows.1;
        let columns = &self.columns.1;
        let title = Lettering::new(TEXT, INK, HPos::Left, VPos::Center);
        let caption = format!("{}: {} by {}", panel.policy, self.rows.0, self.columns.0);
        canvas.text(&caption, (0.0, top + TITLE / 2.0), title)?;
        let side = self.side()?;
        let width = ((WIDTH - side) / to_float(columns.len().max(1) as u64)).min(MAX_WIDTH);
        let head = Lettering::new(SMALL, MUTED, HPos::Center, VPos::Center);
        let across = |index: usize| side + width * to_float(index as u64);
        for (index, column) in columns.iter().enumerate() {
            let middle = across(index) + width / 2.0;
            canvas.text(column, (middle, top + TITLE + HEAD / 2.0), head)?;
        }
        let beside = Lettering {
            h: HPos::Right,
            ..head
        };
        for ((index, row), changes) in rows.iter().enumerate().zip(&panel.changes) {
            let y = top + TITLE + HEAD + CELL * to_float(index as u64);
            canvas.text(row, (side - 8.0, y + CELL / 2.0), beside)?;
            for (index, change) in changes.iter().enumerate() {
                let x = across(index);
                draw_cell(canvas, *change, [(x, y), (x + width, y + CELL)])?;
            }
        }
        Ok(())
    }

    /// Returns the width of the row heads.
    fn side(&self) -> Result<f64, crate::error::DrawError> {
        let mut side: f64 = 0.0;
        for row in &self.rows.1 {
            side = side.max(font::width(row, SMALL)?);
        }
        Ok(side + 12.0)
    }
}

/// Draws a cell, whose colour is stronger the larger the change is: full at half or double.
fn draw_cell<DB: DrawingBackend>(
    canvas: &Canvas<'_, DB>,
    change: Option<f64>,
    [(left, top), (right, bottom)]: [(f64, f64); 2],
) -> Drawn {
    let [left, top, right, bottom] = [left + 1.0, top + 1.0, right - 1.0, bottom - 1.0];
    let corners = [(left, top), (right, top), (right, bottom), (left, bottom)];
    let (color, cover): (RGBColor, f64) = match change {
        None => (MUTED, 0.04),
        Some(change) => {
            let depth = (change.ln_1p().abs() / std::f64::consts::LN_2).clamp(0.0, 1.0);
            let color = if change < 0.0 { FASTER } else { SLOWER };
            (color, 0.04 + 0.56 * depth)
        }
    };
    canvas.area(&corners, color, cover)?;
    let middle = (f64::midpoint(left, right), f64::midpoint(top, bottom));
    let ink = Lettering::new(SMALL, INK, HPos::Center, VPos::Center);
    let label = change.map_or_else(|| "–".to_owned(), text::small_change);
    canvas.text(&label, middle, ink)
}

impl HeatMap {
    /// Name of the figure's files.
    pub const NAME: &str = "sweep-heat-map";
}

impl Figure for HeatMap {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn missing(&self) -> Option<String> {
        let none = self.panels.is_empty();
        none.then(|| "there is no policy to compare".into())
    }

    fn height(&self) -> f64 {
        self.panel_height() * to_float(self.panels.len() as u64)
    }

    fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Drawn {
        for (index, panel) in self.panels.iter().enumerate() {
            self.draw_panel(canvas, panel, self.panel_height() * to_float(index as u64))?;
        }
        Ok(())
    }

    fn numbers(&self) -> String {
        let mut numbers = Numbers::new(["policy", "row", "column", "change"]);
        for panel in &self.panels {
            for (row, changes) in self.rows.1.iter().zip(&panel.changes) {
                for (column, change) in self.columns.1.iter().zip(changes) {
                    let change = change.map_or_else(String::new, |it| it.to_string());
                    numbers.row([&panel.policy, row, column, &change]);
                }
            }
        }
        numbers.into_text()
    }
}

/// Height of a panel's title, logical pixels.
const TITLE: f64 = 24.0;

/// Height of the column heads, logical pixels.
const HEAD: f64 = 18.0;

/// Height of a cell, logical pixels.
const CELL: f64 = 24.0;

/// Maximum width of a cell, logical pixels.
const MAX_WIDTH: f64 = 110.0;

/// Space below a panel, logical pixels.
const GAP: f64 = 12.0;
