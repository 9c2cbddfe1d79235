//! Figures: their data, and how they are drawn.

mod around;
mod axis;
mod by_size;
mod canvas;
mod cdf;
mod chart;
mod faults;
pub mod font;
mod learning;
mod legend;
mod map;
mod numbers;
mod pairs;
mod points;
mod render;
mod stacks;
mod strips;
pub mod theme;
mod timeline;
mod utilisation;

pub use around::{AroundFaults, Sent};
pub use axis::Axis;
pub use by_size::{SizeBin, SizePanel, SizePanels};
pub use cdf::{Cdf, Curve};
pub use faults::FaultMark;
pub use learning::Learning;
pub use map::{Panel, PathMap};
pub use pairs::{DcPairs, PairCell, PairPanel};
pub use points::{Dot, DotPanel, DotStyle, Guide, Points};
pub use render::{Figure, Image, font_face, render};
pub use stacks::Stacks;
pub use strips::{MAX_STRIPS, Strips};
pub use theme::Marker;
pub use timeline::{Bar, Lane, Timeline};
pub use utilisation::{LinkBars, Utilisation, attributes};
