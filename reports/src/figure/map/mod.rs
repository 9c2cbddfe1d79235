//! Figure of the inter-DC links, with the paths of flows under each policy.

mod dense;
mod grid;
mod marks;

use lab_map::{Area, Curve, LabelledLink, Map, Painter, Point};
use lab_records::{DcInfo, LinkInfo};
use lab_units::show::counted;
use plotters::{
    prelude::DrawingBackend,
    style::{
        RGBColor,
        text_anchor::{HPos, VPos},
    },
};

use self::{
    dense::{Dense, DenseLink},
    grid::{Grid, TITLE, ends_of},
    marks::{Label, box_of, draw_dc},
};
use super::{
    canvas::{Canvas, Drawn, Lettering},
    numbers::Numbers,
    render::Figure,
    theme::{INK, TEXT, UNUSED},
};
use crate::{error::DrawError, text};

/// Data of the figure `paths`: a map of the network, with the flows and bytes on each link.
pub struct PathMap {
    pub dcs: Vec<DcInfo>,
    pub links: Vec<LinkInfo>,
    /// Panels, one per policy.
    pub panels: Vec<Panel>,
}

/// Paths of the flows under one policy.
#[derive(Clone)]
pub struct Panel {
    /// Label of the policy.
    pub policy: String,
    /// Colour of the policy.
    pub color: RGBColor,
    /// Number of flows with a known path.
    pub known: u64,
    /// Number of flows with an unknown path.
    pub unknown: u64,
    /// Flow count and share of all bytes on each link, both directions together, in the order of [`PathMap::links`].
    pub uses: Vec<(u64, f64)>,
}

impl PathMap {
    fn grid(&self) -> Grid {
        Grid::new(&self.dcs, &self.links)
    }
}

impl Figure for PathMap {
    fn name(&self) -> &'static str {
        "paths"
    }

    fn missing(&self) -> Option<String> {
        let none = self.panels.iter().all(|panel| panel.known == 0);
        none.then(|| "no flow's path is known".into())
    }

    fn height(&self) -> f64 {
        self.grid().panel_height() * text::to_float(self.panels.len() as u64)
    }

    fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Drawn {
        let grid = self.grid();
        let height = grid.panel_height();
        for (index, panel) in (0u32..).zip(&self.panels) {
            self.draw_panel(canvas, panel, &grid, height * f64::from(index))?;
        }
        Ok(())
    }

    fn numbers(&self) -> String {
        let mut numbers = Numbers::new(["policy", "link", "flows", "share_of_bytes"]);
        for panel in &self.panels {
            for (link, (flows, share)) in self.links.iter().zip(&panel.uses) {
                numbers.row([&panel.policy, &link.name, flows, share]);
            }
        }
        numbers.into_text()
    }

    fn parts(&self) -> Vec<Self> {
        let part = |panel: &Panel| Self {
            dcs: self.dcs.clone(),
            links: self.links.clone(),
            panels: vec![panel.clone()],
        };
        self.panels.iter().map(part).collect()
    }
}

impl PathMap {
    fn draw_panel<DB: DrawingBackend>(
        &self,
        canvas: &Canvas<'_, DB>,
        panel: &Panel,
        grid: &Grid,
        top: f64,
    ) -> Drawn {
        draw_title(canvas, panel, top)?;
        if grid.is_dense {
            return self.draw_dense(canvas, panel, grid, top);
        }
        let edges = self.edges(panel, grid)?;
        let map = self.map(&edges, grid, top)?;
        map.draw(&mut PanelPainter {
            canvas,
            dcs: &self.dcs,
            edges: &edges,
            color: panel.color,
        })
    }

    fn draw_dense<DB: DrawingBackend>(
        &self,
        canvas: &Canvas<'_, DB>,
        panel: &Panel,
        grid: &Grid,
        top: f64,
    ) -> Drawn {
        let links: Vec<DenseLink> = self
            .links
            .iter()
            .zip(&panel.uses)
            .filter_map(|(link, &(flows, share))| {
                let ends = ends_of(&self.dcs, link)?;
                Some(DenseLink { ends, flows, share })
            })
            .collect();
        let lines: Vec<LabelledLink> = links.iter().map(|link| (link.ends, (0.0, 0.0))).collect();
        let dots = vec![(DOT, DOT); self.dcs.len()];
        let names = self.dcs.iter().map(|dc| (&*dc.name, !dc.hosts.is_empty()));
        Dense {
            map: &Map::new(&grid.layout, &grid.spacing(top), dots, &lines),
            dcs: &names.collect::<Vec<_>>(),
            links: &links,
            color: panel.color,
            edges: (top + TITLE, top + grid.panel_height()),
        }
        .draw(canvas)
    }

    /// Returns true if datacenters are dots, and names and shares stand only where they fit.
    pub fn is_dense(&self) -> bool {
        self.grid().is_dense
    }

    /// Returns the links of a panel that have both ends on the map.
    fn edges(&self, panel: &Panel, grid: &Grid) -> Result<Vec<Edge>, DrawError> {
        let mut edges = Vec::new();
        for (link, &(flows, share)) in self.links.iter().zip(&panel.uses) {
            if let Some(ends) = ends_of(&self.dcs, link) {
                edges.push(Edge {
                    ends,
                    label: Label::new(link, flows, share, grid.narrow)?,
                    flows,
                    share,
                });
            }
        }
        Ok(edges)
    }

    /// Returns the map of the datacenters with `edges`.
    fn map(&self, edges: &[Edge], grid: &Grid, top: f64) -> Result<Map, DrawError> {
        let boxes: Vec<Point> = self.dcs.iter().map(box_of).collect::<Result<_, _>>()?;
        let links: Vec<LabelledLink> = edges
            .iter()
            .map(|edge| (edge.ends, edge.label.half))
            .collect();
        Ok(Map::new(&grid.layout, &grid.spacing(top), boxes, &links))
    }
}

