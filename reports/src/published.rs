//! Figure of published values against those found in runs.

use std::path::{Path, PathBuf};

use crate::{
    error::ReportError,
    figure::{
        Axis, Dot, DotPanel, DotStyle, Guide, Marker, Points, render,
        theme::{INK, policy_colors},
    },
    figures::Captioned,
    report::write_files,
};

/// Pairs of published and found values of one policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Title of the panel that shows the values.
    pub panel: String,
    /// Label of the policy.
    pub policy: String,
    /// Pairs of a published value and the value found in a run.
    pub values: Vec<(f64, f64)>,
}

/// Draws the figure `reproduction` into `dir` as PNG and SVG, with its numbers as CSV; returns the paths of the files.
///
/// # Errors
/// If a file cannot be drawn or written.
pub fn draw_published(series: &[Series], dir: &Path) -> Result<Vec<PathBuf>, ReportError> {
    let captioned = Captioned {
        title: "Published and reproduced slowdowns".into(),
        caption: None,
        image: render(&points(series), dir)?,
    };
    write_files(&[captioned], dir)
}

fn points(series: &[Series]) -> Points {
    let mut panels = Vec::new();
    let mut policies = Vec::new();
    for one in series {
        if !panels.contains(&one.panel) {
            panels.push(one.panel.clone());
        }
        if !policies.contains(&one.policy) {
            policies.push(one.policy.clone());
        }
    }
    let values = || series.iter().flat_map(|one| one.values.iter().copied());
    let ends = values().flat_map(<[f64; 2]>::from);
    let (min, max) = ends.fold((f64::INFINITY, 0.0_f64), |(min, max), value| {
        (min.min(value), max.max(value))
    });
    let axis = if min <= max && min > 0.0 {
        Axis::logarithmic(min, max)
    } else {
        Axis::logarithmic(1.0, 10.0)
    };
    let panel = |title: &String| {
        let own = series.iter().filter(|one| one.panel == *title);
        let dots = own.flat_map(|one| {
            let style = policies
                .iter()
                .position(|policy| *policy == one.policy)
                .unwrap_or_default();
            one.values.iter().map(move |&at| Dot { at, style })
        });
        DotPanel {
            title: title.clone(),
            color: INK,
            dots: dots.collect(),
        }
    };
    let colors = policy_colors(&policies);
    let style = |(index, (label, color))| DotStyle {
        label,
        color,
        marker: Marker::of(index),
        radius: 3.5,
    };
    Points {
        name: "reproduction",
        panels: panels.iter().map(panel).collect(),
        styles: policies
            .iter()
            .cloned()
            .zip(colors)
            .enumerate()
            .map(style)
            .collect(),
        x: axis.clone(),
        y: axis,
        x_title: "published slowdown, logarithmic".into(),
        y_title: "found".into(),
        guide: Guide::Diagonal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_a_dot_in_its_panel_and_a_row() {
        let series = |panel: &str, policy: &str, values: &[(f64, f64)]| Series {
            panel: panel.into(),
            policy: policy.into(),
            values: values.to_vec(),
        };
        let all = [
            series("p50", "lcmp", &[(4.0, 4.1), (7.0, 5.0)]),
            series("p50", "ecmp", &[(12.0, 12.5)]),
            series("p99", "lcmp", &[(13.0, 14.0)]),
        ];
        let found = points(&all);
        let counts: Vec<usize> = found.panels.iter().map(|panel| panel.dots.len()).collect();
        assert_eq!(counts, [3, 1]);
        let dir = tempfile::tempdir().unwrap();
        let files = draw_published(&all, dir.path()).unwrap();
        assert!(files.iter().all(|file| file.is_file()), "{files:?}");
        let csv = std::fs::read_to_string(dir.path().join("reproduction.csv")).unwrap();
        assert!(csv.contains("p99,lcmp,13,14"), "{csv}");
    }
}
