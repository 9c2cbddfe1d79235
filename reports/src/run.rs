//! The records that a report is made from.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use lab_records::{RunDir, RunEnd, RunInfo, UtcTime, Verdict};

use crate::{
    error::ReportError,
    frames::{self, DecisionCount, Flows, LinkSeries, LinkUse, Pauses},
    route::Routes,
};

/// A run's facts, flows, and the results of queries on its other tables.
pub struct Run {
    /// The directory.
    pub dir: PathBuf,
    /// Facts of the run.
    pub info: RunInfo,
    /// Time of the run's start.
    pub started_at: UtcTime,
    /// End of the run; none if it did not end.
    pub end: Option<RunEnd>,
    /// Verdict, judged again from the rows.
    pub verdict: Verdict,
    /// Routes between the datacenters.
    pub routes: Routes,
    /// The flows.
    pub flows: Flows,
    /// Totals of each direction of each link under each policy.
    pub link_uses: Vec<LinkUse>,
    /// Counters over time of the switches next to faults.
    pub around_faults: Vec<LinkSeries>,
    /// Numbers of decisions, by policy and reason.
    pub decisions: Vec<DecisionCount>,
    /// Pauses by priority flow control under each policy that has any.
    pub pauses: BTreeMap<String, Pauses>,
}

impl Run {
    /// Reads the run directory at `dir`.
    pub fn read(dir: &Path) -> Result<Self, ReportError> {
        let run = RunDir::open(dir)?;
        let routes = Routes::new(run.info());
        let (flows, truncated) = Flows::read(&run, &routes)?;
        let (link_uses, around_faults, truncated_links) = frames::links(&run)?;
        let (decisions, truncated_decisions) = frames::decisions(&run)?;
        let (pauses, truncated_pauses) = frames::pauses(&run)?;
        let truncated = truncated + truncated_links + truncated_decisions + truncated_pauses;
        let end = run.outcome().map(|outcome| outcome.end.clone());
        let mut verdict = Verdict::of(run.info(), end.as_ref(), &flows.total());
        if truncated > 0 {
            verdict.add_reason(format!(
                "tables whose last row is truncated, which is left out: {truncated}"
            ));
        }
        Ok(Self {
            dir: dir.to_owned(),
            info: run.info().clone(),
            started_at: run.started_at(),
            end,
            verdict,
            routes,
            flows,
            link_uses,
            around_faults,
            decisions,
            pauses,
        })
    }
}
