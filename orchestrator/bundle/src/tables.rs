//! Compares the rows of two runs table by table, matching rows by their keys.

use std::{
    cmp::Ordering,
    fmt::Write,
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Read},
    path::{Path, PathBuf},
};

use lab_files::Links;
use lab_records::{
    Batch, DecisionRow, FlowRow, LinkRow, PathRow, PfcRow, PortRow, QueueRow, RateRow,
    RecordsError, Row, RunDir, SplitRow, StoryRow, SwitchRow, Values,
};
use serde::Serialize;

/// Differences between two runs in one table.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct TableDifference {
    /// File name of the table.
    pub table: &'static str,
    /// True if the two runs' files are identical byte for byte.
    pub same_bytes: bool,
    /// Number of rows whose key occurs in both runs but whose other values differ.
    pub changed: u64,
    /// Number of rows in the first run whose key does not occur in the second.
    pub only_first: u64,
    /// Number of rows in the second run whose key does not occur in the first.
    pub only_second: u64,
    /// Number of rows in the first run; `None` if the files are identical, because they are not read then.
    pub rows: Option<u64>,
}

impl TableDifference {
    /// Returns true if the tables have the same rows.
    #[must_use]
    pub const fn is_same(&self) -> bool {
        self.changed == 0 && self.only_first == 0 && self.only_second == 0
    }
}

/// Operation on every table in turn, generic over the row type.
trait Visitor {
    /// Processes the table of row type `R`, whose rows are identified by policy, repetition and the columns `key`.
    fn visit<R: Row>(&mut self, key: &[&str]) -> Result<(), RecordsError>;
}

/// Applies `visitor` to every table that an engine writes while flows run; tables derived from these later are left
/// out.
fn visit_tables(visitor: &mut impl Visitor) -> Result<(), RecordsError> {
    visitor.visit::<FlowRow>(&["flow_id"])?;
    visitor.visit::<PathRow>(&["flow_id", "path"])?;
    visitor.visit::<DecisionRow>(&["time_ns", "switch", "flow_id", "src", "dst", "sport"])?;
    visitor.visit::<LinkRow>(&["time_ns", "link", "from_dc"])?;
    visitor.visit::<QueueRow>(&["time_ns", "switch", "port"])?;
    visitor.visit::<SwitchRow>(&["time_ns", "switch"])?;
    visitor.visit::<SplitRow>(&["time_ns", "switch", "to_dc"])?;
    visitor.visit::<PortRow>(&["node", "port"])?;
    visitor.visit::<PfcRow>(&["time_ns", "node", "port", "priority"])?;
    visitor.visit::<RateRow>(&["time_ns", "flow_id"])?;
    visitor.visit::<StoryRow>(&["flow_id", "time_ns", "event"])
}

/// Reads all rows that the engine of `run` wrote, to check that they can be parsed.
///
/// # Errors
/// If a table cannot be read, or a table is missing that every run has.
pub fn check_tables(run: &RunDir) -> Result<(), RecordsError> {
    struct ReadTables<'a>(&'a RunDir);
    impl Visitor for ReadTables<'_> {
        fn visit<R: Row>(&mut self, _key: &[&str]) -> Result<(), RecordsError> {
            self.0.visit(|_: R| {}).map(drop)
        }
    }
    visit_tables(&mut ReadTables(run))
}

/// Compares each table that engines write while flows run and that at least one of the two runs has.
///
/// # Errors
/// If a table cannot be read.
pub fn compare_tables(
    first: &RunDir,
    second: &RunDir,
) -> Result<Vec<TableDifference>, RecordsError> {
    let mut comparison = TableComparison {
        runs: [first, second],
        found: Vec::new(),
    };
    visit_tables(&mut comparison)?;
    Ok(comparison.found)
}

/// Comparison of two runs, table by table.
struct TableComparison<'a> {
    runs: [&'a RunDir; 2],
    found: Vec<TableDifference>,
}

impl Visitor for TableComparison<'_> {
    fn visit<R: Row>(&mut self, key: &[&str]) -> Result<(), RecordsError> {
        let files = self.runs.map(file_of::<R>);
        if files.iter().all(Option::is_none) {
            return Ok(());
        }
        let mut difference = TableDifference {
            table: R::FILE,
            same_bytes: match &files {
                [Some(first), Some(second)] => are_equal(first, second).unwrap_or(false),
                _ => false,
            },
            changed: 0,
            only_first: 0,
            only_second: 0,
            rows: None,
        };
        if !difference.same_bytes {
            let key = [&["policy", "repetition"], key].concat();
            let [first, second] = self.runs.map(|run| hashes::<R>(run, &key));
            let first = first?;
            let second = second?;
            difference.rows = Some(first.len() as u64);
            difference.count(&first, &second);
        }
        self.found.push(difference);
        Ok(())
    }
}

