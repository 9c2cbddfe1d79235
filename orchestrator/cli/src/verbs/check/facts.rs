//! Text of what a run cannot show: one paragraph for each fact, with the lines of the scenario and a remedy.

use std::collections::BTreeSet;

use lab_plan::{
    AlikePolicies, CrashEffect, DrawnFaults, Outage, OutageEnd, Plan, Scope, SingleCuts,
    Utilisation,
};
use lab_reports::Statistic;
use lab_units::{
    CandidateSet, Nanos,
    show::{about_bytes, about_time, commas, counted, paragraph, window},
};

use super::engines::{EngineEstimate, Engines, TrainsEstimate};

/// Formats the facts of the scenario of `plan`, one paragraph each.
pub fn text(scope: &Scope, plan: &Plan, engines: &Engines) -> String {
    let reconverge = plan.paper_reconverge_after_ns;
    let mut facts = vec![
        ("choice", choice(scope, plan.candidate_set)),
        ("same policies", same(&scope.alike)),
    ];
    if !scope.loads.is_empty() {
        let loads: Vec<String> = scope.loads.iter().map(ToString::to_string).collect();
        facts.push(("load", loads.join("; ")));
    }
    facts.extend([
        ("busiest link", busiest(scope)),
        ("tightest cut", tightest(scope)),
        ("single cuts", single_cuts(&scope.single_cuts, reconverge)),
        ("faults", faults(scope, reconverge)),
    ]);
    for (name, estimate, refusal) in [
        ("lab", &engines.lab, &engines.lab_refusal),
        ("simulator", &engines.sim, &engines.sim_refusal),
    ] {
        let refusal = refusal.clone().unwrap_or_default();
        facts.push((name, estimate.as_ref().map_or(refusal, engine)));
    }
    let trains = engines.sim.as_ref().and_then(|sim| sim.trains.as_ref());
    facts.extend(trains.map(|trains| ("trains", in_trains(trains))));
    let lines = facts.iter().map(|(name, fact)| {
        let head = format!("  {name:WIDTH$}  ");
        paragraph(&head, fact)
    });
    format!("what a run cannot show:\n{}", lines.collect::<String>())
}

/// Width of the longest name of a fact.
const WIDTH: usize = 13;

fn choice(scope: &Scope, set: CandidateSet) -> String {
    let choice = &scope.choice;
    let hint = format!("(hint: {}, and `lcmp-lab plan` lists them)", set.rule());
    let flows = counted(count(choice.flows), "flow");
    if choice.flows_with_choice == 0 {
        return format!(
            "none of {flows} has a switch with several next hops on its way, so every policy sends it along the same \
             path {hint}"
        );
    }
    let text = format!(
        "{} of {} of datacenters and {} of {flows} have a switch with several next hops on their way",
        number(choice.pairs_with_choice),
        counted(count(choice.pairs), "pair"),
        number(choice.flows_with_choice),
    );
    if choice.flows_with_choice == choice.flows {
        return text;
    }
    format!("{text}; all others take the same path under every policy {hint}")
}

fn same(groups: &[AlikePolicies]) -> String {
    if groups.is_empty() {
        return "none".to_owned();
    }
    let texts = groups.iter().map(|group| {
        format!(
            "`{}`{}: {}",
            group.policies.join("` = `"),
            of_lines(&group.lines),
            group.reason
        )
    });
    let joined = texts.collect::<Vec<_>>().join("; ");
    format!("{joined} (hint: leave out all but one)")
}

fn busiest(scope: &Scope) -> String {
    let busiest = scope.busiest.as_ref();
    busiest.map_or_else(without_workloads, |link| {
        format!(
            "`{}` from `{}`{}: {} if every switch splits evenly over its next hops, as `ecmp` does{}",
            link.link,
            link.from,
            of_lines(link.line.as_slice()),
            link.load,
            remedy(link.load, scope.load_key),
        )
    })
}

fn tightest(scope: &Scope) -> String {
    let tightest = scope.tightest.as_ref();
    tightest.map_or_else(without_workloads, |cut| {
        format!(
            "{cut}{} under every policy{}",
            of_lines(&cut.lines),
            remedy(cut.load, scope.load_key)
        )
    })
}

fn without_workloads() -> String {
    "listed flows have no mean load".to_owned()
}

fn remedy(load: Utilisation, load_key: &str) -> String {
    if !load.is_overload() {
        return String::new();
    }
    format!(" (hint: divide {load_key} by {})", load.times())
}

