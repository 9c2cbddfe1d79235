//! Quantities as text for people, by default with three significant digits.

use lab_units::{
    BitsPerSec, Bytes, Nanos,
    show::{commas, counted},
};

use crate::stats::{Estimate, Interval, Statistic};

/// Formats a rate, such as `200 Gbit/s`.
pub fn rate(rate: BitsPerSec) -> String {
    let units = ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"];
    decimal(rate.get(), 3, &units)
}

/// Formats a measured rate with four significant digits, such as `99.87 Mbit/s`.
pub fn rate_exact(rate: BitsPerSec) -> String {
    let units = ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"];
    decimal(rate.get(), 4, &units)
}

/// Formats a size, such as `1.2 MB`.
pub fn size(size: Bytes) -> String {
    decimal(size.get(), 3, &["B", "kB", "MB", "GB", "TB"])
}

/// Formats a time, such as `25 ms`.
pub fn time(time: Nanos) -> String {
    decimal(time.get(), 3, &["ns", "µs", "ms", "s"])
}

/// Formats a measured time with five significant digits, such as `25.035 ms`.
pub fn time_exact(time: Nanos) -> String {
    decimal(time.get(), 5, &["ns", "µs", "ms", "s"])
}

/// Formats `value` with `digits` significant digits and no trailing zeros, such as `1.5`, `12.3` or `1,230`.
pub fn significant(value: f64, digits: usize) -> String {
    grouped(plain(value, digits))
}

/// Adds commas between the thousands in the integer part of a number.
pub fn grouped(text: String) -> String {
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let (sign, whole) = whole.split_at(whole.len() - whole.trim_start_matches('-').len());
    match whole.parse() {
        Ok(whole) => format!("{sign}{}{rest}", commas(whole)),
        Err(_) => text,
    }
}

/// Formats `value` with `digits` significant digits and no commas, so that programs can read it.
pub fn plain(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return value.to_string();
    }
    let whole = format!("{:.0}", value.abs().floor());
    let whole_digits = if whole == "0" { 0 } else { whole.len() };
    let leading_zeros = if whole_digits == 0 && value != 0.0 {
        let place = value.abs().log10().floor().abs();
        format!("{place:.0}").parse().unwrap_or(1_usize) - 1
    } else {
        0
    };
    let decimals = (digits + leading_zeros).saturating_sub(whole_digits);
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Formats a slowdown, such as `1.23`, `12.3` or `1,234`.
pub fn slowdown(value: f64) -> String {
    let decimals = match value {
        ..9.995 => 2,
        ..999.95 => 1,
        _ => 0,
    };
    grouped(format!("{value:.decimals$}"))
}

/// Formats a share, such as `23.4 %` or `<0.1 %`.
pub fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.0005 {
        return "<0.1 %".into();
    }
    format!("{:.1} %", share * 100.0)
}

/// Formats a share with a decimal below ten percent: `2.0 %`, `30 %`.
pub fn about_percent(share: f64) -> String {
    let decimals = if share * 100.0 < 9.95 { 1 } else { 0 };
    format!("{:.decimals$} %", share * 100.0)
}

/// Formats a difference between shares like [`about_percent`]: `2.1 percentage points`.
pub fn about_percentage_points(difference: f64) -> String {
    about_percent(difference).replace('%', "percentage points")
}

/// Formats a share with three decimals, so that a value next to its bound does not look equal to it: `50.001 %`, `50
/// %`.
pub fn exact_percent(share: f64) -> String {
    format!("{:.3} %", share * 100.0).replace(".000 %", " %")
}

/// Formats a possibly small share with two significant digits, such as `0.0012 %`, `3.4 %` or `0 %`.
pub fn small_percent(share: f64) -> String {
    if share > 0.0 && share < 1e-8 {
        return "<0.000001 %".into();
    }
    let digits = if share < 1.0 { 2 } else { 3 };
    format!("{} %", significant(share * 100.0, digits))
}

/// Formats a possibly small relative difference with its sign, such as `−0.0012 %`, `+3.4 %` or `0 %`.
pub fn small_change(value: f64) -> String {
    let percent = small_percent(value.abs());
    match value {
        0.0 => percent,
        _ if value < 0.0 => format!("−{percent}"),
        _ => format!("+{percent}"),
    }
}

