//! What is drawn for a datacenter.

use lab_map::Area;
use lab_records::DcInfo;
use plotters::{
    prelude::DrawingBackend,
    style::text_anchor::{HPos, VPos},
};

use super::super::{
    canvas::{Canvas, Drawn, Lettering, Point},
    font,
    theme::{INK, MUTED, SMALL, TEXT},
};
use crate::{error::DrawError, text};

/// Half the width and height of a DC's box.
pub fn box_of(dc: &DcInfo) -> Result<Point, DrawError> {
    let name = font::width(&dc.name, TEXT)?;
    if dc.hosts.is_empty() {
        return Ok((name / 2.0 + 9.0, 13.0));
    }
    let width = name.max(font::width(&hosts_of(dc), SMALL)?);
    Ok((width / 2.0 + 9.0, 20.0))
}

/// Draws `dc` at `area`.
pub fn draw_dc<DB: DrawingBackend>(canvas: &Canvas<'_, DB>, dc: &DcInfo, area: &Area) -> Drawn {
    let ((x, y), (width, height)) = (area.middle, area.half);
    let border = if dc.hosts.is_empty() { 1.0 } else { 2.0 };
    canvas.boxed(
        (x - width, y - height),
        (x + width, y + height),
        INK,
        border,
    )?;
    let name = Lettering {
        em: TEXT,
        color: INK,
        h: HPos::Center,
        v: VPos::Center,
    };
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
