//! Crashes of switches' agents in the list `faults`.

use std::collections::BTreeMap;

use lab_units::Nanos;

use super::{
    context::{Context, one_key},
    links,
    topology::IndexedTopology,
};
use crate::{
    error::ProblemKind,
    model::{Agent, AgentCrash},
    raw::{self, SetsParameters},
    yaml::At,
};

/// Entry of the list `faults` with the key `agent`.
struct AgentFault<'a> {
    raw: &'a At<raw::With<raw::Fault>>,
    /// Position of the entry in the list.
    entry: usize,
    /// Index of the datacenter.
    dc: usize,
    at: Nanos,
    /// True for a crash, false for a restart.
    is_crash: bool,
}

/// Resolves the entries of the list `faults` that have the key `agent`: each crash with the restart that follows it.
pub(super) fn agent_crashes(
    context: &mut Context<'_>,
    network: &IndexedTopology,
    raw: Option<&At<Vec<At<raw::With<raw::Fault>>>>>,
) -> Vec<AgentCrash> {
    let entries = raw.into_iter().flat_map(|raw| raw.value.iter().enumerate());
    let mut faults: Vec<AgentFault<'_>> = entries
        .filter_map(|(entry, raw)| agent_fault(context, network, (entry, raw)))
        .collect();
    faults.sort_by_key(|fault| (fault.at, fault.entry));
    let mut by_dc: BTreeMap<usize, Vec<AgentCrash>> = BTreeMap::new();
    for fault in faults {
        let dc = network.name(fault.dc).to_owned();
        let crashes = by_dc.entry(fault.dc).or_default();
        let last = crashes.last_mut().filter(|last| last.restart.is_none());
        match (last, fault.is_crash) {
            (None, true) => crashes.push(AgentCrash {
                entry: fault.entry,
                dc,
                at: fault.at,
                restart: None,
            }),
            (Some(crash), false) if crash.at == fault.at => {
                context.problem(&fault.raw.range, ProblemKind::AgentNeverDown { dc });
            }
            (Some(crash), false) => crash.restart = Some(fault.at),
            (Some(_), true) => {
                let state = "down";
                let kind = ProblemKind::AgentCrashChangesNothing { dc, state };
                context.problem(&fault.raw.range, kind);
            }
            (None, false) => {
                let state = "up";
                let kind = ProblemKind::AgentCrashChangesNothing { dc, state };
                context.problem(&fault.raw.range, kind);
            }
        }
    }
    by_dc.into_values().flatten().collect()
}

/// Resolves an entry; `None` if it has no key `agent`, or if it has a problem.
fn agent_fault<'a>(
    context: &mut Context<'_>,
    network: &IndexedTopology,
    (entry, raw): (usize, &'a At<raw::With<raw::Fault>>),
) -> Option<AgentFault<'a>> {
    let raw::With { own, texts } = &raw.value;
    let agent = own
        .agent
        .as_ref()
        .filter(|_| own.random.as_ref().is_none())?;
    one_key!(context, &raw.range, own, "link": link, "links": links, "dc": dc, "agent": agent);
    let at = links::time(context, raw);
    let dc = network.dc(context, agent);
    let parameters = raw::Fault::parameters().map(|parameter| parameter.name);
    let keys: Vec<&'static str> = parameters.filter(|name| texts.of(name).is_some()).collect();
    let is_crash = if keys.is_empty() {
        one_key!(context, &raw.range, own, "down": down, "up": up);
        match (own.down.as_ref(), own.up.as_ref()) {
            (Some(text), None) => links::is_true(context, text, "down", "up").then_some(true),
            (None, Some(text)) => links::is_true(context, text, "up", "down").then_some(false),
            (None, None) | (Some(_), Some(_)) => None,
        }
    } else {
        context.problem(&raw.range, ProblemKind::NotOfAgents { keys });
        None
    };
    let dc = dc?;
    if network.model.dcs[dc].agent == Agent::Legacy {
        let dc = network.name(dc).to_owned();
        context.problem(&agent.range(), ProblemKind::LegacyHasNoAgent { dc });
        return None;
    }
    Some(AgentFault {
        raw,
        entry,
        dc,
        at: at?,
        is_crash: is_crash?,
    })
}
