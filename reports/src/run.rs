//! The records that a report is made from.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use lab_records::{CertifiedRow, DirectionUse, FaultInfo, RunEnd, RunInfo, UtcTime, Verdict};
use lab_units::Nanos;

use crate::{
    error::ReportError,
    facts::RunFacts,
    figures::Groups,
    frames::{
        self, DecisionCount, DirectionSeries, Flows, FlowsOverTime, LinkSeries, LinkUse, Pauses,
        PortTotal, Rates, Stories, TimeGrid,
    },
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
    /// Certificate of the lab's links; none for a simulation.
    pub certificate: Vec<CertifiedRow>,
    /// Routes between the datacenters.
    pub routes: Routes,
    /// The flows.
    pub flows: Flows,
    /// Intervals of time that the first repetition is shown in.
    pub grid: TimeGrid,
    /// Groups of routes that flows are coloured by.
    pub groups: Groups,
    /// Flows in each policy's first repetition over time by group, flows without a group last.
    pub by_group: Vec<FlowsOverTime>,
    /// Start of the last flow that started, over all repetitions.
    pub last_start: Nanos,
    /// Use of each link direction while flows start, with the policy's label.
    pub arrival_uses: Vec<(String, DirectionUse)>,
    /// Totals for each link direction under each policy.
    pub link_uses: Vec<LinkUse>,
    /// Each direction of each link over time under each policy.
    pub over_time: Vec<DirectionSeries>,
    /// Totals of each port under each policy; none if the engine does not count them.
    pub ports: Vec<PortTotal>,
    /// Counters over time of the switches next to faults.
    pub around_faults: Vec<LinkSeries>,
    /// Numbers of decisions, by policy and reason.
    pub decisions: Vec<DecisionCount>,
    /// Decisions of the flows that the page shows, and those again.
    pub stories: Stories,
    /// Pauses by priority flow control under each policy that has any.
    pub pauses: BTreeMap<String, Pauses>,
    /// Rates of QPs over time; none without congestion control.
    pub rates: Rates,
}

impl Run {
    /// Reads the run directory at `dir`.
    pub fn read(dir: &Path) -> Result<Self, ReportError> {
        let run = RunFacts::open(dir)?;
        let routes = Routes::new(run.info());
        let flows = Flows::read(&run, &routes)?;
        let faults = run.info().faults.iter().map(|fault| fault.time_ns);
        let end = flows.first_end();
        let last_fault = faults.filter(|&time| time <= end).max();
        let grid = TimeGrid::new(flows.ends().collect(), last_fault);
        let last_start = flows.last_start();
        let groups = Groups::of(&flows, &routes);
        let by_group = groups.flows_over_time(&flows, &routes, &grid);
        let ports = frames::ports(&run)?;
        let links = frames::links(&run, &grid, &ports)?;
        let decisions = frames::decisions(&run)?;
        let pauses = frames::pauses(&run, &grid)?;
        let rates = frames::rates(&run, &grid)?;
        let stories = frames::stories(&run, &flows.shown_keys(), &grid)?;
        let end = run.outcome().map(|outcome| outcome.end.clone());
        Ok(Self {
            dir: dir.to_owned(),
            info: run.info().clone(),
            started_at: run.started_at(),
            end,
            verdict: run.verdict_of_rows(&flows.total()),
            certificate: run.table::<CertifiedRow>()?.rows,
            routes,
            last_start,
            arrival_uses: arrival_uses(run.info(), &flows),
            flows,
            grid,
            groups,
            by_group,
            link_uses: links.uses,
            over_time: links.over_time,
            ports,
            around_faults: links.around_faults,
            decisions,
            stories,
            pauses,
            rates,
        })
    }

    /// Returns the faults that came before the end of the first repetitions.
    pub fn faults(&self) -> impl Iterator<Item = &FaultInfo> {
        let end = self.flows.first_end();
        self.info
            .faults
            .iter()
            .filter(move |fault| fault.time_ns <= end)
    }

    /// Returns the use of a direction while flows start; 0 if it was not sampled.
    pub fn used_while_arriving(&self, of: &DirectionSeries) -> f64 {
        let mut uses = self.arrival_uses.iter();
        let key = (&of.policy, &of.link, &of.from_dc);
        let found = uses.find(|(policy, one)| (policy, &one.link, &one.from_dc) == key);
        found.map_or(0.0, |(_, one)| one.utilisation)
    }

    /// Returns the note for figures and tables that count each flow with one route; empty if no flow was re-routed.
    pub fn about_rerouted(&self) -> &'static str {
        if self.stories.again.is_empty() && !self.flows.has_rerouted() {
            ""
        } else {
            " A flow that was re-routed counts with its first route."
        }
    }

    /// Returns the note for figures and tables of flows and bytes per route; empty if no flow was re-routed.
    pub fn about_routes(&self) -> &'static str {
        if self.flows.has_rerouted() {
            " A flow that was re-routed counts on each route that it took, with the bytes that took it: \
                 flows add up to more than there are, bytes do not."
        } else {
            self.about_rerouted()
        }
    }
}

fn arrival_uses(info: &RunInfo, flows: &Flows) -> Vec<(String, DirectionUse)> {
    flows
        .policies
        .iter()
        .enumerate()
        .flat_map(|(index, policy)| {
            flows
                .extent
                .uses(index, info)
                .into_iter()
                .map(|one| (policy.clone(), one))
        })
        .collect()
}
