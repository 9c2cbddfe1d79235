//! Figure of the utilisation of each link under each policy.

use lab_records::LinkInfo;
use plotters::{
    prelude::DrawingBackend,
    style::{
        RGBColor,
        text_anchor::{HPos, VPos},
    },
};

use super::{
    axis::Axis,
    canvas::{Canvas, Drawn, Lettering, Point},
    chart::Plot,
    font,
    legend::{Entry, Key, Legend},
    numbers::Numbers,
    render::Figure,
    theme::{INK, MUTED, SMALL, TEXT, WIDTH},
};
use crate::{error::DrawError, text};

/// Data of the figure `link-utilisation`.
pub struct Utilisation {
    /// Label and colour of each policy.
    pub policies: Vec<(String, RGBColor)>,
    /// Links, from top to bottom.
    pub links: Vec<LinkBars>,
    /// Number of less busy links that the figure omits.
    pub left_out: usize,
    /// Largest share of capacity that any link used; the axis ends there.
    max: f64,
    /// Width of the link names, logical pixels; `None` for the width that the shown names need.
    names: Option<f64>,
    /// True if the legend is drawn; later parts of a split figure have no legend.
    has_legend: bool,
}

/// Bars of one link.
#[derive(Clone)]
pub struct LinkBars {
    pub link: LinkInfo,
    /// Share of capacity used in the busier direction, by policy; `None` if it was not measured.
    pub shares: Vec<Option<f64>>,
}

impl Utilisation {
    /// Returns the figure of the busiest of `links`, as many as fill two pages, in their given order.
    pub fn new(policies: Vec<(String, RGBColor)>, links: Vec<LinkBars>) -> Self {
        let busiest = |bars: &LinkBars| bars.shares.iter().flatten().copied().fold(0.0, f64::max);
        let mut order: Vec<usize> = (0..links.len()).collect();
        order.sort_by(|&a, &b| {
            let by_use = busiest(&links[b]).total_cmp(&busiest(&links[a]));
            by_use.then(a.cmp(&b))
        });
        let shown: Vec<usize> = order.into_iter().take(room(policies.len())).collect();
        let left_out = links.len() - shown.len();
        let max = links.iter().map(busiest).fold(0.0, f64::max);
        let kept = links
            .into_iter()
            .enumerate()
            .filter(|(index, _)| shown.contains(index));
        Self {
            policies,
            links: kept.map(|(_, bars)| bars).collect(),
            left_out,
            max,
            names: None,
            has_legend: true,
        }
    }

    /// Returns true if a link carried more than its capacity plus a shaper's burst.
    pub fn is_overfull(&self) -> bool {
        let mut shares = self
            .links
            .iter()
            .flat_map(|bars| bars.shares.iter().flatten());
        shares.any(|&share| share > 1.0 + BURST)
    }

    fn name_width(&self) -> Result<f64, DrawError> {
        if let Some(width) = self.names {
            return Ok(width);
        }
        let mut width: f64 = 0.0;
        for bars in &self.links {
            width = width.max(font::width(&bars.link.name, TEXT)?);
            width = width.max(font::width(&attributes(&bars.link), SMALL)?);
        }
        Ok(width)
    }

    fn row_height(&self) -> f64 {
        row_height(self.policies.len())
    }

    fn legend(&self) -> Result<Legend, DrawError> {
        let entry = |(label, color): &(String, RGBColor)| Entry::new(*color, Key::Bar, label);
        let mut entries: Vec<Entry> = self.policies.iter().map(entry).collect();
        if !self.has_legend {
            entries.clear();
        }
        Legend::new(entries, WIDTH)
    }
}

