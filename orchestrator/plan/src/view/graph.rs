//! Inter-DC map of a plan as SVG: datacenters, and links with rate and delay.
//!
//! A line's width grows with the link's rate, and its tooltip shows the emulated values. Coordinates are whole pixels,
//! so that equal plans give equal pictures.

use std::{convert::Infallible, fmt::Write};

use lab_map::{Area, Curve, LabelledLink, Layout, Map, Painter, Point, Spacing};

use crate::model::{Dc, Link, LinkKind, Plan};

/// Renders the inter-DC map of `plan` as SVG.
#[must_use]
pub fn render_svg(plan: &Plan) -> String {
    let links = inter_dc(plan);
    // A DCI switch's node id equals its datacenter's id.
    let ends = |link: &&Link| (link.a.index(), link.b.index());
    let labelled: Vec<LabelledLink> = links
        .iter()
        .map(|link| (ends(link), half_of(&label(link))))
        .collect();
    let ends: Vec<_> = links.iter().map(ends).collect();
    let has_hosts = |dc: &usize| !plan.dcs[*dc].hosts.is_empty();
    let sites: Vec<_> = (0..plan.dcs.len()).filter(has_hosts).collect();
    let layout = Layout::new(plan.dcs.len(), &ends, &sites);
    let boxes = plan.dcs.iter().map(|_| BOX);
    let map = Map::new(&layout, &SPACING, boxes, &labelled);
    let picture = Picture { layout: &layout };
    let mut svg = Svg {
        text: picture.open(plan),
        dcs: &plan.dcs,
        links: &links,
        taken: map.boxes.clone(),
    };
    let Ok(()) = map.draw(&mut svg);
    let crowded = plan.dcs.len() + links.len() - svg.taken.len();
    let mut text = svg.text;
    picture.draw_notes(&mut text, crowded);
    text.push_str("</svg>\n");
    text
}

/// SVG text of the map so far, with the areas in use; a label is omitted if there is no free space.
struct Svg<'a> {
    text: String,
    dcs: &'a [Dc],
    links: &'a [&'a Link],
    /// Areas that datacenters and earlier labels occupy.
    taken: Vec<Area>,
}

impl Painter for Svg<'_> {
    type Error = Infallible;

    fn line(&mut self, link: usize, line: &Curve) -> Result<(), Infallible> {
        draw_link(&mut self.text, self.links[link], line);
        Ok(())
    }

    fn label(&mut self, link: usize, area: &Area) -> Result<(), Infallible> {
        if self.taken.iter().all(|other| area.overlap(other) <= 0.0) {
            draw_label(&mut self.text, &label(self.links[link]), area);
            self.taken.push(*area);
        }
        Ok(())
    }

    fn datacenter(&mut self, dc: usize, area: &Area) -> Result<(), Infallible> {
        draw_dc(&mut self.text, &self.dcs[dc], area.middle);
        Ok(())
    }
}

fn inter_dc(plan: &Plan) -> Vec<&Link> {
    plan.links
        .iter()
        .filter(|link| link.kind == LinkKind::InterDc)
        .collect()
}

fn label(link: &Link) -> String {
    format!("{}, {}", link.paper.rate_bps, link.paper.delay_ns)
}

/// Frame of the map: size, title and caption.
struct Picture<'a> {
    layout: &'a Layout,
}

impl Picture<'_> {
    fn width(&self) -> f64 {
        2.0 * SPACING.origin.0 + SPACING.column * f64::from(self.layout.columns.saturating_sub(1))
    }

    fn height(&self) -> f64 {
        SPACING.origin.1
            + MARGIN_BOTTOM
            + SPACING.row * f64::from(self.layout.rows.saturating_sub(1))
    }

    /// Returns the x coordinate of the picture's left edge, so that the picture is at least [`MIN_WIDTH`] wide.
    fn left(&self) -> f64 {
        (self.width() - self.width().max(MIN_WIDTH)) / 2.0
    }

    fn open(&self, plan: &Plan) -> String {
        let name = escape(&plan.name);
        let description = escape(&plan.description);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"{left} 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" font-family=\"Helvetica, Arial, 'DejaVu Sans', \
             sans-serif\">\n<title>{name}</title>\n<rect x=\"{left}\" width=\"{width}\" \
             height=\"{height}\" fill=\"#ffffff\"/>\n<text x=\"{text}\" y=\"32\" font-size=\"18\" \
             font-weight=\"bold\" fill=\"#1b2733\">{name}</text>\n<text x=\"{text}\" y=\"52\" \
             font-size=\"12\" fill=\"#5b6b7a\">{description}</text>\n",
            left = self.left(),
            width = self.width().max(MIN_WIDTH),
            height = self.height(),
            text = self.left() + 24.0,
        )
    }

    /// Draws the caption, which includes the number of links whose labels found no space.
    fn draw_notes(&self, svg: &mut String, crowded: usize) {
        let mut note = "rate and one-way delay of each link, as in the scenario".to_owned();
        if crowded > 0 {
            let _ = write!(
                note,
                "; {crowded} links have no room for labels: see their tooltips"
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" font-size=\"11\" fill=\"#5b6b7a\">{note}</text>",
            self.left() + 24.0,
            self.height() - 18.0,
        );
    }
}

