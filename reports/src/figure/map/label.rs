//! What is written at links.

use lab_records::LinkInfo;
use plotters::{
    prelude::DrawingBackend,
    style::text_anchor::{HPos, VPos},
};

use super::{
    super::{
        canvas::{Canvas, Drawn, Lettering, Point},
        font,
        theme::{INK, MUTED, PAPER, SMALL},
        utilisation::attributes,
    },
    counted,
};
use crate::{error::DrawError, text};

/// What is written at a link.
pub struct Label {
    lines: Vec<String>,
    is_taken: bool,
    /// Half its width and height.
    pub half: Point,
}

impl Label {
    /// Of a link that `flows` flows with `share` of all bytes crossed.
    pub fn new(link: &LinkInfo, flows: u64, share: f64, narrow: bool) -> Result<Self, DrawError> {
        let lines = match (flows, narrow) {
            (0, false) => vec!["not taken".into(), attributes(link)],
            (0, true) => vec![text::rate(link.rate_bps), text::time(link.delay_ns)],
            (_, false) => {
                let used = format!("{} · {}", text::percent(share), counted(flows));
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

    /// Draws it on paper, so that the link's line does not run through it.
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

/// Height of a line.
const LINE: f64 = SMALL * 1.25;
