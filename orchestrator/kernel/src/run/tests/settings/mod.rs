//! Test that no setting is silently ignored: for every key in a scenario and every mode, a different value must change
//! the effects, be refused, or cause a warning that names the key.
//!
//! - `keys`: keys of the JSON Schema
//! - `entries`: another value for each key, in a scenario in which the value has an effect
//! - `scenario`: scenarios, changed key by key
//! - `weights`: weight files of policies that need one
//! - `engines`: rows of a simulation, and everything that the kernel engine derives from a plan
//! - `table`: the outcomes in [scenarios/README.md](../../../../../scenarios/README.md)

mod engines;
mod entries;
mod keys;
mod scenario;
mod table;
mod weights;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Mutex,
    thread,
};

use lab_plan::model::Warning;

use self::{
    engines::{Mode, Seen},
    entries::{ENTRIES, Entry},
};

/// Outcome of changing a scenario key's value in one mode.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Outcome {
    /// The simulated rows change, or in lab mode what the kernel engine derives from the plan.
    Acts,
    /// The scenario is refused, and the error names the key.
    Refused,
    /// A warning with this code states that the key has no effect.
    Warned(String),
    /// The mode does not read the key, as the key's description in the schema states.
    Elsewhere,
    /// The key is only a name or label.
    Describes,
    /// Nothing changes and no warning names the key, or the scenario is refused with an error that does not name the
    /// key.
    Ignored(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Acts => f.write_str("acts"),
            Self::Refused => f.write_str("refused"),
            Self::Warned(code) => write!(f, "warned, `{code}`"),
            Self::Elsewhere => f.write_str("–"),
            Self::Describes => f.write_str("describes"),
            Self::Ignored(why) => write!(f, "IGNORED: {why}"),
        }
    }
}

/// Outcomes by scenario key: one outcome per mode, in the order of [`Mode::ALL`].
type Outcomes = BTreeMap<String, [Outcome; 3]>;

/// Keys that are only names or labels, which appear in titles, records and figures, or that have a single value.
const DESCRIBING: &[&str] = &[
    "name",
    "description",
    "topology.dcs[].name",
    "routing.tunnels.disjoint",
    "policies[].lcmp.label",
    "policies[].rm-alpha.label",
    "policies[].rm-beta.label",
    "policies[].ucmp.label",
    "policies[].te.label",
    "policies[].redte.label",
    "policies[].redte-direct.label",
    "policies[].static.label",
    "policies[].own.label",
];

/// Keys that some modes do not read. Each entry consists of the key (which includes all keys below it), the modes that
/// ignore it, and the words of its description that say so.
const ELSEWHERE: &[(&str, &[Mode], &str)] = &[
    (
        "repetitions.lab",
        &[Mode::Sim],
        "in the lab, and in `sim --scaled`",
    ),
    ("repetitions.sim", &[Mode::Scaled, Mode::Lab], "in `sim`"),
    (
        "scale",
        &[Mode::Sim],
        "`sim` without `--scaled` uses all quantities",
    ),
    ("expect", &Mode::ALL, "which `lcmp-lab regress` checks"),
];

/// Codes of the warnings which state that a setting has no effect.
const OF_NO_EFFECT: &[&str] = &[
    "buffer-ignored",
    "ecn-inside-dc",
    "late-fault",
    "late-window",
    "policy-not-in-kernel",
    "simulator-ignored",
    "transport-ignored",
    "unused-parameter",
];

#[test]
fn no_setting_of_a_scenario_is_silently_ignored() {
    let outcomes = outcomes();
    let ignored: Vec<String> = outcomes
        .iter()
        .flat_map(|(key, outcomes)| {
            let modes = Mode::ALL.into_iter().zip(outcomes);
            let ignored = modes.filter(|(_, outcome)| matches!(outcome, Outcome::Ignored(_)));
            ignored.map(move |(mode, outcome)| format!("`{key}` in {}: {outcome}", mode.title()))
        })
        .collect();
    assert!(ignored.is_empty(), "{}", ignored.join("\n"));
    table::is_in_the_readme(&outcomes);
}

#[test]
fn every_key_of_the_schema_has_an_entry() {
    let mut entries = BTreeSet::new();
    for key in ENTRIES.iter().flat_map(|entry| alternatives(entry.key)) {
        assert!(entries.insert(key.clone()), "`{key}` has two entries");
    }
    entries.extend(without_entry().map(|(key, _)| key.to_owned()));
    let keys = keys::of_the_schema();
    let missing: Vec<_> = keys.difference(&entries).collect();
    assert!(
        missing.is_empty(),
        "add entries in `settings/entries.rs` for {missing:#?}"
    );
    let unknown: Vec<_> = entries.difference(&keys).collect();
    assert!(unknown.is_empty(), "the schema has no {unknown:#?}");
}

#[test]
fn keys_for_other_modes_say_so() {
    for (key, _, words) in ELSEWHERE {
        let description = keys::description(key);
        assert!(description.contains(words), "`{key}`: {description}");
    }
}

/// Returns the keys that need no entry because no engine reads them, with their outcomes.
fn without_entry() -> impl Iterator<Item = (&'static str, Outcome)> {
    let describing = DESCRIBING.iter().map(|&key| (key, Outcome::Describes));
    let unread = ELSEWHERE.iter().filter(|(_, modes, _)| *modes == Mode::ALL);
    describing.chain(unread.map(|(key, ..)| (*key, Outcome::Elsewhere)))
}

