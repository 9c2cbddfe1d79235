//! Map in pixels, and the order in which its parts are drawn.

use crate::{
    labels::{Area, Curve, Point, place_labels},
    layout::{Layout, int},
};

/// Distances between the parts of a map, in pixels.
#[derive(Clone, Copy, Debug)]
pub struct Spacing {
    /// Centre of a datacenter in the first column and the first row.
    pub origin: Point,
    /// Distance between the centres of neighbouring columns.
    pub column: f64,
    /// Distance between the centres of neighbouring rows.
    pub row: f64,
    /// Distance from a column to the middle of a line that bends around one datacenter of the column.
    pub around: f64,
    /// Distance that is added to `around` for each further datacenter that the line passes.
    pub further: f64,
    /// Distance between the middles of parallel links.
    pub parallel: f64,
}

/// Link before it has a line: the nodes at its ends, and half the width and height of its label.
pub type LabelledLink = ((usize, usize), Point);

/// Inter-DC map in pixels.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// Rectangles of the datacenters.
    pub boxes: Vec<Area>,
    /// Curves of the links, each with half the size of its label.
    pub links: Vec<(Curve, Point)>,
}

/// Renderer of the map's lines, labels and datacenters in one output format.
pub trait Painter {
    /// Error that painting may return.
    type Error;

    /// Paints the line of a link.
    fn line(&mut self, link: usize, line: &Curve) -> Result<(), Self::Error>;

    /// Paints the label of a link on top of the lines.
    fn label(&mut self, link: usize, area: &Area) -> Result<(), Self::Error>;

    /// Paints a datacenter on top of the ends of its lines.
    fn datacenter(&mut self, dc: usize, area: &Area) -> Result<(), Self::Error>;
}

impl Map {
    /// Returns the map of datacenters and the `links` between them; `boxes` has half the width and height of each
    /// datacenter.
    ///
    /// A line between columns is straight. A line within a column bends around the datacenters between its ends, to the
    /// right, or in the last column to the left, where the map has more space. Each further link between the same two
    /// datacenters bends more, so that parallel links are apart.
    #[must_use]
    pub fn new(
        layout: &Layout,
        spacing: &Spacing,
        boxes: impl IntoIterator<Item = Point>,
        links: &[LabelledLink],
    ) -> Self {
        let boxes = boxes.into_iter().enumerate();
        let line = |(at, &(ends, half)): (usize, &LabelledLink)| {
            let is_parallel =
                |other: &&LabelledLink| other.0 == ends || other.0 == (ends.1, ends.0);
            let earlier = links[..at].iter().filter(is_parallel).count();
            (spacing.curve(layout, ends, earlier), half)
        };
        Self {
            boxes: boxes
                .map(|(dc, half)| Area {
                    middle: spacing.place(layout, dc),
                    half,
                })
                .collect(),
            links: links.iter().enumerate().map(line).collect(),
        }
    }

    /// Returns the rectangles of the links' labels, in the order of the links.
    #[must_use]
    pub fn labels(&self) -> Vec<Area> {
        place_labels(&self.links, &self.boxes)
    }

    /// Draws the map: first lines, then labels, then datacenters.
    ///
    /// # Errors
    /// If `painter` fails.
    pub fn draw<P: Painter>(&self, painter: &mut P) -> Result<(), P::Error> {
        for (link, (line, _)) in self.links.iter().enumerate() {
            painter.line(link, line)?;
        }
        for (link, area) in self.labels().iter().enumerate() {
            painter.label(link, area)?;
        }
        for (dc, area) in self.boxes.iter().enumerate() {
            painter.datacenter(dc, area)?;
        }
        Ok(())
    }
}

impl Spacing {
    fn place(&self, layout: &Layout, dc: usize) -> Point {
        let (column, row) = layout.places[dc];
        (
            self.origin.0 + self.column * column,
            self.origin.1 + self.row * row,
        )
    }

    /// Returns the line of a link, beginning at the end with more links. `earlier` is the number of parallel links whose
    /// lines are closer to the straight one.
    fn curve(&self, layout: &Layout, ends: (usize, usize), earlier: usize) -> Curve {
        let (from, to) = layout.hub_first(ends);
        let apart = self.parallel * f64::from(int(earlier));
        let bend = match layout.passed(from, to) {
            None => (0.0, apart),
            Some(0) => (layout.roomier_side(from) * apart, 0.0),
            Some(passed) => {
                let around = self.around + self.further * f64::from(int(passed - 1));
                (layout.roomier_side(from) * (around + apart), 0.0)
            }
        };
        Curve::new(self.place(layout, from), self.place(layout, to), bend)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPACING: Spacing = Spacing {
        origin: (50.0, 20.0),
        column: 200.0,
        row: 100.0,
        around: 70.0,
        further: 10.0,
        parallel: 30.0,
    };

    /// Returns the middle of each line in the map of `links` between `dcs` datacenters; the first one is leftmost.
    fn middles(dcs: usize, links: &[(usize, usize)]) -> Vec<Point> {
        let layout = Layout::new(dcs, links, &[0]);
        let half = (10.0, 5.0);
        let links: Vec<LabelledLink> = links.iter().map(|&ends| (ends, half)).collect();
        let map = Map::new(&layout, &SPACING, vec![half; dcs], &links);
        map.links.iter().map(|(line, _)| line.at(0.5)).collect()
    }

    #[test]
    fn lines_between_columns_are_straight_and_parallel_links_apart() {
        let found = middles(2, &[(0, 1), (1, 0), (0, 1)]);
        assert_eq!(found, [(150.0, 20.0), (150.0, 50.0), (150.0, 80.0)]);
    }

    #[test]
    fn a_line_within_a_column_bends_around_the_datacenters_between_its_ends() {
        // Nodes 1 to 4 are one column, in this order; it is the last one until node 5 gets a column of its own.
        let star = [
            (0, 1),
            (0, 2),
            (0, 3),
            (0, 4),
            (1, 2),
            (2, 3),
            (3, 4),
            (1, 4),
            (1, 2),
        ];
        let last = middles(5, &star);
        assert_eq!(
            last[4..],
            [
                (250.0, 70.0),
                (250.0, 170.0),
                (250.0, 270.0),
                (170.0, 170.0),
                (220.0, 70.0)
            ]
        );
        let inner = middles(6, &[&star[..], &[(1, 5)]].concat());
        assert_eq!(inner[7..9], [(330.0, 170.0), (280.0, 70.0)]);
    }
}
