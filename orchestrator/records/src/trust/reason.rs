//! Reasons not to trust a run, as codes with figures.

use serde::{Deserialize, Serialize, Serializer};

use super::{
    bounds::{float, share, whole},
    code::ReasonCode,
    grade::Grade,
};

/// Reason not to trust a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reason {
    /// Grade that this reason gives the run, unless another reason gives a worse one.
    pub grade: Grade,
    /// Kind of reason.
    pub code: ReasonCode,
    /// Object that the figure is about, such as a policy, or a link with its problem; for a fact without a figure, the
    /// engine's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Figure: a count, a share, or a time in nanoseconds; `None` for a fact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "plain_number")]
    pub value: Option<f64>,
    /// Total of which the figure is a part; if given, the bound applies to the share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
    /// Maximum figure or share in a valid run; `None` for a fact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "plain_number")]
    pub bound: Option<f64>,
}

impl Reason {
    /// Creates the reason for a fact without a figure.
    #[must_use]
    pub const fn fact(grade: Grade, code: ReasonCode) -> Self {
        Self {
            grade,
            code,
            subject: None,
            value: None,
            of: None,
            bound: None,
        }
    }

    /// Creates the reason for the figure `value`, graded by the bounds of `code`; the grade is valid if the figure is
    /// within its bound.
    #[must_use]
    pub fn figure(code: ReasonCode, value: f64) -> Self {
        Self::judged(code, value, None)
    }

    /// Creates the reason for the count `count`, graded by the bounds of `code`.
    #[must_use]
    pub fn count(code: ReasonCode, count: u64) -> Self {
        Self::judged(code, float(count), None)
    }

    /// Creates the reason for `part` of `whole`, whose share is graded by the bounds of `code`.
    #[must_use]
    pub fn part(code: ReasonCode, part: u64, whole: u64) -> Self {
        Self::judged(code, float(part), Some(whole))
    }

    fn judged(code: ReasonCode, value: f64, of: Option<u64>) -> Self {
        let bound = code.bound();
        let held = of.map_or(value, |whole| share(value, whole));
        Self {
            value: Some(value),
            of,
            bound: bound.map(|bound| bound.doubtful),
            ..Self::fact(bound.map_or(Grade::Valid, |bound| bound.grade(held)), code)
        }
    }

    /// Returns this reason with `subject` as the object of its figure.
    #[must_use]
    pub fn of(self, subject: impl Into<String>) -> Self {
        Self {
            subject: Some(subject.into()),
            ..self
        }
    }

    /// Returns the figure as a count, rounded down; 0 for a fact.
    #[must_use]
    pub fn whole(&self) -> u64 {
        whole(self.value.unwrap_or_default())
    }

    /// Returns this reason with the grade `grade`, for figures that do not decide the grade alone.
    #[must_use]
    pub fn graded(self, grade: Grade) -> Self {
        Self { grade, ..self }
    }
}

/// Serialises a number without a fraction as an integer.
fn plain_number<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match *value {
        Some(value) if float(whole(value)).total_cmp(&value).is_eq() => {
            serializer.serialize_u64(whole(value))
        }
        value => value.serialize(serializer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_written_with_its_code_and_bound() {
        for (reason, json) in [
            (
                Reason::part(ReasonCode::LateFlows, 3, 20),
                r#"{"grade":"invalid","code":"late-flows","value":3,"of":20,"bound":0.001}"#,
            ),
            (
                Reason::figure(ReasonCode::BusyCpus, 0.95),
                r#"{"grade":"doubtful","code":"busy-cpus","value":0.95,"bound":0.9}"#,
            ),
            (
                Reason::fact(Grade::Doubtful, ReasonCode::EngineProblem).of("dc1 failed"),
                r#"{"grade":"doubtful","code":"engine-problem","subject":"dc1 failed"}"#,
            ),
        ] {
            let written = serde_json::to_string(&reason).expect("plain data");
            assert_eq!(written, json);
            let read: Reason = serde_json::from_str(json).expect("a reason");
            assert_eq!(read, reason);
        }
    }

    #[test]
    fn a_code_is_written_as_its_name() {
        for code in ReasonCode::ALL {
            let written = serde_json::to_value(code).expect("plain data");
            assert_eq!(written, code.name());
        }
    }
}
