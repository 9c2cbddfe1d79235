//! The inter-DC map with the paths taken under each policy.

use lab_records::{DcInfo, LinkInfo};
use plotters::{
    prelude::DrawingBackend,
    style::{
        RGBColor,
        text_anchor::{HPos, VPos},
    },
};

use super::{
    canvas::{Canvas, Drawn, Lettering, Point},
    font,
    map_layout::Layout,
    render::Figure,
    theme::{INK, MUTED, PAPER, SMALL, TEXT, UNUSED, WIDTH},
    utilisation::attributes,
};
use crate::text;

/// The figure.
pub struct PathMap {
    /// The datacenters.
    pub dcs: Vec<DcInfo>,
    /// The links.
    pub links: Vec<LinkInfo>,
    /// One panel for each policy.
    pub panels: Vec<Panel>,
}

/// What one policy's flows took.
pub struct Panel {
    /// Label of the policy.
    pub policy: String,
    /// Its colour.
    pub color: RGBColor,
    /// Flows whose path is known.
    pub known: u64,
    /// Flows whose path is not known.
    pub unknown: u64,
    /// For each link, the flows over it and their share of all bytes, both directions together.
    pub uses: Vec<(u64, f64)>,
}

impl PathMap {
    fn layout(&self) -> Layout {
        Layout::new(&self.dcs, &self.links)
    }
}

impl Figure for PathMap {
    const NAME: &'static str = "paths";

    fn missing(&self) -> Option<String> {
        let none = self.panels.iter().all(|panel| panel.known == 0);
        none.then(|| "no flow's path is known".into())
    }

    fn height(&self) -> f64 {
        panel_height(&self.layout()) * text::to_float(self.panels.len() as u64)
    }

    fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Drawn {
        let layout = self.layout();
        let height = panel_height(&layout);
        for (index, panel) in (0u32..).zip(&self.panels) {
            self.draw_panel(canvas, panel, &layout, height * f64::from(index))?;
        }
        Ok(())
    }
}

impl PathMap {
    fn draw_panel<DB: DrawingBackend>(
        &self,
        canvas: &Canvas<'_, DB>,
        panel: &Panel,
        layout: &Layout,
        top: f64,
    ) -> Drawn {
        draw_title(canvas, panel, top)?;
        let place = |dc: usize| place(layout, dc, top);
        let index = |name: &str| self.dcs.iter().position(|dc| dc.name == name);
        let mut edges = Vec::new();
        for (at, (link, &(flows, share))) in self.links.iter().zip(&panel.uses).enumerate() {
            let (Some(a), Some(b)) = (index(&link.a), index(&link.b)) else {
                continue;
            };
            // The label is nearer to the end with fewer links, where there is more room.
            let (a, b) = if self.degree(&link.a) >= self.degree(&link.b) {
                (a, b)
            } else {
                (b, a)
            };
            let curve = Curve::new(
                place(a),
                place(b),
                self.bend(at, layout.places[a], layout.places[b]),
            );
            edges.push((link, curve, flows, share));
        }
        for (_, curve, flows, share) in &edges {
            let (color, width) = match flows {
                0 => (UNUSED, 1.2),
                _ => (panel.color, 1.5 + 12.0 * share),
            };
            canvas.line(&curve.points(), color, width)?;
        }
        for (link, curve, flows, share) in &edges {
            draw_label(canvas, curve.at(LABEL_AT), link, *flows, *share)?;
        }
        for (dc, info) in self.dcs.iter().enumerate() {
            draw_dc(canvas, place(dc), info)?;
        }
        Ok(())
    }

    fn degree(&self, dc: &str) -> usize {
        let ends = self.links.iter().flat_map(|link| [&link.a, &link.b]);
        ends.filter(|end| *end == dc).count()
    }

    /// How far a link's middle is out of the straight: parallel links stand apart, and a link
    /// within a column goes around those between its ends.
    fn bend(&self, at: usize, a: (f64, f64), b: (f64, f64)) -> f64 {
        let link = &self.links[at];
        let same = |other: &&LinkInfo| {
            (&other.a, &other.b) == (&link.a, &link.b) || (&other.a, &other.b) == (&link.b, &link.a)
        };
        let before = self.links[..at].iter().filter(same).count();
        let apart = text::to_float(before as u64) * 56.0;
        let rows = (a.1 - b.1).abs();
        let around = if (a.0 - b.0).abs() < 0.5 && rows > 1.5 {
            30.0 * rows
        } else {
            0.0
        };
        apart + around
    }
}

/// A link's line.
struct Curve {
    straight: bool,
    from: Point,
    middle: Point,
    to: Point,
}

