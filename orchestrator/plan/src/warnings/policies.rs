//! Warnings about policies that the kernel engine cannot run or runs differently, unused parameters, and equal delay
//! scores.

use lab_parameters::{Parameter, ParameterSet, Value};
use lab_policy::POLICIES;
use lab_policy::lcmp::{LcmpConfig, Preset, delay_of_shift, delay_score, separating_shift};
use lab_units::{DcId, Nanos, show::about_time};

use super::inspection::{Inspection, line_of, warning};
use crate::{
    PaperUnits,
    model::{PolicyPlan, Warning},
    policy,
};

/// Returns a warning for each policy that only the simulator can run.
pub(super) fn not_in_kernel(inspection: &Inspection<'_>) -> Vec<Warning> {
    let policies = inspection
        .policies
        .iter()
        .filter_map(|run| Some((&run.label, run.policy.not_in_kernel()?)));
    policies
        .map(|(label, why)| {
            let text = format!(
                "policy `{label}`{}: the kernel engine does not run `own`: {why} (hint: run it with \
                 `lcmp-lab sim`, or select other policies with `--policies`)",
                line_of_key(inspection, label, "own"),
            );
            warning("policy-not-in-kernel", text)
        })
        .collect()
}

/// Returns a warning for each LCMP policy with the preset `artifact`, about differences between a real switch and the
/// authors' code.
pub(super) fn artifact_in_kernel(inspection: &Inspection<'_>) -> Vec<Warning> {
    let paper = PaperUnits::new(inspection.scale);
    let artifact = inspection
        .policies
        .iter()
        .filter_map(|run| match &run.policy {
            PolicyPlan::Lcmp(config) if config.preset == Preset::Artifact => {
                Some((&run.label, paper.time(config.sample_interval_ns)))
            }
            _ => None,
        });
    artifact
        .map(|(label, interval)| {
            let text = format!(
                "policy `{label}`: the kernel engine has the formulas of the preset `artifact`, not \
                 all of the authors' code: queues are sampled every {} (theirs: at each decision, \
                 once per candidate), flows are known by five-tuple (theirs: by 32 bits, which flows \
                 share), equal costs are ordered by delay (theirs: by port), and flows leave a dead \
                 port (theirs stay) (hint: `transport: {{ semantics: artifact }}` and `lcmp-lab sim` reproduce their \
                 code)",
                about_time(interval)
            );
            warning("artifact-in-kernel", text)
        })
        .collect()
}

/// Returns a warning for each LCMP policy that sets a parameter which only the other of LCMP's two presets uses.
pub(super) fn unused_parameters(inspection: &Inspection<'_>) -> Vec<Warning> {
    let lcmp = inspection
        .policies
        .iter()
        .filter_map(|run| Some((run.label.as_str(), unused(run.policy.lcmp()?)?)));
    lcmp.map(|(label, (parameter, value))| {
        let preset = parameter.only.unwrap_or_default();
        let text = format!(
            "policy `{label}`: `{}`{} is {value}, which has no effect, because only the preset `{preset}` uses it \
             (hint: leave it out, or set `preset: {preset}`)",
            parameter.name,
            line_of_parameter(inspection, label, parameter.name),
        );
        warning("unused-parameter", text)
    })
    .collect()
}

/// Returns the line, as text, where the policy labelled `label` sets the parameter `name`.
fn line_of_parameter(inspection: &Inspection<'_>, label: &str, name: &str) -> String {
    let keys = POLICIES.iter().filter_map(|policy| policy.key);
    let mut lines = keys.map(|key| line_of_key(inspection, label, &format!("{key}.{name}")));
    lines.find(|line| !line.is_empty()).unwrap_or_default()
}

/// Returns the line, as text, of `key` in the policy labelled `label`.
fn line_of_key(inspection: &Inspection<'_>, label: &str, key: &str) -> String {
    let mut policies = inspection.scenario.policies.iter();
    let index = policies.position(|spec| spec.label() == label);
    index.map_or_else(String::new, |index| {
        line_of(inspection, &format!("policies[{index}].{key}"))
    })
}

