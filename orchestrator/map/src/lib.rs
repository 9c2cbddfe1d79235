//! Inter-DC map that `graph` and the report draw: datacenters in columns, lines of links, labels on the lines.
//!
//! This is a crate of its own because a plan and a report, which do not depend on each other, draw the same map.
//!
//! Coordinates are abstract columns and rows in [`Layout`]. [`Map`] turns them into pixels by the caller's [`Spacing`],
//! and the caller's [`Painter`] writes the output format. The same input gives the same map on every machine. Must not
//! contain: I/O, text formats, randomness.
//!
//! ```
//! let testbed = [(0, 1), (0, 2), (1, 3), (2, 3)];
//! let layout = lab_map::Layout::new(4, &testbed, &[0, 3]);
//! assert_eq!(layout.places, [(0.0, 0.5), (1.0, 0.0), (1.0, 1.0), (2.0, 0.5)]);
//! ```

mod labels;
mod layout;
mod map;

pub use labels::{Area, Curve, Point};
pub use layout::Layout;
pub use map::{LabelledLink, Map, Painter, Spacing};
