//! Records of a run, read for its report.

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

/// Facts and flows of a run, and the results of queries on its other tables.
pub struct Run {
    /// Path of the run directory.
    pub dir: PathBuf,
    /// Facts from `run.json`.
    pub info: RunInfo,
    /// Start of the run.
    pub started_at: UtcTime,
    /// End of the run; `None` if it did not end.
    pub end: Option<RunEnd>,
    /// Verdict on the run, which this version of the program derives from the run's rows.
    pub verdict: Verdict,
    /// Link certificate: measured rate, delay and buffer of each link direction against the plan; empty for a
    /// simulation.
    pub certificate: Vec<CertifiedRow>,
    /// Routes between datacenters.
    pub routes: Routes,
    /// Flows of all policies.
    pub flows: Flows,
    /// Time grid on which figures show the first repetition.
    pub grid: TimeGrid,
    /// Groups of routes that share a colour.
    pub groups: Groups,
    /// Flows of each policy's first repetition over time, by group; the last group has the flows on all other routes.
    pub by_group: Vec<FlowsOverTime>,
    /// Start of the last flow that started, in any repetition.
    pub last_start: Nanos,
    /// Use of each link direction while flows start, with the label of the policy.
    pub arrival_uses: Vec<(String, DirectionUse)>,
    /// Totals of each link direction under each policy.
    pub link_uses: Vec<LinkUse>,
    /// Values of each link direction over time, under each policy.
    pub over_time: Vec<DirectionSeries>,
    /// Longest queue, marks, drops and pauses of each port under each policy; empty if the engine does not count them.
    pub ports: Vec<PortTotal>,
    /// Link counters over time of switches that have a faulty link.
    pub around_faults: Vec<LinkSeries>,
    /// Numbers of decisions, by policy and reason.
    pub decisions: Vec<DecisionCount>,
    /// Decisions on the flows that the report page lists, and numbers of repeated decisions over time.
    pub stories: Stories,
    /// Pauses by priority flow control, by policy; policies without pauses are left out.
    pub pauses: BTreeMap<String, Pauses>,
    /// Rates of QPs over time; empty without congestion control.
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

    /// Returns the faults that occurred before the latest end of any policy's first repetition.
    pub fn faults(&self) -> impl Iterator<Item = &FaultInfo> {
        let end = self.flows.first_end();
        self.info
            .faults
            .iter()
            .filter(move |fault| fault.time_ns <= end)
    }

    /// Returns the utilisation of a link direction while flows start; 0 if the direction was not sampled.
    pub fn used_while_arriving(&self, of: &DirectionSeries) -> f64 {
        let mut uses = self.arrival_uses.iter();
        let key = (&of.policy, &of.link, &of.from_dc);
        let found = uses.find(|(policy, one)| (policy, &one.link, &one.from_dc) == key);
        found.map_or(0.0, |(_, one)| one.utilisation)
    }

    /// Returns the note for figures and tables that count a flow only on its first route; empty if no flow was
    /// re-routed.
    pub fn about_rerouted(&self) -> &'static str {
        if self.stories.again.is_empty() && !self.flows.has_rerouted() {
            ""
        } else {
            " A re-routed flow is counted on its first route only."
        }
    }

    /// Returns the note for figures and tables that count a flow on each of its routes; empty if no flow was re-routed.
    pub fn about_routes(&self) -> &'static str {
        if self.flows.has_rerouted() {
            " A flow that was re-routed is counted on each route that it took, with the bytes sent on that \
                 route: the flow counts add up to more than the number of flows, but each byte counts once."
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
