//! Survey: what a sweep over many networks says about each policy, and how far the approximation by trains can be
//! believed.
//!
//! - `settings`: the points of the sweep as networks under settings
//! - `wins`: in how many networks each policy is better or worse
//! - `explanation`: properties of networks that explain a policy's effect
//! - `terms`: what LCMP's two costs contribute
//! - `sample`: error of trains, measured on cells that were also simulated packet by packet
//! - `answer`, `document`: the survey as values, text, page and Markdown

mod answer;
mod document;
mod explanation;
mod sample;
mod settings;
mod terms;
mod wins;

pub use answer::{NoNetworks, SurveyAnswer};