impl Curve {
    fn new(from: Point, to: Point, bend: f64) -> Self {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let length = dx.hypot(dy).max(1.0);
        let middle = (
            f64::midpoint(from.0, to.0) + bend * dy.abs() / length,
            f64::midpoint(from.1, to.1) + bend * dx.abs() / length,
        );
        Self {
            straight: bend == 0.0,
            from,
            middle,
            to,
        }
    }

    /// The point at `share` of the way: the curve goes through `middle` at one half.
    fn at(&self, share: f64) -> Point {
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

    fn points(&self) -> Vec<Point> {
        if self.straight {
            return vec![self.from, self.to];
        }
        const PIECES: u32 = 24;
        let share = |piece| f64::from(piece) / f64::from(PIECES);
        (0..=PIECES).map(|piece| self.at(share(piece))).collect()
    }
}

fn draw_title<DB: DrawingBackend>(canvas: &Canvas<'_, DB>, panel: &Panel, top: f64) -> Drawn {
    let middle = top + TITLE / 2.0;
    canvas.fill((0.0, middle - 6.0), (22.0, middle + 6.0), panel.color)?;
    let title = Lettering {
        em: TEXT,
        color: INK,
        h: HPos::Left,
        v: VPos::Center,
    };
    let known = usize::try_from(panel.known).unwrap_or(usize::MAX);
    let mut text = format!("{} ({}", panel.policy, text::count(known, "flow"));
    if panel.unknown > 0 {
        text += &format!(", the path of {} more is not known", panel.unknown);
    }
    text.push(')');
    canvas.text(&text, (29.0, middle), title)
}

/// Two lines on paper, so that the link's line does not run through them.
fn draw_label<DB: DrawingBackend>(
    canvas: &Canvas<'_, DB>,
    (x, y): Point,
    link: &LinkInfo,
    flows: u64,
    share: f64,
) -> Drawn {
    let flows_text = usize::try_from(flows).unwrap_or(usize::MAX);
    let used = match flows {
        0 => "not taken".to_owned(),
        _ => format!(
            "{} · {}",
            text::percent(share),
            text::count(flows_text, "flow")
        ),
    };
    let attributes = attributes(link);
    let width = font::width(&used, SMALL)?.max(font::width(&attributes, SMALL)?);
    let (half, line) = (width / 2.0 + 4.0, SMALL * 1.25);
    canvas.fill(
        (x - half, y - line - 1.0),
        (x + half, y + line + 1.0),
        PAPER,
    )?;
    let lettering = Lettering {
        em: SMALL,
        color: if flows == 0 { MUTED } else { INK },
        h: HPos::Center,
        v: VPos::Center,
    };
    canvas.text(&used, (x, y - line / 2.0), lettering)?;
    let muted = Lettering {
        color: MUTED,
        ..lettering
    };
    canvas.text(&attributes, (x, y + line / 2.0), muted)
}

fn draw_dc<DB: DrawingBackend>(canvas: &Canvas<'_, DB>, (x, y): Point, dc: &DcInfo) -> Drawn {
    let hosts = text::count(dc.hosts.len(), "host");
    let has_hosts = !dc.hosts.is_empty();
    let mut width = font::width(&dc.name, TEXT)?;
    if has_hosts {
        width = width.max(font::width(&hosts, SMALL)?);
    }
    let half = (width / 2.0 + 9.0, if has_hosts { 20.0 } else { 13.0 });
    let (from, to) = ((x - half.0, y - half.1), (x + half.0, y + half.1));
    canvas.boxed(from, to, INK, if has_hosts { 2.0 } else { 1.0 })?;
    let name = Lettering {
        em: TEXT,
        color: INK,
        h: HPos::Center,
        v: VPos::Center,
    };
    if !has_hosts {
        return canvas.text(&dc.name, (x, y), name);
    }
    canvas.text(&dc.name, (x, y - 8.0), name)?;
    let small = Lettering {
        em: SMALL,
        color: MUTED,
        ..name
    };
    canvas.text(&hosts, (x, y + 8.0), small)
}

fn place(layout: &Layout, dc: usize, top: f64) -> Point {
    let (column, row) = layout.places[dc];
    let last = text::to_float(layout.columns.saturating_sub(1) as u64).max(1.0);
    let x = SIDE + (WIDTH - 2.0 * SIDE) * column / last;
    (x, top + TITLE + ROW * (row + 0.5))
}

fn panel_height(layout: &Layout) -> f64 {
    TITLE + ROW * text::to_float(layout.rows as u64) + 12.0
}

const TITLE: f64 = 30.0;
const ROW: f64 = 62.0;
const SIDE: f64 = 60.0;

/// How far along a link its label is.
const LABEL_AT: f64 = 0.6;
