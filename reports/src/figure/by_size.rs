//! Figure of p50 and p99 of the FCT slowdown by flow size.

use lab_units::Bytes;
use plotters::prelude::DrawingBackend;

use super::{
    axis::Axis,
    canvas::{Canvas, Drawn, Point},
    chart::Plot,
    font,
    legend::{Entry, Key, Legend, noted},
    numbers::Numbers,
    render::Figure,
    theme::{SMALL, Style, WIDTH, extra_widths},
};
use crate::{error::DrawError, population::Population, stats::Statistic, text};

/// Data of a figure with slowdowns by flow size.
pub struct SizePanels {
    /// Name of the figure's files.
    pub name: &'static str,
    /// Label and style of each policy.
    pub policies: Vec<(String, Style)>,
    /// Legend text of each policy's parameters that differ from its publication; empty if no parameter differs.
    pub parameters: Vec<String>,
    pub panels: Vec<SizePanel>,
}

/// Panel of one percentile in bins of flow sizes.
pub struct SizePanel {
    /// Percentile that the panel shows.
    pub percent: u32,
    /// Largest flow size that belongs to each bin.
    pub upper: Vec<Bytes>,
    /// Values by policy and bin.
    pub bins: Vec<Vec<SizeBin>>,
}

/// Percentile of a policy's slowdowns in a bin.
#[derive(Clone, Copy)]
pub struct SizeBin {
    /// Number of scheduled flows in the bin.
    pub flows: usize,
    /// Number of flows in the bin that finished.
    pub finished: usize,
    /// Value of the percentile; `None` if the bin has too few flows for the percentile, or if the percentile falls on
    /// an unfinished flow.
    pub value: Option<f64>,
}

impl SizeBin {
    /// Returns the percentile of the flows in a bin.
    pub fn of(flows: &Population<'_>, percent: u32) -> Self {
        Self {
            flows: flows.len(),
            finished: flows.finished().len(),
            value: flows.shown(Statistic::Percentile(percent)),
        }
    }
}

/// Horizontal position of a bin's dot on the axis, and its value.
type Dot = (f64, f64);

impl Figure for SizePanels {
    fn name(&self) -> &'static str {
        self.name
    }

    fn missing(&self) -> Option<String> {
        let bins = || self.panels.iter().flat_map(|it| it.bins.iter().flatten());
        if bins().all(|bin| bin.finished == 0) {
            return Some("no flow finished".into());
        }
        let table = "the percentiles are in the table of results";
        if self.panels.iter().all(|it| it.upper.len() < 2) {
            return Some(format!("all flows have about the same size: {table}"));
        }
        let fewest = self
            .panels
            .iter()
            .map(|it| Statistic::Percentile(it.percent).min_values())
            .min()?;
        if bins().any(|bin| bin.value.is_some()) {
            return None;
        }
        if bins().any(|bin| bin.flows >= fewest) {
            return Some("too few flows finished in every size bin".into());
        }
        Some(format!(
            "no size bin has {fewest} flows of one policy: {table}"
        ))
    }

    fn height(&self) -> f64 {
        HEIGHT
    }

    fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Drawn {
        let entry = |((label, style), parameters): (&(String, Style), &String)| {
            let key = Key::Marked(style.dash, style.marker);
            Entry::new(style.color, key, noted(label, [parameters]))
        };
        let entries = self.policies.iter().zip(&self.parameters).map(entry);
        let legend = Legend::new(entries.collect(), WIDTH)?;
        legend.draw(canvas, (0.0, 0.0))?;
        let panels: Vec<&SizePanel> = self.panels.iter().filter(|it| it.has_dots()).collect();
        let width = WIDTH / text::to_float(panels.len() as u64);
        for (index, panel) in (0u32..).map(f64::from).zip(panels) {
            self.panel(canvas, panel, (width * index, legend.height()), width - GAP)?;
        }
        Ok(())
    }

    fn numbers(&self) -> String {
        let heads = [
            "percentile",
            "policy",
            "size_up_to_bytes",
            "flows",
            "finished",
            "slowdown",
        ];
        let mut numbers = Numbers::new(heads);
        for panel in &self.panels {
            for ((policy, _), bins) in self.policies.iter().zip(&panel.bins) {
                for (upper, bin) in panel.upper.iter().zip(bins) {
                    let value = bin.value.map_or_else(String::new, |it| it.to_string());
                    let flows = &bin.flows;
                    let finished = &bin.finished;
                    let upper = upper.get();
                    numbers.row([&panel.percent, policy, &upper, flows, finished, &value]);
                }
            }
        }
        numbers.into_text()
    }
}