fn single_cuts(cuts: &SingleCuts, reconverge: Option<Nanos>) -> String {
    let stranding: Vec<_> = cuts.harmful.iter().filter(|cut| cut.stranded > 0).collect();
    let links = counted(count(cuts.links), "link");
    let mut text = if stranding.is_empty() {
        format!("none of {links}, cut alone, strands a pair")
    } else {
        let worst = stranding.iter().take(NAMED).map(|cut| {
            let line = of_lines(cut.line.as_slice());
            format!("`{}`{line} {}", cut.link, number(cut.stranded))
        });
        format!(
            "{} of {links}, cut alone, {} a switch without a next hop although other links remain; pairs stranded, of \
             {} in both directions: {}{}",
            number(stranding.len()),
            if stranding.len() == 1 {
                "leaves"
            } else {
                "leave"
            },
            number(cuts.pairs),
            worst.collect::<Vec<_>>().join(", "),
            more(stranding.len().saturating_sub(NAMED)),
        )
    };
    let separating: Vec<_> = cuts
        .harmful
        .iter()
        .filter(|cut| cut.separated > 0)
        .collect();
    if !separating.is_empty() {
        let named = separating
            .iter()
            .take(NAMED)
            .map(|cut| format!("`{}`", cut.link));
        text += &format!(
            "; no link replaces {}{}",
            named.collect::<Vec<_>>().join(", "),
            more(separating.len().saturating_sub(NAMED))
        );
    }
    if cuts.harmful.is_empty() {
        return text;
    }
    match reconverge {
        None => {
            text + " (hint: a switch detects only cuts of its own links, and no routing protocol reconverges)"
        }
        Some(after) => format!(
            "{text} (hint: these pairs wait {after}, until `routing.reconverge` gives the switches new next hops)"
        ),
    }
}

fn faults(scope: &Scope, reconverge: Option<Nanos>) -> String {
    let drawn: Vec<String> = scope.drawn_faults.iter().map(drawn).collect();
    let has_only_crashes = scope.fault_times_ns.is_empty() && !scope.crashes.is_empty();
    let links = (!has_only_crashes).then(|| times(scope, reconverge));
    let shown = scope.crashes.iter().take(NAMED).map(crash);
    let facts: Vec<String> = links.into_iter().chain(drawn).chain(shown).collect();
    let more = more(scope.crashes.len() - scope.crashes.len().min(NAMED));
    format!("{}{more}", facts.join("; "))
}

/// Describes the crash of an agent, and the policies under which it changes nothing.
fn crash(crash: &CrashEffect) -> String {
    let idle = match crash.idle_under.as_slice() {
        [] => String::new(),
        labels => format!(
            ", which changes no decision under `{}`",
            labels.join("`, `")
        ),
    };
    let span = window(crash.from_ns, crash.to_ns);
    format!("the switch of `{}` has no agent {span}{idle}", crash.dc)
}

/// Describes how many cuts an entry with random faults has drawn.
fn drawn(drawn: &DrawnFaults) -> String {
    let left_out = match drawn.left_out {
        0 => String::new(),
        1 => ", 1 more left out because it would separate datacenters".to_owned(),
        more => format!(
            ", {} more left out because each would separate datacenters",
            number(more)
        ),
    };
    format!(
        "`faults[{}]`{} draws {} among {} of links{left_out}",
        drawn.entry,
        of_lines(drawn.line.as_slice()),
        counted(count(drawn.cuts), "cut"),
        counted(count(drawn.groups), "group"),
    )
}

fn times(scope: &Scope, reconverge: Option<Nanos>) -> String {
    let [first, .., last] = scope.fault_times_ns.as_slice() else {
        return match scope.fault_times_ns.first() {
            Some(only) => with_outages(scope, format!("one at {}", about_time(*only)), reconverge),
            None => "none".to_owned(),
        };
    };
    let times = format!(
        "{} {}",
        number(scope.fault_times_ns.len()),
        window(*first, Some(*last))
    );
    with_outages(scope, times, reconverge)
}

/// Returns the times of the faults, beside the time of the traffic, and the outages that they cause.
fn with_outages(scope: &Scope, times: String, reconverge: Option<Nanos>) -> String {
    let traffic = scope.traffic.map_or_else(String::new, |traffic| {
        let span = window(traffic.from_ns, Some(traffic.ideal_end_ns));
        format!("; flows alone would be under way {span}")
    });
    let outages: Vec<String> = scope.outages.iter().take(NAMED).map(outage).collect();
    let ends: BTreeSet<OutageEnd> = scope.outages.iter().take(NAMED).map(|it| it.end).collect();
    let hints: BTreeSet<&str> = ends
        .into_iter()
        .map(|end| match end {
            OutageEnd::Repair | OutageEnd::NoRepair if reconverge.is_none() => {
                "a switch fails over only to a candidate whose own link is up"
            }
            end => end.hint(),
        })
        .collect();
    let hint = if hints.is_empty() {
        String::new()
    } else {
        let hints: Vec<&str> = hints.into_iter().collect();
        format!(" (hint: {})", hints.join("; "))
    };
    let more = more(scope.outages.len() - outages.len());
    format!("{times}{traffic}{}{more}{hint}", outages.concat())
}