/// Half of the width and height of a datacenter's dot, logical pixels.
const DOT: f64 = 3.0;

fn draw_title<DB: DrawingBackend>(canvas: &Canvas<'_, DB>, panel: &Panel, top: f64) -> Drawn {
    let middle = top + TITLE / 2.0;
    canvas.fill((0.0, middle - 6.0), (22.0, middle + 6.0), panel.color)?;
    let title = Lettering::new(TEXT, INK, HPos::Left, VPos::Center);
    let mut text = format!("{} ({}", panel.policy, counted(panel.known, "flow"));
    if panel.unknown > 0 {
        text += &format!(", path unknown for {} more", panel.unknown);
    }
    text.push(')');
    canvas.text(&text, (29.0, middle), title)
}

/// Link on the map, with its label and its use.
struct Edge {
    /// Indices of the datacenters at the link's ends.
    ends: (usize, usize),
    label: Label,
    flows: u64,
    share: f64,
}

/// Painter that draws the map of a panel.
struct PanelPainter<'a, 'b, DB: DrawingBackend> {
    canvas: &'a Canvas<'b, DB>,
    dcs: &'a [DcInfo],
    edges: &'a [Edge],
    color: RGBColor,
}

impl<DB: DrawingBackend> Painter for PanelPainter<'_, '_, DB> {
    type Error = DrawError;

    fn line(&mut self, link: usize, line: &Curve) -> Drawn {
        let edge = &self.edges[link];
        let (color, width) = match edge.flows {
            0 => (UNUSED, 1.2),
            _ => (self.color, 1.5 + 12.0 * edge.share),
        };
        self.canvas.line(&line.points(), color, width)
    }

    fn label(&mut self, link: usize, area: &Area) -> Drawn {
        self.edges[link].label.draw(self.canvas, area.middle)
    }

    fn datacenter(&mut self, dc: usize, area: &Area) -> Drawn {
        draw_dc(self.canvas, &self.dcs[dc], area)
    }
}

#[cfg(test)]
mod tests {
    use lab_sample as sample;
    use lab_sample::THIRTEEN_DCS;

    use super::{super::theme::WIDTH, *};

    fn map(links: &[(u32, u32, u64, u64)]) -> PathMap {
        let name = |number: u32| format!("dc{number}");
        let link =
            |&(a, b, gbit, ms): &(u32, u32, u64, u64)| sample::link(&name(a), &name(b), gbit, ms);
        let dcs = links.iter().map(|link| link.1).max().unwrap_or(0);
        PathMap {
            dcs: (1..=dcs).map(|dc| sample::dc(&name(dc), 16)).collect(),
            links: links.iter().map(link).collect(),
            panels: vec![Panel {
                policy: "lcmp".into(),
                color: INK,
                known: 100_000,
                unknown: 0,
                uses: vec![(12_345, 0.123); links.len()],
            }],
        }
    }

    /// Asserts that all labels are inside the figure, and that they overlap neither each other nor a datacenter.
    fn assert_readable(map: &PathMap) {
        let grid = map.grid();
        let edges = map.edges(&map.panels[0], &grid).unwrap();
        let drawn = map.map(&edges, &grid, 0.0).unwrap();
        let labels = drawn.labels();
        assert_eq!(labels.len(), map.links.len());
        for (index, label) in labels.iter().enumerate() {
            let name = &map.links[index].name;
            let others = labels[..index].iter().chain(&drawn.boxes);
            let overlap: f64 = others.map(|other| label.overlap(other)).sum();
            assert!(overlap < 1.0, "{name}: {overlap}");
            let x = label.middle.0;
            let width = label.half.0;
            assert!(x >= width && x + width <= WIDTH, "{name}: {x}");
        }
    }

    /// 754 datacenters in a line, and 48 in a line with 40 more at its end.
    #[test]
    fn panels_of_many_datacenters_have_the_height_of_half_a_page() {
        let line = |dcs: u32| (1..dcs).map(|dc| (dc, dc + 1, 100, 1)).collect::<Vec<_>>();
        let star = (49..89).map(|dc| (48, dc, 100, 1));
        for links in [line(754), line(48).into_iter().chain(star).collect()] {
            let map = map(&links);
            assert!(map.is_dense() && map.height() <= 460.0, "{}", map.height());
        }
        let few = map(&line(20));
        assert!(!few.is_dense());
    }

    #[test]
    fn labels_are_readable() {
        let routes = [
            (2, 200, 25),
            (3, 200, 250),
            (4, 100, 10),
            (5, 100, 100),
            (6, 40, 5),
            (7, 40, 50),
        ];
        let testbed =
            routes.map(|(middle, gbit, ms)| [(1, middle, gbit, ms), (middle, 8, gbit, ms)]);
        let triangle = [(1, 2, 100, 5), (2, 3, 100, 5), (1, 3, 40, 10)];
        let square = [
            (1, 2, 100, 5),
            (2, 3, 100, 5),
            (3, 4, 100, 5),
            (1, 4, 100, 5),
            (1, 3, 100, 5),
            (2, 4, 100, 5),
        ];
        let parallel = [
            (1, 2, 100, 5),
            (2, 3, 100, 5),
            (2, 3, 40, 10),
            (1, 2, 40, 50),
        ];
        for links in [
            &parallel,
            &THIRTEEN_DCS[..],
            testbed.as_flattened(),
            &triangle,
            &square,
        ] {
            assert_readable(&map(links));
        }
    }
}
