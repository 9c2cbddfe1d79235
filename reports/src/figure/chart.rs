//! Plots with axes, grid and titles.

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
    canvas::{Canvas, Drawn, Lettering, Point},
    font,
    theme::{GRID, INK, MUTED, SMALL, TEXT},
};
use crate::error::DrawError;

/// Position and axes of a plot.
pub struct Plot<'a> {
    /// Upper left corner of the plot, including titles and labels.
    pub at: Point,
    /// Width and height of the plot, including titles and labels.
    pub size: Point,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Minimum width of the vertical axis's labels, which aligns the axes of several plots.
    pub min_left: f64,
    /// Title of the horizontal axis, with its unit.
    pub x_title: &'a str,
    /// Title of the vertical axis, with its unit.
    pub y_title: &'a str,
}

/// Plot whose axes are drawn and to which data can be added.
pub type Chart<'a, DB> = ChartContext<'a, DB, Cartesian2d<Axis, Axis>>;

impl Plot<'_> {
    /// Draws the axes, grid and titles of the plot.
    pub fn draw<'a, DB: DrawingBackend + 'a>(
        &self,
        canvas: &Canvas<'_, DB>,
    ) -> Result<Chart<'a, DB>, DrawError> {
        let left = label_width(&self.y)?.max(self.min_left);
        let title_above = if self.y_title.is_empty() { 0.0 } else { TITLE };
        let title_below = if self.x_title.is_empty() { 0.0 } else { TITLE };
        let mut chart = ChartBuilder::on(&canvas.part(self.at, self.size))
            .margin_top(canvas.px(MARGIN + title_above))
            .margin_right(canvas.px(MARGIN))
            .margin_left(canvas.px(left.max(MARGIN)))
            .margin_bottom(canvas.px(SMALL + TICK_GAP + title_below))
            .build_cartesian_2d(self.x.clone(), self.y.clone())?;
        chart
            .configure_mesh()
            .light_line_style(GRID.mix(0.0))
            .bold_line_style(canvas.stroke(GRID, 1.0))
            .draw()?;
        self.write_labels(canvas, &chart)?;
        Ok(chart)
    }

    /// Draws tick labels and titles. plotters would align texts by their bounding boxes, which is less precise, and
    /// would rotate the title of the vertical axis, which is hard to read.
    fn write_labels<DB: DrawingBackend>(
        &self,
        canvas: &Canvas<'_, DB>,
        chart: &Chart<'_, DB>,
    ) -> Drawn {
        let (left, right) = self.x.ends();
        let (bottom, top) = self.y.ends();
        let point = |x: f64, y: f64| canvas.logical(chart.backend_coord(&(x, y)));
        let corners = [point(left, top), point(left, bottom), point(right, bottom)];
        canvas.line(&corners, MUTED, 1.0)?;
        let small = Lettering::new(SMALL, MUTED, HPos::Center, VPos::Top);
        for (at, label) in self.x.ticks() {
            let (x, y) = point(*at, bottom);
            canvas.line(&[(x, y), (x, y + 4.0)], MUTED, 1.0)?;
            canvas.text(label, (x, y + 7.0), small)?;
        }
        let beside = Lettering {
            h: HPos::Right,
            v: VPos::Center,
            ..small
        };
        for (at, label) in self.y.ticks() {
            let (x, y) = point(left, *at);
            canvas.line(&[(x - 4.0, y), (x, y)], MUTED, 1.0)?;
            canvas.text(label, (x - 8.0, y), beside)?;
        }
        let (start, low) = point(left, bottom);
        let (end, high) = point(right, top);
        let title = Lettering::new(TEXT, INK, HPos::Center, VPos::Center);
        let below = low + SMALL + TICK_GAP + TITLE / 2.0;
        canvas.text(self.x_title, (f64::midpoint(start, end), below), title)?;
        let first = Lettering {
            h: HPos::Left,
            ..title
        };
        canvas.text(self.y_title, (start, high - TITLE / 2.0 - 2.0), first)
    }
}

/// Returns the width that labels and ticks of a vertical axis need.
pub fn label_width(axis: &Axis) -> Result<f64, DrawError> {
    let mut width: f64 = 0.0;
    for (_, label) in axis.ticks() {
        width = width.max(font::width(label, SMALL)? + TICK_GAP);
    }
    Ok(width)
}

/// Distance from the axis to a tick label: length of the tick plus a space.
const TICK_GAP: f64 = 8.0;

/// Height of a title, logical pixels.
const TITLE: f64 = 20.0;

/// Margin at the ends of the horizontal axis, for half the width of the outermost label, logical pixels.
const MARGIN: f64 = 16.0;
