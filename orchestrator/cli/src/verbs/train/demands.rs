//! Files of demands.

use std::path::Path;

use lab_plan::Plan;
use lab_redte_train::Intervals;
use lab_scenario::limits;
use lab_units::{Bytes, DcId};

use super::problem::row_of;
use crate::{failure::Failure, load};

/// Reads a file of demands: CSV with the columns `interval,from,to,bytes`. Intervals are numbered from 0; a pair of
/// datacenters that is absent from an interval sends nothing in it.
/// Fails on a file that cannot be read or parsed, with exit code 2.
pub fn read(path: &Path, plan: &Plan) -> Result<Intervals, Failure> {
    let text = load::read_text(path, limits::MAX_FILE_BYTES)?;
    parse(&text, plan)
        .map_err(|problem| Failure::usage(format_args!("{}: {problem}", path.display())))
}

fn parse(text: &str, plan: &Plan) -> Result<Intervals, String> {
    let mut lines = text.lines();
    if lines.next().map(str::trim) != Some(HEADER) {
        return Err(format!("the first line is not `{HEADER}`"));
    }
    let rows = plan.switches.iter();
    let none: Vec<Vec<Bytes>> = rows
        .map(|switch| vec![Bytes::ZERO; switch.destinations.len()])
        .collect();
    let mut intervals = Vec::new();
    for (number, line) in (2..).zip(lines).filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |what: &str| format!("line {number}: {what}");
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let [interval, from, to, bytes] = fields[..] else {
            return Err(wrong("there are not four fields"));
        };
        let interval: usize = interval
            .parse()
            .map_err(|_| wrong("the interval is not a number"))?;
        if interval >= MAX_INTERVALS {
            return Err(wrong(&format!(
                "intervals are numbered from 0 to {}",
                MAX_INTERVALS - 1
            )));
        }
        let bytes: u64 = bytes
            .parse()
            .map_err(|_| wrong("the bytes are not a number"))?;
        let from = dc(plan, from).ok_or_else(|| wrong("there is no such sending datacenter"))?;
        let to = dc(plan, to).ok_or_else(|| wrong("there is no such receiving datacenter"))?;
        let row = row_of(plan, from, to)
            .ok_or_else(|| wrong("the receiving datacenter has no hosts, or is the sending one"))?;
        if intervals.len() <= interval {
            intervals.resize(interval + 1, none.clone());
        }
        intervals[interval][from.index()][row] = Bytes::new(bytes);
    }
    Ok(Intervals(intervals))
}

fn dc(plan: &Plan, name: &str) -> Option<DcId> {
    let index = plan.dcs.iter().position(|dc| dc.name == name)?;
    DcId::from_index(index)
}

const HEADER: &str = "interval,from,to,bytes";

/// Maximum number of intervals, which bounds the memory that a file can ask for.
const MAX_INTERVALS: usize = 100_000;
