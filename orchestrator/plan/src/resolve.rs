//! Resolution of a scenario into a plan, step by step.

use lab_scenario::{Files, Measure, ScaleSpec, Scenario};
use lab_units::{Engine, Nanos, Ratio, Semantics, Tool, show};
use sha2::{Digest, Sha256};

use crate::{
    agent_crashes, auto_scale,
    capacity::Capacity,
    demands,
    error::PlanError,
    estimate::{self, EstimateInputs},
    faults::{self, PlannedFault},
    load,
    model::{Flow, LoadPlan, MeasurePlan, MeasuredWindow, PLAN_FORMAT, Plan, Scale},
    networks::Networks,
    paths::{self, Paths},
    policy::{self, Inputs},
    random_faults, rdma, reconvergence,
    round_trip::{self, RoundTrips},
    routes,
    schedule::{self, FlowInputs},
    scope::choice,
    source_addrs, topology, transits, transport,
    warnings::{self, Inspection},
};

/// Options of a plan, from the command line.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct PlanOptions {
    /// Seed that replaces the scenario's; `None` to keep the scenario's.
    pub seed: Option<u64>,
    /// Labels of the policies to run; `None` for all policies of the scenario.
    pub policies: Option<Vec<String>>,
    pub engine: Engine,
    /// True if a plan for the simulator applies the scenario's `scale`, for comparison with the kernel engine; a plan
    /// for the kernel engine always applies it.
    pub is_scaled: bool,
    /// Factors of rates and times that replace the scenario's `scale`; `None` to keep the scenario's.
    pub scale: Option<(Ratio, Ratio)>,
    /// Capacity of the machine that runs the plan, for an automatic scale and cost estimates.
    pub capacity: Capacity,
}

impl PlanOptions {
    /// Returns true if unset transport parameters follow SoftRoCE, that is, if the plan is scaled.
    pub(crate) fn follows_rxe(&self) -> bool {
        self.engine == Engine::Kernel || self.is_scaled
    }
}

