//! Figures of a sweep.

use std::{cmp::Reverse, collections::BTreeMap, path::Path};

use lab_records::draft;

use super::{answer::SweepAnswer, numbers::Slice};
use crate::{
    error::{ReportError, write_failed},
    figure::{
        Axis, CurvePanel, Curves, Dot, DotPanel, DotStyle, Figure, Guide, HeatMap, HeatPanel,
        Points, render,
        theme::{INK, Style, policy_styles},
    },
    figures::Captioned,
    text::to_float,
};

/// Name of the figure with the distribution of effects.
const EFFECTS: &str = "sweep-effects";

/// Draws the figures of a sweep: writes them as PNG into `dir`, and returns their SVG texts. A figure that would have too
/// little to show is left out, and its files of an earlier definition of the sweep are removed.
pub fn draw(sweep: &SweepAnswer, dir: &Path) -> Result<Vec<Captioned>, ReportError> {
    let curves = Some(curves(sweep)).filter(|it| !it.panels.is_empty());
    let distribution = (sweep.points.len() >= MIN_POINTS).then(|| distribution(sweep));
    let figures = [
        drawn(dir, Curves::NAME, curves, ABOUT_CURVES)?,
        drawn(dir, HeatMap::NAME, heat_map(sweep), ABOUT_HEAT_MAP)?,
        drawn(dir, EFFECTS, distribution, ABOUT_EFFECTS)?,
    ];
    Ok(figures.into_iter().flatten().collect())
}

/// Draws `figure`, or removes the files with its `name` if there is none.
fn drawn<F: Figure>(
    dir: &Path,
    name: &str,
    figure: Option<F>,
    [title, caption]: [&str; 2],
) -> Result<Option<Captioned>, ReportError> {
    let Some(figure) = figure else {
        for extension in ["png", "svg", "csv"] {
            let path = dir.join(name).with_extension(extension);
            draft::remove(&path).map_err(write_failed(&path))?;
        }
        return Ok(None);
    };
    Ok(Some(Captioned {
        title: title.to_owned(),
        caption: Some(caption.to_owned()),
        image: render(&figure, dir)?,
    }))
}

/// Titles and captions.
const ABOUT_CURVES: [&str; 2] = [
    "p99 along each axis",
    "A value is the geometric mean of p99 over all points with this value of the axis for which every policy has a p99 at \
     each of the axis's values.",
];
const ABOUT_HEAT_MAP: [&str; 2] = [
    "Change of p99 over two axes",
    "Change of a policy's p99 against the baseline's: blue is smaller, orange is larger, full colour is half or double. Over \
     several points, it is the geometric mean. A dash: at a point, a policy has no p99.",
];
const ABOUT_EFFECTS: [&str; 2] = [
    "Distribution of the effects over points",
    "Share of the points at which the change of a policy's p99 is at most the value on the horizontal axis: left of zero, the \
     policy is faster than the baseline. The axis is linear up to ±0.01 % and logarithmic beyond.",
];

/// Minimum number of points for which a distribution is drawn.
const MIN_POINTS: usize = 5;

/// Maximum number of an axis's values that a figure shows.
const MAX_VALUES: usize = 24;

/// Maximum number of columns in a heat map.
const MAX_COLUMNS: usize = 12;

/// Axis of a sweep, or its scenarios, with the values in the order of the points.
struct ShownAxis {
    name: String,
    values: Vec<String>,
    /// Index of the value at each point.
    places: Vec<usize>,
}

/// Returns the axes with several values, but not too many for a figure.
fn shown_axes(sweep: &SweepAnswer) -> Vec<ShownAxis> {
    let axes = sweep.title.axes.iter().enumerate();
    let scenario = ("scenario".to_owned(), None);
    let named = axes.map(|(at, name)| (name.clone(), Some(at)));
    let axes = [scenario].into_iter().chain(named);
    let shown = axes.filter_map(|(name, axis)| {
        let mut values: Vec<String> = Vec::new();
        let mut places = Vec::new();
        for point in &sweep.points {
            let value = axis.map_or(&point.scenario, |at| &point.values[at]);
            let place = values.iter().position(|it| it == value);
            places.push(place.unwrap_or(values.len()));
            if place.is_none() {
                values.push(value.clone());
            }
            if values.len() > MAX_VALUES {
                return None;
            }
        }
        (values.len() > 1).then_some(ShownAxis {
            name,
            values,
            places,
        })
    });
    shown.collect()
}

/// Returns all policies with their styles, which are the same in every figure: first those of the first point.
fn styled_policies(sweep: &SweepAnswer) -> Vec<(String, Style)> {
    let mut labels: Vec<String> = Vec::new();
    for level in sweep.points.iter().flat_map(|point| &point.levels) {
        if !labels.contains(&level.policy) {
            labels.push(level.policy.clone());
        }
    }
    let styles = policy_styles(&labels);
    labels.into_iter().zip(styles).collect()
}

