//! Figures of dots in panels that share their axes.

use std::collections::BTreeSet;

use plotters::{
    prelude::DrawingBackend,
    style::{
        RGBColor,
        text_anchor::{HPos, VPos},
    },
};

use super::{
    axis::Axis,
    canvas::{Canvas, Drawn, Lettering},
    chart::{Chart, Plot},
    font,
    legend::{Entry, Key, Legend},
    numbers::Numbers,
    render::Figure,
    theme::{MUTED, Marker, SMALL, TEXT, WIDTH},
};
use crate::error::DrawError;

/// Data of a figure of dots.
pub struct Points {
    /// Name of the figure's files.
    pub name: &'static str,
    pub panels: Vec<DotPanel>,
    /// Styles of dots. Later styles are drawn over earlier ones. The legend shows styles that have a label and at least
    /// one dot.
    pub styles: Vec<DotStyle>,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Title of the horizontal axis, with its unit.
    pub x_title: String,
    /// Title of the vertical axis, with its unit.
    pub y_title: String,
    /// Line on which all dots would lie if the two compared results were equal.
    pub guide: Guide,
}

/// Panel of dots.
pub struct DotPanel {
    pub title: String,
    /// Colour of the panel's title.
    pub color: RGBColor,
    pub dots: Vec<Dot>,
}

/// Dot in a panel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dot {
    /// Values of the dot on the horizontal and the vertical axis.
    pub at: (f64, f64),
    /// Index of the dot's style.
    pub style: usize,
}

/// Style of dots.
#[derive(Clone, Debug)]
pub struct DotStyle {
    /// Label in the legend; empty if the style has no legend entry.
    pub label: String,
    pub color: RGBColor,
    pub marker: Marker,
    /// Radius in logical pixels.
    pub radius: f64,
}

/// Line on which all dots would lie if the two compared results were equal.
#[derive(Clone, Copy, Debug)]
pub enum Guide {
    /// Equal values on both axes.
    Diagonal,
    /// Zero on the vertical axis.
    Zero,
    /// Zero on the horizontal axis.
    ZeroAcross,
}

impl Figure for Points {
    fn name(&self) -> &'static str {
        self.name
    }

    fn missing(&self) -> Option<String> {
        let is_empty = self.panels.iter().all(|panel| panel.dots.is_empty());
        is_empty.then(|| "too few flows finished in both runs".into())
    }

    fn height(&self) -> f64 {
        let (columns, _, height) = self.grid();
        let panels = u32::try_from(self.panels.len()).unwrap_or(u32::MAX);
        let legend = self.legend().map_or(0.0, |legend| legend.height());
        legend + GAP + height * f64::from(panels.div_ceil(columns))
    }

    fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Drawn {
        let legend = self.legend()?;
        legend.draw(canvas, (0.0, 0.0))?;
        let (columns, width, height) = self.grid();
        let top = legend.height() + GAP;
        for (index, panel) in (0u32..).zip(&self.panels) {
            let row = f64::from(index / columns);
            let column = f64::from(index % columns);
            let plot = Plot {
                at: (width * column, top + height * row + TITLE),
                size: (width - GAP, height - TITLE - GAP),
                x: with_room(self.x.clone(), width - SIDES)?,
                y: self.y.clone(),
                min_left: 0.0,
                x_title: &self.x_title,
                y_title: &self.y_title,
            };
            self.draw_panel(canvas, &plot, panel)?;
        }
        Ok(())
    }

    fn numbers(&self) -> String {
        let mut numbers = Numbers::new(["panel", "series", "x", "y"]);
        for panel in &self.panels {
            for dot in &panel.dots {
                let series = self.styles.get(dot.style).map_or("", |style| &style.label);
                numbers.row([&panel.title, &series, &dot.at.0, &dot.at.1]);
            }
        }
        numbers.into_text()
    }
}

impl Points {
    /// Returns the number of panels in a row, and the width and height of each.
    fn grid(&self) -> (u32, f64, f64) {
        let columns = match self.panels.len() {
            0 | 1 => return (1, WIDTH, 460.0),
            2 | 4 => 2,
            _ => 3,
        };
        let width = WIDTH / f64::from(columns);
        (columns, width, width.min(430.0) + TITLE)
    }