/// Returns half the width and height of a label, with a reserve because viewers may substitute wider fonts.
fn half_of(text: &str) -> Point {
    let width = CHARACTER_WIDTH * count(text.chars().count()) / 2.0;
    (width + 5.0, LINE_HEIGHT / 2.0)
}

fn count(items: usize) -> f64 {
    f64::from(u32::try_from(items).unwrap_or(u32::MAX))
}

fn draw_link(svg: &mut String, link: &Link, curve: &Curve) {
    let Curve { from, control, to } = curve;
    let tooltip = format!(
        "{}: {}, {}, buffer {}; emulated {}, {}, {}",
        link.name,
        link.paper.rate_bps,
        link.paper.delay_ns,
        link.paper.buffer_bytes,
        link.emu.rate_bps,
        link.emu.delay_ns,
        link.emu.buffer_bytes,
    );
    let _ = writeln!(
        svg,
        "<path d=\"M{:.0} {:.0}Q{:.0} {:.0} {:.0} {:.0}\" fill=\"none\" stroke=\"#8fa9c2\" \
         stroke-width=\"{}\"><title>{}</title></path>",
        from.0,
        from.1,
        control.0,
        control.1,
        to.0,
        to.1,
        stroke(link.paper.rate_bps.get()),
        escape(&tooltip),
    );
}

/// Returns the line width: one pixel more for each doubling above 10 Gb/s, within limits.
fn stroke(bits_per_second: u64) -> u32 {
    (bits_per_second / 10_000_000_000)
        .max(1)
        .ilog2()
        .clamp(1, 7)
        + 1
}

/// Draws a label on a white background, so that the link's line does not run through it.
fn draw_label(svg: &mut String, text: &str, area: &Area) {
    let (x, y) = area.middle;
    // The background is smaller than the area reserved for wider fonts, so that it rarely covers other lines.
    let half_width = area.half.0 - 5.0;
    let half_height = area.half.1 - 2.5;
    let _ = writeln!(
        svg,
        "<rect x=\"{:.0}\" y=\"{:.0}\" width=\"{:.0}\" height=\"{:.0}\" rx=\"4\" \
         fill=\"#ffffff\"/><text x=\"{x:.0}\" y=\"{:.0}\" font-size=\"12\" \
         text-anchor=\"middle\" fill=\"#22384d\">{}</text>",
        x - half_width,
        y - half_height,
        2.0 * half_width,
        2.0 * half_height,
        y + 4.0,
        escape(text),
    );
}

fn draw_dc(svg: &mut String, dc: &Dc, (x, y): Point) {
    let (fill, text) = if dc.hosts.is_empty() {
        ("#eef2f6", "#33475b")
    } else {
        ("#1f5d8c", "#ffffff")
    };
    let hosts = match dc.hosts.len() {
        0 => "transit".to_owned(),
        1 => "1 host".to_owned(),
        hosts => format!("{hosts} hosts"),
    };
    // A datacenter whose switch uses only kernel routing has a dashed border.
    let (dashes, role) = if dc.legacy {
        (" stroke-dasharray=\"6 4\"", format!("{hosts}, legacy"))
    } else {
        ("", hosts)
    };
    let border = if dc.legacy { "#e8a33d" } else { "#17466a" };
    let _ = writeln!(
        svg,
        "<rect x=\"{}\" y=\"{}\" width=\"{NODE_WIDTH}\" height=\"{NODE_HEIGHT}\" rx=\"8\" \
         fill=\"{fill}\" stroke=\"{border}\" stroke-width=\"2\"{dashes}/>\
         <text x=\"{x}\" y=\"{}\" font-size=\"15\" font-weight=\"bold\" text-anchor=\"middle\" \
         fill=\"{text}\">{}</text><text x=\"{x}\" y=\"{}\" font-size=\"11\" text-anchor=\"middle\" \
         fill=\"{text}\">{role}</text>",
        x - NODE_WIDTH / 2.0,
        y - NODE_HEIGHT / 2.0,
        y - 2.0,
        escape(&dc.name),
        y + 14.0,
    );
}

/// Escapes `text` for XML content and attributes, and omits characters that XML does not allow.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\t' | '\n' | '\r' => escaped.push(' '),
            control if control.is_control() => {}
            '\u{fffe}' | '\u{ffff}' => {}
            other => escaped.push(other),
        }
    }
    escaped
}

const NODE_WIDTH: f64 = 104.0;
const NODE_HEIGHT: f64 = 46.0;
const CHARACTER_WIDTH: f64 = 7.0;
const LINE_HEIGHT: f64 = 20.0;

/// Half the width and height that a datacenter occupies, with a margin for labels.
const BOX: Point = (NODE_WIDTH / 2.0 + 4.0, NODE_HEIGHT / 2.0 + 4.0);

/// Space for a label between two columns, and for the labels of parallel links between two rows. Above the first row
/// there is space for the name and the description.
const SPACING: Spacing = Spacing {
    origin: (90.0, 110.0),
    column: 300.0,
    row: 104.0,
    around: NODE_WIDTH / 2.0 + 22.0,
    further: 22.0,
    parallel: 28.0,
};

/// Space at the bottom for the caption, in pixels.
const MARGIN_BOTTOM: f64 = 78.0;

/// Minimum width of the picture, so that a description fits, in pixels.
const MIN_WIDTH: f64 = 640.0;
