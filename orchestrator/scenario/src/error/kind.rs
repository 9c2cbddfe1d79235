//! Kinds of problems, with their messages.

use std::{borrow::Cow, fmt};

use lab_parameters::{ParameterError, Preset};
use lab_topologies::{ImportErrorKind, NetworkError};
use lab_units::{Bytes, Nanos, ParseQuantityError, Ratio, ratio::ParseRatioError};

use super::{
    file::{CdfError, DemandError, FlowFileError},
    setting::{AxisProblem, ParseSettingPathError},
};
use crate::{expect::ParseExpectationError, limits};

/// Kind of problem in a scenario or in a file that it names.
///
/// A message is a lowercase fragment, with an optional hint at the end: `(hint: …)`.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ProblemKind {
    // Problems with the text as a whole.
    #[error(
        "the scenario has {found} bytes; it must have at most {} (hint: is this the right file?)",
        limits::MAX_SCENARIO_BYTES
    )]
    TooLarge { found: usize },
    #[error("byte 0x{byte:02x} is not UTF-8 (hint: save the file as UTF-8)")]
    NotUtf8 { byte: u8 },
    #[error("the scenario is empty (hint: start from a scenario that comes with the lab)")]
    EmptyDocument,
    #[error(
        "a second document starts here, but a scenario is a single document (hint: remove the `---`)"
    )]
    SecondDocument,
    #[error("{message}{}", hint.map_or_else(String::new, |hint| format!(" (hint: {hint})")))]
    Yaml {
        message: String,
        hint: Option<&'static str>,
    },
    #[error(
        "the scenario has more than {} values once aliases are expanded",
        limits::MAX_YAML_NODES
    )]
    TooManyValues,
    #[error(
        "lists and mappings are nested more than {} deep",
        limits::MAX_YAML_DEPTH
    )]
    TooDeep,

    // Problems with keys and with the form of values.
    #[error("unknown key `{key}`{}", suggest_key(suggestion.as_deref(), known))]
    UnknownKey {
        key: String,
        known: Vec<String>,
        suggestion: Option<String>,
    },
    #[error("the key `{key}` is missing")]
    MissingKey { key: &'static str },
    #[error(
        "the key `{key}` is neither here nor in {}, which this scenario extends",
        list(extended)
    )]
    MissingInChain {
        key: &'static str,
        extended: Vec<String>,
    },
    #[error(
        "`extends` leads in a circle, from {} back to `{path}` (hint: remove `extends` from one of them)",
        list(steps)
    )]
    ExtendsCircle { path: String, steps: Vec<String> },
    #[error(
        "`extends` leads to more than {} scenarios (hint: extend one that is nearer to the end of the chain)",
        limits::MAX_EXTENDED
    )]
    ExtendsTooMany,
    #[error("the key `{key}` is defined twice (hint: remove one of the two)")]
    DuplicateKey { key: String },
    #[error("the key has no value (hint: give it one, or remove the key)")]
    NoValue,
    #[error("found {found}, expected {expected}")]
    WrongShape { found: String, expected: String },
    #[error(
        "found {}, expected exactly one of {}",
        list_or_none(found),
        list(known)
    )]
    NotOneKey {
        found: Vec<&'static str>,
        known: Vec<&'static str>,
    },

    // Problems with single values.
    #[error(transparent)]
    Quantity(#[from] ParseQuantityError),
    #[error(transparent)]
    Ratio(#[from] ParseRatioError),
    #[error(transparent)]
    Expectation(#[from] ParseExpectationError),
    #[error(transparent)]
    SettingPath(#[from] ParseSettingPathError),
    #[error(transparent)]
    Axis(#[from] AxisProblem),
    #[error("two cases of the suite have the name `{name}`")]
    TwoCases { name: String },
    #[error("a case has either a `scenario` or a `sweep`")]
    ScenarioOrSweep,
    #[error("a case with a `sweep` has no `{key}` (hint: set them in the sweep's file)")]
    KeyOfSweep { key: &'static str },
    #[error(
        "the assertion names `{name}`, which is not a {what} of the scenario (hint: there are {})",
        list(known)
    )]
    UnknownInExpectation {
        name: String,
        what: &'static str,
        known: Vec<String>,
    },
    #[error("`{found}` is not a whole number from {bounds}")]
    NotWholeNumber { found: String, bounds: String },
    #[error("`{found}` is not one of {}{}", list(known), suggest(suggestion.as_deref()))]
    UnknownWord {
        found: String,
        known: Vec<String>,
        suggestion: Option<String>,
    },
    #[error("found `{found}`, expected {expected}{}", suggest(suggestion.as_deref()))]
    UnexpectedWord {
        found: String,
        expected: Cow<'static, str>,
        suggestion: Option<String>,
    },
    #[error("`{found}` is out of range; it must be {bounds}")]
    OutOfRange { found: String, bounds: String },
    #[error("{what} has {found} {}; it must have {}", unit.of(*found), range(*min, *max))]
    Count {
        what: &'static str,
        unit: Unit,
        found: usize,
        min: usize,
        max: usize,
    },
    #[error("`{name}` has the character `{character}`, which {of} must not have{}",
            of.hint_about(*character))]
    NameCharacter {
        name: String,
        character: char,
        of: NameOf,
    },
    #[error("`{name}` does not start with {start}{}", of.hint())]
    NameStart {
        name: String,
        start: &'static str,
        of: NameOf,
    },
    #[error("`{name}` does not end with a letter or digit{}", of.hint())]
    NameEnd { name: String, of: NameOf },
    #[error(
        "`{name}` is reserved (hint: reserved names are {})",
        list(limits::RESERVED_NAMES)
    )]
    NameReserved { name: String },
    #[error("`{found}` has the control character {character:?}")]
    ControlCharacter { found: String, character: char },

    // Problems with the topology.
    #[error("datacenter `{name}` is defined twice, first on line {first_line}")]
    DuplicateDc { name: String, first_line: usize },
    #[error("there is no datacenter `{name}`{}", suggest_dc(suggestion.as_deref(), known))]
    UnknownDc {
        name: String,
        known: Vec<String>,
        suggestion: Option<String>,
    },
    #[error("datacenter `{name}` has both `hosts` and `fabric` (hint: remove one of the two)")]
    HostsAndFabric { name: String },
    #[error(
        "the datacenters up to this one have {found} hosts, but all datacenters together may have at most {}",
        limits::MAX_HOSTS
    )]
    TooManyHosts { found: u64 },
    #[error("the link goes from `{name}` to itself")]
    SelfLink { name: String },
    #[error("`{}` and `{}` are linked twice, first on line {first_line} (hint: add up the rates, or \
             write `parallel: keep` in `topology` to keep both links)", between[0], between[1])]
    DuplicateLink {
        between: [String; 2],
        first_line: usize,
    },
    #[error(
        "no links lead from `{from}` to {} (hint: add a link)",
        list(unreachable)
    )]
    Disconnected {
        from: String,
        unreachable: Vec<String>,
    },
    #[error(
        "`k_max` is {k_max}, above the queue's size of {buffer}, so the queue never reaches `k_max`"
    )]
    EcnAboveBuffer { k_max: Bytes, buffer: Bytes },

    // Problems with named and imported graphs.
    #[error(
        "there is no graph `{name}` in the Topology Zoo (hint: {})",
        match near.as_slice() {
            [] => "`lcmp-lab topologies` lists them".to_owned(),
            [one] => format!("did you mean `{one}`?"),
            several => format!("there are {}", list(several)),
        }
    )]
    UnknownZoo { name: String, near: Vec<String> },
    #[error("`{key}` cannot be combined with `{other}` (hint: remove one of the two)")]
    NotWith {
        key: &'static str,
        other: &'static str,
    },
    #[error(
        "`parallel: merge` applies only to a graph (hint: add up the rates of parallel links yourself, or write \
         `parallel: keep` to keep them separate)"
    )]
    MergeOfWritten,
    #[error("`{key}` applies only to a graph (hint: name one by `zoo` or `import`)")]
    NeedsGraph { key: &'static str },
    #[error("`{path}` has none of the extensions of graph files: {}", list(known))]
    GraphExtension {
        path: String,
        known: Vec<&'static str>,
    },
    #[error("the text of `{path}` is not there")]
    NoText { path: String },
    #[error(
        "the topology of `{path}` is itself in another file, `{other}` (hint: name that file instead)"
    )]
    TopologyElsewhere { path: String, other: String },
    #[error(transparent)]
    Network(#[from] NetworkError),
    #[error("the link `{link}` has the {what} {found}, which is out of range; it must be {bounds}")]
    LinkOutOfRange {
        link: String,
        what: &'static str,
        found: String,
        bounds: String,
    },

    #[error("the window of measured flows ends at {to} but must end after its start at {from}")]
    EmptyWindow { from: Nanos, to: Nanos },

    // Problems with traffic.
    #[error("datacenter `{name}` has no hosts (hint: give it `hosts`, or send elsewhere)")]
    NoHosts { name: String },
    #[error("all-to-all traffic needs two datacenters with hosts, but there are {found}")]
    TooFewSenders { found: usize },
    #[error("source and destination are both in `{dc}`, but traffic must go to another datacenter")]
    SameDc { dc: String },
    #[error("`{from}` sends to `{to}` twice, first on line {first_line} (hint: add up the loads)")]
    DuplicatePair {
        from: String,
        to: String,
        first_line: usize,
    },
    #[error("the load {load} is listed twice (hint: `repetitions` runs a load several times)")]
    DuplicateLoad { load: Ratio },
    #[error(
        "a scenario can have only one sweep, but this list of loads differs from the sweep on line {first_line}"
    )]
    OtherSweep { first_line: usize },
    #[error(
        "even arrivals have no bursts (hint: leave out `bursts`, or write `arrivals: poisson`)"
    )]
    BurstsOfEvenArrivals,
    #[error(
        "`min_duration` has no effect without `target_flows` (hint: add `target_flows`, or leave out `min_duration`)"
    )]
    MinDurationWithoutTarget,
    #[error(
        "`{path}` has none of the extensions of demand matrices: {}",
        list(known)
    )]
    DemandExtension {
        path: String,
        known: Vec<&'static str>,
    },
    #[error(
        "`{path}` names nodes by their positions in REPETITA's `.graph` file, but the topology is not imported from one \
         (hint: import that file, or write a CSV file with the columns `from,to,rate`)"
    )]
    NodesOfNoGraph { path: String },
    #[error("`{found}` is not a host (hint: hosts are written like `dc1/h1`)")]
    NotAHost { found: String },
    #[error("there is no host `{host}`: `{dc}` has {}", host_range(*hosts))]
    UnknownHost {
        host: String,
        dc: String,
        hosts: u64,
    },
    #[error("the path is empty")]
    EmptyPath,
    #[error("{message}")]
    Other { message: String },

    // Problems with policies.
    #[error(
        "two policies are called `{label}`, the first on line {first_line} (hint: remove \
             one, or give one a `label` if their parameters differ)"
    )]
    DuplicateLabel { label: String, first_line: usize },
    #[error(
        "the path has no file name, which is the policy's label (hint: write it like `own/two-choice.bpf.o`)"
    )]
    NoObjectName,
    #[error("the policy has both `weights` and `train` (hint: remove one of the two)")]
    WeightsAndTrain,
    #[error("`{key}` is always 0 in `{name}` (hint: leave it out, or write `lcmp` instead)")]
    FixedWeight {
        key: &'static str,
        name: &'static str,
    },
    #[error(
        "{error}{}",
        unset.map_or_else(String::new, |key| {
            format!(" (hint: `{key}` still has the preset's value; set both parameters)")
        })
    )]
    Parameter {
        error: ParameterError,
        unset: Option<&'static str>,
    },

    // Problems with the transport.
    #[error(
        "`{key}` belongs only to the preset `{preset}` (hint: leave it out, or set `preset: {preset}`)"
    )]
    NotOfPreset { key: &'static str, preset: Preset },

    // Problems with the scale.
    #[error(
        "`{missing}` is missing: a scale needs the factors `rate` and `time` (hint: or write `scale: auto`)"
    )]
    HalfScale { missing: &'static str },

    // Problems with routing.
    #[error(
        "`{key}` is for the candidates `{rule}`, but these are `{found}` (hint: write `candidates: {rule}`, or remove \
         `{key}`)"
    )]
    OtherCandidates {
        key: &'static str,
        /// Rule that has the key.
        rule: &'static str,
        /// Rule of the scenario.
        found: &'static str,
    },

    // Problems with faults.
    #[error("no link leads from `{}` to `{}`", between[0], between[1])]
    UnknownLink { between: [String; 2] },
    #[error(
        "there is no link `{name}`{}",
        match suggestion {
            Some(_) => suggest(suggestion.as_deref()),
            None => " (hint: a link is named after its datacenters, such as `dc1-dc2`; a second link between the same \
                     two is `dc1-dc2_2`)".to_owned(),
        }
    )]
    UnknownLinkName {
        name: String,
        suggestion: Option<String>,
    },
    #[error(
        "`{}` and `{}` have {} links, {} (hint: name one here, or several in `links: [{}]`)",
        between[0],
        between[1],
        names.len(),
        list(names),
        names.join(", ")
    )]
    SeveralLinks {
        between: [String; 2],
        names: Vec<String>,
    },
    #[error("`{key}: false` has no effect (hint: write `{opposite}: true`)")]
    FaultNotTrue {
        key: &'static str,
        opposite: &'static str,
    },
    #[error("the link is already {state} at that time")]
    FaultChangesNothing { state: &'static str },
    #[error("the link `{link}`, one of several here, is already {state} at that time")]
    FaultChangesNothingAt { link: String, state: &'static str },
    #[error("the link from `{}` to `{}` is already in the list (hint: remove it here)", between[0], between[1])]
    FaultLinkTwice { between: [String; 2] },
    #[error("the link `{link}` is already in the list (hint: remove it here)")]
    FaultTwinTwice { link: String },
    #[error(
        "the agent of `{dc}` is already {state} at that time (hint: `down: true` and `up: true` must alternate)"
    )]
    AgentCrashChangesNothing { dc: String, state: &'static str },
    #[error(
        "the agent of `{dc}` crashes at that time too, so it is never down (hint: set `at` later)"
    )]
    AgentNeverDown { dc: String },
    #[error(
        "the switch of `{dc}` has no agent that could crash, because the datacenter is `legacy` (hint: name another one)"
    )]
    LegacyHasNoAgent { dc: String },
    #[error(
        "an agent can only be down or up, and has no {} (hint: name a link for that, or remove `{}`)",
        list(keys),
        keys.join("`, `")
    )]
    NotOfAgents { keys: Vec<&'static str> },
    #[error("`random` must be the only key of its entry, because it sets times, links and changes itself (hint: remove `{}`)", keys.join("`, `"))]
    KeysBesideRandom { keys: Vec<&'static str> },

    // Problems with files that a scenario names.
    #[error(transparent)]
    Cdf(#[from] CdfError),
    #[error(transparent)]
    Demand(#[from] DemandError),
    #[error(transparent)]
    FlowFile(#[from] FlowFileError),
    #[error(transparent)]
    Graph(#[from] ImportErrorKind),
}

/// Kind of object that a name denotes, for messages about the name's characters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NameOf {
    /// Name of a scenario or a policy.
    Any,
    /// Name of a datacenter; see [`limits::DC_NAME_PATTERN`].
    Dc,
}

impl NameOf {
    const fn hint(self) -> &'static str {
        match self {
            Self::Any => " (hint: names have lower-case letters, digits and dashes)",
            Self::Dc => " (hint: names of datacenters have lower-case letters and digits)",
        }
    }

    const fn hint_about(self, character: char) -> &'static str {
        match (self, character) {
            (Self::Dc, '-') => {
                " (hint: dashes separate the datacenters of a path, as in `dc1-dc2`)"
            }
            _ => self.hint(),
        }
    }
}

impl fmt::Display for NameOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any => "names",
            Self::Dc => "names of datacenters",
        })
    }
}

