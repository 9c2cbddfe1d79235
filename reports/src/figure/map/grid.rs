//! The layout in pixels.

use lab_records::{DcInfo, LinkInfo};

use super::{
    super::{canvas::Point, theme::WIDTH},
    layout::Layout,
};
use crate::text;

/// Where things are in a panel.
pub struct Grid {
    /// By column and row.
    pub layout: Layout,
    /// There are so many columns that labels must be narrow.
    pub narrow: bool,
}

impl Grid {
    /// A grid for the map of `dcs` and `links`.
    pub fn new(dcs: &[DcInfo], links: &[LinkInfo]) -> Self {
        let layout = Layout::new(dcs, links);
        Self {
            narrow: layout.columns > WIDE_COLUMNS,
            layout,
        }
    }

    fn row(&self) -> f64 {
        if self.narrow { NARROW_ROW } else { ROW }
    }

    /// Height of a panel.
    pub fn panel_height(&self) -> f64 {
        TITLE + self.row() * text::to_float(self.layout.rows as u64) + 12.0
    }

    /// The middle of a DC in the panel at `top`.
    pub fn place(&self, dc: usize, top: f64) -> Point {
        let (column, row) = self.layout.places[dc];
        let last = text::to_float(self.layout.columns.saturating_sub(1) as u64).max(1.0);
        let x = SIDE + (WIDTH - 2.0 * SIDE) * column / last;
        (x, top + TITLE + self.row() * (row + 0.5))
    }
}

/// Height of a panel's title.
pub const TITLE: f64 = 30.0;
const SIDE: f64 = 40.0;

/// Height of a row: room for a label of two lines and space, or one of three.
const ROW: f64 = 62.0;
const NARROW_ROW: f64 = 92.0;

/// Columns that leave room for wide labels between them.
const WIDE_COLUMNS: usize = 4;