fn outage(outage: &Outage) -> String {
    let verb = if outage.pairs.len() == 1 {
        "has"
    } else {
        "have"
    };
    let named = outage.pairs.first().map_or_else(String::new, |[from, to]| {
        let such = if outage.pairs.len() == 1 {
            ""
        } else {
            "such as "
        };
        format!(", {such}`{from}` to `{to}`,")
    });
    format!(
        "; {}{named} {verb} no next hop {}{}",
        counted(count(outage.pairs.len()), "pair"),
        window(outage.from_ns, outage.to_ns),
        of_lines(&outage.lines),
    )
}

/// Describes what `sim --trains` does with the scenario.
fn in_trains(trains: &TrainsEstimate) -> String {
    match trains {
        TrainsEstimate::Refusal(why) => why.clone(),
        TrainsEstimate::Length { packets, wall_ns } => format!(
            "`sim --trains` simulates up to {} packets of a flow as one event, in {} in all without the time for records, \
             with errors of some percent (hint: `lcmp-lab bench trains` measures them)",
            commas((*packets).into()),
            about_wall(*wall_ns),
        ),
    }
}

fn about_wall(wall: Nanos) -> String {
    match wall {
        Nanos::ZERO => "less than 1 s".to_owned(),
        wall => about_time(wall),
    }
}

fn engine(estimate: &EngineEstimate) -> String {
    let shown = [50, 95, 99].map(|percent| {
        let needed = Statistic::Percentile(percent).min_values();
        let lacks = estimate.measured < needed;
        lacks.then(|| format!("p{percent} needs {}", number(needed)))
    });
    let lacking: Vec<String> = shown.into_iter().flatten().collect();
    let flows = if lacking.is_empty() {
        "enough for a p99".to_owned()
    } else {
        format!(
            "too few: {} (hint: a longer `duration`, or more `repetitions`)",
            lacking.join(", ")
        )
    };
    let repetitions = match estimate.repetitions {
        1 => "one repetition, so no intervals".to_owned(),
        several => format!("intervals over {several} repetitions"),
    };
    let wall = about_wall(estimate.wall_ns);
    let guest = estimate
        .guest_memory_bytes
        .map_or_else(String::new, |guest| {
            format!(" (a guest has {} GiB)", guest.get() >> 30)
        });
    format!(
        "{} of each policy, {flows}; {repetitions}; about {} of memory{guest} and {wall} in all",
        counted(count(estimate.measured), "measured flow"),
        about_bytes(estimate.memory_bytes),
    )
}

/// Returns the lines of the scenario as text, such as ` (lines 12, 14)`; an empty string for none.
fn of_lines(lines: &[usize]) -> String {
    let shown: Vec<String> = lines.iter().take(NAMED).map(usize::to_string).collect();
    match lines.len() {
        0 => String::new(),
        1 => format!(" (line {})", shown[0]),
        _ => format!(
            " (lines {}{})",
            shown.join(", "),
            more(lines.len() - shown.len())
        ),
    }
}

fn more(count: usize) -> String {
    match count {
        0 => String::new(),
        more => format!(" and {} more", number(more)),
    }
}

fn number(value: usize) -> String {
    commas(count(value))
}

fn count(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// Maximum number of links, outages and lines that a fact names.
const NAMED: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_names_its_time_and_the_policies_that_it_does_not_concern() {
        let described = |to: Option<u64>, idle_under: &[&str]| {
            crash(&CrashEffect {
                dc: "dc2".to_owned(),
                from_ns: Nanos::from_millis(5),
                to_ns: to.map(Nanos::from_millis),
                idle_under: idle_under.iter().map(|label| (*label).to_owned()).collect(),
            })
        };
        assert_eq!(
            described(Some(25), &[]),
            "the switch of `dc2` has no agent from 5 ms to 25 ms"
        );
        assert_eq!(
            described(None, &["ecmp", "wcmp"]),
            "the switch of `dc2` has no agent from 5 ms on, which changes no decision under `ecmp`, `wcmp`"
        );
    }

    #[test]
    fn drawn_cuts_are_counted_with_those_left_out() {
        let counts = |cuts, left_out| DrawnFaults {
            entry: 2,
            line: Some(34),
            groups: 14,
            cuts,
            left_out,
        };
        for (cuts, left_out, sentence) in [
            (
                23,
                0,
                "`faults[2]` (line 34) draws 23 cuts among 14 groups of links",
            ),
            (
                1,
                1,
                "`faults[2]` (line 34) draws 1 cut among 14 groups of links, 1 more left out because it would separate datacenters",
            ),
            (
                0,
                2,
                "`faults[2]` (line 34) draws 0 cuts among 14 groups of links, 2 more left out because each would separate datacenters",
            ),
        ] {
            assert_eq!(drawn(&counts(cuts, left_out)), sentence);
        }
    }
}
