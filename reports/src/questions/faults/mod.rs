//! Faults: changes of links, the datacenters that have no next hop meanwhile, and their flows; crashes of agents.

mod row;
mod table;

use serde_json::Value;

use self::row::FaultRow;
use super::{Question, ReportInputs};
use crate::{
    document::{Block, Medium},
    text, words,
};

/// Report section on the effects of faults.
pub const QUESTION: Question = Question {
    id: "faults",
    title: "What did the faults do?",
    is_open: true,
    figures: &[],
    blocks,
    values: Some(values),
};

fn blocks<'a>(inputs: &ReportInputs<'a>) -> Vec<Block<'a>> {
    let rows = row::of(inputs);
    if rows.is_empty() {
        return Vec::new();
    }
    let run = inputs.run;
    let policies = &run.flows.policies;
    let note = |medium, text: String| Block::Note(medium, text);
    let mut blocks = Vec::new();
    for (medium, max) in [(Medium::Page, MAX_ROWS), (Medium::Terminal, MAX_LINES)] {
        let shown = row::worst(&rows, max);
        blocks.push(Block::Table(medium, table::of(&shown, policies)));
        if shown.len() < rows.len() {
            blocks.push(note(medium, left_out(shown.len(), rows.len())));
        }
    }
    blocks.push(note(Medium::Page, about().to_owned()));
    if rows.iter().any(|row| row.crash.is_some()) {
        blocks.push(note(Medium::Page, ABOUT_AGENTS.to_owned()));
    }
    let later = run.info.faults.len() - run.faults().count();
    if later > 0 {
        let text = match later {
            1 => "1 link change was planned for a time after the run's end and has no row."
                .to_owned(),
            later => format!(
                "{} link changes were planned for times after the run's end and have no row.",
                text::number(later as u64)
            ),
        };
        blocks.push(note(Medium::Any, text));
    }
    let evidence = &inputs.summary.evidence;
    blocks.extend(words::failover_note(evidence).map(|it| note(Medium::Any, it.to_owned())));
    blocks
}

/// Returns all rows; null if the run has no faults.
fn values(inputs: &ReportInputs<'_>) -> Value {
    let rows: Vec<FaultRow<'_>> = row::of(inputs);
    if rows.is_empty() {
        return Value::Null;
    }
    serde_json::to_value(rows).expect("rows are plain data")
}

/// Returns the note on a table with `shown` of `all` rows.
fn left_out(shown: usize, all: usize) -> String {
    format!(
        "{} of {} are left out: those with the fewest unfinished flows, then the fewest pairs without a next hop, then the \
         fewest failovers; `summary.json` has all.",
        text::number((all - shown) as u64),
        text::count(all, "row"),
    )
}

const fn about() -> &'static str {
    "Each row is a time at which links changed, or a time span in which pairs of datacenters have no next hop: packets of \
     these pairs can reach a switch all of whose candidates are cut, and are lost there. A span begins at a cut or a \
     reconvergence. It ends at a repair, when the switches get new candidates (reconvergence), or at another cut that makes \
     a switch fail over before the dead end. Failovers are decisions for flows that were pinned to a dead port, from the \
     row's cut to the next cut. Flows under way are the flows of these pairs, in either direction, during the span. The \
     numbers count all flows of all repetitions, measured or not; with several policies, the first number is their sum."
}

/// Explanation of the rows of crashes.
const ABOUT_AGENTS: &str = "An agent that is down samples no queues, installs no tables or splits, and revives no port. Its \
    switch forwards and decides by its last tables and samples. The row counts the decisions, and the missed samples or \
    splits, from the crash to the restart in all repetitions. `decisions.csv` has the decisions' reasons.";

/// Maximum number of rows on a page.
const MAX_ROWS: usize = 100;

/// Maximum number of rows in a terminal.
const MAX_LINES: usize = 8;

#[cfg(test)]
mod tests {
    use lab_records::{
        AgentCrashInfo, CrashCounts, Evidence, Failover, FailoverSpan, FaultInfo, LinkChange,
        OutageFlows, OutageInfo, PolicyEvidence, RunInfo,
    };
    use lab_sample as sample;
    use lab_units::Nanos;

    use super::*;
    use crate::{document::text_of, questions, questions::Figures, run::Run, testing, text::WIDTH};

    fn millis(millis: u64) -> Nanos {
        Nanos::from_millis(millis)
    }

    fn fault(at: u64, link: &str, change: LinkChange) -> FaultInfo {
        FaultInfo {
            time_ns: millis(at),
            link: link.to_owned(),
            change,
            rate_bps: None,
        }
    }

