//! Tables of published values, statements in the paper, and known causes of differences.
//!
//! Each table is a CSV file in `scenarios/paper/published/`; comments and columns name its source.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::catalogue::Case;

/// Published slowdowns of a policy in a case: p50 and p99 as means over the 20 size bins, with the lowest and highest
/// bin if known.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct SlowdownRow {
    pub figure: String,
    pub case: String,
    pub policy: String,
    pub p50: f64,
    pub p50_min: Option<f64>,
    pub p50_max: Option<f64>,
    pub p99: f64,
    pub p99_min: Option<f64>,
    pub p99_max: Option<f64>,
    pub source: String,
}

/// Published average utilisation of a link, in percent.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct UtilisationRow {
    pub figure: String,
    pub case: String,
    pub link: String,
    pub ecmp: f64,
    #[serde(rename = "ucmp-artifact")]
    pub ucmp: f64,
    pub lcmp: f64,
}

/// Changes in percent from a policy to LCMP that the paper's text states for a case, or for all cases of a figure
/// (`*`). A field is empty if the text states no change.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct TextRow {
    pub figure: String,
    pub case: String,
    pub base: String,
    pub p50_least: Option<f64>,
    pub p50_most: Option<f64>,
    pub p99_least: Option<f64>,
    pub p99_most: Option<f64>,
    pub source: String,
}

/// Value that the paper's text states about a policy or, if the policy is empty, about a network. The value lies
/// between `low` and `high`; one bound is empty if the text gives only the other bound.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct StatementRow {
    pub figure: String,
    pub case: String,
    pub policy: String,
    pub quantity: Quantity,
    /// Name of the link for a utilisation, or flow size in bytes for a percentile; empty for a range over all size
    /// bins.
    pub at: String,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub source: String,
}

/// Quantity that a [`StatementRow`] states.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Median slowdown in the bin that contains the flow size in `at`; if `at` is empty, the range over all bins.
    P50,
    /// 99th percentile of the slowdown, in the same bins as [`Quantity::P50`].
    P99,
    /// Increase of the median slowdown from LCMP to the policy, in percent.
    P50Rise,
    /// Increase of the 99th percentile from LCMP to the policy, in percent.
    P99Rise,
    /// Average utilisation of the link in `at`, in percent.
    Utilisation,
    /// Number of unordered pairs of datacenters.
    Pairs,
    /// Number of pairs of datacenters that have several paths with the fewest links.
    MultiPathPairs,
    /// Longest delay of an inter-DC link divided by the shortest.
    DelayRatio,
}

/// Published Pearson correlation of a percentile between the authors' testbed and simulator.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct FidelityRow {
    pub percentile: String,
    pub pearson: f64,
    pub source: String,
}

/// Statement of the paper's text that its published data or code contradict.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Contradiction {
    pub figure: String,
    pub text: String,
    pub data: String,
}

/// Known cause why simulated values differ from published ones; `*` in a column matches any value.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Cause {
    pub figure: String,
    pub case: String,
    pub policy: String,
    pub traffic: String,
    pub cause: String,
}

/// All tables of published values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Published {
    pub slowdowns: Vec<SlowdownRow>,
    pub utilisation: Vec<UtilisationRow>,
    pub text: Vec<TextRow>,
    pub statements: Vec<StatementRow>,
    pub fidelity: Vec<FidelityRow>,
    pub contradictions: Vec<Contradiction>,
    pub causes: Vec<Cause>,
}

/// Failure to parse a table, with the name of its file.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {source}")]
pub struct PublishedError {
    file: &'static str,
    source: csv::Error,
}

/// File names of the tables, in the order of [`Published::parse`].
pub const FILES: [&str; 7] = [
    "slowdown.csv",
    "utilisation.csv",
    "text.csv",
    "statements.csv",
    "fidelity.csv",
    "contradictions.csv",
    "causes.csv",
];

impl Published {
    /// Parses the tables from the texts of [`FILES`], in the same order.
    ///
    /// # Errors
    /// If the columns of a row do not match its table, or a field is not a valid number.
    pub fn parse(texts: &[String; 7]) -> Result<Self, PublishedError> {
        Ok(Self {
            slowdowns: rows(FILES[0], &texts[0])?,
            utilisation: rows(FILES[1], &texts[1])?,
            text: rows(FILES[2], &texts[2])?,
            statements: rows(FILES[3], &texts[3])?,
            fidelity: rows(FILES[4], &texts[4])?,
            contradictions: rows(FILES[5], &texts[5])?,
            causes: rows(FILES[6], &texts[6])?,
        })
    }

    /// Returns true if the paper's text states a change for the case.
    #[must_use]
    pub fn is_in_text(&self, case: &Case) -> bool {
        self.text.iter().any(|row| row.is_about(case))
    }

