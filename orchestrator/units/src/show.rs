//! Text for human readers: rounded quantities, aligned tables, wrapped paragraphs.
//!
//! `Display` prints the exact text of a quantity. The rounded forms in this module have one decimal.

use alloc::{borrow::ToOwned, format, string::String, vec};

use crate::{Bytes, Nanos};

/// Maximum width of tables and paragraphs in characters, which fits terminals and pull requests.
pub const WIDTH: usize = 100;

/// Alignment of a table's column.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Side {
    /// Left-aligned, for names.
    Left,
    /// Right-aligned, for numbers.
    Right,
}

/// Formats rows as aligned lines, indented by `indent`. Columns are as wide as their widest cell and separated by two
/// blanks; lines have no trailing blanks.
#[must_use]
pub fn table<const N: usize>(indent: usize, sides: [Side; N], rows: &[[String; N]]) -> String {
    columns(indent, &sides, rows)
}

/// Formats rows like [`table`], for a number of columns that is known only at run time.
#[must_use]
pub fn columns<R: AsRef<[String]>>(indent: usize, sides: &[Side], rows: &[R]) -> String {
    let mut widths = vec![0; sides.len()];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row.as_ref()) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = " ".repeat(indent);
        for ((cell, width), side) in row.as_ref().iter().zip(&widths).zip(sides) {
            // A format width above 65,535 would panic, so blanks are repeated instead.
            let padding = " ".repeat(width - cell.chars().count());
            match side {
                Side::Left => line.extend([cell, &*padding, "  "]),
                Side::Right => line.extend([&*padding, cell, "  "]),
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Returns the alignments for a table whose first `left` columns are names and whose other columns are numbers.
#[must_use]
pub const fn sides<const N: usize>(left: usize) -> [Side; N] {
    let mut sides = [Side::Right; N];
    let mut at = 0;
    while at < left {
        sides[at] = Side::Left;
        at += 1;
    }
    sides
}

/// Returns `head` followed by `words`, wrapped to lines of at most [`WIDTH`] characters; further lines are indented
/// by the width of `head`.
#[must_use]
pub fn paragraph(head: &str, words: &str) -> String {
    paragraph_of(WIDTH, head, words)
}

/// Formats text like [`paragraph`], wrapped to lines of at most `width` characters.
#[must_use]
pub fn paragraph_of(width: usize, head: &str, words: &str) -> String {
    let indent = head.chars().count();
    let mut text = head.to_owned();
    let mut column = indent;
    for word in words.split_whitespace() {
        let length = word.chars().count();
        if column > indent && column + 1 + length > width {
            text += &format!("\n{}", " ".repeat(indent));
            column = indent;
        }
        if column > indent {
            text.push(' ');
            column += 1;
        }
        text += word;
        column += length;
    }
    text + "\n"
}

/// Formats a count with commas: `1,234,567`.
#[must_use]
pub fn commas(count: u64) -> String {
    let digits = format!("{count}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats `count` with its noun in singular or plural: `1 flow`, `2,000 flows`.
#[must_use]
pub fn counted(count: u64, noun: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{} {noun}{s}", commas(count))
}

/// Formats `bytes` rounded to one decimal, in the unit that gives one to three digits before the decimal point.
#[must_use]
pub fn about_bytes(bytes: Bytes) -> String {
    about(bytes.get(), "B", &["kB", "MB", "GB", "TB"])
}

/// Describes the period between two instants in words: `from 50 ms to 300 ms`, `from 50 ms on`.
#[must_use]
pub fn window(from: Nanos, to: Option<Nanos>) -> String {
    let from = about_time(from);
    match to {
        Some(to) => format!("from {from} to {}", about_time(to)),
        None => format!("from {from} on"),
    }
}

/// Formats `time` rounded to one decimal, in the unit that gives one to three digits before the decimal point; from two
/// minutes on in minutes and seconds, and from two hours on in hours and minutes.
#[must_use]
pub fn about_time(time: Nanos) -> String {
    let ns = time.get();
    // A time that would round up to a limit is treated as beyond the limit.
    if ns < 2 * MINUTE - SECOND / 20 {
        return about(ns, "ns", &["µs", "ms", "s"]);
    }
    let seconds = ns.saturating_add(SECOND / 2) / SECOND;
    let (count, unit, rest, small) = if seconds < 2 * 3_600 {
        (seconds / 60, "min", seconds % 60, "s")
    } else {
        let minutes = ns.saturating_add(MINUTE / 2) / MINUTE;
        (minutes / 60, "h", minutes % 60, "min")
    };
    match rest {
        0 => format!("{count} {unit}"),
        rest => format!("{count} {unit} {rest} {small}"),
    }
}

/// Formats `bps` bits per second rounded to one decimal, in the unit that gives one to three digits before the decimal
/// point.
#[must_use]
pub fn about_rate(bps: u64) -> String {
    about(bps, "bit/s", &["kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"])
}

/// Formats `value` exactly if it is below a thousand base units, otherwise with one decimal.
fn about(value: u64, base: &str, thousands: &[&str]) -> String {
    if value < 1_000 {
        return format!("{value} {base}");
    }
    let mut unit = base;
    let mut size = 1u64;
    for larger in thousands {
        // A value that would round up to a thousand is printed in the next unit.
        let next = size.saturating_mul(1_000);
        if value < next - size / 20 {
            break;
        }
        (unit, size) = (larger, next);
    }
    let tenths = (u128::from(value) * 10 + u128::from(size) / 2) / u128::from(size);
    match tenths % 10 {
        0 => format!("{} {unit}", tenths / 10),
        decimal => format!("{}.{decimal} {unit}", tenths / 10),
    }
}

const SECOND: u64 = 1_000_000_000;

const MINUTE: u64 = 60 * SECOND;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_without_trailing_blanks() {
        let row = |a: &str, b: &str| [a.to_owned(), b.to_owned()];
        let rows = [row("name", "n"), row("a", "1,000"), row("b", "")];
        let text = table(1, sides(1), &rows);
        assert_eq!(text, " name      n\n a     1,000\n b\n");
    }

    #[test]
    fn a_cell_of_any_length_is_shown() {
        let long = "x".repeat(70_000);
        let rows = [[long, "1".to_owned()], ["a".to_owned(), "2".to_owned()]];
        let text = table(0, sides(1), &rows);
        assert!(text.lines().map(str::len).eq([70_003, 70_003]));
    }

    #[test]
    fn paragraphs_stay_within_the_width_and_below_their_head() {
        let text = paragraph("head: ", &"word ".repeat(60));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
        let mut lines = text.lines();
        assert!(lines.next().unwrap().starts_with("head: word"));
        assert!(lines.all(|line| line.starts_with("      word")));
    }

    #[test]
    fn a_line_may_be_as_long_as_the_width() {
        for width in [8, 9, 10] {
            let text = paragraph_of(width, "a: ", "bb cc dd");
            assert_eq!(text, "a: bb cc\n   dd\n", "{width}");
        }
        assert_eq!(paragraph_of(11, "a: ", "bb cc dd"), "a: bb cc dd\n");
        assert_eq!(paragraph_of(7, "a: ", "bb cc dd"), "a: bb\n   cc\n   dd\n");
        // A word that is longer than a line is not split; the first word stays next to the head.
        assert_eq!(paragraph_of(4, "a: ", "bbbb c"), "a: bbbb\n   c\n");
    }

    #[test]
    fn a_span_of_time_may_have_no_end() {
        let ms = Nanos::from_millis;
        assert_eq!(window(ms(50), Some(ms(300))), "from 50 ms to 300 ms");
        assert_eq!(window(ms(50), None), "from 50 ms on");
    }

    #[test]
    fn long_times_are_in_minutes_and_hours() {
        let millis = [
            119_900, 119_949, 119_950, 120_000, 125_400, 600_000, 7_199_499, 7_199_500, 7_229_999,
            7_230_000, 36_000_000,
        ];
        let shown = millis.map(|millis| about_time(Nanos::from_millis(millis)));
        let expected = [
            "119.9 s",
            "119.9 s",
            "2 min",
            "2 min",
            "2 min 5 s",
            "10 min",
            "119 min 59 s",
            "2 h",
            "2 h",
            "2 h 1 min",
            "10 h",
        ];
        assert_eq!(shown, expected);
        assert_eq!(about_time(Nanos::new(u64::MAX)), "5124095 h 34 min");
    }

    #[test]
    fn rounded_quantities() {
        let bytes = [0, 999, 1_000, 1_234_567, 999_949, 999_950, 30_000_000_000];
        let shown = bytes.map(|bytes| about_bytes(Bytes::new(bytes)));
        let expected = [
            "0 B", "999 B", "1 kB", "1.2 MB", "999.9 kB", "1 MB", "30 GB",
        ];
        assert_eq!(shown, expected);
        assert_eq!(about_time(Nanos::new(41_500)), "41.5 µs");
        assert_eq!(about_time(Nanos::new(204_761_920)), "204.8 ms");
        assert_eq!(about_time(Nanos::new(90_000_000_000)), "90 s");
        assert_eq!(about_rate(152_999_999_999), "153 Gbit/s");
        assert_eq!(commas(1_234_567), "1,234,567");
        assert_eq!(commas(123), "123");
        let flows = [0, 1, 2_000].map(|count| counted(count, "flow"));
        assert_eq!(flows, ["0 flows", "1 flow", "2,000 flows"]);
    }
}
