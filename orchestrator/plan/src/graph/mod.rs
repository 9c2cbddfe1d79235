//! The inter-DC map of a plan as SVG: datacenters, and links with rate and delay.
//!
//! A line is as wide as its rate is large; its tooltip has the emulated values. Coordinates are
//! whole pixels, so the same plan is the same picture.

mod labels;
mod layout;

use std::fmt::Write;

use labels::{Area, Curve};
use layout::{Layout, Point, ROW_GAP, int};

use crate::model::{Dc, Link, LinkKind, Plan};

/// The inter-DC map of `plan`.
#[must_use]
pub fn render_svg(plan: &Plan) -> String {
    let links = inter_dc(plan);
    let pairs: Vec<_> = links.iter().map(|link| ends(link)).collect();
    let with_hosts = |dc: &usize| !plan.dcs[*dc].hosts.is_empty();
    let sites: Vec<_> = (0..plan.dcs.len()).filter(with_hosts).collect();
    let layout = Layout::of(plan.dcs.len(), &pairs, &sites);
    let curves: Vec<_> = (0..links.len())
        .map(|at| curve(&layout, &pairs, at))
        .collect();
    let labelled: Vec<_> = curves
        .iter()
        .copied()
        .zip(links.iter().map(|link| label(link)))
        .collect();
    let boxes: Vec<_> = layout
        .places
        .iter()
        .map(|place| node_area(*place))
        .collect();
    let areas = labels::place(&labelled, &boxes);

    let mut svg = open(plan, &layout);
    for (link, curve) in links.iter().zip(&curves) {
        draw_link(&mut svg, link, curve);
    }
    for ((_, text), area) in labelled.iter().zip(&areas) {
        if let Some(area) = area {
            draw_label(&mut svg, text, area);
        }
    }
    for (dc, place) in plan.dcs.iter().zip(&layout.places) {
        draw_dc(&mut svg, dc, *place);
    }
    draw_notes(
        &mut svg,
        &layout,
        areas.iter().filter(|area| area.is_none()).count(),
    );
    svg.push_str("</svg>\n");
    svg
}

fn inter_dc(plan: &Plan) -> Vec<&Link> {
    let links = plan.links.iter();
    links
        .filter(|link| link.kind == LinkKind::InterDc)
        .collect()
}

/// The datacenters of a link; a DCI switch has its datacenter's number.
fn ends(link: &Link) -> (usize, usize) {
    (link.a.index(), link.b.index())
}

fn label(link: &Link) -> String {
    format!("{}, {}", link.paper.rate_bps, link.paper.delay_ns)
}

/// Straight between columns; within one bent around the datacenters between its ends; and bent more
/// for each link of the same pair before.
fn curve(layout: &Layout, pairs: &[(usize, usize)], at: usize) -> Curve {
    let (a, b) = pairs[at];
    let (from, to) = (layout.places[a], layout.places[b]);
    let same = |pair: &&(usize, usize)| **pair == (a, b) || **pair == (b, a);
    let twins = TWIN_BEND * int(pairs[..at].iter().filter(same).count());
    let mut control = Point {
        x: (from.x + to.x) / 2,
        y: (from.y + to.y) / 2,
    };
    let between = (from.y - to.y).abs() / ROW_GAP - 1;
    if !layout.same_column(a, b) {
        control.y += twins;
    } else if between == 0 {
        control.x += twins;
    } else {
        // A curve's middle is half way to its control point.
        control.x += twins + 2 * (NODE_WIDTH / 2 + CLEARANCE * between);
    }
    Curve { from, control, to }
}

fn node_area(middle: Point) -> Area {
    Area {
        middle,
        width: NODE_WIDTH + 8,
        height: NODE_HEIGHT + 8,
    }
}

fn open(plan: &Plan, layout: &Layout) -> String {
    let (width, height) = (layout.width.max(MIN_WIDTH), layout.height);
    let (name, description) = (escape(&plan.name), escape(&plan.description));
    let offset = (width - layout.width) / 2;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"{left} 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" font-family=\"Helvetica, Arial, 'DejaVu Sans', \
         sans-serif\">\n<title>{name}</title>\n<rect x=\"{left}\" width=\"{width}\" \
         height=\"{height}\" fill=\"#ffffff\"/>\n<text x=\"{text}\" y=\"32\" font-size=\"18\" \
         font-weight=\"bold\" fill=\"#1b2733\">{name}</text>\n<text x=\"{text}\" y=\"52\" \
         font-size=\"12\" fill=\"#5b6b7a\">{description}</text>\n",
        left = -offset,
        text = 24 - offset,
    )
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
        "<path d=\"M{} {}Q{} {} {} {}\" fill=\"none\" stroke=\"#8fa9c2\" \
         stroke-width=\"{}\"><title>{}</title></path>",
        from.x,
        from.y,
        control.x,
        control.y,
        to.x,
        to.y,
        stroke(link.paper.rate_bps.get()),
        escape(&tooltip),
    );
}

/// A pixel more for each doubling from 10 Gb/s on, within reason.
fn stroke(bits_per_second: u64) -> u32 {
    (bits_per_second / 10_000_000_000)
        .max(1)
        .ilog2()
        .clamp(1, 7)
        + 1
}

/// The text, on white so that its line does not run through it.
fn draw_label(svg: &mut String, text: &str, area: &Area) {
    let Point { x, y } = area.middle;
    // Less than the room that is kept for wider fonts, so that other lines are seldom cut.
    let (width, height) = (area.width - 10, area.height - 5);
    let _ = writeln!(
        svg,
        "<rect x=\"{}\" y=\"{}\" width=\"{width}\" height=\"{height}\" rx=\"4\" \
         fill=\"#ffffff\"/><text x=\"{x}\" y=\"{}\" font-size=\"12\" text-anchor=\"middle\" \
         fill=\"#22384d\">{}</text>",
        x - width / 2,
        y - height / 2,
        y + 4,
        escape(text),
    );
}

fn draw_dc(svg: &mut String, dc: &Dc, place: Point) {
    let Point { x, y } = place;
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
    // Dashes for a datacenter that only routes as the kernel does.
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
        x - NODE_WIDTH / 2,
        y - NODE_HEIGHT / 2,
        y - 2,
        escape(&dc.name),
        y + 14,
    );
}

/// How to read the picture, and what is not in it.
fn draw_notes(svg: &mut String, layout: &Layout, unlabelled: usize) {
    let mut note = "rate and one-way delay of each link, as in the scenario".to_owned();
    if unlabelled > 0 {
        let _ = write!(
            note,
            "; {unlabelled} links have no room for theirs: see their tooltips"
        );
    }
    let left = 24 - (layout.width.max(MIN_WIDTH) - layout.width) / 2;
    let _ = writeln!(
        svg,
        "<text x=\"{left}\" y=\"{}\" font-size=\"11\" fill=\"#5b6b7a\">{note}</text>",
        layout.height - 18,
    );
}

/// `text` as XML character data, also within attributes; what XML cannot hold is left out.
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

const NODE_WIDTH: i64 = 104;
const NODE_HEIGHT: i64 = 46;

/// Room for a description.
const MIN_WIDTH: i64 = 640;

/// How far a bent link passes from each datacenter it goes around.
const CLEARANCE: i64 = 22;

/// How far a second link between the same two is off the first.
const TWIN_BEND: i64 = 56;
