//! Map of many datacenters: dots instead of boxes, with names and shares only where they fit.

use lab_map::{Area, Map, Point};
use plotters::{
    prelude::DrawingBackend,
    style::{
        RGBColor,
        text_anchor::{HPos, VPos},
    },
};

use super::super::{
    canvas::{Canvas, Drawn, Lettering},
    font,
    theme::{INK, MUTED, PAPER, SMALL, UNUSED, WIDTH},
};
use crate::{error::DrawError, text};

/// Use of a link that is drawn on a dense map.
pub struct DenseLink {
    /// Indices of the datacenters at the link's ends.
    pub ends: (usize, usize),
    pub flows: u64,
    /// Share of all bytes that crossed the link.
    pub share: f64,
}

/// Map of many datacenters in one panel.
pub struct Dense<'a> {
    /// Dots of the datacenters and curves of the links.
    pub map: &'a Map,
    /// Name of each datacenter, and true if it has hosts.
    pub dcs: &'a [(&'a str, bool)],
    pub links: &'a [DenseLink],
    pub color: RGBColor,
    /// Upper and lower edge of the room for texts, logical pixels.
    pub edges: (f64, f64),
}

/// Text with its place on the map.
struct Placed {
    text: String,
    area: Area,
    color: RGBColor,
}

impl Dense<'_> {
    /// Draws the lines, the dots and the texts that fit.
    pub fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Drawn {
        for (link, (line, _)) in self.links.iter().zip(&self.map.links) {
            let (color, width) = match link.flows {
                0 => (UNUSED, 1.0),
                _ => (self.color, 1.0 + 9.0 * link.share),
            };
            canvas.line(&line.points(), color, width)?;
        }
        for (area, (_, has_hosts)) in self.map.boxes.iter().zip(self.dcs) {
            let (x, y) = area.middle;
            let (width, height) = area.half;
            let border = if *has_hosts { width } else { 1.0 };
            let corners = ((x - width, y - height), (x + width, y + height));
            if *has_hosts {
                canvas.fill(corners.0, corners.1, INK)?;
            } else {
                canvas.boxed(corners.0, corners.1, INK, border)?;
            }
        }
        for placed in self.texts()? {
            let (x, y) = placed.area.middle;
            let (width, height) = placed.area.half;
            canvas.fill((x - width, y - height), (x + width, y + height), PAPER)?;
            let lettering = Lettering::new(SMALL, placed.color, HPos::Center, VPos::Center);
            canvas.text(&placed.text, (x, y), lettering)?;
        }
        Ok(())
    }

    /// Places names of datacenters beside their dots, those with the most bytes first, then shares of bytes on links,
    /// the largest first. A text that would cover another text or a dot is left out.
    fn texts(&self) -> Result<Vec<Placed>, DrawError> {
        let mut placed: Vec<Placed> = Vec::new();
        let mut through = vec![0.0; self.dcs.len()];
        for link in self.links {
            through[link.ends.0] += link.share;
            through[link.ends.1] += link.share;
        }
        for dc in by_value(&through) {
            let dot = &self.map.boxes[dc];
            let half = half_of(self.dcs[dc].0)?;
            let (x, y) = dot.middle;
            let (right, below) = (dot.half.0 + half.0 + 1.0, dot.half.1 + half.1);
            let places = [
                (x, y + below),
                (x, y - below),
                (x + right, y),
                (x - right, y),
            ];
            let text = self.dcs[dc].0.to_owned();
            self.place(&mut placed, (text, INK), half, &places);
        }
        let shares: Vec<f64> = self.links.iter().map(|link| link.share).collect();
        for link in by_value(&shares)
            .into_iter()
            .filter(|&link| shares[link] > 0.0)
        {
            let text = text::percent(shares[link]);
            let half = half_of(&text)?;
            let curve = &self.map.links[link].0;
            let places = [0.5, 0.4, 0.6].map(|share| curve.at(share));
            self.place(&mut placed, (text, MUTED), half, &places);
        }
        Ok(placed)
    }

    /// Adds a text at the first of `places` where it covers nothing.
    fn place(
        &self,
        placed: &mut Vec<Placed>,
        (text, color): (String, RGBColor),
        half: Point,
        places: &[Point],
    ) {
        let fits = |area: &Area| {
            let (x, y) = area.middle;
            let is_inside = x >= half.0
                && x + half.0 <= WIDTH
                && y - half.1 >= self.edges.0
                && y + half.1 <= self.edges.1;
            let others = placed.iter().map(|other| &other.area);
            let mut obstacles = others.chain(&self.map.boxes);
            is_inside && obstacles.all(|other| area.overlap(other) <= 0.0)
        };
        let areas = places.iter().map(|&middle| Area { middle, half });
        let found = areas.into_iter().find(fits);
        placed.extend(found.map(|area| Placed { text, area, color }));
    }
}

/// Returns the indices of `values`, the largest value first.
fn by_value(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
    order
}

/// Returns half the width and half the height of a text.
fn half_of(text: &str) -> Result<Point, DrawError> {
    Ok((font::width(text, SMALL)? / 2.0 + 1.0, SMALL * 0.6))
}

#[cfg(test)]
mod tests {
    use lab_map::{Layout, Spacing};

    use super::*;

    /// A grid of 30 times 25 datacenters, with long names, in a panel of 400 pixels: texts cover neither each other nor a
    /// dot, and all are inside.
    #[test]
    fn texts_on_a_map_of_many_datacenters_cover_nothing() {
        let at = |column: usize, row: usize| 25 * column + row;
        let mut links = Vec::new();
        for column in 0..30 {
            for row in 0..25 {
                if column > 0 {
                    links.push((at(column - 1, row), at(column, row)));
                }
                if row > 0 {
                    links.push((at(column, row - 1), at(column, row)));
                }
            }
        }
        let names: Vec<String> = (0..750).map(|dc| format!("name{dc:04}")).collect();
        let dcs: Vec<(&str, bool)> = names.iter().map(|name| (name.as_str(), true)).collect();
        let layout = Layout::new(750, &links, &[0]);
        let spacing = Spacing {
            origin: (40.0, 20.0),
            column: 820.0 / f64::from(layout.columns - 1),
            row: 380.0 / f64::from(layout.rows),
            around: 10.0,
            further: 1.0,
            parallel: 4.0,
        };
        let labelled: Vec<_> = links.iter().map(|&ends| (ends, (0.0, 0.0))).collect();
        let map = Map::new(&layout, &spacing, vec![(2.0, 2.0); 750], &labelled);
        let used: Vec<DenseLink> = (0u32..)
            .zip(&links)
            .map(|(number, &ends)| DenseLink {
                ends,
                flows: 1,
                share: f64::from(number % 17) / 100.0,
            })
            .collect();
        let dense = Dense {
            map: &map,
            dcs: &dcs,
            links: &used,
            color: INK,
            edges: (0.0, 400.0),
        };
        let texts = dense.texts().unwrap();
        assert!(!texts.is_empty());
        for (index, one) in texts.iter().enumerate() {
            let others = texts[..index].iter().map(|it| &it.area);
            let covered: f64 = others
                .chain(&map.boxes)
                .map(|it| one.area.overlap(it))
                .sum();
            assert!(covered <= 0.0, "{}: {covered}", one.text);
            let (x, y) = one.area.middle;
            let (width, height) = one.area.half;
            assert!(x >= width && x + width <= WIDTH && y >= height && y + height <= 400.0);
        }
    }
}
