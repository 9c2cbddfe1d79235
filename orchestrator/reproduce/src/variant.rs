//! Modified scenarios of the paper's figures: with the published flows, with fair baselines, or with a tenth of the
//! duration.
//!
//! The scenario's text is modified line by line, so that a run directory contains the scenario that was run. A line
//! that should be modified but is missing is an error, so the unmodified scenario is never run by mistake.

use serde::Serialize;

/// Source of a case's values, a column in the report.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Files that the authors published.
    Published,
    /// Simulator with the authors' semantics and their UCMP.
    Simulated,
    /// The same simulator in trains of packets, an approximation.
    Trains,
    /// Kernel engine: a run in the lab.
    Emulated,
    /// Simulator with the paper's semantics; UCMP uses its own cost.
    Fair,
}

impl Source {
    /// All sources, in the order of the columns.
    pub const ALL: [Self; 5] = [
        Self::Published,
        Self::Simulated,
        Self::Trains,
        Self::Emulated,
        Self::Fair,
    ];

    /// Returns the column name of the source.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Simulated => "simulated",
            Self::Trains => "trains",
            Self::Emulated => "emulated",
            Self::Fair => "fair",
        }
    }

    /// Returns the label of a policy in runs of this source; `policy` is its label under the authors' semantics.
    #[must_use]
    pub fn label(self, policy: &str) -> &str {
        match (self, policy) {
            (Self::Fair, "ucmp-artifact") => "ucmp",
            (_, policy) => policy,
        }
    }
}

/// Modifications of a paper scenario.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Variant<'a> {
    /// True to replace the authors' semantics and baselines by the paper's semantics and fair baselines.
    pub is_fair: bool,
    /// True to let flows arrive only during a tenth of the duration.
    pub is_quick: bool,
    /// Files that replace the randomly drawn flows: the flows and, for the authors' semantics, the routing table.
    pub flows: Option<(&'a str, Option<&'a str>)>,
}

