//! A run's records, all of them in memory.

use std::path::{Path, PathBuf};

use lab_records::{
    DecisionRow, FlowRow, LinkRow, QueueRow, RecordsError, RunDir, RunEnd, RunInfo, Tally, UtcTime,
    Verdict,
};

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
    pub tally: Tally,
    /// Whether it can be trusted, judged again from the rows.
    pub verdict: Verdict,
    /// The flows.
    pub flows: Vec<FlowRow>,
    /// The link counters.
    pub links: Vec<LinkRow>,
    /// The queue samples.
    pub queues: Vec<QueueRow>,
    /// The decisions.
    pub decisions: Vec<DecisionRow>,
}

impl Run {
    /// Reads the run directory at `dir`.
    pub fn read(dir: &Path) -> Result<Self, RecordsError> {
        let run = RunDir::open(dir)?;
        let (flows, links) = (run.flows()?, run.links()?);
        let (queues, decisions) = (run.queues()?, run.decisions()?);
        let end = run.outcome().map(|outcome| outcome.end.clone());
        let tally = flows.rows.iter().collect();
        let mut verdict = Verdict::of(run.info(), end.as_ref(), &tally);
        let torn = flows.torn + links.torn + queues.torn + decisions.torn;
        if torn > 0 {
            verdict.doubt(format!(
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
            links: links.rows,
            queues: queues.rows,
            decisions: decisions.rows,
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
