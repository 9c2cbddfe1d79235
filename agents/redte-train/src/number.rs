//! Conversions between numbers.

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

/// Returns the mean of numbers; 0 for none.
pub(crate) fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / float(numbers.len().max(1))
}
