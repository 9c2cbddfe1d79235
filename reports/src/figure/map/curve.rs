//! Lines of links.

use super::super::canvas::Point;

/// A link's line.
pub struct Curve {
    straight: bool,
    from: Point,
    middle: Point,
    to: Point,
}

impl Curve {
    /// From one point to another, through a point `bend` to the right of the middle.
    pub fn new(from: Point, to: Point, bend: f64) -> Self {
        let (x, y) = (f64::midpoint(from.0, to.0), f64::midpoint(from.1, to.1));
        let middle = (x + bend, y);
        Self {
            straight: bend == 0.0,
            from,
            middle,
            to,
        }
    }

    /// The point at `share` of the way: the curve goes through `middle` at one half.
    pub fn at(&self, share: f64) -> Point {
        let control = |from: f64, middle: f64, to: f64| 2.0 * middle - f64::midpoint(from, to);
        let along = |from: f64, middle: f64, to: f64| {
            let (rest, control) = (1.0 - share, control(from, middle, to));
            rest * rest * from + 2.0 * rest * share * control + share * share * to
        };
        (
            along(self.from.0, self.middle.0, self.to.0),
            along(self.from.1, self.middle.1, self.to.1),
        )
    }

    /// The points to draw it through.
    pub fn points(&self) -> Vec<Point> {
        if self.straight {
            return vec![self.from, self.to];
        }
        const PIECES: u32 = 24;
        let share = |piece| f64::from(piece) / f64::from(PIECES);
        (0..=PIECES).map(|piece| self.at(share(piece))).collect()
    }
}
