//! Header of a run's page: where and when it ran, and the facts that a reader of the results needs first.

use lab_records::{EngineInfo, Location, RunInfo};
use lab_units::{
    Ratio,
    show::{counted, window},
};
use maud::{Markup, html};

use crate::{
    questions::{load, semantics},
    run::Run,
    series::fault_marks,
    summary::Summary,
    text, words,
};

/// Describes the run in one line: start, engine or kernel, and seed.
pub fn headline(run: &Run) -> String {
    let info = &run.info;
    let location = match (&info.engine, info.location) {
        (EngineInfo::Sim(sim), _) => {
            format!(
                "in the {}, semantics {}",
                words::simulator(sim),
                semantics(sim.semantics)
            )
        }
        (EngineInfo::Kernel, Location::Here) => {
            format!("on this machine's kernel {}", info.kernel_release)
        }
        (EngineInfo::Kernel, Location::Guest) => {
            format!("on kernel {} in a QEMU guest", info.kernel_release)
        }
    };
    let started = run.started_at.to_string();
    let minute = started.get(..16).unwrap_or(&started).replace('T', " ");
    format!("{minute} UTC, {location}, seed {}", info.seed)
}

/// Returns the facts that a reader of the results needs first.
pub fn brief(run: &Run, summary: &Summary) -> Markup {
    let info = &run.info;
    let counts = run.flows.total();
    html! {
        dl.brief {
            (fact("policies", &info.policies.join(", ")))
            (fact("flows", &format!(
                "{} per policy, {} of {} finished",
                text::number(info.scheduled_flows),
                text::number(counts.finished),
                text::number(info.total_flows()),
            )))
            @if let Some(measured) = words::measured(info) { (fact("measured", &measured)) }
            @if let Some(load) = load(&summary.evidence) { (fact("load", &load)) }
            (fact("time", &times(run)))
            (fact("engine", &match &info.engine {
                EngineInfo::Kernel => "kernel (namespaces, tc, SoftRoCE, eBPF)".to_owned(),
                EngineInfo::Sim(sim) => words::simulator(sim),
            }))
            @if info.scale.rate != Ratio::ONE || info.scale.time != Ratio::ONE {
                (fact("scale", &format!(
                    "rates × {}, times × {} in the lab; all values here are at the paper's scale unless \
                     marked emulated",
                    info.scale.rate, info.scale.time
                )))
            }
            @if !info.faults.is_empty() {
                (fact("faults", &faults(run)))
            }
            @if !info.agent_crashes.is_empty() {
                (fact("agents down", &agents_down(info)))
            }
        }
    }
}

/// Describes the times at which flows start and end; if some flows did not finish, the time that the run covers.
fn times(run: &Run) -> String {
    let flows = &run.flows;
    let counts = run.flows.total();
    let last_start = text::time(run.last_start);
    if counts.unfinished == 0 {
        let end = text::time(flows.last_completion());
        return format!("the last flow starts at {last_start}; the last completion is at {end}");
    }
    let started = flows.started_count();
    let mut times = format!(
        "the last flow starts at {last_start}; the run ends at {} with flows under way: {}",
        text::time(flows.extent.last_end()),
        text::number(started - counts.finished),
    );
    let never = counts.flows - started;
    if never > 0 {
        times += &format!(", never started: {}", text::number(never));
    }
    times
}

fn faults(run: &Run) -> String {
    let marks = fault_marks(run);
    let more = marks.len().saturating_sub(MAX_FAULTS);
    let mut faults: Vec<String> = marks
        .into_iter()
        .take(MAX_FAULTS)
        .map(|it| it.label)
        .collect();
    if more > 0 {
        faults.push(format!("and at {}", text::count(more, "later time")));
    }
    let later = run.info.faults.len() - run.faults().count();
    if later > 0 {
        faults.push(format!(
            "{} planned after the run's end",
            counted(later as u64, "change")
        ));
    }
    faults.join("; ")
}

/// Describes the planned time spans without an agent, such as `dc2 from 5 ms to 25 ms`.
fn agents_down(info: &RunInfo) -> String {
    let crashes = &info.agent_crashes;
    let shown = crashes.iter().take(MAX_FAULTS);
    let spans = shown.map(|it| format!("{} {}", it.dc, window(it.from_ns, it.to_ns)));
    let more = crashes.len().saturating_sub(MAX_FAULTS);
    let more = (more > 0).then(|| format!("and {} more", text::number(more as u64)));
    spans.chain(more).collect::<Vec<_>>().join("; ")
}

/// Maximum number of fault times in the header. The section on faults has more of them, and `summary.json` has all.
const MAX_FAULTS: usize = 4;

fn fact(term: &str, value: &str) -> Markup {
    html! { dt { (term) } dd { (value) } }
}

#[cfg(test)]
mod tests {
    use lab_records::{FaultInfo, FlowRow, LinkChange, LinkRow};
    use lab_sample as sample;
    use lab_units::{Bytes, Nanos};

    use super::*;
    use crate::testing;

    /// Flows start at 0, 3 and 8 ms. The run is cut at 4 ms, after the first flow has finished and before the planned
    /// failure of a link. The link has carried 50 MB, which is its capacity in 4 ms at 100 Gbit/s.
    #[test]
    fn a_cut_run_covers_the_time_until_its_end() {
        let millis = Nanos::from_millis;
        let info = RunInfo {
            policies: vec!["a".into()],
            scheduled_flows: 3,
            faults: vec![FaultInfo {
                time_ns: millis(6),
                link: "dc1-dc2".into(),
                change: LinkChange::Down,
                rate_bps: None,
            }],
            ..testing::info()
        };
        let flow = |id: u32, start: u64, slowdown: Option<f64>| FlowRow {
            start_ns: millis(start),
            launch_lateness_ns: (start < 4).then_some(Nanos::ZERO),
            ..testing::flow("a", id, slowdown)
        };
        let counter = |at: u64| LinkRow {
            time_ns: millis(at),
            tx_bytes: Bytes::new(12_500_000 * at),
            ..sample::counter(&info.links[0], "a")
        };
        let written = testing::run(&info, |writer| {
            writer.append(&[counter(2), counter(4)])?;
            let flows = [flow(0, 0, Some(1.0)), flow(1, 3, None), flow(2, 8, None)];
            writer.append_flows(&flows)
        });
        let run = Run::read(written.dir.path()).unwrap();
        assert_eq!(
            times(&run),
            "the last flow starts at 3 ms; the run ends at 4 ms with flows under way: 1, never started: 1"
        );
        assert_eq!(faults(&run), "1 change planned after the run's end");
        let ends: Vec<_> = run.flows.spans(0).iter().map(|it| it.end).collect();
        assert_eq!(ends, [millis(1), millis(4)]);
        let last = run.grid.edge(run.grid.len());
        assert!((4_000_000..4_100_000).contains(&last), "{last}");
        let used = run.used_while_arriving(&run.over_time[0]);
        assert!((used - 1.0).abs() < 1e-9, "{used}");
        assert_eq!(run.flows.of_policy(0, 3).percentile(50), None);
    }
}
