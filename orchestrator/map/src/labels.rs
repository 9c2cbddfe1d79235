//! Curves of links, and the labels on them.

/// Coordinates x and y, in pixels.
pub type Point = (f64, f64);

/// Quadratic Bézier curve that represents a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curve {
    /// Start of the curve.
    pub from: Point,
    /// Control point of the Bézier curve.
    pub control: Point,
    /// End of the curve.
    pub to: Point,
}

impl Curve {
    /// Returns a curve whose middle is offset by `bend` from the middle of the straight line.
    #[must_use]
    pub fn new(from: Point, to: Point, bend: Point) -> Self {
        let control = (
            f64::midpoint(from.0, to.0) + 2.0 * bend.0,
            f64::midpoint(from.1, to.1) + 2.0 * bend.1,
        );
        Self { from, control, to }
    }

    /// Returns the point at parameter `share` of the curve, from 0 at its start to 1 at its end.
    #[must_use]
    pub fn at(&self, share: f64) -> Point {
        let rest = 1.0 - share;
        let mix = |from: f64, control: f64, to: f64| {
            rest * rest * from + 2.0 * rest * share * control + share * share * to
        };
        (
            mix(self.from.0, self.control.0, self.to.0),
            mix(self.from.1, self.control.1, self.to.1),
        )
    }

    /// Returns the points through which the curve is drawn; for a straight curve, only its two ends.
    #[must_use]
    pub fn points(&self) -> Vec<Point> {
        if *self == Self::new(self.from, self.to, (0.0, 0.0)) {
            return vec![self.from, self.to];
        }
        shares(24).map(|share| self.at(share)).collect()
    }

    /// Returns the square of the distance between the curve's ends.
    fn span(&self) -> f64 {
        (self.to.0 - self.from.0).powi(2) + (self.to.1 - self.from.1).powi(2)
    }

    /// Returns a rectangle that contains the curve.
    fn hull(&self) -> Area {
        let span = |a: f64, b: f64, c: f64| {
            let low = a.min(b).min(c);
            let high = a.max(b).max(c);
            (f64::midpoint(low, high), (high - low) / 2.0 + 1.0)
        };
        let (x, width) = span(self.from.0, self.control.0, self.to.0);
        let (y, height) = span(self.from.1, self.control.1, self.to.1);
        Area {
            middle: (x, y),
            half: (width, height),
        }
    }
}

/// Rectangle with horizontal and vertical edges, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// Centre of the rectangle.
    pub middle: Point,
    /// Half of the width, and half of the height.
    pub half: Point,
}

impl Area {
    /// Returns the size of the area that both rectangles cover, in square pixels.
    #[must_use]
    pub fn overlap(&self, other: &Self) -> f64 {
        let common = |a: f64, a_half: f64, b: f64, b_half: f64| {
            ((a + a_half).min(b + b_half) - (a - a_half).max(b - b_half)).max(0.0)
        };
        let width = common(self.middle.0, self.half.0, other.middle.0, other.half.0);
        let height = common(self.middle.1, self.half.1, other.middle.1, other.half.1);
        width * height
    }

    fn is_crossed_by(&self, curve: &Curve) -> bool {
        let holds = |(x, y): Point| {
            (x - self.middle.0).abs() < self.half.0 && (y - self.middle.1).abs() < self.half.1
        };
        self.overlap(&curve.hull()) > 0.0 && shares(60).any(|share| holds(curve.at(share)))
    }
}

/// Places a label on each link; half the size of the label is given with the link. The position of a label minimises
/// the area that it shares with `obstacles` and the labels of shorter links; among equal positions, the number of other
/// links that cross the label decides, then the distance to [`BEST_SHARE`].
#[must_use]
pub fn place_labels(links: &[(Curve, Point)], obstacles: &[Area]) -> Vec<Area> {
    let mut order: Vec<usize> = (0..links.len()).collect();
    order.sort_by(|a, b| links[*a].0.span().total_cmp(&links[*b].0.span()));
    let mut placed: Vec<Option<Area>> = vec![None; links.len()];
    for at in order {
        let (link, half) = links[at];
        let tried = shares(96).filter(|share| (MIN_SHARE..=1.0 - MIN_SHARE).contains(share));
        let areas: Vec<(f64, f64, Area)> = tried
            .map(|share| {
                let middle = link.at(share);
                let area = Area { middle, half };
                let taken = obstacles.iter().chain(placed.iter().flatten());
                let overlap = taken.map(|other| area.overlap(other)).sum();
                (overlap, (share - BEST_SHARE).abs(), area)
            })
            .collect();
        let least = areas.iter().map(|area| area.0).min_by(f64::total_cmp);
        // Crossings are expensive to compute, and matter only among areas of equal overlap.
        let equal = areas.iter().filter(|area| Some(area.0) == least);
        let ranked = equal.map(|(_, off, area)| {
            let others = links.iter().enumerate().filter(|(other, _)| *other != at);
            let crossings = others.filter(|(_, (other, _))| area.is_crossed_by(other));
            (crossings.count(), *off, *area)
        });
        let best = ranked.min_by(|(crossings, off, _), other| {
            crossings.cmp(&other.0).then(off.total_cmp(&other.1))
        });
        placed[at] = best.map(|(_, _, area)| area);
    }
    placed.into_iter().flatten().collect()
}

/// Returns the numbers 0, 1/`parts`, 2/`parts`, …, 1.
fn shares(parts: u32) -> impl Iterator<Item = f64> {
    (0..=parts).map(move |part| f64::from(part) / f64::from(parts))
}

/// Preferred position of a label, as a share of its link from the start: a little nearer to the end, where the caller
/// puts the datacenter with fewer links and so more room.
const BEST_SHARE: f64 = 0.5625;

/// Minimum distance between a label and a datacenter, as a share of the link; a label nearer to a datacenter would seem
/// to name the datacenter.
const MIN_SHARE: f64 = 0.1875;

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: Point = (20.0, 8.0);

    fn straight(from: Point, to: Point) -> Curve {
        Curve::new(from, to, (0.0, 0.0))
    }

    #[test]
    fn a_label_alone_is_a_little_past_the_middle() {
        let link = straight((0.0, 0.0), (100.0, 0.0));
        assert_eq!(place_labels(&[(link, HALF)], &[])[0].middle, (56.25, 0.0));
    }

    #[test]
    fn crossing_links_have_their_labels_apart_and_off_the_other_link() {
        let down = straight((0.0, 0.0), (400.0, 400.0));
        let up = straight((0.0, 400.0), (400.0, 0.0));
        let areas = place_labels(&[(down, HALF), (up, HALF)], &[]);
        assert!(areas[0].overlap(&areas[1]) <= 0.0, "{areas:?}");
        assert!(!areas[0].is_crossed_by(&up) && !areas[1].is_crossed_by(&down));
    }

    #[test]
    fn a_label_without_room_still_has_a_place() {
        let link = straight((0.0, 0.0), (10.0, 0.0));
        let everywhere = Area {
            middle: (0.0, 0.0),
            half: (1e3, 1e3),
        };
        assert_eq!(place_labels(&[(link, HALF)], &[everywhere]).len(), 1);
    }
}