/// Returns the curves of each policy's p99 along each axis.
fn curves(sweep: &SweepAnswer) -> Curves {
    let first = sweep.points.iter().find(|point| !point.levels.is_empty());
    let levels = first.map_or(&[][..], |point| &point.levels);
    let labels: Vec<String> = levels.iter().map(|level| level.policy.clone()).collect();
    let panels = shown_axes(sweep).into_iter().filter_map(|axis| {
        let groups = complete_groups(sweep, &axis, &labels);
        let mean = |policy: usize, value: usize| {
            let logs = groups.iter().map(|group| group[value][policy].ln());
            (logs.sum::<f64>() / to_float(groups.len() as u64)).exp()
        };
        let count = axis.values.len();
        let curve = |policy| (0..count).map(|value| mean(policy, value)).collect();
        (!groups.is_empty()).then(|| CurvePanel {
            curves: (0..labels.len()).map(curve).collect(),
            title: axis.name,
            values: axis.values,
        })
    });
    Curves {
        panels: panels.collect(),
        series: (styled_policies(sweep).into_iter())
            .take(labels.len())
            .collect(),
        y_title: "p99 slowdown".to_owned(),
    }
}

/// Groups the points that differ in `axis` alone, and returns their p99 by value and policy. A group in which one is
/// missing is left out.
fn complete_groups(
    sweep: &SweepAnswer,
    axis: &ShownAxis,
    policies: &[String],
) -> Vec<Vec<Vec<f64>>> {
    let mut groups: BTreeMap<Vec<&str>, Vec<Option<Vec<f64>>>> = BTreeMap::new();
    let at = sweep.title.axes.iter().position(|name| *name == axis.name);
    for (point, &place) in sweep.points.iter().zip(&axis.places) {
        let scenario = at.map(|_| point.scenario.as_str());
        let values = point.values.iter().enumerate();
        let others = values.filter(|(index, _)| at != Some(*index));
        let group: Vec<&str> = scenario
            .into_iter()
            .chain(others.map(|(_, value)| value.as_str()))
            .collect();
        let p99 = |policy: &String| {
            let mut levels = point.levels.iter();
            levels.find(|level| level.policy == *policy)?.p99
        };
        let known = groups.entry(group).or_default();
        known.resize(axis.values.len(), None);
        known[place] = policies.iter().map(p99).collect();
    }
    let complete = |group: Vec<Option<Vec<f64>>>| group.into_iter().collect::<Option<Vec<_>>>();
    groups.into_values().filter_map(complete).collect()
}

/// Returns the heat map over the two axes with the most values; `None` with fewer than two axes.
fn heat_map(sweep: &SweepAnswer) -> Option<HeatMap> {
    let mut shown = shown_axes(sweep);
    shown.sort_by_key(|axis| Reverse(axis.values.len()));
    let [rows, columns] =
        <[ShownAxis; 2]>::try_from(shown.into_iter().take(2).collect::<Vec<_>>()).ok()?;
    if columns.values.len() > MAX_COLUMNS {
        return None;
    }
    let panel = |policy: &str| {
        let empty: Vec<Option<f64>> = Vec::new();
        let mut logs = vec![vec![empty; columns.values.len()]; rows.values.len()];
        for effect in sweep.p99(policy, Slice::All) {
            let log = effect.change.map(|it| it.value.ln_1p());
            logs[rows.places[effect.point]][columns.places[effect.point]].push(log);
        }
        let mean = |logs: Vec<Option<f64>>| {
            let count = to_float(logs.len() as u64);
            let sum: f64 = logs.into_iter().sum::<Option<f64>>()?;
            (count > 0.0).then(|| (sum / count).exp_m1())
        };
        let row = |logs: Vec<Vec<Option<f64>>>| logs.into_iter().map(mean).collect();
        HeatPanel {
            policy: policy.to_owned(),
            changes: logs.into_iter().map(row).collect(),
        }
    };
    let panels: Vec<HeatPanel> = sweep.compared().into_iter().map(panel).collect();
    (!panels.is_empty()).then_some(HeatMap {
        rows: (rows.name, rows.values),
        columns: (columns.name, columns.values),
        panels,
    })
}

