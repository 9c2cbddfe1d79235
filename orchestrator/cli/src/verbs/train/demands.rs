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

/// Maximum number of intervals, which bounds the memory that a file can use.
const MAX_INTERVALS: usize = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        let path = Path::new("scenarios/8dc.yaml");
        let loaded = load::load(path).expect("a built-in scenario");
        let options = lab_plan::PlanOptions {
            engine: lab_plan::Engine::Sim,
            policies: Some(vec!["ecmp".to_owned()]),
            ..lab_plan::PlanOptions::default()
        };
        load::resolve(&loaded, path, &options).expect("a plan")
    }

    /// Only DC1 and DC8 have hosts: their switches have one row, all others two.
    #[test]
    fn demands_are_read_by_interval_and_pair() {
        let plan = plan();
        let text = "interval,from,to,bytes\n0,dc1,dc8,1000\n\n2, dc8, dc1, 7\n";
        let Intervals(read) = parse(text, &plan).expect("demands");
        let bytes = |interval: usize, dc: usize| read[interval][dc][0].get();
        assert_eq!(read.len(), 3);
        assert_eq!([bytes(0, 0), bytes(1, 0), bytes(2, 0)], [1_000, 0, 0]);
        assert_eq!([bytes(0, 7), bytes(2, 7)], [0, 7]);
    }

    #[test]
    fn a_wrong_line_is_refused_with_its_number() {
        let plan = plan();
        for (line, said) in [
            ("0,dc1,dc8", "line 2: there are not four fields"),
            ("x,dc1,dc8,1", "line 2: the interval is not a number"),
            (
                "100000,dc1,dc8,1",
                "line 2: intervals are numbered from 0 to 99999",
            ),
            ("0,dc1,dc8,-1", "line 2: the bytes are not a number"),
            ("0,dc9,dc8,1", "line 2: there is no such sending datacenter"),
            (
                "0,dc1,dc2,1",
                "line 2: the receiving datacenter has no hosts, or is the sending one",
            ),
        ] {
            let error = parse(&format!("{HEADER}\n{line}\n"), &plan).expect_err(line);
            assert_eq!(error, said);
        }
        assert!(parse("", &plan).is_err());
    }
}
