//! Boxes of datacenters and labels of links on the map.

use lab_map::Area;
use lab_records::{DcInfo, LinkInfo};
use lab_units::show::counted;
use plotters::{
    prelude::DrawingBackend,
    style::text_anchor::{HPos, VPos},
};

use super::super::{
    canvas::{Canvas, Drawn, Lettering, Point},
    font,
    theme::{INK, MUTED, PAPER, SMALL, TEXT},
    utilisation::attributes,
};
use crate::{error::DrawError, text};

/// Returns half the width and half the height of the box of `dc`.
pub fn box_of(dc: &DcInfo) -> Result<Point, DrawError> {
    let name = font::width(&dc.name, TEXT)?;
    if dc.hosts.is_empty() {
        return Ok((name / 2.0 + 9.0, 13.0));
    }
    let width = name.max(font::width(&hosts_of(dc), SMALL)?);
    Ok((width / 2.0 + 9.0, 20.0))
}

/// Draws the box of the datacenter `dc` into `area`.
pub fn draw_dc<DB: DrawingBackend>(canvas: &Canvas<'_, DB>, dc: &DcInfo, area: &Area) -> Drawn {
    let (x, y) = area.middle;
    let (width, height) = area.half;
    let border = if dc.hosts.is_empty() { 1.0 } else { 2.0 };
    canvas.boxed(
        (x - width, y - height),
        (x + width, y + height),
        INK,
        border,
    )?;
    let name = Lettering::new(TEXT, INK, HPos::Center, VPos::Center);
    if dc.hosts.is_empty() {
        return canvas.text(&dc.name, (x, y), name);
    }
    canvas.text(&dc.name, (x, y - 8.0), name)?;
    let small = Lettering {
        em: SMALL,
        color: MUTED,
        ..name
    };
    canvas.text(&hosts_of(dc), (x, y + 8.0), small)
}

fn hosts_of(dc: &DcInfo) -> String {
    text::count(dc.hosts.len(), "host")
}

/// Label of a link on the map.
pub struct Label {
    lines: Vec<String>,
    is_taken: bool,
    /// Half the width and half the height of the label, logical pixels.
    pub half: Point,
}

impl Label {
    /// Returns the label of a link over which `flows` flows and the share `share` of all bytes passed.
    pub fn new(link: &LinkInfo, flows: u64, share: f64, narrow: bool) -> Result<Self, DrawError> {
        let lines = match (flows, narrow) {
            (0, false) => vec!["not taken".into(), attributes(link)],
            (0, true) => vec![text::rate(link.rate_bps), text::time(link.delay_ns)],
            (_, false) => {
                let used = format!("{} · {}", text::percent(share), counted(flows, "flow"));
                vec![used, attributes(link)]
            }
            (_, true) => vec![
                text::percent(share),
                text::rate(link.rate_bps),
                text::time(link.delay_ns),
            ],
        };
        let mut width: f64 = 0.0;
        for line in &lines {
            width = width.max(font::width(line, SMALL)?);
        }
        let height = LINE * text::to_float(lines.len() as u64);
        Ok(Self {
            lines,
            is_taken: flows > 0,
            half: (width / 2.0 + 4.0, height / 2.0 + 1.0),
        })
    }

    /// Draws the label on a white rectangle, which covers the line of the link.
    pub fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>, (x, y): Point) -> Drawn {
        let (width, height) = self.half;
        canvas.fill((x - width, y - height), (x + width, y + height), PAPER)?;
        let mut middle = y - height + 1.0 + LINE / 2.0;
        for (index, line) in self.lines.iter().enumerate() {
            let lettering = Lettering {
                em: SMALL,
                color: if self.is_taken && index == 0 {
                    INK
                } else {
                    MUTED
                },
                h: HPos::Center,
                v: VPos::Center,
            };
            canvas.text(line, (x, middle), lettering)?;
            middle += LINE;
        }
        Ok(())
    }
}

/// Height of a line of text in a label, logical pixels.
const LINE: f64 = SMALL * 1.25;