/// Resolves the scenario `written` into a plan for lab slot 0.
///
/// `source_text` is the text from which it was read; `files` contains the texts of the files that the scenario
/// names, by their paths as written. The same arguments give the same plan on every machine.
///
/// # Errors
/// Fails if the scenario's names, numbers and files are inconsistent: see [`PlanError`].
pub fn resolve(
    written: &Scenario,
    source_text: &str,
    files: &Files,
    options: &PlanOptions,
) -> Result<Plan, PlanError> {
    let seed = options.seed.unwrap_or(written.seed);
    let paper = topology::build(&written.topology, &Scale::PAPER)?;
    let paths = Paths::find(&paper, written.candidate_set);
    let switches = paths::switches(&paper, &paths)?;
    let repetitions = if options.follows_rxe() {
        written.repetitions.lab
    } else {
        written.repetitions.sim
    };
    let demands = demands::of_scenario(written, &paper, &switches)?;
    let drafted = schedule::draft(written, files, (seed, repetitions), &paper, &demands)?;
    let load = load::of_drafts(written, repetitions, &paper, &demands, &drafted);
    let starts = drafted.flows.iter().map(|(_, flow)| flow.start);
    let drawn = random_faults::draw(written, seed, load.paper_duration_ns, starts)?;
    let scenario = drawn.scenario.as_ref();
    let pinned = match (options.scale, scenario.scale) {
        (Some(factors), _) => Some(factors),
        (None, ScaleSpec::Fixed { rate, time }) => Some((rate, time)),
        (None, ScaleSpec::Auto) => None,
    };
    let (scale, auto_scale) = match (options.follows_rxe(), pinned) {
        (false, _) => (Scale::PAPER, None),
        (true, Some((rate, time))) => (Scale::new(rate, time)?, None),
        (true, None) => {
            let (scale, reasons) = auto_scale::pick(&auto_scale::Inputs {
                scenario,
                repetitions,
                paper: &paper,
                paths: &paths,
                drafts: &drafted.flows,
                capacity: options.capacity,
            })?;
            (scale, Some(reasons))
        }
    };
    let mut network = topology::build(&scenario.topology, &scale)?;
    routes::add(&mut network, &paths)?;
    let changes = faults::resolve(scenario, &network, &scale)?;
    let links: Vec<_> = changes.iter().map(PlannedFault::plan).collect();
    let epochs = reconvergence::epochs(scenario.reconverge_after, &links, &scale)?;
    let later =
        reconvergence::paths(&network, &paths, &epochs).map(|(epoch, paths)| (epoch.at_ns, paths));
    let flows = schedule::flows(
        &drafted.flows,
        &FlowInputs {
            engine: options.engine,
            generator: &scenario.generator,
            transport: &scenario.transport,
            profile: transport::resolve::profile(
                &scenario.transport,
                &scenario.generator,
                options.follows_rxe(),
            ),
            scale: &scale,
        },
        &mut Networks::new(
            &network,
            &paths,
            later,
            &changes,
            scenario.generator.tool == Tool::ReadBw,
        ),
    )?;
    if scenario.transport.semantics == Semantics::Paper {
        source_addrs::add(&mut network, scenario.generator.tool, &flows)?;
    }
    let load = LoadPlan {
        ideal_concurrency: load::ideal_concurrency(&flows),
        ..load
    };
    let sent = round_trip::max_wire_bytes(&flows);
    let mtu = scenario.generator.mtu;
    let mut trips = RoundTrips::longest(&network, &paths, mtu, sent)?;
    let mut longest = transport::resolve::longest_path(&network, &paths);
    for (_, paths) in reconvergence::paths(&network, &paths, &epochs) {
        trips = trips.max(RoundTrips::longest(&network, &paths, mtu, sent)?);
        longest = longest.max(transport::resolve::longest_path(&network, &paths));
    }
    let slowest_qp = if options.follows_rxe() {
        transport::resolve::slowest_qp(&scenario.transport, &scale)?
    } else {
        None
    };
    let rdma = rdma::settings(
        &scenario.generator,
        &scenario.transport,
        &rdma::Inputs {
            network: &network,
            scale: &scale,
            trips,
            flows: &flows,
            slowest_qp,
        },
    )?;
    let transport = transport::resolve::resolve(
        scenario,
        &transport::resolve::Lab {
            longest,
            scale: &scale,
            rdma: &rdma,
            follows_rxe: options.follows_rxe(),
        },
    )?;
    let inputs = Inputs {
        network: &network,
        switches: &switches,
        scale: &scale,
        trips,
        files,
    };
    let wanted = options.policies.as_deref();
    transits::check(scenario, &network.dcs, wanted)?;
    let policies = policy::runs(&scenario.policies, wanted, &inputs)?;
    let measure = MeasurePlan {
        queues_ns: scale.time("measure.queues", scenario.measure.queues)?,
        links_ns: scale.time("measure.links", scenario.measure.links)?,
        switches_ns: scale.time("measure.switches", scenario.measure.switches)?,
        measured: measured_window(&scenario.measure, &flows)?,
    };
    reconvergence::check(scenario, &network.dcs, &policies)?;
    let agent_crashes = agent_crashes::resolve(scenario, &network, &scale)?;
    let max_table_age_ns = scale.time("max_table_age", scenario.max_table_age)?;
    let routes = (&network, &paths);
    let (faults, reconvergences) =
        faults::with_path_costs(changes, &epochs, routes, &switches, &policies)?;
    let inputs = EstimateInputs {
        network: &network,
        paths: &paths,
        flows: &flows,
        repetitions,
        rdma: &rdma,
        policies: &policies,
        measure: &measure,
        transport: &transport,
    };
    let estimate = estimate::estimate(&inputs);
    let place = match options.engine {
        Engine::Kernel => Some(estimate::at_place(&inputs, &options.capacity)),
        Engine::Sim => None,
    };
    let warnings = warnings::inspect(&Inspection {
        network: &network,
        paths: &paths,
        switches: &switches,
        policies: &policies,
        window: measure.measured,
        demands: &demands::of_hosts(&demands, &load.thinned),
        load: &load,
        flows: &flows,
        pairs: choice::pairs(&network, &flows),
        faults: &faults,
        agent_crashes: &agent_crashes,
        max_table_age_ns,
        reconvergences: &reconvergences,
        longest,
        rdma: &rdma,
        trips,
        transport: &transport,
        scale: &scale,
        auto_scale: auto_scale.as_ref(),
        estimate: &estimate,
        capacity: &options.capacity,
        place: place.as_ref(),
        scenario,
        source: source_text,
        files,
        engine: options.engine,
    });
    Ok(Plan {
        format: PLAN_FORMAT,
        name: scenario.name.clone(),
        description: scenario.description.clone(),
        scenario_hash: hash(scenario, source_text, files),
        seed,
        slot: 0,
        scale,
        auto_scale,
        candidate_set: scenario.candidate_set,
        paper_reconverge_after_ns: scenario.reconverge_after,
        dcs: network.dcs,
        nodes: network.nodes,
        links: network.links,
        ports: network.ports,
        switches,
        policies,
        repetitions,
        flows,
        load,
        rdma,
        transport,
        measure,
        max_table_age_ns,
        faults,
        agent_crashes,
        reconvergences,
        estimate,
        warnings,
        assumptions: scenario.topology.assumptions.clone(),
    })
}

/// Returns the window of measured flows; `None` if the scenario has no window. Fails if no flow starts in the window.
fn measured_window(measure: &Measure, flows: &[Flow]) -> Result<Option<MeasuredWindow>, PlanError> {
    if measure.from == Nanos::ZERO && measure.to.is_none() {
        return Ok(None);
    }
    let window = MeasuredWindow {
        paper_from_ns: measure.from,
        paper_to_ns: measure.to,
    };
    if window.ids(flows).is_empty() {
        let starts = flows.iter().map(|flow| flow.paper_start_ns);
        return Err(PlanError::NothingMeasured {
            window: show::window(measure.from, measure.to),
            last: starts.max().unwrap_or_default(),
        });
    }
    Ok(Some(window))
}

/// Returns the SHA-256 over the scenario's text and the texts of the files that it names, each preceded by its length.
fn hash(scenario: &Scenario, source_text: &str, files: &Files) -> String {
    let texts = lab_scenario::files(scenario)
        .into_iter()
        .filter_map(|path| files.get(path).map(String::as_str));
    let mut hasher = Sha256::new();
    for text in std::iter::once(source_text).chain(texts) {
        let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
        hasher.update(length.to_be_bytes());
        hasher.update(text);
    }
    let digest = hasher.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
