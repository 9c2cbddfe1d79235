//! Figures: the data of each, and its drawing for every backend.

mod around;
mod axis;
mod by_size;
mod canvas;
mod cdf;
mod chart;
pub mod font;
mod legend;
mod map;
mod points;
mod render;
pub mod theme;
mod timeline;
mod utilisation;

pub use around::{AroundFaults, Sent};
pub use axis::Axis;
pub use by_size::BySize;
pub use canvas::Marker;
pub use cdf::Cdf;
pub use map::{Panel, PathMap};
pub use points::{
    BinScatter, Dot, DotPanel, DotStyle, Guide, Points, Residuals, SizeChanges, SlowdownScatter,
};
pub use render::{Figure, Image, font_face, render};
pub use timeline::{Bar, Lane, Timeline};
pub use utilisation::{LinkBars, Utilisation, attributes};
