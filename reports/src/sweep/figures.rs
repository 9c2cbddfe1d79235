//! Figures of a sweep.

use std::path::Path;

use super::{answer::SweepAnswer, effects::Slice};
use crate::{
    error::ReportError,
    figure::{
        Axis, Dot, DotPanel, DotStyle, Guide, Marker, Points, render,
        theme::{INK, policy_colors},
    },
    figures::Captioned,
    text::to_float,
};

/// Draws the distribution of the effects: writes it as PNG into `dir`, and returns its SVG text. Empty if there are
/// fewer than [`MIN_POINTS`] points.
pub fn draw(sweep: &SweepAnswer, dir: &Path) -> Result<Vec<Captioned>, ReportError> {
    if sweep.points.len() < MIN_POINTS {
        return Ok(Vec::new());
    }
    let caption = "Share of the points at which the change of a policy's p99 is at most the value on the horizontal \
                   axis: left of zero, the policy is faster than the baseline. The axis is linear up to ±0.01 % and \
                   logarithmic beyond.";
    Ok(vec![Captioned {
        title: "Distribution of the effects over points".into(),
        caption: Some(caption.into()),
        image: render(&distribution(sweep), dir)?,
    }])
}

/// Minimum number of points for which a distribution is drawn.
const MIN_POINTS: usize = 5;

fn distribution(sweep: &SweepAnswer) -> Points {
    let labels: Vec<String> = sweep.compared().into_iter().map(str::to_owned).collect();
    let colors = policy_colors(&labels);
    let changes = |slice: Slice, policy: &str| {
        let effects = sweep.p99(policy, slice);
        let mut changes: Vec<f64> = effects.filter_map(|it| Some(it.change?.value)).collect();
        changes.sort_unstable_by(f64::total_cmp);
        changes
    };
    let panel = |(slice, title): (Slice, &str)| DotPanel {
        title: title.to_owned(),
        color: INK,
        dots: labels
            .iter()
            .enumerate()
            .flat_map(|(style, policy)| {
                let changes = changes(slice, policy);
                let count = to_float(changes.len() as u64);
                let dots = (1_u64..).zip(changes).map(move |(rank, change)| Dot {
                    at: (change, 100.0 * to_float(rank) / count),
                    style,
                });
                dots.collect::<Vec<_>>()
            })
            .collect(),
    };
    let panels: Vec<DotPanel> = [
        (Slice::All, "all flows"),
        (Slice::WithChoice, "flows with a choice of paths"),
    ]
    .map(panel)
    .into_iter()
    .filter(|panel| !panel.dots.is_empty())
    .collect();
    let dots = || panels.iter().flat_map(|panel| &panel.dots);
    let max = dots().map(|dot| dot.at.0.abs()).fold(0.0, f64::max);
    Points {
        name: "sweep-effects",
        x: Axis::of_differences(max),
        y: Axis::until(100.0, 5),
        panels,
        styles: labels
            .iter()
            .zip(colors)
            .enumerate()
            .map(|(index, (label, color))| DotStyle {
                label: label.clone(),
                color,
                marker: Marker::of(index),
                radius: 2.5,
            })
            .collect(),
        x_title: "change of p99".into(),
        y_title: "share of points [%]".into(),
        guide: Guide::ZeroAcross,
    }
}
