//! Colours, shapes and sizes of figures.
//!
//! The palette is that of Okabe and Ito ("Color Universal Design", 2008), whose colours people with any kind of colour
//! vision can distinguish. It is used without yellow, which is hardly visible on white paper, and black, which is not
//! visible on a dark page. In dark mode, the page's style sheet replaces the colours.

use plotters::style::RGBColor;

/// Colour of text and axes.
pub const INK: RGBColor = RGBColor(0x1f, 0x23, 0x28);

/// Colour of secondary text.
pub const MUTED: RGBColor = RGBColor(0x59, 0x63, 0x6e);

/// Colour of grid lines.
pub const GRID: RGBColor = RGBColor(0xe4, 0xe8, 0xec);

/// Colour of unused links, and of routes that have no colour assigned.
pub const UNUSED: RGBColor = RGBColor(0xb4, 0xbc, 0xc6);

/// Colour of the background.
pub const PAPER: RGBColor = RGBColor(0xff, 0xff, 0xff);

/// Colour of changes for the better.
pub const FASTER: RGBColor = BLUE;

/// Colour of changes for the worse.
pub const SLOWER: RGBColor = VERMILLION;

const BLUE: RGBColor = RGBColor(0x00, 0x72, 0xb2);
const VERMILLION: RGBColor = RGBColor(0xd5, 0x5e, 0x00);
const GREEN: RGBColor = RGBColor(0x00, 0x9e, 0x73);
const PURPLE: RGBColor = RGBColor(0xcc, 0x79, 0xa7);
const ORANGE: RGBColor = RGBColor(0xe6, 0x9f, 0x00);
const SKY: RGBColor = RGBColor(0x56, 0xb4, 0xe9);

const WINE: RGBColor = RGBColor(0x88, 0x22, 0x55);
const OLIVE: RGBColor = RGBColor(0x8a, 0x8a, 0x2b);

/// Policy colours, in order of use.
const SERIES: [RGBColor; 8] = [BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, WINE, OLIVE];

/// Route colours, in order of use; they differ from all policy colours.
pub const ROUTES: [RGBColor; 6] = [
    RGBColor(0xa3, 0xb8, 0x3a),
    RGBColor(0xd9, 0xc2, 0x6a),
    RGBColor(0xa0, 0x6a, 0x4b),
    RGBColor(0xb2, 0x4c, 0x63),
    RGBColor(0x7a, 0x5c, 0xd0),
    RGBColor(0x5c, 0x6b, 0x8a),
];

/// Style of a policy's data; colour, dashes and marker each suffice to distinguish it from other policies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Style {
    pub color: RGBColor,
    /// Dashes of lines.
    pub dash: Dash,
    /// Shape of markers.
    pub marker: Marker,
}

/// Dash patterns, in order of use.
const DASHES: [Dash; 8] = [
    Dash::SOLID,
    Dash(&[9.0, 4.0]),
    Dash(&[2.5, 3.0]),
    Dash(&[12.0, 3.0, 2.5, 3.0]),
    Dash(&[5.0, 2.5]),
    Dash(&[16.0, 4.0]),
    Dash(&[9.0, 3.0, 2.5, 3.0, 2.5, 3.0]),
    Dash(&[3.0, 6.0]),
];

/// Returns the style of each policy, in the order of `policies`.
pub fn policy_styles(policies: &[String]) -> Vec<Style> {
    let style = |(index, color)| Style {
        color,
        dash: DASHES[index % DASHES.len()],
        marker: Marker::of(index),
    };
    policy_colors(policies)
        .into_iter()
        .enumerate()
        .map(style)
        .collect()
}

/// Colours of the policies that look the same in every report.
const POLICIES: [(&str, RGBColor); 8] = [
    ("lcmp", BLUE),
    ("ecmp", VERMILLION),
    ("te-100ms", GREEN),
    ("wcmp", PURPLE),
    ("ucmp", ORANGE),
    ("ucmp-artifact", SKY),
    ("redte", WINE),
    ("redte-direct", OLIVE),
];

