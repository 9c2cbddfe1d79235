//! Resolution of a scenario into a plan: everything that is decided before a run, as integers.
//!
//! Engines read the plan: names, addresses, paths and their attributes, queue parameters, policy parameters, and each
//! flow's start, size and ideal FCT. [`resolve`](resolve()) makes the plan from a scenario, the texts of the files that
//! the scenario names, and [`PlanOptions`]. The same arguments give the same bytes on every machine.
//!
//! Must not contain: clocks, kernel calls, threads, file access, randomness without a seed, or floats in a plan.
//!
//! Folders: `fabric` (datacenters, links, addresses), `host`, `switch`, `traffic`, `scaling`, `view` (text forms), `scope`
//! (facts that limit what a run can show). The crate's root re-exports the modules of the first six, so that paths do not
//! name the folder.
//!
//! Contents of a plan:
//! - [`model`][]: the plan itself
//! - [`address`][]: names, addresses and numbers, which differ between the labs of a machine
//! - `slot`: relabelling of a plan for the slot of a lab, [`Plan::in_slot`]
//! - `difference`: the first difference between two plans, [`Plan::difference`]
//! - [`frame`][]: wire sizes of RoCEv2 packets
//! - [`ideal`][]: the ideal FCT of a flow
//! - [`pfc`][]: headroom of priority flow control
//! - [`standalone`][]: the FCT that the authors' code takes as the reference of slowdowns
//! - [`rdma`][]: QP settings
//! - [`FlowTablePlan`][]: flow tables
//! - [`size_thresholds`](size_thresholds())[]: UCMP flow ageing
//! - [`timer_wheel`][]: the kernel's timers
//! - [`transport`][]: transport of hosts and buffers of switches in the simulator
//! - [`error`][]: errors of planning
//!
//! What a run cannot show: [`scope`](scope()).
//!
//! For traffic engineering and trained policies: [`Plan::te_topology`], and the [`mean_demands`](mean_demands()) of a
//! scenario.
//!
//! Steps of `resolve`, from top to bottom:
//! - `topology`, `network`: nodes, links and ports
//! - `paths`, `routes`: next hops and their attributes; kernel routes
//! - `schedule`, `demands`, `workload`, `drafts`, `sample`: flows, sampled or listed
//! - `networks`: rates and delays between faults, for ideal FCTs
//! - `connection`, `source_addrs`: five-tuples of flows, and additional addresses that these need
//! - `load`: the load that workloads request, and the load that their flows offer
//! - `auto_scale`, `scale`, `paper_units`: scaling, with factors that are given or that fit the [`Capacity`] of a place
//! - `round_trip`, `policy`, `faults`, `agent_crashes`, `path_costs`, `reconvergence`: parts of the plan that depend on the
//!   emulated network
//! - `estimate`, `offer`, `warnings`: cost of a run, also [at a given place](estimate_at()), and warnings about the
//!   results
//!
//! Text forms: [`render_table`][], [`render_svg`][]. [`explain`](explain()) shows the decisions of the switches,
//! [`account`][] their memory.
//!
//! A quantity is emulated unless its name contains `paper`; see [`Scale`].
//!
//! ```
//! let text = "
//! name: pair
//! topology:
//!   dcs: [{ name: dc1, hosts: 1 }, { name: dc2, hosts: 1 }]
//!   links: [{ between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms }]
//! traffic:
//!   - flows: [{ from: dc1/h1, to: dc2/h1, size: 20 MB }]
//! policies: [ecmp]
//! scale: { rate: 1/2000, time: 10 }
//! ";
//! let scenario = lab_scenario::parse("pair.yaml", text.as_bytes()).unwrap();
//! let files = lab_scenario::Files::new();
//! let plan = lab_plan::resolve(&scenario, text, &files, &lab_plan::PlanOptions::default())?;
//! assert_eq!(plan.links[0].emu.rate_bps.to_string(), "50 Mbit");
//! assert_eq!(plan.flows[0].message_bytes.get(), 20_000);
//! assert_eq!(plan.ports[plan.switches[0].destinations[0].candidates[0].port.index()].interface, "l0d1-d2");
//! # Ok::<(), lab_plan::PlanError>(())
//! ```

mod agent_crashes;
pub mod error;
mod fabric;
mod faults;
mod host;
pub mod model;
mod random_faults;
mod reconvergence;
mod resolve;
mod scaling;
mod scope;
mod switch;
mod traffic;
mod view;
mod warnings;

pub use fabric::{address, frame, transits};
pub(crate) use fabric::{
    network, networks, paths, routes, source_addrs, table_paths, topology, wires,
};
pub use host::{rdma, timer_wheel, transport};
pub(crate) use host::{round_trip, sampled_rates};
pub(crate) use scaling::{auto_scale, capacity, estimate, paper_units};
pub use switch::pfc;
pub(crate) use switch::{flow_ageing, flow_table, parameters, path_costs, policy, ports};
pub(crate) use traffic::{
    connection, demand, demands, drafts, load, offer, sample, schedule, workload,
};
pub use traffic::{ideal, standalone};
pub use view::account;
pub(crate) use view::{explain, graph, table};

pub use lab_units::{Engine, LinkChange, Place, Semantics};

pub use capacity::{Capacity, MeasuredLoad, ParseCapacityError};
pub use connection::{Connection, MIN_SOURCE_PORT, connections};
pub use demands::{MeanDemand, mean_demands};
pub use error::PlanError;
pub use estimate::{PlaceEstimate, estimate_at};
pub use explain::{
    ActorInput, Explained, Explanation, InputQuantity, Question, QueueState, explain,
    render_explanation,
};
pub use flow_ageing::size_thresholds;
pub use flow_table::FlowTablePlan;
pub use graph::render_svg;
pub use model::*;
pub use paper_units::PaperUnits;
pub use ports::CrowdedSwitch;
pub use random_faults::DrawnFaults;
pub use resolve::{PlanOptions, resolve};
pub use sample::generator;
pub use sampled_rates::SampledRates;
pub use scope::{
    alike::{AlikePolicies, AlikeReason},
    candidate_spread::CandidateSpread,
    choice::ChoiceCount,
    outage::{Outage, OutageEnd, OutageSpan},
    resolve::{CrashEffect, Scope, TrafficTime, scope},
    single_cut::{HarmfulCut, SingleCuts},
    spread::LoadedLink,
    tightest_cut::{CutTraffic, LoadedCut},
    utilisation::Utilisation,
};
pub use table::render_table;
pub use transits::{FullSwitch, Transit, TransitTables};
pub use transport::{CcPlan, HostProfile, Timer, TransportPlan, Window};
pub use wires::Wires;