/// Formats `part` of `whole` in percent, such as `99.9 %`; rounded down, so that only the whole gives 100 %.
pub fn share_of(part: u64, whole: u64) -> String {
    if whole == 0 {
        return NONE.into();
    }
    let tenths = u128::from(part) * 1_000 / u128::from(whole);
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// Formats a correlation coefficient with four significant digits; a dash if it is `None`.
pub fn coefficient(value: Option<f64>) -> String {
    value.map_or_else(|| NONE.into(), |value| format!("{value:.4}"))
}

/// Formats a relative change with its sign, such as `−41 %` or `+3.2 %`.
pub fn change(value: f64) -> String {
    let percent = value * 100.0;
    let text = if percent.abs() < 9.95 {
        format!("{:.1}", percent.abs())
    } else {
        grouped(format!("{:.0}", percent.abs()))
    };
    let sign = match text.as_str() {
        "0.0" => "±",
        _ if percent < 0.0 => "−",
        _ => "+",
    };
    format!("{sign}{text} %")
}

/// Describes a change with its interval and meaning, `−41 % [−45, −37]: better`; without an interval, `−41 % in this
/// draw`; without an estimate, states that `flows` flows have no `statistic`.
pub fn change_in_words(estimate: Option<Estimate>, flows: usize, statistic: &str) -> String {
    change_parts(estimate, flows, statistic, true).join(" ")
}

/// Formats a change, and the text after it: the interval of the change, followed by the meaning if `is_ranked`.
pub fn change_parts(
    estimate: Option<Estimate>,
    flows: usize,
    statistic: &str,
    is_ranked: bool,
) -> [String; 2] {
    let Some(estimate) = estimate else {
        let reason = format!(
            "({} {} no {statistic})",
            count(flows, "flow"),
            if flows == 1 { "has" } else { "have" }
        );
        return [NONE.to_owned(), reason];
    };
    let after = match (estimate.interval, estimate.meaning()) {
        (Some(interval), Some(meaning)) if is_ranked => {
            format!("{}: {}", change_interval(interval), meaning.name())
        }
        (Some(interval), _) => change_interval(interval),
        (None, _) => "in this draw".to_owned(),
    };
    [change(estimate.value), after]
}

/// Formats the interval of a change, such as `[−45, −37]`.
pub fn change_interval(Interval { low, high }: Interval) -> String {
    let [low, high] = [low, high].map(change);
    format!(
        "[{}, {}]",
        low.trim_end_matches(" %"),
        high.trim_end_matches(" %")
    )
}

/// Returns the note that explains dashes in place of statistics: the number of flows that each statistic needs.
pub fn too_few() -> String {
    let [p50, p95, p99, mean] = [
        Statistic::P50,
        Statistic::P95,
        Statistic::P99,
        Statistic::Mean,
    ]
    .map(|it| commas(it.min_values() as u64));
    format!(
        "A dash: too few flows. A p50 needs {p50} flows, a p95 {p95} and a p99 {p99}, so that ten \
         flows lie beyond it; a mean needs {mean}."
    )
}

/// Note that explains lower bounds, which are marked with ≥.
pub const AT_LEAST: &str =
    "≥: unfinished flows are counted at the least slowdown that they can have.";

/// Formats a measured time minus the configured time, such as `+31.3 µs`.
pub fn time_off(measured: Nanos, configured: Nanos) -> String {
    if measured < configured {
        return format!("−{}", time(configured.saturating_sub(measured)));
    }
    format!("+{}", time(measured.saturating_sub(configured)))
}

/// Formats `count` with its noun, such as `1 flow` or `2,000 flows`.
pub fn count(count: usize, noun: &str) -> String {
    counted(count as u64, noun)
}

/// Formats `value` in the largest of `units` that gives at least 1; each unit is 1,000 times the one before.
fn decimal(value: u64, digits: usize, units: &[&str]) -> String {
    let mut scaled = to_float(value);
    let mut unit = units[0];
    for next in &units[1..] {
        // Without this rounding, 999.9 kB would be shown with three digits as 1000 kB.
        let rounded: f64 = plain(scaled, digits).parse().unwrap_or(scaled);
        if rounded < 1_000.0 {
            break;
        }
        scaled /= 1_000.0;
        unit = next;
    }
    format!("{} {unit}", significant(scaled, digits))
}

/// Formats `count` with commas between thousands.
pub fn number(count: u64) -> String {
    commas(count)
}

/// Converts a time to seconds, for drawing.
pub fn seconds(time: Nanos) -> f64 {
    to_float(time.get()) / 1e9
}

/// Converts an integer to a float, for display and drawing.
pub fn to_float(value: u64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "fewer digits are shown than a float has"
    )]
    let float = value as f64;
    float
}

