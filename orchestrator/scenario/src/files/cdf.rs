//! Flow size distributions: `bytes,percent` rows of a cumulative distribution.

use lab_units::{Bytes, Ratio};

use super::rows::{LinePart, finding_at_end, rows};
use crate::{
    error::{CdfError, Finding, ScenarioErrors, SourceText},
    limits,
};

/// Cumulative distribution of flow sizes, linear between its points.
///
/// Shares are whole numbers in units of 1/[`SizeCdf::UNIT`], so that the file's percentages are represented exactly.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SizeCdf {
    points: Vec<CdfPoint>,
}

/// Point of the distribution: a size, and the share of flows up to that size.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CdfPoint {
    pub size: Bytes,
    /// Share of flows up to this size, in units of 1/[`SizeCdf::UNIT`].
    pub share: u64,
}

impl SizeCdf {
    /// Value of [`CdfPoint::share`] that stands for all flows, so that percentages with five decimals are whole
    /// numbers.
    pub const UNIT: u64 = 100 * PERCENT;

    /// Parses the text of a CSV file with `bytes,percent` rows and `#` comments.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScenarioErrors> {
        let source = SourceText { name: file, text };
        let mut findings = Vec::new();
        let mut rows = rows(source);
        match rows.next() {
            Some(row) if is_header(&row) => {}
            Some(row) => findings.push(row.finding(CdfError::Header {
                found: row.excerpt(),
            })),
            None => {}
        }
        let mut points: Vec<ReadPoint<'_>> = Vec::new();
        for row in rows {
            if points.len() >= limits::MAX_CDF_POINTS {
                findings.push(row.finding(CdfError::TooManyPoints));
                break;
            }
            match ReadPoint::read(&row) {
                Ok(point) => points.push(point),
                Err(finding) => findings.push(finding),
            }
        }
        // Bounds and order are checked only if all rows could be parsed.
        if findings.is_empty() {
            findings = check(source, &points);
        }
        ScenarioErrors::check(source, findings, |_| None)?;
        let points = points.iter().map(|read| read.point).collect();
        Ok(Self { points })
    }

    /// Returns the points, by increasing size and share; the shares go from zero to [`SizeCdf::UNIT`].
    #[must_use]
    pub fn points(&self) -> &[CdfPoint] {
        &self.points
    }

    /// Returns the exact mean size in bytes, which is above zero.
    #[must_use]
    pub fn mean(&self) -> Ratio {
        // On a linear segment from a to b, the mean size is (a + b) / 2.
        let doubled: u64 = self.points.windows(2).map(doubled_area).sum();
        Ratio::new(doubled, 2 * Self::UNIT).expect("the denominator is not zero")
    }

    /// Returns the size that a share u / 2^64 of all flows does not exceed, rounded down, at least one byte. With a
    /// uniformly random `u`, the result is a sample of the distribution.
    #[must_use]
    pub fn quantile(&self, u: u64) -> Bytes {
        let share = u128::from(u) * u128::from(Self::UNIT);
        let scaled = |point: &CdfPoint| u128::from(point.share) << 64;
        let above = self.points.partition_point(|point| scaled(point) <= share);
        // The first point has share zero, and the last a share above any `share`, so `above` is neither 0 nor the end.
        let low = &self.points[above - 1];
        let high = &self.points[above];
        let rise = u128::from(high.size.get() - low.size.get());
        let step = rise * (share - scaled(low)) / (scaled(high) - scaled(low));
        let size = u128::from(low.size.get()) + step;
        Bytes::new(u64::try_from(size).unwrap_or(u64::MAX).max(1))
    }
}

/// Number of share units in one percent.
const PERCENT: u64 = 100_000;

/// Guarantees that the sums in [`SizeCdf::mean`] fit in 64 bits: the differences of shares add up to [`SizeCdf::UNIT`].
const _: () = assert!(
    limits::MAX_FLOW_SIZE
        .get()
        .checked_mul(2 * SizeCdf::UNIT)
        .is_some()
);

fn doubled_area(pair: &[CdfPoint]) -> u64 {
    (pair[1].share - pair[0].share) * (pair[0].size.get() + pair[1].size.get())
}

fn is_header(row: &LinePart<'_>) -> bool {
    let fields = row.comma_fields();
    fields.iter().map(LinePart::text).eq(["bytes", "percent"])
}

/// Point with the two fields from which it was parsed, for messages.
struct ReadPoint<'a> {
    point: CdfPoint,
    size: LinePart<'a>,
    percent: LinePart<'a>,
}

