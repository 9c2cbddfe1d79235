//! Figure of the pairs of datacenters between which policies differ most, where a matrix would not fit on a page.

use std::collections::{BTreeMap, BTreeSet};

use plotters::{
    prelude::DrawingBackend,
    style::text_anchor::{HPos, VPos},
};

use super::{
    axis::Axis,
    canvas::{Canvas, Drawn, Lettering},
    chart::Plot,
    font,
    legend::{Entry, Key, Legend},
    pairs::{PairCell, PairPanel, pair_numbers},
    render::Figure,
    theme::{GRID, INK, SMALL, WIDTH},
};
use crate::{error::DrawError, text};

/// Data of the figure `dc-pairs` on networks with many datacenters: a row with a marker per policy for each shown pair.
pub struct PairDots {
    /// Panels, one per policy, with the cells of all pairs.
    panels: Vec<PairPanel>,
    /// Pairs shown, those that differ most first.
    pub shown: Vec<NamedPair>,
    /// Number of pairs between which flows are scheduled.
    pub pairs: usize,
    /// Slowdown that the figure compares.
    pub value: PairValue,
}

/// Names of a source and a destination datacenter.
pub type NamedPair = (String, String);

/// Slowdown of a pair that the figure compares.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PairValue {
    /// Median.
    P50,
    /// Largest slowdown, because too few pairs have enough flows for a median.
    Max,
}

impl PairValue {
    fn of(self, cell: &PairCell) -> Option<f64> {
        match self {
            Self::P50 => cell.p50,
            Self::Max => cell.max,
        }
    }

    /// Returns the title of the axis of values.
    pub const fn title(self) -> &'static str {
        match self {
            Self::P50 => "p50 of FCT slowdown",
            Self::Max => "largest FCT slowdown",
        }
    }
}

impl PairDots {
    /// Returns the figure of the pairs in `panels`. It compares medians if at least [`MAX_PAIRS`] pairs, or all pairs,
    /// have one under every policy.
    pub fn new(panels: Vec<PairPanel>) -> Self {
        let mut cells: BTreeMap<&NamedPair, Vec<&PairCell>> = BTreeMap::new();
        for panel in &panels {
            for (pair, cell) in &panel.cells {
                cells.entry(pair).or_default().push(cell);
            }
        }
        let is_complete = |cells: &[&PairCell]| {
            cells.len() == panels.len() && cells.iter().all(|cell| cell.p50.is_some())
        };
        let complete = cells.values().filter(|cells| is_complete(cells)).count();
        let value = if complete >= MAX_PAIRS.min(cells.len()) {
            PairValue::P50
        } else {
            PairValue::Max
        };
        let mut order: Vec<(f64, f64, &NamedPair)> = cells
            .iter()
            .filter_map(|(pair, cells)| {
                let values = cells.iter().filter_map(|cell| value.of(cell));
                let least = values.clone().reduce(f64::min)?;
                let most = values.fold(0.0, f64::max);
                Some((most / least, most, *pair))
            })
            .collect();
        order.sort_by(|a, b| {
            let by_ratio = b.0.total_cmp(&a.0);
            by_ratio.then(b.1.total_cmp(&a.1)).then(a.2.cmp(b.2))
        });
        let shown = order.into_iter().take(MAX_PAIRS);
        Self {
            shown: shown.map(|(_, _, pair)| pair.clone()).collect(),
            pairs: cells.len(),
            value,
            panels,
        }
    }

    /// Returns true if a shown pair has no value under some policy.
    pub fn has_gaps(&self) -> bool {
        let has_gap = |pair: &NamedPair| {
            let cells = self.panels.iter().map(|panel| panel.cells.get(pair));
            cells
                .into_iter()
                .any(|it| it.and_then(|it| self.value.of(it)).is_none())
        };
        self.shown.iter().any(has_gap)
    }

    fn legend(&self) -> Result<Legend, DrawError> {
        let entry = |panel: &PairPanel| {
            let key = Key::Dot(panel.style.marker);
            Entry::new(panel.style.color, key, &panel.policy)
        };
        Legend::new(self.panels.iter().map(entry).collect(), WIDTH)
    }

    /// Returns the name of a pair with its number of flows, which is the same under all policies unless some have no
    /// row.
    fn label(&self, pair: &NamedPair) -> String {
        let cells = self.panels.iter().filter_map(|panel| panel.cells.get(pair));
        let counts: BTreeSet<usize> = cells.map(|cell| cell.flows).collect();
        let flows = counts.last().map_or(0, |&count| count as u64);
        format!("{} → {} ({})", pair.0, pair.1, text::number(flows))
    }

    fn values(&self) -> impl Iterator<Item = f64> + Clone {
        self.shown.iter().flat_map(|pair| {
            let cells = self.panels.iter().filter_map(|panel| panel.cells.get(pair));
            cells.filter_map(|cell| self.value.of(cell))
        })
    }
}

