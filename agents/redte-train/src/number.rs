//! Conversions between numbers.

use lab_units::Ratio;

/// Returns the nearest `f32`.
#[expect(
    clippy::cast_possible_truncation,
    reason = "rounded to the nearest float"
)]
pub(crate) const fn narrow(number: f64) -> f32 {
    number as f32
}

/// Returns a count as a float, rounded above 2^53.
#[expect(clippy::cast_precision_loss, reason = "counts are below 2^53")]
pub(crate) const fn float(count: usize) -> f64 {
    count as f64
}

/// Returns a ratio as a float.
#[expect(clippy::cast_precision_loss, reason = "both terms are below 2^53")]
pub(crate) const fn ratio(ratio: Ratio) -> f64 {
    ratio.numerator() as f64 / ratio.denominator() as f64
}

/// Returns the mean of numbers; 0 for none.
pub(crate) fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / float(numbers.len().max(1))
}