/// Returns the path of the table's file, CSV or Parquet; `None` if the run has neither.
fn file_of<R: Row>(run: &RunDir) -> Option<PathBuf> {
    let csv = run.path().join(R::FILE);
    let parquet = csv.with_extension("parquet");
    [parquet, csv].into_iter().find(|path| path.is_file())
}

fn are_equal(first: &Path, second: &Path) -> io::Result<bool> {
    let open = |path| lab_files::open(path, Links::Refuse);
    let mut first = open(first)?;
    let mut second = open(second)?;
    if first.metadata()?.len() != second.metadata()?.len() {
        return Ok(false);
    }
    let mut one = Vec::new();
    let mut other = Vec::new();
    loop {
        one.clear();
        other.clear();
        let count = (&mut first).take(BLOCK).read_to_end(&mut one)?;
        (&mut second).take(BLOCK).read_to_end(&mut other)?;
        if one != other {
            return Ok(false);
        }
        if count == 0 {
            return Ok(true);
        }
    }
}

/// Returns the hashes of each row's key and values, sorted: 16 bytes per row.
fn hashes<R: Row>(run: &RunDir, key: &[&str]) -> Result<Vec<(u64, u64)>, RecordsError> {
    let names: Vec<&str> = R::COLUMNS.iter().map(|column| column.name).collect();
    let mut hashes = Vec::new();
    run.visit_batches::<R, RecordsError>(&names, |batch| {
        hashes.extend((0..batch.len()).map(|row| hash_row(batch, row, key)));
        Ok(())
    })?;
    hashes.sort_unstable();
    Ok(hashes)
}

fn hash_row(batch: &Batch, row: usize, key: &[&str]) -> (u64, u64) {
    let mut hashers = (DefaultHasher::new(), DefaultHasher::new());
    let mut text = String::new();
    for (column, values) in batch.columns() {
        text.clear();
        // Writing to a string cannot fail.
        let _ = match values {
            Values::Integers(values) => write!(text, "{:?}", values[row]),
            Values::Floats(values) => write!(text, "{:?}", values[row].map(f64::to_bits)),
            Values::Texts(texts) => write!(text, "{:?}", texts.at(row)),
        };
        if key.contains(&column.name) {
            text.hash(&mut hashers.0);
        }
        text.hash(&mut hashers.1);
    }
    (hashers.0.finish(), hashers.1.finish())
}

impl TableDifference {
    /// Counts the rows that differ between two tables, given as sorted hashes of keys and rows. If several rows have
    /// the same key, rows with equal values are matched first.
    fn count(&mut self, mut first: &[(u64, u64)], mut second: &[(u64, u64)]) {
        while let Some(key) = [first.first(), second.first()]
            .into_iter()
            .flatten()
            .map(|row| row.0)
            .min()
        {
            let (ours, rest) = first.split_at(first.partition_point(|row| row.0 == key));
            first = rest;
            let (theirs, rest) = second.split_at(second.partition_point(|row| row.0 == key));
            second = rest;
            let same = common(ours, theirs);
            let ours = ours.len() as u64 - same;
            let theirs = theirs.len() as u64 - same;
            let changed = ours.min(theirs);
            self.changed += changed;
            self.only_first += ours - changed;
            self.only_second += theirs - changed;
        }
    }
}

/// Returns the number of rows that occur in both sorted lists.
fn common(mut first: &[(u64, u64)], mut second: &[(u64, u64)]) -> u64 {
    let mut count = 0;
    while let ([one, others @ ..], [other, rest @ ..]) = (first, second) {
        match one.cmp(other) {
            Ordering::Less => first = others,
            Ordering::Greater => second = rest,
            Ordering::Equal => (count, first, second) = (count + 1, others, rest),
        }
    }
    count
}

/// Number of bytes compared at a time when two files are tested for equality.
const BLOCK: u64 = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(first: &[(u64, u64)], second: &[(u64, u64)]) -> [u64; 3] {
        let mut difference = TableDifference {
            table: "flows.csv",
            same_bytes: false,
            changed: 0,
            only_first: 0,
            only_second: 0,
            rows: None,
        };
        difference.count(first, second);
        [
            difference.changed,
            difference.only_first,
            difference.only_second,
        ]
    }

    #[test]
    fn rows_are_matched_by_key() {
        assert_eq!(counted(&[(1, 5), (2, 5)], &[(1, 5), (2, 5)]), [0, 0, 0]);
        assert_eq!(counted(&[(1, 5), (2, 5)], &[(1, 6), (3, 5)]), [1, 1, 1]);
        assert_eq!(counted(&[(1, 5), (1, 6)], &[(1, 6), (1, 7)]), [1, 0, 0]);
        assert_eq!(counted(&[], &[(1, 6), (1, 7)]), [0, 0, 2]);
        assert_eq!(counted(&[(1, 6), (1, 6)], &[(1, 6)]), [0, 1, 0]);
    }
}
