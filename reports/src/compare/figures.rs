//! Figure of a comparison of runs.

use std::path::Path;

use lab_units::Bytes;

use super::Comparison;
use crate::{
    error::ReportError,
    figure::{
        Axis, Dot, DotPanel, DotStyle, Figure, Guide, Marker, Points, render,
        theme::{INK, policy_colors},
    },
    figures::Captioned,
    size_bins::PERCENTS,
    text::{self, to_float},
};

/// Draws the figure of changes by flow size: writes it as PNG into `dir`, and returns its SVG text.
pub fn draw(comparison: &Comparison, dir: &Path) -> Result<Vec<Captioned>, ReportError> {
    let figure = points(comparison);
    let caption = "Relative change, against the first run, of p50 and p99 of the slowdowns in each bin of flow \
                   sizes, drawn at the largest flow size in the bin: above zero, the compared run is slower \
                   than the first. The axis is linear up to ±0.01 % and logarithmic beyond. Bins have about \
                   equally many flows. There are 20 bins as in the paper, or fewer, so that each bin has enough \
                   flows in each run for the percentile.";
    Ok(vec![Captioned {
        title: "Changes by flow size".into(),
        caption: figure.missing().is_none().then(|| caption.into()),
        image: render(&figure, dir)?,
    }])
}

fn points(comparison: &Comparison) -> Points {
    let series = || {
        comparison
            .against
            .iter()
            .flat_map(|it| it.policies.iter().map(move |policy| (&*it.run, policy)))
    };
    let mut labels: Vec<String> = Vec::new();
    for (_, policy) in series() {
        if !labels.contains(&policy.policy) {
            labels.push(policy.policy.clone());
        }
    }
    let colors = policy_colors(&labels);
    let color = |policy: &String| {
        let index = labels.iter().position(|label| label == policy);
        index
            .and_then(|index| colors.get(index))
            .copied()
            .unwrap_or(INK)
    };
    let has_several = comparison.against.len() > 1;
    let styles = series().enumerate().map(|(index, (run, policy))| DotStyle {
        label: if has_several {
            format!("{} in {run}", policy.policy)
        } else {
            policy.policy.clone()
        },
        color: color(&policy.policy),
        marker: Marker::of(index),
        radius: 3.5,
    });
    let panel = |percentile: u32| DotPanel {
        title: format!("p{percentile}"),
        color: INK,
        dots: series()
            .enumerate()
            .flat_map(|(style, (_, policy))| {
                policy
                    .bins
                    .iter()
                    .filter(move |bin| bin.percentile == percentile)
                    .map(move |bin| Dot {
                        at: (to_float(bin.upper_bytes.max(1)), bin.change()),
                        style,
                    })
            })
            .collect(),
    };
    let panels: Vec<DotPanel> = PERCENTS
        .map(panel)
        .into_iter()
        .filter(|panel| !panel.dots.is_empty())
        .collect();
    let dots = || panels.iter().flat_map(|panel| &panel.dots);
    let max = dots().map(|dot| dot.at.1.abs()).fold(0.0, f64::max);
    Points {
        name: "compare-by-size",
        x: sizes(dots().map(|dot| dot.at.0)),
        y: Axis::of_differences(max),
        panels,
        styles: styles.collect(),
        x_title: "flow size, logarithmic".into(),
        y_title: "change of slowdown".into(),
        guide: Guide::Zero,
    }
}

/// Returns a logarithmic axis of flow sizes that covers `values`.
fn sizes(values: impl Iterator<Item = f64> + Clone) -> Axis {
    let min = values.clone().fold(f64::INFINITY, f64::min);
    let max = values.fold(0.0, f64::max);
    let axis = if min <= max {
        Axis::logarithmic(min, max)
    } else {
        Axis::logarithmic(1.0, 10.0)
    };
    let whole = |tick: f64| format!("{tick:.0}").parse().unwrap_or(u64::MAX);
    let label = |&(at, _): &(f64, String)| (at, text::size(Bytes::new(whole(at))));
    let labels = axis.ticks().iter().map(label).collect();
    axis.with_ticks(labels)
}
