//! Sensitivity: how much each axis of a sweep moves a policy's p99.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{effects::distinct, point::Point};
use crate::stats::median;

/// Effect of one axis on the p99 of a policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sensitivity {
    /// Name of the axis.
    pub axis: String,
    /// Label of the policy.
    pub policy: String,
    /// Number of groups: points that differ in this axis alone, and two or more of which have a p99.
    pub groups: usize,
    /// Median, over these groups, of the group's largest p99 ÷ its smallest.
    pub factor: f64,
}

/// Name of the axis of scenarios.
const SCENARIO: &str = "scenario";

/// Returns the sensitivity of each policy to each axis and to the scenario. Axes with one value have none.
pub fn sensitivities(axes: &[String], points: &[Point]) -> Vec<Sensitivity> {
    let levels = points.iter().flat_map(|point| &point.levels);
    let policies = distinct(levels.map(|level| &level.policy));
    let names = std::iter::once(SCENARIO).chain(axes.iter().map(String::as_str));
    let mut found = Vec::new();
    for (at, axis) in names.enumerate() {
        for &policy in &policies {
            let factors = factors(at, policy, points);
            let groups = factors.len();
            found.extend(median(factors).map(|factor| Sensitivity {
                axis: axis.to_owned(),
                policy: policy.to_owned(),
                groups,
                factor,
            }));
        }
    }
    found
}

/// Returns the largest p99 ÷ the smallest of each group of points that differ only in the coordinate `at`, where 0 is the
/// scenario and the axes follow.
fn factors(at: usize, policy: &str, points: &[Point]) -> Vec<f64> {
    let mut groups: BTreeMap<Vec<&str>, Vec<f64>> = BTreeMap::new();
    for point in points {
        let mut others: Vec<&str> = std::iter::once(&point.scenario)
            .chain(&point.values)
            .map(String::as_str)
            .collect();
        others.remove(at);
        let level = point.levels.iter().find(|level| level.policy == policy);
        let known = level.and_then(|level| level.p99);
        groups.entry(others).or_default().extend(known);
    }
    let alike = groups.into_values().filter(|levels| levels.len() > 1);
    alike
        .map(|levels| {
            let max = levels.iter().copied().fold(f64::MIN, f64::max);
            let min = levels.iter().copied().fold(f64::MAX, f64::min);
            max / min
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::PolicyLevel;

    fn point(scenario: &str, values: [&str; 2], p99: Option<f64>) -> Point {
        Point {
            scenario: scenario.to_owned(),
            values: values.map(str::to_owned).into(),
            cells: 1,
            done: 1,
            flows: 1,
            flows_with_choice: None,
            levels: vec![PolicyLevel {
                policy: "ecmp".to_owned(),
                p99,
            }],
        }
    }

    /// With 1 ms the load doubles the p99, with 2 ms it makes it 8/3 times as large, and with 3 ms one value is unknown.
    /// The delay moves it by 1.5 and 2. The scenario is the same everywhere.
    #[test]
    fn a_factor_is_the_median_over_points_that_differ_in_one_axis() {
        let points = [
            point("a", ["30%", "1 ms"], Some(2.0)),
            point("a", ["80%", "1 ms"], Some(4.0)),
            point("a", ["30%", "2 ms"], Some(3.0)),
            point("a", ["80%", "2 ms"], Some(8.0)),
            point("a", ["30%", "3 ms"], None),
            point("a", ["80%", "3 ms"], Some(8.0)),
        ];
        let axes = ["load", "delay"].map(str::to_owned);
        let found = sensitivities(&axes, &points);
        let shown: Vec<_> = found
            .iter()
            .map(|it| (&*it.axis, it.groups, it.factor))
            .collect();
        let load = f64::midpoint(2.0, 8.0 / 3.0);
        assert_eq!(shown, [("load", 2, load), ("delay", 2, 1.75)]);
    }

    #[test]
    fn scenarios_are_an_axis() {
        let points = [
            point("a", ["30%", "1 ms"], Some(2.0)),
            point("b", ["30%", "1 ms"], Some(5.0)),
        ];
        let found = sensitivities(&["load", "delay"].map(str::to_owned), &points);
        assert_eq!(found.len(), 1);
        assert_eq!((&*found[0].axis, found[0].factor), ("scenario", 2.5));
    }
}
