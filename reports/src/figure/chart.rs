//! A plot with axes, grid and titles.

use plotters::{
    chart::{ChartBuilder, ChartContext},
    coord::cartesian::Cartesian2d,
    prelude::DrawingBackend,
    style::{
        Color,
        text_anchor::{HPos, VPos},
    },
};

use super::{
    axis::Axis,
    canvas::{Canvas, Lettering, Point},
    font,
    theme::{GRID, INK, MUTED, SMALL, TEXT},
};
use crate::error::DrawError;

/// Where a plot is, with everything around it, and what its axes are.
pub struct Plot<'a> {
    /// The upper left corner.
    pub at: Point,
    /// Width and height.
    pub size: Point,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What the horizontal axis shows, with its unit.
    pub x_title: &'a str,
    /// What the vertical axis shows, with its unit.
    pub y_title: &'a str,
}

/// A plot ready for its data.
pub type Chart<'a, DB> = ChartContext<'a, DB, Cartesian2d<Axis, Axis>>;

impl Plot<'_> {
    /// Draws all but the data.
    pub fn draw<'a, DB: DrawingBackend + 'a>(
        &self,
        canvas: &Canvas<'_, DB>,
    ) -> Result<Chart<'a, DB>, DrawError> {
        let mut widths = self.y.labels().map(|label| font::width(label, SMALL));
        let widest = widths.try_fold(0.0, |widest: f64, width| {
            Ok::<_, DrawError>(widest.max(width?))
        })?;
        let y_labels = canvas.px(widest + TICK_GAP + title_room(self.y_title));
        let x_labels = canvas.px(SMALL * 1.2 + TICK_GAP + title_room(self.x_title));
        let mut chart = ChartBuilder::on(&canvas.part(self.at, self.size))
            .margin_top(canvas.px(MARGIN))
            .margin_right(canvas.px(MARGIN))
            .set_left_and_bottom_label_area_size(0)
            .x_label_area_size(x_labels)
            .y_label_area_size(y_labels)
            .build_cartesian_2d(self.x.clone(), self.y.clone())?;
        let small = Lettering {
            size: SMALL,
            color: MUTED,
            h: HPos::Center,
            v: VPos::Top,
        };
        let title = Lettering {
            size: TEXT,
            color: INK,
            ..small
        };
        chart
            .configure_mesh()
            .light_line_style(GRID.mix(0.0))
            .bold_line_style(canvas.stroke(GRID, 1.0))
            .axis_style(canvas.stroke(MUTED, 1.0))
            .set_all_tick_mark_size(canvas.px(4.0))
            .label_style(canvas.text_style(small))
            .axis_desc_style(canvas.text_style(title))
            .x_desc(self.x_title)
            .y_desc(self.y_title)
            .draw()?;
        Ok(chart)
    }
}

fn title_room(title: &str) -> f64 {
    if title.is_empty() { 0.0 } else { TEXT * 1.9 }
}

/// Room for a tick and the space to its label.
const TICK_GAP: f64 = 12.0;

/// Room for half of the outermost labels.
const MARGIN: f64 = 16.0;
