//! Flow lists in the format of the paper's artifact.
//!
//! Besides `#` comments, a file has the number of flows in its first row, then one row per flow: source host,
//! destination host, priority group, destination port, bytes, and start in seconds with up to nine decimals.

use lab_units::{Bytes, Nanos, Ratio};

use super::rows::{LinePart, finding_at_end, rows};
use crate::{
    error::{Finding, FlowFileError, ScenarioErrors, SourceText},
    limits,
};

/// One flow of a flow file. Hosts are given by the artifact's node ids, numbered from zero.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FileFlow {
    /// Line of the file, from 1.
    pub line: usize,
    /// Node id of the sending host.
    pub src: u32,
    /// Node id of the receiving host.
    pub dst: u32,
    /// Priority group, which is always 3 in the artifact.
    pub priority_group: u8,
    /// Destination port, which is always 100 in the artifact.
    pub dst_port: u16,
    /// Number of bytes to transfer.
    pub size: Bytes,
    /// Start in the artifact's simulation time, in which the first flows start at two seconds.
    pub start: Nanos,
}

/// Parses the text of a flow file.
pub fn parse_flow_file(file: &str, text: &str) -> Result<Vec<FileFlow>, ScenarioErrors> {
    let source = SourceText { name: file, text };
    let mut flows = Vec::new();
    let mut findings = Vec::new();
    let mut rows = rows(source);
    match rows.next() {
        Some(head) => read(&head, rows, &mut flows, &mut findings),
        None => findings.push(finding_at_end(source, FlowFileError::Empty)),
    }
    ScenarioErrors::check(source, findings, |_| None)?;
    Ok(flows)
}

fn read<'a>(
    head: &LinePart<'a>,
    rows: impl Iterator<Item = LinePart<'a>>,
    flows: &mut Vec<FileFlow>,
    findings: &mut Vec<Finding<FlowFileError>>,
) {
    let mut found = 0;
    for row in rows.take(limits::MAX_FLOWS + 1) {
        found += 1;
        match flow(&row) {
            Ok(flow) => flows.push(flow),
            Err(finding) => findings.push(finding),
        }
    }
    match count(head) {
        Ok(announced) if announced == found => {}
        Ok(announced) => {
            findings.push(head.finding(FlowFileError::CountDiffers { found, announced }));
        }
        Err(finding) => findings.push(finding),
    }
}

fn count(head: &LinePart<'_>) -> Result<usize, Finding<FlowFileError>> {
    let count = head
        .text()
        .parse()
        .ok()
        .filter(|count| (1..=limits::MAX_FLOWS).contains(count));
    let found = head.excerpt();
    count.ok_or_else(|| head.finding(FlowFileError::Count { found }))
}

fn flow(row: &LinePart<'_>) -> Result<FileFlow, Finding<FlowFileError>> {
    let fields = row.blank_fields();
    let [src, dst, group, dst_port, size, start] = &fields[..] else {
        let found = fields.len();
        return Err(row.finding(FlowFileError::Fields { found }));
    };
    let most_host = u64::from(limits::MAX_HOSTS) - 1;
    let flow = FileFlow {
        line: row.line,
        src: number(src, "source", 0, most_host)?,
        dst: number(dst, "destination", 0, most_host)?,
        priority_group: number(group, "priority group", 0, u64::from(MAX_PRIORITY_GROUP))?,
        dst_port: number(dst_port, "destination port", 1, u64::from(u16::MAX))?,
        size: Bytes::new(number(size, "size", 1, limits::MAX_FLOW_SIZE.get())?),
        start: seconds(start)?,
    };
    if flow.src == flow.dst {
        return Err(dst.finding(FlowFileError::SelfFlow { host: flow.dst }));
    }
    Ok(flow)
}

fn number<T: TryFrom<u64>>(
    field: &LinePart<'_>,
    what: &'static str,
    min: u64,
    max: u64,
) -> Result<T, Finding<FlowFileError>> {
    let number = field
        .text()
        .parse()
        .ok()
        .filter(|number| (min..=max).contains(number))
        .and_then(|number| T::try_from(number).ok());
    let kind = || FlowFileError::Number {
        what,
        found: field.excerpt(),
        min,
        max,
    };
    number.ok_or_else(|| field.finding(kind()))
}

fn seconds(field: &LinePart<'_>) -> Result<Nanos, Finding<FlowFileError>> {
    let seconds: Option<Ratio> = field.text().parse().ok();
    let nanos = seconds.and_then(|seconds| seconds.scale_exact(1_000_000_000));
    let found = field.excerpt();
    nanos
        .map(Nanos::new)
        .ok_or_else(|| field.finding(FlowFileError::Start { found }))
}

/// Maximum priority group: the artifact's switches have eight queues per port.
const MAX_PRIORITY_GROUP: u8 = 7;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_with_comments_and_exact_times() {
        let text = "# src dst pg dport size start_time\n2\n5 116 3 100 325508 2.000060495\n13 122 3 100 1 2\n";
        let flows = parse_flow_file("f", text).unwrap();
        let first = FileFlow {
            line: 3,
            src: 5,
            dst: 116,
            priority_group: 3,
            dst_port: 100,
            size: Bytes::new(325_508),
            start: Nanos::new(2_000_060_495),
        };
        assert_eq!((flows.len(), flows[0]), (2, first));
    }

    #[test]
    fn a_missing_row_is_told() {
        let errors = parse_flow_file("f", "2\n5 116 3 100 325508 2\n").unwrap_err();
        assert_eq!(
            errors.problems()[0].message(),
            "the file has 1 flows, but its first row announces 2"
        );
    }
}
