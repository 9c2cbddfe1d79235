//! The inter-DC map of `graph` and the report: datacenters in columns, lines of links, labels on them.
//!
//! A crate of its own, because a plan and a report, which know nothing of each other, place their maps alike.
//!
//! Coordinates are abstract columns and rows in [`Layout`], pixels in [`Curve`] and [`Area`]; the
//! caller's [`Painter`] has the text format. The same input gives the same map on every machine. Must not contain: I/O,
//! text formats, randomness.
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
pub use map::{Map, Painter};