    fn outage(from: u64, to: Option<u64>, pairs: u64) -> OutageInfo {
        let names = |number: u64| [format!("dc{number}"), "dc9".to_owned()];
        OutageInfo {
            from_ns: millis(from),
            to_ns: to.map(millis),
            pairs,
            first_pairs: (1..=pairs.min(3)).map(names).collect(),
        }
    }

    /// Returns the evidence of a policy with failovers after the cuts at 10 and 40 ms. `flows` has the flows of each outage,
    /// and those that did not finish.
    fn policy(name: &str, failovers: [u64; 2], flows: &[[u64; 2]]) -> PolicyEvidence {
        let failover = |(at, decisions): (u64, u64)| Failover {
            at_ns: millis(at),
            decisions,
            span: (decisions > 0).then(|| FailoverSpan {
                first_ns: Nanos::new(5_000),
                last_ns: millis(2),
                lab_ns: None,
            }),
            ..Failover::default()
        };
        let flows = flows
            .iter()
            .map(|&[flows, unfinished]| OutageFlows { flows, unfinished });
        PolicyEvidence {
            failovers: [10, 40].into_iter().zip(failovers).map(failover).collect(),
            outages: flows.collect(),
            ..sample::evidence(name)
        }
    }

    /// Answers the question for a run that ends at 60 ms, with these faults and this evidence.
    fn answer<T>(
        faults: Vec<FaultInfo>,
        evidence: Evidence,
        read: impl FnOnce(&ReportInputs<'_>) -> T,
    ) -> T {
        let info = RunInfo {
            faults,
            ..testing::info()
        };
        answer_for(&info, evidence, read)
    }

    /// Answers the question for the run of `info`, which ends at 60 ms.
    fn answer_for<T>(
        info: &RunInfo,
        evidence: Evidence,
        read: impl FnOnce(&ReportInputs<'_>) -> T,
    ) -> T {
        let written = testing::run(info, |writer| {
            let counter = sample::counter(&info.links[0], "a");
            writer.append(&[lab_records::LinkRow {
                time_ns: millis(60),
                ..counter
            }])?;
            writer.append_flows([&testing::flow("a", 0, Some(1.0))])?;
            writer.append_flows([&testing::flow("a", 1, None)])
        });
        let run = Run::read(written.dir.path()).unwrap();
        let mut summary = questions::summary(&run);
        summary.evidence = evidence;
        read(&ReportInputs {
            run: &run,
            summary: &summary,
            figures: &Figures::new(),
        })
    }

    /// The cut at 10 ms leaves 34 pairs without a next hop until the switches have new ones, two until the
    /// repair, and one until the next cut.
    /// With the new next hops, another pair depends on the link that is cut meanwhile.
    fn two_cuts() -> (Vec<FaultInfo>, Evidence) {
        let faults = vec![
            fault(10, "dc1-dc2", LinkChange::Down),
            fault(10, "dc1-dc3", LinkChange::Down),
            fault(30, "dc1-dc2", LinkChange::Up),
            fault(40, "dc2-dc3", LinkChange::Down),
            fault(70, "dc2-dc3", LinkChange::Up),
        ];
        let evidence = Evidence {
            outages: vec![
                outage(10, Some(25), 34),
                outage(10, Some(30), 2),
                outage(10, Some(40), 1),
                outage(45, None, 1),
            ],
            policies: vec![
                policy("a", [1_200, 0], &[[500, 0], [20, 1], [4, 0], [3, 2]]),
                policy("b", [30, 0], &[[400, 0], [10, 0], [4, 0], [3, 0]]),
            ],
            ..Evidence::default()
        };
        (faults, evidence)
    }

    #[test]
    fn each_time_of_faults_and_each_outage_has_a_row() {
        let (faults, evidence) = two_cuts();
        let text = answer(faults, evidence, |inputs| text_of(&blocks(inputs), WIDTH));
        assert!(
            text.lines().all(|line| line.chars().count() <= WIDTH),
            "{text}"
        );
        insta::assert_snapshot!(text, @"
        faults  no next hop  until                  failovers  under way  not finished
        10 ms            34  25 ms (reconvergence)      1,230        900             0
          dc1-dc2, dc1-dc3 cut; no next hop: dc1 to dc9, dc2 to dc9, dc3 to dc9, and 31
          more; failovers: a 1,200, after 5 µs to 2 ms, b 30, after 5 µs to 2 ms
        10 ms             2  30 ms (repair)                 –         30             1
          dc1-dc2, dc1-dc3 cut; no next hop: dc1 to dc9, dc2 to dc9
        10 ms             1  40 ms (cut)                    –          8             0
          dc1-dc2, dc1-dc3 cut; no next hop: dc1 to dc9
        30 ms             –  –                              –          –             –
          dc1-dc2 back
        40 ms             –  –                              0          –             –
          dc2-dc3 cut
        45 ms             1  the run's end                  –          6             2
          reconvergence; no next hop: dc1 to dc9
        1 link change was planned for a time after the run's end and has no row.
        ");
    }

    #[test]
    fn the_summary_has_the_numbers_of_each_policy() {
        let (faults, evidence) = two_cuts();
        let values = answer(faults, evidence, values);
        let row = &values[1];
        assert_eq!(row["time_ns"], 10_000_000);
        assert_eq!(row["changes"][1]["link"], "dc1-dc3");
        assert_eq!(row["outage"]["to_ns"], 30_000_000);
        assert_eq!(row["outage"]["ended_by"], "repair");
        assert_eq!(row["policies"][0]["unfinished"], 1);
        // The failovers of a time are in its first row.
        assert_eq!(row["policies"][0]["failover"], Value::Null);
        assert_eq!(values[0]["policies"][0]["failover"]["decisions"], 1_200);
        assert_eq!(values[0]["outage"]["ended_by"], "reconvergence");
        assert_eq!(
            answer(Vec::new(), Evidence::default(), super::values),
            Value::Null
        );
    }

    /// The third crash is after the run's end.
    #[test]
    fn each_crash_of_an_agent_has_a_row() {
        let crash = |dc: &str, from, to: Option<u64>| AgentCrashInfo {
            dc: dc.to_owned(),
            from_ns: millis(from),
            to_ns: to.map(millis),
        };
        let info = RunInfo {
            faults: vec![fault(10, "dc1-dc2", LinkChange::Down)],
            agent_crashes: vec![
                crash("dc1", 5, Some(25)),
                crash("dc2", 10, None),
                crash("dc1", 70, None),
            ],
            ..testing::info()
        };
        let counts = |decisions, stale, missed| CrashCounts {
            decisions,
            stale,
            missed,
        };
        let with = |name, crashes: [CrashCounts; 2]| PolicyEvidence {
            crashes: crashes.into(),
            ..policy(name, [3, 0], &[])
        };
        let evidence = Evidence {
            policies: vec![
                with("a", [counts(1_200, 0, 0), counts(0, 0, 0)]),
                with("b", [counts(1, 1, 20), counts(7, 0, 1)]),
            ],
            ..Evidence::default()
        };
        let (text, values) = answer_for(&info, evidence, |inputs| {
            (text_of(&blocks(inputs), WIDTH), values(inputs))
        });
        insta::assert_snapshot!(text, @"
        faults  no next hop  until            failovers  under way  not finished
        5 ms              –  25 ms (restart)          –          –             –
          agent of dc1 down; a 1,200 decisions; b 1 decision (1 by hash, with stale
          tables), 20 samples or splits missed
        10 ms             –  –                        6          –             –
          dc1-dc2 cut; failovers: a 3, after 5 µs to 2 ms, b 3, after 5 µs to 2 ms
        10 ms             –  the run's end            –          –             –
          agent of dc2 down; a 0 decisions; b 7 decisions, 1 sample or split missed
        ");
        assert_eq!(values[0]["crash"]["dc"], "dc1");
        assert_eq!(values[0]["policies"][1]["crash"]["missed"], 20);
        assert_eq!(values[1]["crash"], Value::Null);
        assert_eq!(values[2]["crash"]["to_ns"], Value::Null);
        assert_eq!(values.as_array().map(Vec::len), Some(3));
    }

    /// Of 50 cuts, the last six alone leave pairs without a next hop; of the others, the first have rows.
    #[test]
    fn the_rows_with_the_worst_effects_are_shown() {
        let faults = (1..=50).map(|at| fault(at, "dc1-dc2", LinkChange::Down));
        let evidence = Evidence {
            outages: (45..=50).map(|at| outage(at, Some(at + 1), at)).collect(),
            policies: vec![policy("a", [0, 0], &[])],
            ..Evidence::default()
        };
        let text = answer(faults.collect(), evidence, |inputs| {
            text_of(&blocks(inputs), WIDTH)
        });
        let times: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split(" ms ").next())
            .filter(|it| it.len() < 3)
            .collect();
        assert_eq!(times, ["1", "2", "45", "46", "47", "48", "49", "50"]);
        assert!(text.contains("42 of 50 rows are left out"), "{text}");
    }
}
