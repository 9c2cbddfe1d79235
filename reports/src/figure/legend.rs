//! Legends, which are laid out in rows above the data.

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
    theme::{Dash, INK, Marker, Style, TEXT},
};
use crate::error::DrawError;

/// Legend whose entries are laid out in rows.
pub struct Legend {
    entries: Vec<Entry>,
    positions: Vec<Point>,
    rows: u32,
}

/// Entry of a legend.
pub struct Entry {
    pub color: RGBColor,
    /// Symbol of the data, such as a line or a marker.
    pub key: Key,
    pub label: String,
}

/// Symbol that a legend shows for data.
#[derive(Clone, Copy, Debug)]
pub enum Key {
    Bar,
    Line,
    /// Line with a dash pattern.
    Stroke(Dash),
    /// Line with a dash pattern and markers.
    Marked(Dash, Marker),
    /// Marker without a line.
    Dot(Marker),
    /// Line of equal dashes, such as for a fault.
    Dashed,
}

/// Returns the text of an entry: its label, followed by the non-empty `notes` in brackets.
pub fn noted<const N: usize>(label: &str, notes: [&str; N]) -> String {
    let notes: Vec<&str> = notes.into_iter().filter(|note| !note.is_empty()).collect();
    match notes.as_slice() {
        [] => label.to_owned(),
        notes => format!("{label} ({})", notes.join(", ")),
    }
}

/// Returns the entries of `routes`. The last route stands for all other flows and has an entry only if `has_others`.
pub fn routes(routes: &[(String, RGBColor)], has_others: bool) -> Vec<Entry> {
    let shown = routes.len() - usize::from(!has_others);
    let entry = |(label, color): &(String, RGBColor)| Entry::new(*color, Key::Bar, label);
    routes[..shown].iter().map(entry).collect()
}

impl Entry {
    /// Returns an entry with this colour, symbol and label.
    pub fn new(color: RGBColor, key: Key, label: impl Into<String>) -> Self {
        let label = label.into();
        Self { color, key, label }
    }

    /// Returns the entry for lines in the style of a policy.
    pub fn line(style: &Style, label: impl Into<String>) -> Self {
        Self::new(style.color, Key::Stroke(style.dash), label)
    }
}

impl Legend {
    /// Lays out `entries` in as many rows of width `width` as they need.
    pub fn new(entries: Vec<Entry>, width: f64) -> Result<Self, DrawError> {
        let mut positions = Vec::new();
        let mut x = 0.0;
        let mut rows = u32::from(!entries.is_empty());
        for entry in &entries {
            let room = KEY_WIDTH + font::width(&entry.label, TEXT)?;
            if x > 0.0 && x + room > width {
                x = 0.0;
                rows += 1;
            }
            positions.push((x, f64::from(rows - 1) * ROW));
            x += room + GAP;
        }
        Ok(Self {
            entries,
            positions,
            rows,
        })
    }

    pub fn height(&self) -> f64 {
        f64::from(self.rows) * ROW
    }

    /// Draws the legend with its upper left corner at `at`.
    pub fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>, at: Point) -> Drawn {
        for (entry, position) in self.entries.iter().zip(&self.positions) {
            let x = at.0 + position.0;
            let middle = at.1 + position.1 + ROW / 2.0;
            let ends = [(x, middle), (x + KEY_LENGTH, middle)];
            match entry.key {
                Key::Bar => canvas.fill(
                    (x, middle - 5.0),
                    (x + KEY_LENGTH, middle + 5.0),
                    entry.color,
                )?,
                Key::Line => canvas.line(&ends, entry.color, 2.5)?,
                Key::Dashed => canvas.dashes(ends[0], ends[1], entry.color, 1.5)?,
                Key::Stroke(dash) => canvas.dashed(&ends, dash, entry.color, 2.5)?,
                Key::Marked(dash, marker) => {
                    canvas.dashed(&ends, dash, entry.color, 2.0)?;
                    let center = (x + KEY_LENGTH / 2.0, middle);
                    canvas.marker(marker, center, 4.5, entry.color)?;
                }
                Key::Dot(marker) => {
                    let center = (x + KEY_LENGTH / 2.0, middle);
                    canvas.marker(marker, center, 4.0, entry.color)?;
                }
            }
            let lettering = Lettering::new(TEXT, INK, HPos::Left, VPos::Center);
            canvas.text(&entry.label, (x + KEY_WIDTH, middle), lettering)?;
        }
        Ok(())
    }
}

const ROW: f64 = 22.0;
const KEY_LENGTH: f64 = 30.0;
const KEY_WIDTH: f64 = KEY_LENGTH + 7.0;
const GAP: f64 = 22.0;
