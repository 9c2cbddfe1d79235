//! The exponential function, with the same bits everywhere.

/// Returns eˣ for x ≤ 0, with an error below 2 units in the last place; 0 below −87.
///
/// The standard library calls the platform's function, whose last bit differs between platforms. With
/// n = round(x / ln 2) and r = x − n · ln 2, the result is 2ⁿ · eʳ, where eʳ is its Taylor polynomial of degree 7. ln 2
/// is split into two floats, so that n · ln 2 is exact enough (Cody and Waite).
///
/// ```
/// assert_eq!(lab_redte::exp(0.0), 1.0);
/// assert!((lab_redte::exp(-1.0) - 0.367_879_44).abs() < 1e-7);
/// ```
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "n is -126 to 0"
)]
pub fn exp(x: f32) -> f32 {
    if x < MIN {
        return 0.0;
    }
    // Conversion to an integer truncates towards zero, so that this rounds to the nearest integer.
    let n = (x * std::f32::consts::LOG2_E - 0.5) as i32;
    let r = x - n as f32 * LN_2_HIGH - n as f32 * LN_2_LOW;
    let mut sum = COEFFICIENTS[0];
    for coefficient in &COEFFICIENTS[1..] {
        sum = sum * r + coefficient;
    }
    sum * f32::from_bits(((n + 127) as u32) << 23)
}

/// Argument below which the result is 0: the results of smaller arguments are not normal floats.
const MIN: f32 = -87.0;

/// 1 / 7! to 1 / 0!.
const COEFFICIENTS: [f32; 8] = [
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
    1.0,
    1.0,
];

/// Leading bits of ln 2: a float whose products with integers up to 2¹⁵ are exact.
const LN_2_HIGH: f32 = 0.693_359_4;

/// ln 2 − [`LN_2_HIGH`].
const LN_2_LOW: f32 = -2.121_944_4e-4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_close_to_the_exponential_over_its_range() {
        for step in 0..43_500u16 {
            let x = -f32::from(step) / 500.0;
            let expected = f64::from(x).exp();
            let error = (f64::from(exp(x)) - expected).abs() / expected;
            assert!(error < 2.5e-7, "{x}: {error}");
        }
        assert_eq!(exp(-88.0), 0.0);
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
        assert!(exp(f32::NAN).is_nan());
    }

    /// The floats nearest to the exact results.
    #[test]
    fn its_bits_are_pinned() {
        let bits = [-0.1, -1.0, -10.0, -80.0, -87.0].map(|x: f32| exp(x).to_bits());
        let expected = [
            0x3f67_a36d,
            0x3ebc_5ab2,
            0x383e_6bce,
            0x05bf_ecba,
            0x00b3_3687,
        ];
        assert_eq!(bits, expected);
    }
}