/// Line to be modified that the scenario does not have.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the scenario has no line `{0}` to change (hint: do not edit the paper's scenarios)")]
pub struct MissingLine(&'static str);

/// Returns the text of a scenario without its line `extends: …`, followed by the keys that it takes from `extended`,
/// the text of the scenario in that line. Both files must be in one folder, and each top-level key must start a line.
#[must_use]
pub fn with_extended(text: &str, extended: &str) -> String {
    let own = blocks(text);
    let is_own = |block: &Vec<&str>| {
        let key = key(block[0]);
        let is_there = own.iter().any(|own| self::key(own[0]) == key);
        matches!(key, Some("name" | "description")) || is_there && key != Some("extends")
    };
    let mut lines: Vec<String> = text
        .split('\n')
        .filter(|line| key(line) != Some("extends"))
        .map(str::to_owned)
        .collect();
    for block in blocks(extended).into_iter().filter(|block| !is_own(block)) {
        lines.extend(block.into_iter().map(str::to_owned));
        lines.push(String::new());
    }
    lines.join("\n")
}

/// Returns the path of the scenario that the scenario `text` extends; `None` if it extends none.
#[must_use]
pub fn extended(text: &str) -> Option<&str> {
    text.split('\n')
        .find_map(|line| line.strip_prefix("extends: "))
        .map(str::trim)
}

/// Returns the top-level keys of a text: the lines of each, without the comments and empty lines around it.
fn blocks(text: &str) -> Vec<Vec<&str>> {
    let mut blocks: Vec<Vec<&str>> = Vec::new();
    for line in text.split('\n') {
        if key(line).is_some() {
            blocks.push(vec![line]);
        } else if let Some(block) = blocks.last_mut()
            && line.starts_with(' ')
        {
            block.push(line);
        }
    }
    blocks
}

/// Returns the top-level key that starts on `line`; `None` if there is none.
fn key(line: &str) -> Option<&str> {
    let (key, _) = line.split_once(':')?;
    let is_key = |c: char| c.is_ascii_lowercase() || c == '_';
    (!key.is_empty() && key.chars().all(is_key)).then_some(key)
}

/// Returns the text of the scenario `name` with the modifications of `variant`.
///
/// # Errors
/// If the text lacks a line that must be modified.
pub fn derive(name: &str, text: &str, variant: &Variant<'_>) -> Result<String, MissingLine> {
    let mut lines = vec![format!("# {name}.yaml as `lcmp-lab reproduce` runs it.")];
    let mut done = Done::default();
    let from_name = text
        .split('\n')
        .skip_while(|line| !line.starts_with("name: "));
    for (number, line) in from_name.enumerate() {
        if number == 0 {
            lines.push(format!("{line}{}", suffix(variant)));
        } else if done.is_in_flows && !line.is_empty() {
            // The scenario must not draw flows as well.
        } else {
            done.is_in_flows = false;
            change(line, variant, &mut lines, &mut done);
        }
    }
    let needed = [
        (true, lines.len() > 1, "name: …"),
        (
            variant.is_fair,
            done.semantics,
            "transport: { semantics: artifact, …",
        ),
        (
            variant.is_fair,
            done.lcmp,
            "- lcmp: { preset: artifact, max_delay: … ms }",
        ),
        (variant.is_fair, done.buffer, ARTIFACT_BUFFER),
        (variant.is_quick, done.duration, "duration: …"),
        (variant.flows.is_some(), done.flows, "traffic:"),
    ];
    match needed
        .iter()
        .find(|(is_needed, is_done, _)| *is_needed && !is_done)
    {
        Some(&(.., line)) => Err(MissingLine(line)),
        None => Ok(lines.join("\n")),
    }
}

/// Modifications of a scenario made so far.
#[derive(Default)]
struct Done {
    is_in_flows: bool,
    flows: bool,
    semantics: bool,
    lcmp: bool,
    buffer: bool,
    duration: bool,
}

fn suffix(variant: &Variant<'_>) -> &'static str {
    match (variant.is_fair, variant.is_quick) {
        (false, false) => "",
        (true, false) => "-fair",
        (false, true) => "-quick",
        (true, true) => "-fair-quick",
    }
}

fn change(line: &str, variant: &Variant<'_>, lines: &mut Vec<String>, done: &mut Done) {
    if line == "traffic:"
        && let Some((file, _)) = variant.flows
    {
        lines.extend([line.to_owned(), format!("  - flow_file: {file}")]);
        (done.is_in_flows, done.flows) = (true, true);
        return;
    }
    if variant.is_quick
        && let Some(tenth) = line.trim_start().strip_prefix("duration: ").and_then(tenth)
    {
        lines.push(format!("      duration: {tenth}"));
        done.duration = true;
        return;
    }
    let is_transport = line.starts_with("transport: { semantics: artifact");
    done.semantics |= is_transport;
    if !variant.is_fair {
        lines.push(match variant.flows {
            Some((_, Some(routes))) if is_transport => {
                line.replace(" }", &format!(", routes: {routes} }}"))
            }
            _ => line.to_owned(),
        });
    } else if let Some(fair) = fair_lcmp(line) {
        lines.push(fair);
        done.lcmp = true;
    } else {
        done.buffer |= line.contains(ARTIFACT_BUFFER);
        let changes = FAIR.iter();
        lines.push(changes.fold(line.to_owned(), |line, (from, to)| line.replace(from, to)));
    }
}

/// Text replacements for the fair variant: UCMP by its own cost, PFC, which the paper's switches have, and the paper's
/// buffer sizes.
const FAIR: [(&str, &str); 4] = [
    ("- ucmp-artifact", "- ucmp"),
    ("semantics: artifact", "semantics: paper, pfc: true"),
    (ARTIFACT_BUFFER, "inter_dc: { buffer: 6 GB }"),
    (
        "# The artifact's buffer per device;",
        "# The paper's buffer;",
    ),
];

/// Buffers of inter-DC links in the authors' code.
const ARTIFACT_BUFFER: &str = "inter_dc: { buffer: 1000 MiB }";

/// Converts the line of the policy LCMP from the preset `artifact` to the paper's, with `max_delay` in microseconds,
/// rounded up to a power of two; `None` for other lines.
fn fair_lcmp(line: &str) -> Option<String> {
    let (before, rest) = line.split_once("preset: artifact, max_delay: ")?;
    let (millis, after) = rest.split_once(" ms")?;
    let micros = millis.parse::<u64>().ok()?.checked_mul(1_024)?;
    Some(format!("{before}max_delay: {micros} us{after}"))
}

/// Returns a tenth of a duration such as `5 ms`; `None` if it cannot be parsed.
fn tenth(duration: &str) -> Option<String> {
    let (number, unit) = duration.split_once(' ')?;
    let micros = match unit {
        "ms" => number.parse::<u64>().ok()?.checked_mul(1_000)?,
        "us" => number.parse().ok()?,
        _ => return None,
    };
    Some(format!("{} us", micros / 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# A header.\nname: fig1\n\ntopology:\n  defaults:\n    inter_dc: { buffer: 1000 MiB }\n\n\
        traffic:\n  - workload:\n      load: 0.3\n      \
        duration: 5 ms\n\npolicies:\n  - ecmp\n  - ucmp-artifact\n  - redte\n  - lcmp: { preset: \
        artifact, max_delay: 512 ms, label: rm-beta }\n\ntransport: { semantics: artifact, cc: dcqcn }\n";

    #[test]
    fn published_flows_take_the_place_of_drawn_ones() {
        let variant = Variant {
            flows: Some(("traffic/a.txt", Some("routes.csv"))),
            ..Variant::default()
        };
        let text = derive("fig1", TEXT, &variant).unwrap();
        assert_eq!(
            text,
            "# fig1.yaml as `lcmp-lab reproduce` runs it.\nname: fig1\n\ntopology:\n  defaults:\n    \
             inter_dc: { buffer: 1000 MiB }\n\ntraffic:\n  - flow_file: \
             traffic/a.txt\n\npolicies:\n  - ecmp\n  - ucmp-artifact\n  - redte\n  - lcmp: { preset: \
             artifact, max_delay: 512 ms, label: rm-beta }\n\ntransport: { semantics: artifact, cc: dcqcn, \
             routes: routes.csv }\n"
        );
    }

    /// Keys of the one text are left out of the other.
    #[test]
    fn keys_are_taken_from_the_extended_text() {
        let own =
            "# Header.\nname: b\ndescription: B\n\nextends: a.yaml\n\n# Why.\ntraffic:\n  - x\n\n";
        let other = "name: a\ndescription: A\ntopology:\n  dcs: []\n\ntraffic:\n  - y\n\n# Scale.\nscale: { rate: \
                     1 }\n\npolicies:\n  # First.\n  - ecmp\n";
        assert_eq!(extended(own), Some("a.yaml"));
        let whole = with_extended(own, other);
        assert_eq!(
            whole,
            "# Header.\nname: b\ndescription: B\n\n\n# Why.\ntraffic:\n  - x\n\n\ntopology:\n  dcs: []\n\nscale: { \
             rate: 1 }\n\npolicies:\n  # First.\n  - ecmp\n"
        );
        assert_eq!(extended(&whole), None);
        // The extended scenario extends another one: that is left to do.
        let next = with_extended("name: c\nextends: b.yaml", own);
        assert_eq!(extended(&next), Some("a.yaml"));
        assert!(next.contains("traffic:\n  - x\n"), "{next}");
    }

    #[test]
    fn fair_baselines_have_the_papers_semantics_and_a_short_run_a_tenth() {
        let variant = Variant {
            is_fair: true,
            is_quick: true,
            flows: None,
        };
        let text = derive("fig1", TEXT, &variant).unwrap();
        for line in [
            "name: fig1-fair-quick",
            "    inter_dc: { buffer: 6 GB }\n",
            "      duration: 500 us",
            "  - ucmp\n  - redte\n",
            "  - lcmp: { max_delay: 524288 us, label: rm-beta }",
            "transport: { semantics: paper, pfc: true, cc: dcqcn }",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }

    #[test]
    fn a_line_that_is_missing_is_an_error() {
        let fair = Variant {
            is_fair: true,
            ..Variant::default()
        };
        for (line, other) in [
            ("semantics: artifact", "semantics: paper"),
            ("buffer: 1000 MiB", "buffer: 6 GB"),
        ] {
            assert!(derive("fig1", &TEXT.replace(line, other), &fair).is_err());
        }
        let quick = Variant {
            is_quick: true,
            ..Variant::default()
        };
        assert!(derive("fig1", &TEXT.replace("duration", "max_flows"), &quick).is_err());
        assert!(derive("fig1", "", &Variant::default()).is_err());
    }
}
