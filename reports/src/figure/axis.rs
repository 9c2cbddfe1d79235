//! Axes with ticks at round values.

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};

use crate::text;

/// Axis with labelled ticks.
#[derive(Clone, Debug)]
pub struct Axis {
    range: Range<f64>,
    spacing: Spacing,
    ticks: Vec<(f64, String)>,
}

/// Spacing of values along an axis.
#[derive(Clone, Copy, Debug)]
enum Spacing {
    Linear,
    Logarithmic,
    /// Linear up to this distance from zero and logarithmic beyond, on both sides of zero.
    Symmetric(f64),
}

impl Axis {
    /// Returns a linear axis from zero to at least `max`, which ends on a tick.
    pub fn from_zero(max: f64, ticks: u32) -> Self {
        let step = nice_step(max.max(f64::MIN_POSITIVE) / f64::from(ticks));
        let steps = (max / step - 1e-9).ceil().max(1.0);
        Self::linear(0.0..steps * step, step)
    }

    /// Returns a linear axis from zero to `end`, which may lie between ticks.
    pub fn until(end: f64, ticks: u32) -> Self {
        let end = end.max(f64::MIN_POSITIVE);
        Self::linear(0.0..end, nice_step(end / f64::from(ticks)))
    }

    /// Returns a linear axis from at most `start` to at least `end`, with about `ticks` ticks.
    pub fn between(start: f64, end: f64, ticks: u32) -> Self {
        let step = nice_step((end - start).max(f64::MIN_POSITIVE) / f64::from(ticks));
        Self::linear(
            (start / step).floor() * step..(end / step).ceil() * step,
            step,
        )
    }

    /// Returns an axis over `range`, with ticks every `step`.
    pub fn linear(range: Range<f64>, step: f64) -> Self {
        let mut ticks = Vec::new();
        // Adding zero turns a negative zero, which would be printed as `-0`, into zero.
        let mut at = (range.start / step - 1e-9).ceil() + 0.0;
        while at * step <= range.end + step * 1e-9 {
            ticks.push((at * step, text::significant(at * step, 6)));
            at += 1.0;
        }
        Self {
            range,
            spacing: Spacing::Linear,
            ticks,
        }
    }

    /// Returns an axis over `values`, which are ratios near or above 1. The axis is linear and starts at 1; if the
    /// values and 1 span a ratio of more than [`WIDE`], it is logarithmic and covers only the values.
    pub fn of_ratios(values: impl Iterator<Item = f64> + Clone, ticks: u32) -> Self {
        let own_min = values.clone().fold(f64::INFINITY, f64::min);
        let min = own_min.min(1.0);
        let max = values.fold(min, f64::max);
        if max / min > WIDE && min > 0.0 {
            return Self::logarithmic(own_min, max);
        }
        let step = nice_step((max - min).max(0.1) / f64::from(ticks));
        let start = (min / step).floor() * step;
        let end = (max / step - 1e-9).ceil() * step;
        Self::linear(start..end.max(start + step), step)
    }

    /// Returns a linear axis over `range` without ticks.
    pub fn bare(range: Range<f64>) -> Self {
        Self {
            range,
            spacing: Spacing::Linear,
            ticks: Vec::new(),
        }
    }

    /// Replaces the ticks of the axis.
    #[must_use]
    pub fn with_ticks(self, ticks: Vec<(f64, String)>) -> Self {
        Self { ticks, ..self }
    }

    /// Returns true if the axis is logarithmic.
    pub fn is_logarithmic(&self) -> bool {
        matches!(self.spacing, Spacing::Logarithmic)
    }

    /// Returns the values at the start and the end of the axis.
    pub fn ends(&self) -> (f64, f64) {
        (self.range.start, self.range.end)
    }

    /// Returns the ticks with their labels.
    pub fn ticks(&self) -> &[(f64, String)] {
        &self.ticks
    }

