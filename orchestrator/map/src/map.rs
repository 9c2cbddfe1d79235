//! Map in pixels, and the order in which its parts are drawn.

use crate::labels::{Area, Curve, Point, place_labels};

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
