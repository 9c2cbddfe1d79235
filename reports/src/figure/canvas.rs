//! Drawing in logical pixels, with any plotters backend.

use plotters::{
    coord::Shift,
    element::{Circle, PathElement, Polygon, Rectangle, Text},
    prelude::{DrawingArea, DrawingBackend},
    style::{
        Color, RGBColor, ShapeStyle, TextStyle,
        text_anchor::{HPos, Pos, VPos},
    },
};

use super::{
    font,
    theme::{Dash, Marker, PAPER},
};
use crate::error::DrawError;

/// Result of a drawing operation.
pub type Drawn = Result<(), DrawError>;

/// Position in logical pixels, measured from the upper left corner.
pub type Point = (f64, f64);

/// Drawing area with several backend pixels per logical pixel. plotters draws at whole pixels only, and curves at whole
/// logical pixels would look stepped.
pub struct Canvas<'a, DB: DrawingBackend> {
    area: &'a DrawingArea<DB, Shift>,
    grain: Grain,
}

/// Resolution and font metrics of a backend.
#[derive(Clone, Copy, Debug)]
pub struct Grain {
    /// Number of the backend's pixels per logical pixel.
    pub fineness: f64,
    /// Function from the em of a font, in pixels, to the backend's font size.
    pub font_size: fn(f64) -> f64,
    /// Distance by which the backend draws texts too high, in ems.
    pub text_lift: f64,
}

/// Size, colour and anchor of a text.
#[derive(Clone, Copy)]
pub struct Lettering {
    /// Font size: em in logical pixels.
    pub em: f64,
    pub color: RGBColor,
    /// Horizontal anchor of the text.
    pub h: HPos,
    /// Vertical anchor of the text.
    pub v: VPos,
}

impl Dash {
    /// Splits the line through `points` into its dashes.
    fn strokes(self, points: &[Point]) -> Vec<Vec<Point>> {
        if self.0.is_empty() {
            return vec![points.to_vec()];
        }
        let mut strokes: Vec<Vec<Point>> = Vec::new();
        let mut part = 0;
        let mut rest = self.0[0];
        let mut is_drawn = true;
        if let Some(&first) = points.first() {
            strokes.push(vec![first]);
        }
        for pair in points.windows(2) {
            let mut from = pair[0];
            let to = pair[1];
            let mut length = (to.0 - from.0).hypot(to.1 - from.1);
            while length > rest {
                let share = rest / length;
                from = (
                    from.0 + (to.0 - from.0) * share,
                    from.1 + (to.1 - from.1) * share,
                );
                length -= rest;
                match (is_drawn, strokes.last_mut()) {
                    (true, Some(stroke)) => stroke.push(from),
                    _ => strokes.push(vec![from]),
                }
                is_drawn = !is_drawn;
                part = (part + 1) % self.0.len();
                rest = self.0[part];
            }
            rest -= length;
            if is_drawn && let Some(stroke) = strokes.last_mut() {
                stroke.push(to);
            }
        }
        strokes.retain(|stroke| stroke.len() > 1);
        strokes
    }
}

impl Lettering {
    /// Returns the style with em `em`, colour `color` and anchors `h` and `v`.
    pub fn new(em: f64, color: RGBColor, h: HPos, v: VPos) -> Self {
        Self { em, color, h, v }
    }
}

impl Grain {
    /// Converts a length in logical pixels to the backend's pixels, rounded.
    pub fn px(&self, length: f64) -> i32 {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "rounding to pixels is the purpose; casts of floats saturate"
        )]
        let pixels = (length * self.fineness).round() as i32;
        pixels
    }
}

impl Marker {
    /// Returns the marker of the series at `index`; markers repeat if there are more series.
    pub fn of(index: usize) -> Self {
        const ALL: [Marker; 8] = [
            Marker::Circle,
            Marker::Square,
            Marker::Triangle,
            Marker::Diamond,
            Marker::Wedge,
            Marker::Cross,
            Marker::Plus,
            Marker::Bar,
        ];
        ALL[index % ALL.len()]
    }
}

impl<'a, DB: DrawingBackend> Canvas<'a, DB> {
    /// Returns a canvas on `area`.
    pub fn new(area: &'a DrawingArea<DB, Shift>, grain: Grain) -> Self {
        Self { area, grain }
    }

    /// Returns the part of the area whose upper left corner is `at` and whose width and height are `size`.
    pub fn part(&self, at: Point, size: Point) -> DrawingArea<DB, Shift> {
        self.area.clone().shrink(self.fine(at), self.fine(size))
    }

    /// Converts a length in logical pixels to the backend's pixels, rounded.
    pub fn px(&self, length: f64) -> i32 {
        self.grain.px(length)
    }

    /// Returns the logical position of a point given in the backend's pixels from the picture's upper left corner.
    pub fn logical(&self, (x, y): (i32, i32)) -> Point {
        let (left, top) = self.area.get_base_pixel();
        let logical = |pixels: i32| f64::from(pixels) / self.grain.fineness;
        (logical(x - left), logical(y - top))
    }