    fn legend(&self) -> Result<Legend, DrawError> {
        let is_used = |index| {
            let mut dots = self.panels.iter().flat_map(|panel| &panel.dots);
            dots.any(|dot| dot.style == index)
        };
        let styles = self
            .styles
            .iter()
            .enumerate()
            .filter(|(index, style)| !style.label.is_empty() && is_used(*index))
            .map(|(_, style)| style);
        let entry =
            |style: &DotStyle| Entry::new(style.color, Key::Dot(style.marker), &*style.label);
        let line = Entry::new(MUTED, Key::Dashed, "equal");
        Legend::new(styles.map(entry).chain([line]).collect(), WIDTH)
    }

    fn draw_panel<DB: DrawingBackend>(
        &self,
        canvas: &Canvas<'_, DB>,
        plot: &Plot<'_>,
        panel: &DotPanel,
    ) -> Drawn {
        let chart = plot.draw(canvas)?;
        let point = |x: f64, y: f64| canvas.logical(chart.backend_coord(&(x, y)));
        let (left, right) = plot.x.ends();
        let (bottom, top) = plot.y.ends();
        let (from, to) = match self.guide {
            Guide::Zero => (point(left, 0.0), point(right, 0.0)),
            Guide::ZeroAcross => (point(0.0, bottom), point(0.0, top)),
            Guide::Diagonal => {
                let start = left.max(bottom);
                let end = right.min(top);
                (point(start, start), point(end, end))
            }
        };
        canvas.dashes(from, to, MUTED, 0.8)?;
        let (x, y) = point(left, top);
        let lettering = Lettering::new(TEXT, panel.color, HPos::Left, VPos::Center);
        canvas.text(&panel.title, (x, y - 2.0 * TITLE + 8.0), lettering)?;
        for (index, style) in self.styles.iter().enumerate() {
            let dots = panel.dots.iter().filter(|dot| dot.style == index);
            draw_dots(canvas, &chart, style, dots)?;
        }
        Ok(())
    }
}

/// Draws one dot for each style and cell of a fine grid. More dots in a cell would not be visible but would enlarge the
/// file.
fn draw_dots<'a, DB: DrawingBackend>(
    canvas: &Canvas<'_, DB>,
    chart: &Chart<'_, DB>,
    style: &DotStyle,
    dots: impl Iterator<Item = &'a Dot>,
) -> Drawn {
    let cell = canvas.px(CELL).max(1);
    let mut drawn = BTreeSet::new();
    for dot in dots {
        let (x, y) = chart.backend_coord(&dot.at);
        if drawn.insert((x.div_euclid(cell), y.div_euclid(cell))) {
            canvas.marker(
                style.marker,
                canvas.logical((x, y)),
                style.radius,
                style.color,
            )?;
        }
    }
    Ok(())
}

/// Removes tick labels of a horizontal axis of `length` pixels that would overlap other labels; the last label stays.
fn with_room(axis: Axis, length: f64) -> Result<Axis, DrawError> {
    let mut kept: Vec<(f64, String)> = Vec::new();
    let mut free_until = f64::INFINITY;
    for (at, label) in axis.ticks().iter().rev() {
        let center = axis.share(*at) * length;
        let half = font::width(label, SMALL)? / 2.0;
        if center + half + GAP <= free_until {
            free_until = center - half;
            kept.push((*at, label.clone()));
        }
    }
    kept.reverse();
    Ok(axis.with_ticks(kept))
}

/// Space between panels, and between labels, logical pixels.
const GAP: f64 = 10.0;

/// Height of a panel's title, logical pixels.
const TITLE: f64 = 20.0;

/// Approximate width of labels and margins on both sides of a panel, logical pixels.
const SIDES: f64 = 70.0;

/// Side of the grid cells that get at most one dot, logical pixels.
const CELL: f64 = 1.5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_without_room_are_left_out_and_the_last_one_stays() {
        let axis = Axis::logarithmic(1.0, 100.0);
        let labels = |length| {
            let axis = with_room(axis.clone(), length).unwrap();
            let labels = axis.ticks().iter().map(|(_, label)| label.clone());
            labels.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(labels(800.0), "1 2 5 10 20 50 100");
        assert_eq!(labels(150.0), "1 2 5 20 100");
        assert_eq!(labels(10.0), "100");
    }
}
