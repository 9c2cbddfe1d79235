//! Demand matrices: CSV rows `from,to,rate`, demands of an SNDlib network, and REPETITA's `.demands`.

use std::ops::Range;

use lab_topologies::{Format, ImportError, format::by_extension, read, repetita};
use lab_units::{BitsPerSec, Ratio};

use super::rows::{LinePart, rows};
use crate::{
    error::{DemandError, Finding, ProblemKind, ScenarioErrors, SourceText},
    limits,
};

/// Rate of a demand matrix above zero, with its two ends as the file names them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct FileDemand {
    pub from: DemandEnd,
    pub to: DemandEnd,
    pub rate: BitsPerSec,
    /// Byte range in the file.
    pub range: Range<usize>,
}

/// Sender or receiver of a demand, as a file names it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum DemandEnd {
    /// Name of a datacenter, or the label of its node.
    Name(String),
    /// Index of a node in the graph of which the topology was made.
    Node(usize),
}

/// Format of a demand matrix.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum DemandFormat {
    Csv,
    /// Network of SNDlib, whose rates are in Mbit/s.
    SndLib,
    /// REPETITA's list, whose rates are in kbit/s.
    Repetita,
}

impl DemandFormat {
    /// Extensions of file names, with the formats that they stand for.
    pub const EXTENSIONS: [(&str, Self); 3] = [
        ("csv", Self::Csv),
        ("xml", Self::SndLib),
        ("demands", Self::Repetita),
    ];

    /// Returns the format of the file at `path`, by the extension; `None` if no format has this extension.
    pub fn of_path(path: &str) -> Option<Self> {
        by_extension(&Self::EXTENSIONS, path)
    }
}

/// Parses the demands above zero of `source`. `is_own_graph` is true if the topology was made of this file, and `nodes`
/// is the number of nodes in the graph of which it was made, to which REPETITA's format refers.
///
/// # Errors
/// If the text does not have the format, or a rate is no rate.
pub(crate) fn parse_demands(
    format: DemandFormat,
    source: SourceText<'_>,
    is_own_graph: bool,
    nodes: usize,
) -> Result<Vec<FileDemand>, ScenarioErrors> {
    match format {
        DemandFormat::Csv => of_csv(source),
        DemandFormat::SndLib => {
            let graph = read(Format::Xml, source.text.as_bytes())
                .map_err(|error| refused(source, error))?;
            let name = |node: usize| {
                if is_own_graph {
                    DemandEnd::Node(node)
                } else {
                    DemandEnd::Name(graph.nodes[node].id.clone())
                }
            };
            let demands = graph.demands.iter().map(|demand| FileDemand {
                from: name(demand.ends[0]),
                to: name(demand.ends[1]),
                rate: demand.rate,
                range: demand.range.clone(),
            });
            Ok(demands.collect())
        }
        DemandFormat::Repetita => {
            let read =
                repetita::demands(source.text, nodes).map_err(|error| refused(source, error))?;
            let demands = read.into_iter().map(|demand| FileDemand {
                from: DemandEnd::Node(demand.ends[0]),
                to: DemandEnd::Node(demand.ends[1]),
                rate: demand.rate,
                range: demand.range,
            });
            Ok(demands.collect())
        }
    }
}

fn refused(source: SourceText<'_>, error: ImportError) -> ScenarioErrors {
    let finding = Finding {
        range: error.range,
        kind: ProblemKind::from(error.kind),
    };
    let refused = ScenarioErrors::check(source, vec![finding], |_| error.path.clone());
    refused.expect_err("a finding is a problem")
}

fn of_csv(source: SourceText<'_>) -> Result<Vec<FileDemand>, ScenarioErrors> {
    let mut findings = Vec::new();
    let mut demands = Vec::new();
    let mut rows = rows(source);
    if let Some(row) = rows.next()
        && !is_header(&row)
    {
        let found = row.excerpt();
        findings.push(row.finding(DemandError::Header { found }));
    }
    for (count, row) in rows.enumerate() {
        if count >= limits::MAX_DEMANDS {
            findings.push(row.finding(DemandError::TooMany));
            break;
        }
        match of_row(&row) {
            Ok(demand) => demands.extend(demand),
            Err(finding) => findings.push(finding),
        }
    }
    ScenarioErrors::check(source, findings, |_| None)?;
    Ok(demands)
}

fn is_header(row: &LinePart<'_>) -> bool {
    let fields = row.comma_fields();
    fields.iter().map(LinePart::text).eq(["from", "to", "rate"])
}

/// Returns the demand of a row; `None` if its rate is zero.
fn of_row(row: &LinePart<'_>) -> Result<Option<FileDemand>, Finding<DemandError>> {
    let fields = row.comma_fields();
    let [from, to, rate] = &fields[..] else {
        let found = fields.len();
        return Err(row.finding(DemandError::Fields { found }));
    };
    let bps = bits_per_second(rate.text()).ok_or_else(|| {
        let found = rate.excerpt();
        rate.finding(DemandError::Rate { found })
    })?;
    let end = |field: &LinePart<'_>| DemandEnd::Name(field.text().to_owned());
    Ok(BitsPerSec::new(bps).map(|rate| FileDemand {
        from: end(from),
        to: end(to),
        rate,
        range: row.range(),
    }))
}

/// Parses a rate such as `10 Gbit`, or a number of bits per second, rounded to a whole one; `None` for anything else.
fn bits_per_second(text: &str) -> Option<u64> {
    let bps = match text.parse::<Ratio>() {
        Ok(_) if text.ends_with('%') || text.contains('/') => return None,
        Ok(plain) => plain.scale_nearest(1),
        Err(_) => match text.parse::<BitsPerSec>() {
            Ok(rate) => rate.get(),
            Err(lab_units::ParseQuantityError::Zero { .. }) => 0,
            Err(_) => return None,
        },
    };
    (bps <= limits::MAX_DEMAND_BPS).then_some(bps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_of_bits_per_second_or_has_its_unit() {
        for (text, bps) in [
            ("10 Gbps", 10_000_000_000),
            ("1.5 Gbit", 1_500_000_000),
            ("2000000", 2_000_000),
            ("0", 0),
            ("0 Gbit", 0),
            ("1 Tbit", 1_000_000_000_000),
        ] {
            assert_eq!(bits_per_second(text), Some(bps), "{text}");
        }
        for refused in [
            "",
            "-1",
            "-1 Gbit",
            "NaN",
            "inf",
            "10 GB",
            "50%",
            "1/2",
            "1001 Tbit",
        ] {
            assert_eq!(bits_per_second(refused), None, "{refused}");
        }
    }

    #[test]
    fn the_extension_gives_the_format() {
        let of = DemandFormat::of_path;
        assert_eq!(of("a/b.CSV"), Some(DemandFormat::Csv));
        assert_eq!(of("abilene.xml"), Some(DemandFormat::SndLib));
        assert_eq!(of("Abilene.0000.demands"), Some(DemandFormat::Repetita));
        assert_eq!((of("a.graph"), of("csv")), (None, None));
    }
}
