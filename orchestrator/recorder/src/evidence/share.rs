//! Conversion of counts to shares.

pub(super) fn count(items: usize) -> u64 {
    u64::try_from(items).unwrap_or(u64::MAX)
}

pub(super) fn ratio(part: u64, whole: u64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "reports show fewer digits than a float has"
    )]
    let ratio = part as f64 / whole.max(1) as f64;
    ratio
}