    /// Returns the style of a line with this width.
    pub fn stroke(&self, color: RGBColor, width: f64) -> ShapeStyle {
        color.stroke_width(u32::try_from(self.px(width).max(1)).unwrap_or(1))
    }

    /// Draws `text` at a point.
    pub fn text(&self, text: &str, (x, y): Point, lettering: Lettering) -> Drawn {
        if text.is_empty() {
            return Ok(());
        }
        let style = TextStyle {
            font: font::at_size((self.grain.font_size)(lettering.em * self.grain.fineness)),
            color: lettering.color.to_backend_color(),
            pos: Pos::new(lettering.h, lettering.v),
        };
        let at = self.fine((x, y + self.grain.text_lift * lettering.em));
        self.area
            .draw(&Text::new(text, at, style))
            .map_err(Into::into)
    }

    /// Draws a solid line through `points`.
    pub fn line(&self, points: &[Point], color: RGBColor, width: f64) -> Drawn {
        let points: Vec<(i32, i32)> = points.iter().map(|&point| self.fine(point)).collect();
        let line = PathElement::new(points, self.stroke(color, width));
        self.area.draw(&line).map_err(Into::into)
    }

    /// Draws a dashed line through `points`.
    pub fn dashed(&self, points: &[Point], dash: Dash, color: RGBColor, width: f64) -> Drawn {
        dash.strokes(points)
            .into_iter()
            .try_for_each(|stroke| self.line(&stroke, color, width))
    }

    /// Draws a line of equally long dashes between two points.
    pub fn dashes(&self, from: Point, to: Point, color: RGBColor, width: f64) -> Drawn {
        self.dashed(&[from, to], Dash(&[4.0, 4.0]), color, width)
    }

    /// Fills the polygon with the given corners; `cover` is the opacity, from 0 to 1.
    pub fn area(&self, corners: &[Point], color: RGBColor, cover: f64) -> Drawn {
        let corners: Vec<(i32, i32)> = corners.iter().map(|&corner| self.fine(corner)).collect();
        self.area
            .draw(&Polygon::new(corners, color.mix(cover).filled()))
            .map_err(Into::into)
    }

    /// Fills the rectangle between two opposite corners.
    pub fn fill(&self, from: Point, to: Point, color: RGBColor) -> Drawn {
        let corners = [self.fine(from), self.fine(to)];
        self.area
            .draw(&Rectangle::new(corners, color.filled()))
            .map_err(Into::into)
    }

    /// Draws a white rectangle with a border of width `border`.
    pub fn boxed(&self, from: Point, to: Point, color: RGBColor, border: f64) -> Drawn {
        self.fill(from, to, color)?;
        let inner = (from.0 + border, from.1 + border);
        self.fill(inner, (to.0 - border, to.1 - border), PAPER)
    }

    /// Draws a marker centred at `at`.
    pub fn marker(&self, marker: Marker, at: Point, radius: f64, color: RGBColor) -> Drawn {
        let corners: &[Point] = match marker {
            Marker::Circle => {
                let disc = Circle::new(self.fine(at), self.px(radius), color.filled());
                return self.area.draw(&disc).map_err(Into::into);
            }
            Marker::Square => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            Marker::Triangle => &[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)],
            Marker::Diamond => &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
            Marker::Wedge => &[(0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)],
            Marker::Cross => return self.cross([(-0.9, -0.9), (0.9, -0.9)], at, radius, color),
            Marker::Plus => return self.cross([(0.0, -1.2), (1.2, 0.0)], at, radius, color),
            Marker::Bar => &[(-0.35, -1.3), (0.35, -1.3), (0.35, 1.3), (-0.35, 1.3)],
        };
        let corner = |&(x, y): &Point| self.fine((at.0 + x * radius, at.1 + y * radius));
        let corners: Vec<(i32, i32)> = corners.iter().map(corner).collect();
        self.area
            .draw(&Polygon::new(corners, color.filled()))
            .map_err(Into::into)
    }

    /// Draws a cross centred at `at`. `ends` has one end of each of the cross's two lines, relative to the centre and
    /// in units of `radius`.
    fn cross(&self, ends: [Point; 2], at: Point, radius: f64, color: RGBColor) -> Drawn {
        ends.into_iter()
            .map(|(x, y)| (x * radius, y * radius))
            .try_for_each(|(x, y)| {
                let line = [(at.0 - x, at.1 - y), (at.0 + x, at.1 + y)];
                self.line(&line, color, radius * 0.55)
            })
    }

    fn fine(&self, (x, y): Point) -> (i32, i32) {
        (self.px(x), self.px(y))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_go_around_corners_and_leave_their_gaps() {
        let corner = [(0.0, 0.0), (6.0, 0.0), (6.0, 6.0)];
        let strokes = Dash(&[4.0, 1.0]).strokes(&corner);
        assert_eq!(
            strokes,
            [
                vec![(0.0, 0.0), (4.0, 0.0)],
                vec![(5.0, 0.0), (6.0, 0.0), (6.0, 3.0)],
                vec![(6.0, 4.0), (6.0, 6.0)],
            ]
        );
        assert_eq!(Dash::SOLID.strokes(&corner), [corner.to_vec()]);
    }
}
