//! Labels of policies, with the policies' colours.

use maud::{Markup, html};
use plotters::style::RGBColor;

use crate::figure::theme::policy_colors;

/// Returns the label of a policy, preceded by a patch of its colour.
pub fn swatched(policies: &[String], policy: &str) -> Markup {
    let colors = policy_colors(policies);
    let index = policies.iter().position(|label| label == policy);
    let color = index.and_then(|index| colors.get(index));
    html! {
        @if let Some(color) = color {
            svg.swatch viewBox="0 0 1 1" aria-hidden="true" { rect width="1" height="1" fill=(hex(*color)); }
        }
        (policy)
    }
}

pub fn hex(RGBColor(red, green, blue): RGBColor) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}
