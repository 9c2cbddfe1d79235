//! A run's records: its flows, and what the other tables add up to.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use lab_records::{
    DecisionRow, FlowCounts, FlowRow, RecordsError, RunDir, RunEnd, RunInfo, UtcTime, Verdict,
};

use crate::frames::{LinkSeries, LinkTally, LinkUse, PauseTally, Pauses, SeriesTally};

/// What a report is made from.
#[derive(Clone, Debug)]
pub struct Run {
    /// The directory.
    pub dir: PathBuf,
    /// What the run was.
    pub info: RunInfo,
    /// When it began.
    pub started_at: UtcTime,
    /// How it ended; nothing if it did not.
    pub end: Option<RunEnd>,
    /// The labels of policies: those of the run, then any that only rows have.
    pub policies: Vec<String>,
    /// What the flow rows add up to, counted again.
    pub tally: FlowCounts,
    /// Whether it can be trusted, judged again from the rows.
    pub verdict: Verdict,
    /// The flows.
    pub flows: Vec<FlowRow>,
    /// What each direction of each link carried under each policy.
    pub link_uses: Vec<LinkUse>,
    /// What the switches next to faults sent as time went by.
    pub around_faults: Vec<LinkSeries>,
    /// How many decisions were made for each reason, by policy and reason.
    pub decisions: BTreeMap<(String, String), u64>,
    /// What priority flow control did under each policy that has pauses.
    pub pauses: BTreeMap<String, Pauses>,
}

impl Run {
    /// Reads the run directory at `dir`.
    pub fn read(dir: &Path) -> Result<Self, RecordsError> {
        let run = RunDir::open(dir)?;
        let flows = run.flows()?;
        let mut torn = flows.truncated;
        let mut links = LinkTally::default();
        let mut around = SeriesTally::new(run.info());
        torn += run.visit(|row| {
            around.add(&row);
            links.add(row);
        })?;
        torn += run.visit(|row| links.add_queue(row))?;
        let mut decisions: BTreeMap<(String, String), u64> = BTreeMap::new();
        torn += run.visit(|row: DecisionRow| {
            *decisions.entry((row.policy, row.reason)).or_default() += 1;
        })?;
        let mut pauses = PauseTally::default();
        torn += run.visit(|row| pauses.add(row))?;
        let end = run.outcome().map(|outcome| outcome.end.clone());
        let tally = flows.rows.iter().collect();
        let mut verdict = Verdict::of(run.info(), end.as_ref(), &tally);
        if torn > 0 {
            verdict.add_reason(format!(
                "tables that end in a row cut off in the middle, which is left out: {torn}"
            ));
        }
        Ok(Self {
            dir: dir.to_owned(),
            policies: labels(run.info(), &flows.rows),
            info: run.info().clone(),
            started_at: run.started_at(),
            end,
            tally,
            verdict,
            flows: flows.rows,
            link_uses: links.uses(),
            around_faults: around.series(),
            decisions,
            pauses: pauses.pauses(),
        })
    }
}

fn labels(info: &RunInfo, flows: &[FlowRow]) -> Vec<String> {
    let mut labels = info.policies.clone();
    for flow in flows {
        if !labels.contains(&flow.policy) {
            labels.push(flow.policy.clone());
        }
    }
    labels
}
