//! Spacing of the map of datacenters, in logical pixels.

use std::collections::BTreeSet;

use lab_map::{Layout, Spacing};
use lab_records::{DcInfo, LinkInfo};

use super::super::theme::WIDTH;

/// Grid of datacenters in a panel of the map.
pub struct Grid {
    /// Column and row of each datacenter.
    pub layout: Layout,
    /// True if there are so many columns that link labels must be narrow.
    pub narrow: bool,
    /// True if rows must be taller: a label lies between two datacenters of a column, parallel links have labels above
    /// each other, or labels have three lines.
    tall: bool,
    /// True if there are so many datacenters that they are dots, and texts stand only where they fit.
    pub is_dense: bool,
}

impl Grid {
    /// Returns the grid for a map of `dcs` and `links`.
    pub fn new(dcs: &[DcInfo], links: &[LinkInfo]) -> Self {
        let ends: Vec<_> = links.iter().filter_map(|link| ends_of(dcs, link)).collect();
        let sites = (0..dcs.len()).filter(|dc| !dcs[*dc].hosts.is_empty());
        let layout = Layout::new(dcs.len(), &ends, &sites.collect::<Vec<_>>());
        let narrow = layout.columns > WIDE_COLUMNS;
        let pairs: BTreeSet<_> = ends.iter().map(|&(a, b)| (a.min(b), a.max(b))).collect();
        let has_labels_in_a_column = ends.iter().any(|&(a, b)| layout.share_column(a, b));
        Self {
            tall: narrow || has_labels_in_a_column || pairs.len() < ends.len(),
            narrow,
            is_dense: dcs.len() > MAX_BOXES,
            layout,
        }
    }

    fn row(&self) -> f64 {
        let row = if self.tall { TALL_ROW } else { ROW };
        if self.is_dense {
            row.min(DENSE_HEIGHT / f64::from(self.layout.rows.max(1)))
        } else {
            row
        }
    }

    /// Returns the height of a panel, logical pixels.
    pub fn panel_height(&self) -> f64 {
        TITLE + self.row() * f64::from(self.layout.rows) + 12.0
    }

    /// Returns the spacing of datacenters and labels in the panel whose upper edge is at `top`, logical pixels.
    pub fn spacing(&self, top: f64) -> Spacing {
        let last = f64::from(self.layout.columns.saturating_sub(1)).max(1.0);
        let side = if self.narrow { NARROW_SIDE } else { SIDE };
        let (around, further) = if self.is_dense {
            let column = (WIDTH - 2.0 * side) / last;
            (column / 4.0, column / 16.0)
        } else if self.narrow {
            (68.0, 22.0)
        } else {
            (129.0, 12.0)
        };
        Spacing {
            origin: (side, top + TITLE + self.row() / 2.0),
            column: (WIDTH - 2.0 * side) / last,
            row: self.row(),
            around,
            further,
            parallel: if self.is_dense { 5.0 } else { 36.0 },
        }
    }
}

/// Returns the indices of the datacenters at the ends of a link; `None` if an end is not among `dcs`.
pub fn ends_of(dcs: &[DcInfo], link: &LinkInfo) -> Option<(usize, usize)> {
    let index = |name: &str| dcs.iter().position(|dc| dc.name == name);
    Some((index(&link.a)?, index(&link.b)?))
}

/// Height of a panel's title, logical pixels.
pub const TITLE: f64 = 30.0;

/// Space beside the outermost columns, for half a label, logical pixels.
const SIDE: f64 = 68.0;
const NARROW_SIDE: f64 = 40.0;

/// Height of a row without labels between datacenters, logical pixels.
const ROW: f64 = 62.0;
/// Height of a row with room for labels between datacenters, logical pixels.
const TALL_ROW: f64 = 92.0;

/// Maximum number of datacenters that have boxes.
const MAX_BOXES: usize = 20;

/// Maximum total height of the rows of a panel with more datacenters, logical pixels.
const DENSE_HEIGHT: f64 = 400.0;

/// Maximum number of columns for which labels are wide.
const WIDE_COLUMNS: u32 = 4;