impl<'a> ReadPoint<'a> {
    fn read(row: &LinePart<'a>) -> Result<Self, Finding<CdfError>> {
        let fields = row.comma_fields();
        let found = fields.len();
        let Ok([size, percent]) = <[LinePart<'_>; 2]>::try_from(fields) else {
            return Err(row.finding(CdfError::Fields { found }));
        };
        let bytes = size
            .text()
            .parse()
            .map(Bytes::new)
            .ok()
            .filter(|bytes| *bytes <= limits::MAX_FLOW_SIZE);
        let found = size.excerpt();
        let bytes = bytes.ok_or_else(|| size.finding(CdfError::Size { found }))?;
        let share = percent
            .text()
            .parse()
            .ok()
            .and_then(|ratio: Ratio| ratio.scale_exact(PERCENT))
            .filter(|share| *share <= SizeCdf::UNIT);
        let found = percent.excerpt();
        let share = share.ok_or_else(|| percent.finding(CdfError::Percent { found }))?;
        let point = CdfPoint { size: bytes, share };
        Ok(Self {
            point,
            size,
            percent,
        })
    }
}

fn check(source: SourceText<'_>, points: &[ReadPoint<'_>]) -> Vec<Finding<CdfError>> {
    let [first, .., last] = points else {
        let found = points.len();
        return vec![finding_at_end(source, CdfError::Points { found })];
    };
    let falling = |what, found: &LinePart<'_>, before: &LinePart<'_>| {
        found.finding(CdfError::Falling {
            what,
            found: found.excerpt(),
            before: before.excerpt(),
        })
    };
    let mut findings = Vec::new();
    for pair in points.windows(2) {
        let before = &pair[0];
        let after = &pair[1];
        if after.point.size < before.point.size {
            findings.push(falling("size", &after.size, &before.size));
        }
        if after.point.share < before.point.share {
            findings.push(falling("percentage", &after.percent, &before.percent));
        }
    }
    if first.point.share != 0 {
        let found = first.percent.excerpt();
        findings.push(first.percent.finding(CdfError::Start { found }));
    }
    if last.point.share != SizeCdf::UNIT {
        let found = last.percent.excerpt();
        findings.push(last.percent.finding(CdfError::End { found }));
    } else if last.point.size == Bytes::ZERO {
        findings.push(last.size.finding(CdfError::Empty));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cdf(rows: &str) -> SizeCdf {
        SizeCdf::parse("f.csv", &format!("bytes,percent\n{rows}")).unwrap()
    }

    #[test]
    fn the_mean_is_exact() {
        assert_eq!(cdf("0,0\n100,100").mean(), Ratio::new(50, 1).unwrap());
        // 15 % of the flows have a mean size of 5, and 85 % one of 55.
        let mean = cdf("0,0\n10,15\n100,100").mean();
        assert_eq!(mean, Ratio::new(15 * 5 + 85 * 55, 100).unwrap());
    }

    #[test]
    fn quantiles_are_linear_between_points_and_at_least_a_byte() {
        let cdf = cdf("0,0\n1000,50\n3000,100");
        assert_eq!(cdf.quantile(0), Bytes::new(1));
        assert_eq!(cdf.quantile(1 << 62), Bytes::new(500));
        assert_eq!(cdf.quantile(1 << 63), Bytes::new(1000));
        assert_eq!(cdf.quantile(3 << 62), Bytes::new(2000));
        assert_eq!(cdf.quantile(u64::MAX), Bytes::new(2999));
    }

    #[test]
    fn a_jump_is_a_size_of_its_own() {
        let cdf = cdf("1000,0\n1000,40\n2000,40\n2000,100");
        assert_eq!(cdf.quantile(1 << 62), Bytes::new(1000));
        assert_eq!(cdf.quantile(u64::MAX), Bytes::new(2000));
        assert_eq!(cdf.mean(), Ratio::new(1600, 1).unwrap());
    }

    #[test]
    fn the_workloads_that_come_with_the_lab_are_read() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/workloads");
        let names = ["alistorage", "bulk", "fbhadoop", "googlerpc", "websearch"];
        let means = names.map(|name| {
            let text = std::fs::read_to_string(format!("{folder}/{name}.csv")).unwrap();
            let cdf = SizeCdf::parse(name, &text).unwrap();
            (name, cdf.mean().scale_nearest(1))
        });
        insta::assert_debug_snapshot!(means);
    }
}