/// Unit of a counted quantity, for messages.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unit {
    /// Entries of a list.
    Entries,
    /// Characters of a text.
    Characters,
}

impl Unit {
    const fn of(self, count: usize) -> &'static str {
        match (self, count) {
            (Self::Entries, 1) => "entry",
            (Self::Entries, _) => "entries",
            (Self::Characters, 1) => "character",
            (Self::Characters, _) => "characters",
        }
    }
}

/// Splits a message into its text and its hint; `None` if it has no hint.
pub(super) fn split_hint(text: &str) -> (&str, Option<&str>) {
    let marker = text.rfind(HINT).filter(|_| text.ends_with(')'));
    match marker {
        Some(start) => (
            &text[..start],
            Some(&text[start + HINT.len()..text.len() - 1]),
        ),
        None => (text, None),
    }
}

const HINT: &str = " (hint: ";

fn list<T: AsRef<str>>(words: &[T]) -> String {
    let quoted: Vec<String> = words
        .iter()
        .map(|word| format!("`{}`", word.as_ref()))
        .collect();
    quoted.join(", ")
}

fn list_or_none(words: &[&str]) -> String {
    if words.is_empty() {
        return "none".to_owned();
    }
    list(words)
}

fn range(min: usize, max: usize) -> String {
    if min == max {
        return min.to_string();
    }
    format!("{min} to {max}")
}

fn suggest(suggestion: Option<&str>) -> String {
    suggestion.map_or_else(String::new, |word| {
        format!(" (hint: did you mean `{word}`?)")
    })
}

fn suggest_key(suggestion: Option<&str>, known: &[String]) -> String {
    match suggestion {
        Some(_) => suggest(suggestion),
        None if known.is_empty() => String::new(),
        None => format!(" (hint: keys here are {})", list(known)),
    }
}

fn suggest_dc(suggestion: Option<&str>, known: &[String]) -> String {
    // In a large topology, the full list of names would hide the message.
    const SHOWN: usize = 8;
    match suggestion {
        Some(_) => suggest(suggestion),
        None if known.is_empty() || known.len() > SHOWN => String::new(),
        None => format!(" (hint: there are {})", list(known)),
    }
}

fn host_range(hosts: u64) -> String {
    match hosts {
        0 => "no hosts".to_owned(),
        1 => "only `h1`".to_owned(),
        _ => format!("`h1` to `h{hosts}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_split_off_and_may_have_brackets() {
        assert_eq!(
            split_hint("`a` is no rate (hint: b (c))"),
            ("`a` is no rate", Some("b (c)"))
        );
        assert_eq!(split_hint("a (b)"), ("a (b)", None));
    }
}
