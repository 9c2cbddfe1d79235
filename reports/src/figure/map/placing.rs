//! Where the labels of links are: on their links, beside each other.

use super::{super::canvas::Point, curve::Curve};

/// An upright rectangle by its middle and half its size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// The middle.
    pub middle: Point,
    /// Half the width and half the height.
    pub half: Point,
}

impl Area {
    /// How much of the two is common, in square pixels.
    pub fn overlap(&self, other: &Self) -> f64 {
        let common = |a: f64, a_half: f64, b: f64, b_half: f64| {
            ((a + a_half).min(b + b_half) - (a - a_half).max(b - b_half)).max(0.0)
        };
        let width = common(self.middle.0, self.half.0, other.middle.0, other.half.0);
        let height = common(self.middle.1, self.half.1, other.middle.1, other.half.1);
        width * height
    }
}

/// Places a label of half the size beside it on each link, clear of `obstacles` and of each other.
/// Where there is no room it takes the place with the least overlap.
pub fn place(links: &[(&Curve, Point)], obstacles: &[Area]) -> Vec<Area> {
    let mut taken = obstacles.to_vec();
    for &(link, half) in links {
        let overlap = |area: &Area| taken.iter().map(|other| area.overlap(other)).sum::<f64>();
        let at = |share: f64| Area {
            middle: link.at(share),
            half,
        };
        let tried = SHARES.map(at).into_iter();
        let best = tried.min_by(|a, b| overlap(a).total_cmp(&overlap(b)));
        taken.push(best.unwrap_or(at(0.5)));
    }
    taken.split_off(obstacles.len())
}

/// How far along its link a label is tried, the best first: a little nearer to the end with fewer
/// links, where there is more room.
const SHARES: [f64; 13] = [
    0.6, 0.5, 0.55, 0.65, 0.45, 0.7, 0.4, 0.75, 0.35, 0.8, 0.3, 0.25, 0.2,
];

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: Point = (20.0, 8.0);

    fn straight(from: Point, to: Point) -> Curve {
        Curve::new(from, to, 0.0)
    }

    #[test]
    fn a_label_alone_is_a_little_past_the_middle() {
        let link = straight((0.0, 0.0), (100.0, 0.0));
        assert_eq!(place(&[(&link, HALF)], &[])[0].middle, (60.0, 0.0));
    }

    #[test]
    fn crossing_links_have_their_labels_apart() {
        let down = straight((0.0, 0.0), (200.0, 200.0));
        let up = straight((0.0, 240.0), (200.0, 40.0));
        let areas = place(&[(&down, HALF), (&up, HALF)], &[]);
        assert!(areas[0].overlap(&areas[1]) <= 0.0, "{areas:?}");
    }

    #[test]
    fn a_label_without_room_still_has_a_place() {
        let link = straight((0.0, 0.0), (10.0, 0.0));
        let everywhere = Area {
            middle: (0.0, 0.0),
            half: (1e3, 1e3),
        };
        assert_eq!(place(&[(&link, HALF)], &[everywhere]).len(), 1);
    }
}