    /// Returns an axis of relative differences from at most −`max`, but not less than −100 %, to at least `max`. Ticks
    /// are at powers of ten in percent; the axis is linear up to 0.01 % and logarithmic beyond.
    pub fn of_differences(max: f64) -> Self {
        let mut positive = vec![LINEAR_DIFFERENCE, 10.0 * LINEAR_DIFFERENCE];
        while positive[positive.len() - 1] < max * (1.0 - 1e-9) {
            positive.push(positive[positive.len() - 1] * 10.0);
        }
        let label = |sign: &str, tick: f64| format!("{sign}{} %", text::significant(tick * 1e2, 3));
        let possible = |tick: &&f64| **tick < 1.0 + 1e-9;
        let below = positive
            .iter()
            .filter(possible)
            .rev()
            .map(|&tick| (-tick, label("−", tick)));
        let above = positive.iter().map(|&tick| (tick, label("+", tick)));
        let ticks: Vec<_> = below.chain([(0.0, "0".to_owned())]).chain(above).collect();
        Self {
            range: ticks[0].0..ticks[ticks.len() - 1].0,
            spacing: Spacing::Symmetric(LINEAR_DIFFERENCE),
            ticks,
        }
    }

    /// Returns a logarithmic axis whose ends are ticks. Ticks are at 1, 2 and 5 times powers of ten; over many decades,
    /// only at powers of ten. `min` must be greater than zero.
    pub fn logarithmic(min: f64, max: f64) -> Self {
        let decades = (max / min).log10();
        let steps: &[f64] = if decades <= 2.5 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        let mut at = Vec::new();
        let mut power = 10f64.powf(min.log10().floor());
        while at.last().is_none_or(|&last| last < max * (1.0 - 1e-9)) {
            at.extend(steps.iter().map(|step| step * power));
            power *= 10.0;
        }
        let first = at.iter().rposition(|&tick| tick <= min * (1.0 + 1e-9));
        let last = at
            .iter()
            .position(|&tick| tick >= max * (1.0 - 1e-9))
            .unwrap_or(at.len() - 1)
            .max(1);
        let first = first.unwrap_or(0).min(last - 1);
        let kept = &at[first..=last];
        Self {
            range: kept[0]..kept[kept.len() - 1],
            spacing: Spacing::Logarithmic,
            ticks: kept
                .iter()
                .map(|&tick| (tick, text::significant(tick, 6)))
                .collect(),
        }
    }

    /// Returns the position of `value`, from 0 at the start to 1 at the end.
    pub fn share(&self, value: f64) -> f64 {
        let (start, end) = self.ends();
        match self.spacing {
            Spacing::Linear => (value - start) / (end - start),
            Spacing::Logarithmic => (value / start).ln() / (end / start).ln(),
            Spacing::Symmetric(linear) => {
                let [value, start, end] = [value, start, end].map(|it| symmetric(it, linear));
                (value - start) / (end - start)
            }
        }
    }
}

/// Unit of a time axis, such as ms.
pub struct TimeUnit {
    name: &'static str,
    /// Number of units in a second.
    pub per_second: f64,
}

impl TimeUnit {
    /// Returns the unit that suits times up to `seconds`.
    pub fn of(seconds: f64) -> Self {
        let (name, per_second) = match seconds {
            10.0.. => ("s", 1.0),
            0.010.. => ("ms", 1e3),
            _ => ("µs", 1e6),
        };
        Self { name, per_second }
    }

    /// Returns the title of an axis in this unit.
    pub fn axis_title(&self) -> String {
        format!(
            "time since the repetition's start ({}, paper scale)",
            self.name
        )
    }
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let start = f64::from(limit.0);
        let end = f64::from(limit.1);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "rounding to pixels is the purpose; casts of floats saturate"
        )]
        let pixel = (start + (end - start) * self.share(*value)).round() as i32;
        pixel
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            return Vec::new();
        }
        self.ticks.iter().map(|(at, _)| *at).collect()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