impl SizePanels {
    fn panel<DB: DrawingBackend>(
        &self,
        canvas: &Canvas<'_, DB>,
        panel: &SizePanel,
        (left, top): (f64, f64),
        width: f64,
    ) -> Drawn {
        let series: Vec<Vec<Dot>> = (0..self.policies.len())
            .map(|policy| panel.dots(policy))
            .collect();
        let y = Axis::of_ratios(series.iter().flatten().map(|dot| dot.1), 6);
        let logarithmic = if y.is_logarithmic() {
            ", logarithmic"
        } else {
            ""
        };
        let plot = Plot {
            at: (left, top),
            size: (width, HEIGHT - top),
            x: panel.size_axis(width)?,
            y,
            min_left: 0.0,
            x_title: "flow size, up to",
            y_title: &format!("p{} FCT slowdown{logarithmic}", panel.percent),
        };
        let chart = plot.draw(canvas)?;
        let values = |dots: &Vec<Dot>| -> Vec<f64> { dots.iter().map(|dot| dot.1).collect() };
        let extra = extra_widths(&series.iter().map(values).collect::<Vec<_>>());
        for ((_, style), (dots, extra)) in self.policies.iter().zip(series.iter().zip(extra)) {
            let points: Vec<Point> = dots
                .iter()
                .map(|dot| canvas.logical(chart.backend_coord(dot)))
                .collect();
            canvas.dashed(&points, style.dash, style.color, 1.6 + extra)?;
            for point in points {
                canvas.marker(style.marker, point, 3.6 + extra / 2.0, style.color)?;
            }
        }
        Ok(())
    }
}

impl SizePanels {
    /// Returns true if any bin has flows that did not finish.
    pub fn has_unfinished(&self) -> bool {
        let mut bins = self.panels.iter().flat_map(|it| it.bins.iter().flatten());
        bins.any(|bin| bin.finished < bin.flows)
    }
}

impl SizePanel {
    fn has_dots(&self) -> bool {
        self.bins.iter().flatten().any(|bin| bin.value.is_some())
    }

    /// Returns the dots of a policy. In each bin, the dots of all policies are placed next to each other, so that equal
    /// values do not hide one another.
    fn dots(&self, policy: usize) -> Vec<Dot> {
        let policies = text::to_float(self.bins.len() as u64);
        let side = text::to_float(policy as u64) - (policies - 1.0) / 2.0;
        let side = side * SPREAD / policies;
        let bins = (0u32..).map(f64::from).zip(&self.bins[policy]);
        bins.filter_map(|(at, bin)| Some((at + side, bin.value?)))
            .collect()
    }

    /// Returns an axis with one position for each bin. Bins are labelled with their largest flow size where the label
    /// fits.
    fn size_axis(&self, width: f64) -> Result<Axis, DrawError> {
        let labels: Vec<String> = self.upper.iter().map(|&size| text::size(size)).collect();
        let mut widest: f64 = 0.0;
        for label in &labels {
            widest = widest.max(font::width(label, SMALL)?);
        }
        let bins = text::to_float(labels.len() as u64);
        let fitting = ((width - 60.0) / (widest + 10.0)).floor().max(1.0);
        let every = (bins / fitting).ceil().max(1.0);
        let position = (0u32..).map(f64::from);
        // The bin of the largest flows, at the end of the axis, always has a label.
        let ticks = position
            .zip(labels)
            .filter(|(at, _)| (bins - 1.0 - at) % every == 0.0);
        Ok(Axis::bare(-0.5..bins - 0.5).with_ticks(ticks.collect()))
    }
}

/// Height of the figure, logical pixels.
const HEIGHT: f64 = 390.0;

/// Space between two panels, logical pixels.
const GAP: f64 = 12.0;

/// Share of a bin's width over which the policies' dots are spread.
const SPREAD: f64 = 0.6;

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns panels with an empty bin, and a bin of `flows` flows of which `unfinished` did not finish.
    fn panels(flows: usize, unfinished: usize) -> SizePanels {
        let policies = ["ecmp".to_owned()];
        let styles = crate::figure::theme::policy_styles(&policies);
        let panel = |percent| SizePanel {
            percent,
            upper: vec![Bytes::new(10), Bytes::new(20)],
            bins: vec![vec![
                SizeBin::of(&Population::new(Vec::new(), 0), percent),
                SizeBin::of(
                    &Population::new(vec![1.5; flows - unfinished], flows),
                    percent,
                ),
            ]],
        };
        SizePanels {
            name: "by-size",
            policies: policies.into_iter().zip(styles).collect(),
            parameters: vec![String::new()],
            panels: vec![panel(50), panel(99)],
        }
    }

    #[test]
    fn panels_without_a_dot_are_left_out() {
        assert_eq!(panels(20, 0).missing(), None);
        let has_dots = |flows| {
            panels(flows, 0)
                .panels
                .iter()
                .map(SizePanel::has_dots)
                .collect::<Vec<_>>()
        };
        assert_eq!(has_dots(999), [true, false]);
        assert_eq!(has_dots(1_000), [true, true]);
        let unfinished = panels(1_000, 900).missing();
        assert_eq!(
            unfinished.as_deref(),
            Some("too few flows finished in every size bin")
        );
        let missing = panels(19, 0).missing().unwrap();
        assert!(
            missing.starts_with("no size bin has 20 flows of one policy"),
            "{missing}"
        );
    }

    /// 600 of 1,000 flows finished: the median slowdown of all flows is 1.5, and the p99 is unknown.
    #[test]
    fn a_bin_has_the_percentiles_of_all_its_flows() {
        let panels = panels(1_000, 400);
        let values = panels.panels.iter().map(|panel| panel.bins[0][1].value);
        assert_eq!(values.collect::<Vec<_>>(), [Some(1.5), None]);
        assert!(panels.has_unfinished());
        let numbers = panels.numbers();
        assert!(numbers.contains("50,ecmp,20,1000,600,1.5\n"), "{numbers}");
    }
}
