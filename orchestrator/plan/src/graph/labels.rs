//! Where labels stand: on their lines, and on nothing else.

use super::layout::{Point, int};

/// A line from one datacenter to another, bent if its control point is off the middle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Curve {
    pub from: Point,
    pub control: Point,
    pub to: Point,
}

impl Curve {
    /// The point at `step` of [`STEPS`].
    fn at(&self, step: i64) -> Point {
        let rest = STEPS - step;
        let mix = |from: i64, control: i64, to: i64| {
            (rest * rest * from + 2 * rest * step * control + step * step * to) / (STEPS * STEPS)
        };
        Point {
            x: mix(self.from.x, self.control.x, self.to.x),
            y: mix(self.from.y, self.control.y, self.to.y),
        }
    }

    /// A rectangle that holds all of it.
    fn hull(&self) -> Area {
        let points = [self.from, self.control, self.to];
        let span = |of: fn(&Point) -> i64| {
            let values = points.iter().map(of);
            let (least, most) = (values.clone().min(), values.max());
            (least.unwrap_or(0), most.unwrap_or(0))
        };
        let ((left, right), (top, bottom)) = (span(|point| point.x), span(|point| point.y));
        Area {
            middle: Point {
                x: (left + right) / 2,
                y: (top + bottom) / 2,
            },
            width: right - left + 2,
            height: bottom - top + 2,
        }
    }
}

/// A rectangle around a middle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub middle: Point,
    pub width: i64,
    pub height: i64,
}

impl Area {
    /// Room for `text` in the label's font, around `middle`.
    pub fn of_label(text: &str, middle: Point) -> Self {
        Self {
            middle,
            width: int(text.chars().count()) * CHARACTER_WIDTH + 2 * PADDING,
            height: LINE_HEIGHT,
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        let apart = |a: i64, b: i64, sizes: i64| 2 * (a - b).abs() >= sizes;
        !apart(self.middle.x, other.middle.x, self.width + other.width)
            && !apart(self.middle.y, other.middle.y, self.height + other.height)
    }

    fn is_crossed_by(&self, curve: &Curve) -> bool {
        if !self.overlaps(&curve.hull()) {
            return false;
        }
        let holds = |point: Point| {
            2 * (point.x - self.middle.x).abs() < self.width
                && 2 * (point.y - self.middle.y).abs() < self.height
        };
        (0..=STEPS).any(|step| holds(curve.at(step)))
    }
}

/// A place for each label on its curve: free of `taken` and of the labels before, crossed by as few
/// other curves as can be, and then as near to the middle. `None` where nothing is free.
pub(super) fn place(labels: &[(Curve, String)], taken: &[Area]) -> Vec<Option<Area>> {
    let mut taken = taken.to_vec();
    let mut placed = Vec::with_capacity(labels.len());
    for (at, (curve, text)) in labels.iter().enumerate() {
        let others = labels.iter().enumerate().filter(|(other, _)| *other != at);
        let others: Vec<&Curve> = others.map(|(_, (curve, _))| curve).collect();
        let tried = (FIRST_STEP..=STEPS - FIRST_STEP).map(|step| {
            let area = Area::of_label(text, curve.at(step));
            (area, (step - STEPS / 2).abs())
        });
        let free = tried.filter(|(area, _)| !taken.iter().any(|other| area.overlaps(other)));
        let best = free.min_by_key(|(area, off)| {
            let crossings = others.iter().filter(|other| area.is_crossed_by(other));
            (crossings.count(), *off)
        });
        let area = best.map(|(area, _)| area);
        taken.extend(area);
        placed.push(area);
    }
    placed
}

/// Parts of a curve that labels are tried at.
const STEPS: i64 = 60;

/// Nearer to an end, a label would seem to be the datacenter's.
const FIRST_STEP: i64 = 10;

/// Of the label's font, generously: viewers substitute fonts.
const CHARACTER_WIDTH: i64 = 7;
const LINE_HEIGHT: i64 = 20;
const PADDING: i64 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn line(from: (i64, i64), to: (i64, i64)) -> Curve {
        let point = |(x, y)| Point { x, y };
        Curve {
            from: point(from),
            control: point(((from.0 + to.0) / 2, (from.1 + to.1) / 2)),
            to: point(to),
        }
    }

    #[test]
    fn crossing_lines_have_their_labels_apart() {
        let labels = [
            (line((0, 0), (400, 400)), "200 Gbit, 25 ms".to_owned()),
            (line((0, 400), (400, 0)), "40 Gbit, 5 ms".to_owned()),
        ];
        let placed = place(&labels, &[]);
        let [Some(first), Some(second)] = placed[..] else {
            panic!("both have room");
        };
        assert!(!first.overlaps(&second));
        assert!(!first.is_crossed_by(&labels[1].0) && !second.is_crossed_by(&labels[0].0));
    }

    #[test]
    fn a_label_without_room_is_left_out() {
        let everything = Area {
            middle: Point { x: 0, y: 0 },
            width: 10_000,
            height: 10_000,
        };
        let labels = [(line((0, 0), (400, 0)), "a".to_owned())];
        assert!(place(&labels, &[everything])[0].is_none());
    }
}