fn distribution(sweep: &SweepAnswer) -> Points {
    let compared = sweep.compared();
    let mut shown = styled_policies(sweep);
    shown.retain(|(label, _)| compared.contains(&label.as_str()));
    let changes = |slice: Slice, policy: &str| {
        let effects = sweep.p99(policy, slice);
        let mut changes: Vec<f64> = effects.filter_map(|it| Some(it.change?.value)).collect();
        changes.sort_unstable_by(f64::total_cmp);
        changes
    };
    let panel = |(slice, title): (Slice, &str)| DotPanel {
        title: title.to_owned(),
        color: INK,
        dots: shown
            .iter()
            .enumerate()
            .flat_map(|(style, (policy, _))| {
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
        name: EFFECTS,
        x: Axis::of_differences(max),
        y: Axis::until(100.0, 5),
        panels,
        styles: shown
            .iter()
            .map(|(label, style)| DotStyle {
                label: label.clone(),
                color: style.color,
                marker: style.marker,
                radius: 2.5,
            })
            .collect(),
        x_title: "change of p99".into(),
        y_title: "share of points [%]".into(),
        guide: Guide::ZeroAcross,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::{PointCells, SweepTitle, testing::cell};

    /// Returns the answer for a sweep over load and delay, given the p99 under `ecmp` and `lcmp` at each point.
    fn sweep(points: &[([&str; 2], [f64; 2])]) -> SweepAnswer {
        let point = |(values, [base, other]): &([&str; 2], [f64; 2])| PointCells {
            scenario: "base".to_owned(),
            values: values.map(str::to_owned).into(),
            cells: 1,
            numbers: vec![cell("", &[("ecmp", *base), ("lcmp", *other)])],
        };
        let points: Vec<PointCells> = points.iter().map(point).collect();
        let title = SweepTitle {
            name: "grid".to_owned(),
            version: "1".to_owned(),
            method: "packet by packet".to_owned(),
            axes: ["load", "delay"].map(str::to_owned).into(),
            scenarios: 1,
        };
        SweepAnswer::new(
            title,
            [points.len(); 2],
            &points,
            Vec::new(),
            Vec::new(),
            None,
        )
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    }

    /// The third value of the delay is known under one load only, so that the curve along the delay has one group, and the
    /// curve along the load two.
    #[test]
    fn curves_are_means_over_complete_groups() {
        let found = curves(&sweep(&[
            (["0.3", "1 ms"], [2.0, 1.0]),
            (["0.3", "2 ms"], [8.0, 1.0]),
            (["0.3", "4 ms"], [9.0, 3.0]),
            (["0.8", "1 ms"], [4.0, 2.0]),
            (["0.8", "2 ms"], [16.0, 2.0]),
        ]));
        let titles: Vec<_> = found.panels.iter().map(|panel| &*panel.title).collect();
        assert_eq!(titles, ["load", "delay"]);
        assert_eq!(found.panels[0].values, ["0.3", "0.8"]);
        let [ecmp, lcmp] = [0, 1].map(|policy| &found.panels[0].curves[policy]);
        near(ecmp[0], 4.0);
        near(ecmp[1], 8.0);
        near(lcmp[1], 2.0);
        assert_eq!(found.panels[1].curves[0].len(), 3);
        near(found.panels[1].curves[0][1], 8.0);
    }

    #[test]
    fn a_policy_has_one_style_in_all_figures() {
        let sweep = sweep(&[(["0.3", "1 ms"], [2.0, 1.0]), (["0.8", "1 ms"], [4.0, 3.0])]);
        let curves = curves(&sweep).series;
        let dots = distribution(&sweep).styles;
        assert!(!dots.is_empty());
        for dot in dots {
            let curve = curves.iter().find(|(label, _)| *label == dot.label);
            let style = curve.map(|(_, style)| (style.color, style.marker));
            assert_eq!(style, Some((dot.color, dot.marker)), "{}", dot.label);
        }
    }

    #[test]
    fn curves_are_of_policies_by_their_labels() {
        let mut points = sweep(&[(["0.3", "1 ms"], [2.0, 1.0]), (["0.8", "1 ms"], [4.0, 3.0])]);
        points.points[1].levels.reverse();
        let found = curves(&points);
        near(found.panels[0].curves[0][1], 4.0);
        near(found.panels[0].curves[1][1], 3.0);
        points.points[1].levels.pop();
        assert!(curves(&points).panels.is_empty(), "a policy is missing");
    }

    #[test]
    fn a_heat_map_has_the_changes_over_the_two_longest_axes() {
        let points = sweep(&[
            (["0.3", "1 ms"], [2.0, 1.0]),
            (["0.3", "2 ms"], [8.0, 8.0]),
            (["0.3", "4 ms"], [9.0, 27.0]),
            (["0.8", "1 ms"], [4.0, 2.0]),
        ]);
        let map = heat_map(&points).unwrap();
        assert_eq!((&*map.rows.0, &*map.columns.0), ("delay", "load"));
        assert_eq!(map.columns.1, ["0.3", "0.8"]);
        assert_eq!(map.panels.len(), 1);
        let changes = &map.panels[0].changes;
        near(changes[0][0].unwrap(), -0.5);
        near(changes[1][0].unwrap(), 0.0);
        near(changes[2][0].unwrap(), 2.0);
        assert_eq!(changes[2][1], None);
        let one_axis = sweep(&[(["0.3", "1 ms"], [2.0, 1.0]), (["0.8", "1 ms"], [2.0, 1.0])]);
        assert!(heat_map(&one_axis).is_none());
    }
}