/// Returns the colour of each policy: its fixed colour if it has one, or else the next unused colour.
pub fn policy_colors(policies: &[String]) -> Vec<RGBColor> {
    let own = |policy: &String| {
        let found = POLICIES.iter().find(|(name, _)| name == policy);
        found.map(|&(_, color)| color)
    };
    let taken: Vec<RGBColor> = policies.iter().filter_map(own).collect();
    let mut free = SERIES
        .iter()
        .filter(|color| !taken.contains(color))
        .chain([&INK]);
    let mut next = || free.next().copied().unwrap_or(UNUSED);
    policies
        .iter()
        .map(|policy| own(policy).unwrap_or_else(&mut next))
        .collect()
}

/// Name under which the bundled font is registered in plotters.
pub const FONT: &str = "DejaVu Sans";

/// Em of axis titles, legends and panel titles, logical pixels.
pub const TEXT: f64 = 12.0;

/// Em of tick labels and marks, logical pixels.
pub const SMALL: f64 = 10.5;

/// Width of every figure, logical pixels.
pub const WIDTH: f64 = 900.0;

/// Returns the extra width of each line; a line that later lines cover is wider, so that its edges stay visible.
pub fn extra_widths<L: AsRef<[f64]>>(lines: &[L]) -> Vec<f64> {
    let covered = |(index, line): (usize, &L)| {
        let covers = lines[index + 1..]
            .iter()
            .filter(|other| coincide(line.as_ref(), other.as_ref()))
            .count();
        [0.0, 1.8, 3.2][covers.min(2)]
    };
    lines.iter().enumerate().map(covered).collect()
}

/// Returns true if two lines of positive values differ by at most 2 % everywhere.
fn coincide(one: &[f64], other: &[f64]) -> bool {
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 0.02 * a.abs();
    one.len() == other.len() && one.iter().zip(other).all(near)
}

/// Shape of a marker; shapes can be distinguished without colour.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Marker {
    /// Disc.
    Circle,
    /// Square.
    Square,
    /// Triangle on its base.
    Triangle,
    /// Square on its corner.
    Diamond,
    /// Triangle on its tip.
    Wedge,
    /// Two crossed diagonals.
    Cross,
    /// Upright cross.
    Plus,
    /// Bar.
    Bar,
}

/// Lengths of a line's dashes and gaps in turn, in logical pixels; empty for a solid line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dash(pub &'static [f64]);

impl Dash {
    pub const SOLID: Self = Self(&[]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_policies_keep_their_colours_and_no_two_share_one() {
        let names = ["mine", "lcmp", "ecmp", "lcmp-alpha0"].map(String::from);
        let colors = policy_colors(&names);
        assert_eq!(colors, [GREEN, BLUE, VERMILLION, PURPLE]);
    }

    #[test]
    fn a_line_under_others_is_wider() {
        let lines = [vec![1.0, 2.0], vec![1.01, 2.0], vec![1.0], vec![1.0, 2.0]];
        assert_eq!(extra_widths(&lines), [3.2, 1.8, 0.0, 0.0]);
    }

    #[test]
    fn policies_past_the_palette_are_grey_not_fatal() {
        let names: Vec<String> = (0..11).map(|n| format!("p{n}")).collect();
        assert_eq!(policy_colors(&names)[8..], [INK, UNUSED, UNUSED]);
    }

    #[test]
    fn no_route_has_a_policys_colour_and_no_two_policies_a_style() {
        assert!(ROUTES.iter().all(|route| !SERIES.contains(route)));
        let names: Vec<String> = (0..8).map(|n| format!("p{n}")).collect();
        let styles = policy_styles(&names);
        for (index, style) in styles.iter().enumerate() {
            let others = || styles[..index].iter();
            assert!(others().all(|other| other.color != style.color));
            assert!(others().all(|other| other.dash != style.dash));
            assert!(others().all(|other| other.marker != style.marker));
        }
    }
}