/// Text of a table cell that has no value.
pub const NONE: &str = "–";

/// Maximum width of text lines, characters.
pub const WIDTH: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_three_digits_and_no_idle_zeros() {
        assert_eq!(rate("200 Gbit".parse().unwrap()), "200 Gbit/s");
        assert_eq!(rate("1500 Mbit".parse().unwrap()), "1.5 Gbit/s");
        assert_eq!(size(Bytes::new(1_234_567)), "1.23 MB");
        assert_eq!(size(Bytes::new(999_999)), "1 MB");
        assert_eq!(size(Bytes::new(0)), "0 B");
        assert_eq!(time(Nanos::new(25_000_000)), "25 ms");
        assert_eq!(time(Nanos::new(90_061_000_000)), "90.1 s");
        assert_eq!(time(Nanos::new(7_200_000_000_000)), "7,200 s");
        assert_eq!(time_exact(Nanos::new(25_034_567)), "25.035 ms");
    }

    #[test]
    fn significant_digits_of_small_and_large_numbers() {
        assert_eq!(significant(0.001_234, 3), "0.00123");
        assert_eq!(significant(0.5, 3), "0.5");
        assert_eq!(significant(1_234.0, 3), "1,234");
        assert_eq!(significant(-12_345.6, 6), "-12,345.6");
        assert_eq!(plain(1_234.0, 3), "1234");
        assert_eq!(significant(0.0, 3), "0");
    }

    #[test]
    fn a_change_in_numbers_has_no_meaning() {
        let change = Estimate {
            value: -0.41,
            interval: Some(Interval {
                low: -0.45,
                high: -0.37,
            }),
        };
        let numbers = |estimate| change_parts(estimate, 9, "p50", false).join(" ");
        assert_eq!(numbers(Some(change)), "−41 % [−45, −37]");
        let words = change_in_words(Some(change), 9, "p50");
        assert_eq!(words, "−41 % [−45, −37]: better");
        assert_eq!(numbers(None), "– (9 flows have no p50)");
    }

    #[test]
    fn changes_have_signs_and_none_is_neither() {
        assert_eq!(change(-0.41), "−41 %");
        assert_eq!(change(0.032), "+3.2 %");
        assert_eq!(change(-0.000_01), "±0.0 %");
        assert_eq!(percent(0.0001), "<0.1 %");
        assert_eq!(percent(0.0), "0.0 %");
    }

    #[test]
    fn shares_of_agreement_are_neither_flattered_nor_cut_to_zero() {
        assert_eq!(share_of(2_999, 3_000), "99.9 %");
        assert_eq!(share_of(3_000, 3_000), "100.0 %");
        assert_eq!(share_of(0, 0), "–");
        assert_eq!(small_percent(0.000_012_3), "0.0012 %");
        assert_eq!(small_percent(0.034), "3.4 %");
        assert_eq!(small_percent(12.3), "1,230 %");
        assert_eq!(small_percent(0.0), "0 %");
        assert_eq!(small_percent(1e-12), "<0.000001 %");
        assert_eq!(small_change(-0.034), "−3.4 %");
        assert_eq!(small_change(0.0), "0 %");
        assert_eq!(coefficient(Some(0.987_65)), "0.9877");
        assert_eq!(coefficient(None), "–");
    }

    #[test]
    fn slowdowns_keep_their_width() {
        assert_eq!(slowdown(1.0), "1.00");
        assert_eq!(slowdown(9.996), "10.0");
        assert_eq!(slowdown(123.4), "123.4");
        assert_eq!(slowdown(1_234.4), "1,234");
    }
}
