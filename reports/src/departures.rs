//! Parameters in which a run's policies depart from their publications, for tables and legends.

use lab_records::{Departure, RunInfo};

/// Returns the parameters of `policy` that differ from the policy's publication; empty for records of an earlier
/// lcmp-lab, which do not have them.
pub fn of<'a>(info: &'a RunInfo, policy: &str) -> &'a [Departure] {
    let mut settings = info.provenance.policies.iter();
    let found = settings.find(|settings| settings.policy == policy);
    found.map_or(&[], |settings| &settings.departures)
}

/// Formats parameters that differ from the publication, with references, in one line.
pub fn listed(departures: &[Departure]) -> String {
    let words: Vec<String> = departures.iter().map(ToString::to_string).collect();
    words.join(", ")
}

/// Returns the text that follows the label of `policy` in figure legends: the parameters that differ from the policy's
/// publication, or only their number if that text is too long. Empty if no parameter differs, or if the run has too
/// many policies for a legend.
pub fn legend(info: &RunInfo, policy: &str) -> String {
    let departures = of(info, policy);
    if departures.is_empty() || info.policies.len() > MAX_POLICIES {
        return String::new();
    }
    let words = departures
        .iter()
        .map(Departure::short)
        .collect::<Vec<_>>()
        .join(", ");
    if words.chars().count() > MAX_CHARS {
        format!("{} parameters differ from the paper's", departures.len())
    } else {
        words
    }
}

/// Maximum number of policies with which legends show parameters.
const MAX_POLICIES: usize = 8;

/// Maximum length of the parameters in a legend, characters; a longer text is replaced by a count.
const MAX_CHARS: usize = 40;

#[cfg(test)]
mod tests {
    use lab_records::{PolicySettings, Reference};
    use lab_sample as sample;

    use super::*;

    fn departure(parameter: &str, value: &str) -> Departure {
        Departure {
            parameter: parameter.to_owned(),
            value: value.to_owned(),
            reference: Reference::Paper("32 or 64 ms".to_owned()),
        }
    }

    fn info(policies: usize, departures: Vec<Departure>) -> RunInfo {
        let mut info = sample::info();
        info.policies = vec!["lcmp".to_owned(); policies];
        info.provenance.policies = vec![PolicySettings {
            policy: "lcmp".to_owned(),
            parameters: serde_json::Value::Null,
            values: Vec::new(),
            departures,
        }];
        info
    }

    #[test]
    fn a_legend_names_parameters_where_there_is_room() {
        let one = vec![departure("max_delay", "524 ms")];
        assert_eq!(listed(&one), "max_delay 524 ms (paper: 32 or 64 ms)");
        assert_eq!(legend(&info(2, one.clone()), "lcmp"), "max_delay 524 ms");
        assert_eq!(legend(&info(2, one.clone()), "ecmp"), "");
        assert_eq!(legend(&info(9, one.clone()), "lcmp"), "");
        let many = vec![one[0].clone(); 3];
        assert_eq!(
            legend(&info(2, many), "lcmp"),
            "3 parameters differ from the paper's"
        );
    }
}