/// Returns the first parameter of `config` that its preset does not use and whose value is not the default.
fn unused(config: &LcmpConfig) -> Option<(&'static Parameter, Value)> {
    let default = LcmpConfig::preset(config.preset);
    let mut others = LcmpConfig::PARAMETERS
        .iter()
        .filter(|parameter| !parameter.is_of(config.preset));
    others.find_map(|parameter| {
        let value = config.get(parameter.name)?;
        (default.get(parameter.name) != Some(value)).then_some((parameter, value))
    })
}

/// Returns a warning for each policy under which two candidates for a destination have different delays but equal delay
/// scores. The warning names the first two such candidates and the `max_delay` that would separate all delays.
pub(super) fn delay_score_ties(inspection: &Inspection<'_>) -> Vec<Warning> {
    let lcmp = inspection
        .policies
        .iter()
        .filter_map(|run| Some((run.label.as_str(), run.policy.lcmp()?)));
    lcmp.filter_map(|(label, config)| tie(inspection, label, config))
        .collect()
}

fn tie(inspection: &Inspection<'_>, label: &str, config: &LcmpConfig) -> Option<Warning> {
    let rows = delay_rows(inspection, config.preset);
    let mut tied = rows
        .iter()
        .filter_map(|row| first_tie(&row.delays, config).map(|pair| (row, pair)));
    let (row, (a, b)) = tied.next()?;
    let also = match tied.count() {
        0 => String::new(),
        1 => ", and so for one more destination".to_owned(),
        more => format!(", and so for {more} more destinations"),
    };
    let text = format!(
        "policy `{label}`: from `{}` to `{}` the paths via `{}` ({}) and `{}` ({}) have the same \
         delay score{also} (hint: {})",
        row.from,
        row.to,
        row.via[a],
        row.delays[a],
        row.via[b],
        row.delays[b],
        separation(&rows, config),
    );
    Some(warning("delay-score-ties", text))
}

/// Delays that enter the path costs of one switch's candidates for one destination.
struct DelayRow<'a> {
    from: &'a str,
    to: &'a str,
    /// Names of the next hops.
    via: Vec<String>,
    delays: Vec<Nanos>,
}

fn delay_rows<'a>(inspection: &Inspection<'a>, preset: Preset) -> Vec<DelayRow<'a>> {
    let name = |dc: DcId| inspection.network.dcs[dc.index()].name.as_str();
    let switches = (0u32..).map(DcId).zip(inspection.switches);
    let rows = switches.flat_map(|(from, switch)| {
        switch.destinations.iter().map(move |row| DelayRow {
            from: name(from),
            to: name(row.dc),
            via: row
                .candidates
                .iter()
                .map(|candidate| inspection.network.next_hop(candidate.port))
                .collect(),
            delays: row
                .candidates
                .iter()
                .map(|candidate| policy::scored(candidate, preset).0)
                .collect(),
        })
    });
    rows.collect()
}

/// Returns a hint with the smallest `max_delay` that separates the delays of every row, or a hint that no value does.
fn separation(rows: &[DelayRow<'_>], config: &LcmpConfig) -> String {
    let several = rows.iter().filter(|row| row.delays.len() > 1);
    let shifts: Option<Vec<u8>> = several
        .map(|row| separating_shift(&row.delays, config.preset))
        .collect();
    let shift = shifts.and_then(|shifts| shifts.into_iter().max());
    let separates = |shift: &u8| {
        let trial = LcmpConfig {
            max_delay_ns: delay_of_shift(*shift, config.preset),
            ..config.clone()
        };
        rows.iter()
            .all(|row| first_tie(&row.delays, &trial).is_none())
    };
    match shift.filter(separates) {
        Some(shift) => {
            let smallest = delay_of_shift(shift, config.preset);
            format!("`max_delay: {smallest}` is the smallest value that separates all delays")
        }
        None => "no `max_delay` separates all delays: a step is 1/255 of `max_delay`".to_owned(),
    }
}

/// Returns the indices of two delays that differ but have equal scores.
fn first_tie(delays: &[Nanos], config: &LcmpConfig) -> Option<(usize, usize)> {
    let pairs = (0..delays.len()).flat_map(|a| (a + 1..delays.len()).map(move |b| (a, b)));
    let score = |at: usize| delay_score(delays[at], config);
    let mut ties = pairs.filter(|&(a, b)| delays[a] != delays[b] && score(a) == score(b));
    ties.next()
}