/// Returns the signed position of `value` on a symmetric axis: linear up to `linear`, whose position is 1, and 1 more
/// for each decade beyond.
fn symmetric(value: f64, linear: f64) -> f64 {
    let far = value.abs() / linear;
    let place = if far <= 1.0 { far } else { 1.0 + far.log10() };
    place.copysign(value)
}

/// Returns the smallest of 1, 2 and 5 times powers of ten that is at least `min`.
fn nice_step(min: f64) -> f64 {
    let power = 10f64.powf(min.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    steps
        .into_iter()
        .find(|step| *step >= min * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

/// Relative difference up to which an axis of relative differences is linear.
const LINEAR_DIFFERENCE: f64 = 1e-4;

/// Maximum quotient of the largest and the smallest value on a linear axis of ratios.
const WIDE: f64 = 8.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(axis: &Axis) -> String {
        let labels: Vec<&str> = axis
            .ticks()
            .iter()
            .map(|(_, label)| label.as_str())
            .collect();
        labels.join(" ")
    }

    #[test]
    fn linear_axes_end_on_ticks() {
        for (max, expected) in [
            (0.93, "0 0.2 0.4 0.6 0.8 1"),
            (100.0, "0 20 40 60 80 100"),
            (101.0, "0 50 100 150"),
        ] {
            assert_eq!(ticks(&Axis::from_zero(max, 5)), expected);
        }
    }

    #[test]
    fn wide_ratios_make_a_logarithmic_axis() {
        for (values, is_logarithmic, expected) in [
            ([1.1, 3.9], false, "1 1.5 2 2.5 3 3.5 4"),
            ([1.1, 43.0], true, "1 2 5 10 20 50"),
            ([63.0, 145.0], true, "50 100 200"),
            ([1.1, 4_300.0], true, "1 10 100 1,000 10,000"),
            // Ratios less than 1 are on the axis, too.
            ([0.7, 1.4], false, "0.6 0.8 1 1.2 1.4"),
            ([0.7, 14.0], true, "0.5 1 2 5 10 20"),
        ] {
            let axis = Axis::of_ratios(values.into_iter(), 6);
            let found = (axis.is_logarithmic(), ticks(&axis));
            assert_eq!(found, (is_logarithmic, expected.to_owned()), "{values:?}");
        }
    }

    #[test]
    fn equal_values_and_none_still_make_an_axis() {
        for values in [
            vec![],
            vec![1.0],
            vec![1.0; 3],
            vec![3.0],
            vec![10.0],
            vec![50.0; 2],
        ] {
            let (start, end) = Axis::of_ratios(values.iter().copied(), 5).ends();
            assert!(start < end, "{values:?}: {start} {end}");
        }
        assert!(Axis::from_zero(0.0, 5).ends().1 > 0.0);
    }

    #[test]
    fn an_axis_of_differences_has_decades_on_both_sides_of_zero() {
        let axis = Axis::of_differences(0.02);
        assert_eq!(
            ticks(&axis),
            "−10 % −1 % −0.1 % −0.01 % 0 +0.01 % +0.1 % +1 % +10 %"
        );
        let at = |value: f64| axis.map(&value, (0, 800));
        assert_eq!(
            [-0.1, -0.001, 0.0, 5e-5, 1e-4, 0.1].map(at),
            [0, 200, 400, 450, 500, 800]
        );
        assert_eq!(
            ticks(&Axis::of_differences(0.0)),
            "−0.1 % −0.01 % 0 +0.01 % +0.1 %"
        );
    }

    #[test]
    fn no_difference_is_below_its_whole() {
        let (start, end) = Axis::of_differences(48.0).ends();
        assert!(
            (start + 1.0).abs() < 1e-9 && (end - 100.0).abs() < 1e-6,
            "{start} {end}"
        );
    }

    #[test]
    fn a_logarithmic_axis_puts_the_geometric_mean_in_the_middle() {
        let axis = Axis::of_ratios([1.0, 100.0].into_iter(), 5);
        assert_eq!(axis.map(&10.0, (0, 1_000)), 500);
    }
}
