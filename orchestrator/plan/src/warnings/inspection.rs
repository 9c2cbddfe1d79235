//! Inputs from which warnings are derived.

use lab_scenario::{Files, Scenario};
use lab_units::{Engine, Nanos};

use crate::{
    capacity::Capacity,
    demand::Demand,
    estimate::PlaceEstimate,
    model::{
        AgentCrashPlan, AutoScale, Estimate, FaultPlan, Flow, LoadPlan, MeasuredWindow, PolicyRun,
        Rdma, Reconvergence, Scale, Switch, Warning,
    },
    network::Network,
    paper_units::PaperUnits,
    paths::Paths,
    round_trip::{self, RoundTrips},
    scope::{choice::PairFlows, routing::Routing, timeline::Timeline},
    transport::TransportPlan,
    wires::Wires,
};

/// Inputs from which the warnings are derived.
pub(crate) struct Inspection<'a> {
    pub network: &'a Network,
    pub paths: &'a Paths,
    pub switches: &'a [Switch],
    pub policies: &'a [PolicyRun],
    pub window: Option<MeasuredWindow>,
    pub demands: &'a [Demand],
    pub load: &'a LoadPlan,
    pub flows: &'a [Flow],
    /// Number of flows by source and destination datacenter.
    pub pairs: PairFlows,
    pub faults: &'a [FaultPlan],
    pub agent_crashes: &'a [AgentCrashPlan],
    /// Age, in emulated time, beyond which a switch's tables count as stale.
    pub max_table_age_ns: Nanos,
    pub reconvergences: &'a [Reconvergence],
    /// Number of switches on the longest path between two hosts, at the start or after a reconvergence.
    pub longest: u32,
    pub rdma: &'a Rdma,
    pub trips: RoundTrips,
    pub transport: &'a TransportPlan,
    pub scale: &'a Scale,
    pub auto_scale: Option<&'a AutoScale>,
    pub estimate: &'a Estimate,
    /// Capacity of the machine that runs the plan.
    pub capacity: &'a Capacity,
    /// Estimated cost of the run on that machine; `None` for the simulator.
    pub place: Option<&'a PlaceEstimate>,
    pub scenario: &'a Scenario,
    /// Text of the scenario, for line numbers.
    pub source: &'a str,
    /// Texts of the files that the scenario names, such as the scenarios that it extends.
    pub files: &'a Files,
    pub engine: Engine,
}

impl<'a> Inspection<'a> {
    /// Returns the network with the candidate tables of its switches.
    pub fn routing(&self) -> Routing<'a> {
        Routing {
            network: self.network,
            switches: self.switches,
        }
    }

    /// Returns the links and the faults.
    pub fn wires(&self) -> Wires<'a> {
        Wires {
            links: &self.network.links,
            faults: self.faults,
        }
    }

    /// Returns the key that sets the rate of the sampled traffic, for hints.
    pub fn load_key(&self) -> &'static str {
        self.load.key(self.scenario)
    }

    /// Returns a test for time spans with traffic: those that begin before the last flow would end if each ran alone, and
    /// last until after the first start. Without flows, all do.
    pub fn has_traffic(&self) -> impl Fn(Nanos, Option<Nanos>) -> bool + use<> {
        let first = self.flows.iter().map(|flow| flow.paper_start_ns).min();
        let end = PaperUnits::new(self.scale).time(round_trip::ideal_end(self.flows));
        move |since, until| {
            first.is_none_or(|first| since <= end && until.is_none_or(|until| until > first))
        }
    }

    /// Returns the cut links and the tables over time.
    pub fn timeline(&self) -> Timeline<'a> {
        Timeline {
            network: self.network,
            switches: self.switches,
            faults: self.faults,
            reconvergences: self.reconvergences,
            crashes: self.agent_crashes,
        }
    }
}

pub(super) fn warning(code: &str, text: String) -> Warning {
    Warning {
        code: code.to_owned(),
        text,
    }
}

/// Returns the line of the value at the YAML path `path` as text, such as ` (line 12)`, with the file if it is that of
/// an extended scenario; an empty string if the value is not set.
pub(super) fn line_of(inspection: &Inspection<'_>, path: &str) -> String {
    let Inspection {
        scenario,
        source,
        files,
        ..
    } = inspection;
    let (file, text) = lab_scenario::text_with(scenario, source, files, path);
    match (lab_scenario::value_line(text, path), file) {
        (None, _) => String::new(),
        (Some(line), None) => format!(" (line {line})"),
        (Some(line), Some(file)) => format!(" (`{file}`, line {line})"),
    }
}

/// Returns the lines of several values as text, such as ` (lines 12, 14)`; an empty string for none.
pub(super) fn of_lines(lines: &[usize]) -> String {
    let numbers: Vec<String> = lines.iter().map(usize::to_string).collect();
    match lines {
        [] => String::new(),
        [line] => format!(" (line {line})"),
        _ => format!(" (lines {})", numbers.join(", ")),
    }
}

/// Hint for warnings about sizes that are too small after scaling.
pub(super) const LARGER_SIZES: &str =
    "a larger product of `scale.rate` and `scale.time` scales sizes less";