/// Returns the keys that `pattern` stands for, one per alternative in its braces.
fn alternatives(pattern: &str) -> Vec<String> {
    let Some((before, rest)) = pattern.split_once('{') else {
        return vec![pattern.to_owned()];
    };
    let (words, after) = rest.split_once('}').expect("braces close");
    words
        .split(',')
        .map(|word| format!("{before}{word}{after}"))
        .collect()
}

/// Returns `pattern` with its braces replaced by the alternative at `index`; without braces, `pattern` itself.
fn chosen(pattern: &str, index: usize) -> String {
    let mut found = alternatives(pattern);
    found.swap_remove(if found.len() > 1 { index } else { 0 })
}

/// Key, and the texts of a scenario before and after the key's value is changed.
struct Change {
    key: String,
    texts: [String; 2],
}

impl Change {
    /// Returns the changes for all keys that `entry` stands for.
    fn of(entry: &Entry) -> impl Iterator<Item = Self> {
        alternatives(entry.key)
            .into_iter()
            .enumerate()
            .map(|(index, key)| {
                let mut changes: Vec<_> = entry
                    .with
                    .iter()
                    .map(|&(at, to)| (chosen(at, index), to))
                    .collect();
                let before = scenario::changed(entry.base, &changes);
                changes.push((chosen(entry.at, index), entry.to));
                let after = scenario::changed(entry.base, &changes);
                let texts = [before, after];
                Self { key, texts }
            })
    }
}

/// Returns the outcomes of all keys.
fn outcomes() -> Outcomes {
    let changes: Vec<Change> = ENTRIES.iter().flat_map(Change::of).collect();
    let runs = runs(&changes);
    let mut outcomes: Outcomes = changes
        .iter()
        .map(|change| {
            let of = |mode| {
                let [before, after] = change
                    .texts
                    .each_ref()
                    .map(|text| &runs[&(text.as_str(), mode)]);
                match before {
                    Ok(before) => outcome(&change.key, mode, before, after),
                    Err(error) => Outcome::Ignored(format!("its scenario is refused: {error}")),
                }
            };
            (change.key.clone(), Mode::ALL.map(of))
        })
        .collect();
    let alike =
        without_entry().map(|(key, outcome)| (key.to_owned(), [(); 3].map(|()| outcome.clone())));
    outcomes.extend(alike);
    outcomes
}

/// Results of runs, by scenario text and mode.
type Runs<'a> = BTreeMap<(&'a str, Mode), Result<Seen, String>>;

/// Runs every scenario text of `changes` once in every mode, in parallel on all CPUs.
fn runs(changes: &[Change]) -> Runs<'_> {
    let texts: BTreeSet<&str> = changes
        .iter()
        .flat_map(|it| &it.texts)
        .map(String::as_str)
        .collect();
    let todo: Vec<_> = texts
        .into_iter()
        .flat_map(|text| Mode::ALL.map(|mode| (text, mode)))
        .collect();
    let todo = Mutex::new(todo);
    let done = Mutex::new(Runs::new());
    let next = || todo.lock().expect("no thread panicked").pop();
    let work = || {
        while let Some((text, mode)) = next() {
            let seen = engines::run(text, mode);
            done.lock()
                .expect("no thread panicked")
                .insert((text, mode), seen);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, Into::into) {
            scope.spawn(work);
        }
    });
    done.into_inner().expect("no thread panicked")
}

/// Returns the outcome of changing `key`, given the effects before the change and the result after it.
fn outcome(key: &str, mode: Mode, before: &Seen, after: &Result<Seen, String>) -> Outcome {
    let after = match after {
        Err(error) if error.contains("is out of range") => {
            return Outcome::Ignored(format!("another value would be accepted: {error}"));
        }
        Err(error) if names(error, key) => return Outcome::Refused,
        Err(error) => {
            return Outcome::Ignored(format!(
                "refused with an error that does not name the key: {error}"
            ));
        }
        Ok(after) => after,
    };
    if before.effects != after.effects {
        return Outcome::Acts;
    }
    let mut warnings = after.warnings.iter();
    let is_of_key =
        |it: &&Warning| OF_NO_EFFECT.contains(&it.code.as_str()) && names(&it.text, key);
    if let Some(warning) = warnings.find(is_of_key) {
        return Outcome::Warned(warning.code.clone());
    }
    let is_at = |listed: &str| {
        key.strip_prefix(listed)
            .is_some_and(|below| below.is_empty() || below.starts_with('.'))
    };
    let mut elsewhere = ELSEWHERE.iter();
    if elsewhere.any(|(listed, modes, _)| is_at(listed) && modes.contains(&mode)) {
        Outcome::Elsewhere
    } else {
        Outcome::Ignored("nothing changes, and no warning names the key".to_owned())
    }
}

/// Returns true if `message` contains, in backticks, a component of the path `key`; the top-level component counts only
/// if it is the only one. The label of the policy that a warning is about does not count, because it is often the
/// policy's key.
fn names(message: &str, key: &str) -> bool {
    let about_policy = message.strip_prefix("policy `");
    let message = match about_policy.and_then(|rest| rest.split_once('`')) {
        Some((_, said)) => said,
        None => message,
    };
    let mut parts: Vec<&str> = key
        .split('.')
        .map(|part| part.trim_end_matches("[]"))
        .collect();
    if parts.len() > 1 {
        parts.remove(0);
    }
    let quoted = message.split('`').skip(1).step_by(2);
    let is_part = |word: &str| parts.contains(&word);
    let separates = |c: char| !(c.is_alphanumeric() || c == '_' || c == '-');
    quoted.flat_map(|span| span.split(separates)).any(is_part)
}
