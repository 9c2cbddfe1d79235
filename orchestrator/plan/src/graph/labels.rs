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
}

/// A place for each label on its curve, as near to the middle as is free of `taken` and of the
/// labels before; `None` where nothing is free.
pub(super) fn place(labels: &[(Curve, String)], taken: &[Area]) -> Vec<Option<Area>> {
    let mut taken = taken.to_vec();
    let mut placed = Vec::with_capacity(labels.len());
    for (curve, text) in labels {
        let areas = steps().map(|step| Area::of_label(text, curve.at(step)));
        let free = |area: &Area| !taken.iter().any(|other| area.overlaps(other));
        let area = areas.into_iter().find(free);
        taken.extend(area);
        placed.push(area);
    }
    placed
}

/// Steps of a curve from its middle outwards.
fn steps() -> impl Iterator<Item = i64> {
    let outwards = (0..STEPS / 2 - 2).flat_map(|off| [STEPS / 2 - off, STEPS / 2 + off]);
    outwards.skip(1)
}

/// Parts of a curve that labels are tried at.
const STEPS: i64 = 40;

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
        assert_eq!(first.middle, Point { x: 200, y: 200 });
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