    /// Returns the changes from the policy `base` to LCMP that the paper's text states for the case; `base` is a label
    /// under the authors' semantics. `None` if the text states no change.
    #[must_use]
    pub fn stated(&self, case: &Case, base: &str) -> Option<&TextRow> {
        let mut rows = self.text.iter().filter(|row| row.is_about(case));
        rows.find(|row| row.base == base)
    }

    /// Returns the first known cause why a policy's simulated values differ from the published ones in a case; `None`
    /// if no cause is known.
    #[must_use]
    pub fn cause(&self, figure: &str, case: &str, policy: &str, is_drawn: bool) -> Option<&str> {
        let traffic = if is_drawn { "drawn" } else { "published" };
        let is = |column: &str, value: &str| column == "*" || column == value;
        let found = self.causes.iter().find(|row| {
            is(&row.figure, figure)
                && is(&row.case, case)
                && is(&row.policy, policy)
                && is(&row.traffic, traffic)
        });
        found.map(|row| row.cause.as_str())
    }
}

impl TextRow {
    /// Returns true if the row is for `case`, or for all cases of its figure.
    #[must_use]
    pub fn is_about(&self, case: &Case) -> bool {
        self.figure == case.figure.name() && ["*", case.name].contains(&&*self.case)
    }
}

fn rows<T: DeserializeOwned>(file: &'static str, text: &str) -> Result<Vec<T>, PublishedError> {
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .from_reader(text.as_bytes());
    let rows: Result<_, _> = reader.deserialize().collect();
    rows.map_err(|source| PublishedError { file, source })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::{fs, path::Path};

    use super::*;
    use crate::{CASES, Figure, catalogue::LCMP};

    /// Reads the tables of this repository.
    pub fn of_repository() -> Published {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/paper/published");
        let texts = FILES.map(|file| fs::read_to_string(folder.join(file)).unwrap());
        Published::parse(&texts).unwrap()
    }

    #[test]
    fn every_published_row_belongs_to_a_case_and_a_policy_of_it() {
        let published = of_repository();
        for row in &published.slowdowns {
            let case = CASES
                .iter()
                .find(|case| case.figure.name() == row.figure && case.name == row.case)
                .unwrap_or_else(|| panic!("{row:?}"));
            let is_known = row.policy == LCMP || case.against.contains(&&*row.policy);
            assert!(is_known, "{row:?}");
            // The stated ends of the ranges have three digits.
            let within = |value: f64, min: Option<f64>, max: Option<f64>| {
                min.is_none_or(|min| min <= value * 1.002)
                    && max.is_none_or(|max| value * 0.998 <= max)
            };
            assert!(within(row.p50, row.p50_min, row.p50_max), "{row:?}");
            assert!(within(row.p99, row.p99_min, row.p99_max), "{row:?}");
        }
        assert_eq!(published.utilisation.len(), 6);
    }

    #[test]
    fn every_statement_of_the_text_is_about_a_case_and_a_policy_of_it() {
        let published = of_repository();
        for row in &published.text {
            let case = CASES
                .iter()
                .find(|case| row.is_about(case))
                .unwrap_or_else(|| panic!("{row:?}"));
            assert!(case.against.contains(&&*row.base), "{row:?}");
        }
        for row in &published.statements {
            let case = CASES
                .iter()
                .find(|case| case.figure.name() == row.figure && case.name == row.case)
                .unwrap_or_else(|| panic!("{row:?}"));
            let is_known =
                ["", LCMP].contains(&&*row.policy) || case.against.contains(&&*row.policy);
            assert!(is_known, "{row:?}");
            assert!(row.low.or(row.high).is_some(), "{row:?}");
        }
    }

    #[test]
    fn the_text_leaves_out_google_rpc_and_the_traffic_between_all() {
        let published = of_repository();
        let left_out = CASES
            .iter()
            .filter(|case| matches!(case.figure, Figure::Fig9) && !published.is_in_text(case));
        let names: Vec<&str> = left_out.map(|case| case.name).collect();
        assert_eq!(names, ["WebSearch", "GoogleRPC"]);
    }

    #[test]
    fn the_first_cause_that_fits_is_the_cause() {
        let published = of_repository();
        let cause = |figure, policy, is_drawn| published.cause(figure, "30 %", policy, is_drawn);
        assert!(
            cause("fig5", "lcmp", true)
                .unwrap()
                .starts_with("the output is another run")
        );
        assert!(cause("fig5", "ecmp", true).unwrap().contains("not at hand"));
        assert_eq!(cause("fig5", "ecmp", false), None);
    }

    #[test]
    fn a_row_with_a_field_too_many_is_an_error() {
        let mut texts = FILES.map(|_| String::new());
        texts[4] = "percentile,pearson,source\np50,0.95,text,more\n".into();
        let error = Published::parse(&texts).unwrap_err().to_string();
        assert!(error.starts_with("fidelity.csv: "), "{error}");
    }
}
