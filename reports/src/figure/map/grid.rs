//! Layout of the map of datacenters, in logical pixels.

use lab_map::Layout;
use lab_records::{DcInfo, LinkInfo};

use super::super::{canvas::Point, theme::WIDTH};

/// Positions of datacenters and links in a panel of the map.
pub struct Grid {
    /// Column and row of each datacenter.
    pub layout: Layout,
    /// True if there are so many columns that link labels must be narrow.
    pub narrow: bool,
    /// True if rows must be taller: a label lies between two datacenters of a column, or labels have three lines.
    tall: bool,
}

impl Grid {
    /// Returns the layout of a map of `dcs` and `links`.
    pub fn new(dcs: &[DcInfo], links: &[LinkInfo]) -> Self {
        let index = |name: &str| dcs.iter().position(|dc| dc.name == name);
        let ends: Vec<_> = links
            .iter()
            .filter_map(|link| Some((index(&link.a)?, index(&link.b)?)))
            .collect();
        let sites = (0..dcs.len()).filter(|dc| !dcs[*dc].hosts.is_empty());
        let layout = Layout::new(dcs.len(), &ends, &sites.collect::<Vec<_>>());
        let narrow = layout.columns > WIDE_COLUMNS;
        let in_column = |&(a, b): &(usize, usize)| layout.rows_between(a, b).is_some();
        Self {
            tall: narrow || ends.iter().any(in_column),
            narrow,
            layout,
        }
    }

    fn row(&self) -> f64 {
        if self.tall { TALL_ROW } else { ROW }
    }

    /// Returns the height of a panel, logical pixels.
    pub fn panel_height(&self) -> f64 {
        TITLE + self.row() * f64::from(self.layout.rows) + 12.0
    }

    /// Returns the centre of the datacenter at index `dc` in the panel whose upper edge is at `top`.
    pub fn position(&self, dc: usize, top: f64) -> Point {
        let (column, row) = self.layout.places[dc];
        let last = f64::from(self.layout.columns.saturating_sub(1)).max(1.0);
        let side = if self.narrow { NARROW_SIDE } else { SIDE };
        let x = side + (WIDTH - 2.0 * side) * column / last;
        (x, top + TITLE + self.row() * (row + 0.5))
    }
}

impl Grid {
    /// Returns how far the middle of a link lies to the right of the straight line between its ends. A link within a
    /// column bends around the datacenters between its ends, on the side with more space.
    pub fn bend(&self, from: usize, to: usize) -> f64 {
        let rows = match self.layout.rows_between(from, to) {
            Some(between) if between > 0.5 => between + 1.0,
            _ => return 0.0,
        };
        let around = if self.narrow {
            24.0 + 22.0 * rows
        } else {
            105.0 + 12.0 * rows
        };
        let last = f64::from(self.layout.columns) - 1.5;
        if self.layout.places[from].0 > last {
            -around
        } else {
            around
        }
    }
}

/// Height of a panel's title, logical pixels.
pub const TITLE: f64 = 30.0;

/// Space beside the outermost columns, for half a label, logical pixels.
const SIDE: f64 = 68.0;
const NARROW_SIDE: f64 = 40.0;

/// Height of a row, and of a row with a label between two datacenters, logical pixels.
const ROW: f64 = 62.0;
const TALL_ROW: f64 = 92.0;

/// Maximum number of columns for which labels are wide.
const WIDE_COLUMNS: u32 = 4;