impl Figure for Utilisation {
    fn name(&self) -> &'static str {
        "link-utilisation"
    }

    fn missing(&self) -> Option<String> {
        let none = self
            .links
            .iter()
            .all(|bars| bars.shares.iter().all(Option::is_none));
        none.then(|| "no link was measured".into())
    }

    fn height(&self) -> f64 {
        let legend = self.legend().map_or(0.0, |legend| legend.height());
        let rows = text::to_float(self.links.len() as u64) * self.row_height();
        legend + rows + AROUND
    }

    fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Drawn {
        let left = self.name_width()? + 14.0;
        let legend = self.legend()?;
        legend.draw(canvas, (0.0, 0.0))?;

        let rows = text::to_float(self.links.len() as u64);
        let plot = Plot {
            at: (left, legend.height()),
            size: (WIDTH - left - 50.0, self.height() - legend.height()),
            x: Axis::from_zero((self.max * 100.0).max(1.0), 8),
            // From top to bottom, in the order of the links.
            y: Axis::bare(rows..0.0),
            min_left: 0.0,
            x_title: "mean utilisation, busier direction (% of capacity)",
            y_title: "",
        };
        let chart = plot.draw(canvas)?;
        let point = |x: f64, y: f64| canvas.logical(chart.backend_coord(&(x, y)));
        for (row, bars) in (0u32..).map(f64::from).zip(&self.links) {
            let (axis, middle) = point(0.0, row + 0.5);
            write_name(canvas, &bars.link, (axis - 10.0, middle))?;
            let mut top = middle - BAR * text::to_float(bars.shares.len() as u64) / 2.0;
            for (share, (_, color)) in bars.shares.iter().zip(&self.policies) {
                if let Some(share) = *share {
                    let (end, _) = point(share * 100.0, row);
                    draw_bar(canvas, (axis, top), end, share, *color)?;
                }
                top += BAR;
            }
        }
        Ok(())
    }

    fn numbers(&self) -> String {
        let mut numbers = Numbers::new(["link", "policy", "utilisation"]);
        for bars in &self.links {
            for ((policy, _), share) in self.policies.iter().zip(&bars.shares) {
                let share = share.map_or_else(String::new, |share| share.to_string());
                numbers.row([&bars.link.name, policy, &share]);
            }
        }
        numbers.into_text()
    }

    fn parts(&self) -> Vec<Self> {
        let chunk = (PART / self.row_height()).floor().max(1.0);
        let mut parts: Vec<Self> = Vec::new();
        let mut rows = 0.0;
        for bars in &self.links {
            if parts.is_empty() || rows >= chunk {
                parts.push(Self {
                    policies: self.policies.clone(),
                    links: Vec::new(),
                    left_out: 0,
                    max: self.max,
                    names: self.name_width().ok(),
                    has_legend: parts.is_empty(),
                });
                rows = 0.0;
            }
            if let Some(part) = parts.last_mut() {
                part.links.push(bars.clone());
            }
            rows += 1.0;
        }
        parts
    }
}

/// Draws a link's name and attributes, right-aligned at `(x, y)`.
fn write_name<DB: DrawingBackend>(
    canvas: &Canvas<'_, DB>,
    link: &LinkInfo,
    (x, y): Point,
) -> Drawn {
    let name = Lettering::new(TEXT, INK, HPos::Right, VPos::Center);
    let small = Lettering {
        em: SMALL,
        color: MUTED,
        ..name
    };
    canvas.text(&link.name, (x, y - 8.0), name)?;
    canvas.text(&attributes(link), (x, y + 8.0), small)
}

/// Draws a bar from its upper left corner to `end`, followed by its value.
fn draw_bar<DB: DrawingBackend>(
    canvas: &Canvas<'_, DB>,
    (axis, top): Point,
    end: f64,
    share: f64,
    color: RGBColor,
) -> Drawn {
    if share > 0.0 {
        let corner = (end.max(axis + 1.0), top + BAR - 1.0);
        canvas.fill((axis, top + 1.0), corner, color)?;
    }
    let value = Lettering::new(SMALL, MUTED, HPos::Left, VPos::Center);
    canvas.text(&text::percent(share), (end + 5.0, top + BAR / 2.0), value)
}

/// Formats rate and delay of a link, such as `200 Gbit/s · 25 ms`.
pub fn attributes(link: &LinkInfo) -> String {
    let rate = text::rate(link.rate_bps);
    let delay = text::time(link.delay_ns);
    format!("{rate} · {delay}")
}

/// Returns the height of a link's row, logical pixels.
fn row_height(policies: usize) -> f64 {
    text::to_float(policies as u64).max(2.0) * BAR + ROW_GAP
}

/// Returns the maximum number of links in the figure: 40 of up to two policies, and fewer with more bars each.
fn room(policies: usize) -> usize {
    let fits = |links: &usize| text::to_float(*links as u64) * row_height(policies) <= MAX_ROWS;
    (MIN_LINKS..=MAX_LINKS)
        .rev()
        .find(fits)
        .unwrap_or(MIN_LINKS)
}

/// Maximum number of links in the figure.
const MAX_LINKS: usize = 40;

/// Number of links for which the figure always has room, so that no network of the paper is cut.
const MIN_LINKS: usize = 24;

/// Maximum total height of the rows, which fill two pages, logical pixels.
const MAX_ROWS: f64 = 1_800.0;

/// Share of a link's capacity by which a shaper's burst can exceed it.
const BURST: f64 = 0.02;

/// Maximum total height of the rows in one part of a figure that is split across pages.
const PART: f64 = 900.0;

const BAR: f64 = 15.0;
const ROW_GAP: f64 = 12.0;

/// Height of margin, tick labels and title together, logical pixels.
const AROUND: f64 = 72.0;