impl Figure for PairDots {
    fn name(&self) -> &'static str {
        "dc-pairs"
    }

    fn missing(&self) -> Option<String> {
        self.shown.is_empty().then(|| "no flow finished".into())
    }

    fn height(&self) -> f64 {
        let legend = self.legend().map_or(0.0, |legend| legend.height());
        legend + ROW * text::to_float(self.shown.len() as u64) + AROUND
    }

    fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Drawn {
        let legend = self.legend()?;
        legend.draw(canvas, (0.0, 0.0))?;
        let labels: Vec<String> = self.shown.iter().map(|pair| self.label(pair)).collect();
        let mut left: f64 = 0.0;
        for label in &labels {
            left = left.max(font::width(label, SMALL)?);
        }
        let left = left + 14.0;
        let rows = text::to_float(self.shown.len() as u64);
        let plot = Plot {
            at: (left, legend.height()),
            size: (WIDTH - left, self.height() - legend.height()),
            x: Axis::of_ratios(self.values(), 8),
            // From top to bottom, in the order of the pairs.
            y: Axis::bare(rows..0.0),
            min_left: 0.0,
            x_title: self.value.title(),
            y_title: "",
        };
        let chart = plot.draw(canvas)?;
        let (start, end) = plot.x.ends();
        let point = |x: f64, y: f64| canvas.logical(chart.backend_coord(&(x, y)));
        let name = Lettering::new(SMALL, INK, HPos::Right, VPos::Center);
        for (row, (pair, label)) in (0u32..).map(f64::from).zip(self.shown.iter().zip(&labels)) {
            let (axis, middle) = point(start, row + 0.5);
            canvas.text(label, (axis - 10.0, middle), name)?;
            canvas.line(&[(axis, middle), (point(end, row).0, middle)], GRID, 1.0)?;
            // Below each other, so that equal values do not hide one another.
            let others = text::to_float(self.panels.len().saturating_sub(1) as u64);
            let step = ((ROW - 2.0 * RADIUS) / others.max(1.0)).min(RADIUS);
            for (index, panel) in (0u32..).map(f64::from).zip(&self.panels) {
                let cell = panel.cells.get(pair);
                if let Some(value) = cell.and_then(|cell| self.value.of(cell)) {
                    let y = middle + step * (index - others / 2.0);
                    let at = (point(value, row).0, y);
                    canvas.marker(panel.style.marker, at, RADIUS, panel.style.color)?;
                }
            }
        }
        Ok(())
    }

    fn numbers(&self) -> String {
        pair_numbers(&self.panels)
    }
}

/// Maximum number of pairs in the figure, which fill a page.
const MAX_PAIRS: usize = 40;

/// Height of a row, logical pixels.
const ROW: f64 = 20.0;

/// Height of margin, tick labels and title together, logical pixels.
const AROUND: f64 = 72.0;

/// Radius of a marker, logical pixels.
const RADIUS: f64 = 3.5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{figure::theme::policy_styles, population::Population};

    /// Returns two policies' panels for pairs from `a`, given each pair's number of flows and their slowdown under each
    /// policy.
    fn panels(pairs: &[(&str, usize, [f64; 2])]) -> Vec<PairPanel> {
        let policies = ["ecmp", "lcmp"].map(str::to_owned);
        let styles = policy_styles(&policies);
        let panel = |(index, policy): (usize, &String)| PairPanel {
            policy: policy.clone(),
            style: styles[index],
            cells: pairs
                .iter()
                .map(|(to, flows, slowdowns)| {
                    let population = Population::new(vec![slowdowns[index]; *flows], *flows);
                    let pair = ("a".to_owned(), (*to).to_owned());
                    (pair, PairCell::of(&population))
                })
                .collect(),
        };
        policies.iter().enumerate().map(panel).collect()
    }

    fn sinks(figure: &PairDots) -> Vec<&str> {
        figure.shown.iter().map(|pair| pair.1.as_str()).collect()
    }

    /// Policies differ by factors of 2, 1 and 3; between equal factors, the larger slowdown comes first.
    #[test]
    fn pairs_that_differ_most_come_first() {
        let figure = PairDots::new(panels(&[
            ("b", 20, [2.0, 4.0]),
            ("c", 20, [5.0, 5.0]),
            ("d", 20, [6.0, 2.0]),
            ("e", 20, [7.0, 7.0]),
        ]));
        assert_eq!(figure.value, PairValue::P50);
        assert_eq!(sinks(&figure), ["d", "b", "e", "c"]);
        assert_eq!((figure.pairs, figure.has_gaps()), (4, false));
        assert_eq!(figure.label(&figure.shown[0]), "a → d (20)");
    }

    /// A median needs 20 flows, and one of the two pairs has 19.
    #[test]
    fn pairs_with_few_flows_are_compared_by_their_largest_slowdowns() {
        let few = [("b", 19, [2.0, 4.0]), ("c", 40, [5.0, 5.0])];
        let figure = PairDots::new(panels(&few));
        assert_eq!(figure.value, PairValue::Max);
        assert_eq!(sinks(&figure), ["b", "c"]);
    }

    /// The figure's height depends neither on the number of pairs nor on that of policies.
    #[test]
    fn forty_of_many_pairs_fill_a_page() {
        let names: Vec<String> = (0..4_032).map(|it| format!("n{it}")).collect();
        let pairs: Vec<_> = names
            .iter()
            .map(|it| (it.as_str(), 1, [1.5, 3.0]))
            .collect();
        let figure = PairDots::new(panels(&pairs));
        assert_eq!((figure.shown.len(), figure.pairs), (40, 4_032));
        assert!(figure.height() < 920.0, "{}", figure.height());
        assert_eq!(figure.numbers().lines().count(), 1 + 2 * 4_032);
    }

    #[test]
    fn a_pair_whose_flows_did_not_all_finish_has_a_gap() {
        let mut both = panels(&[("b", 3, [2.0, 4.0])]);
        let unfinished = Population::new(vec![2.0], 3);
        let pair = ("a".to_owned(), "b".to_owned());
        both[1].cells.insert(pair, PairCell::of(&unfinished));
        assert!(PairDots::new(both).has_gaps());
    }
}
