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
mod render;
pub mod theme;
mod timeline;
mod utilisation;

pub use around::{AroundFaults, Sent};
pub use by_size::BySize;
pub use cdf::Cdf;
pub use map::{Panel, PathMap};
pub use render::{Figure, Image, font_face, render};
pub use timeline::{Bar, Lane, Timeline};
pub use utilisation::{LinkBars, Utilisation, attributes};
