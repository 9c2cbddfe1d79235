//! Errors of planning a scenario.

use lab_scenario::ScenarioErrors;
use lab_units::{Nanos, Place, Ratio};

/// Error of planning a scenario.
///
/// A parsed scenario is consistent in itself; these errors need names, numbers and files together.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// More of something than there are addresses for.
    #[error("{object} has {count} {what}, the address plan holds at most {max}")]
    TooMany {
        /// The object that has too many.
        object: String,
        /// Kind of thing counted.
        what: &'static str,
        /// Number found.
        count: u64,
        /// The bound.
        max: u64,
    },
    /// A name that nothing has.
    #[error("`{path}`: there is no {what} `{name}`{hint}")]
    Unknown {
        /// YAML path in the scenario.
        path: String,
        /// Kind of object that should have the name.
        what: &'static str,
        /// The name.
        name: String,
        /// ` (hint: …)` or nothing.
        hint: String,
    },
    /// Two datacenters without a path between them.
    #[error(
        "no inter-DC links lead from `{from}` to `{to}` (hint: connect them in `topology.links`)"
    )]
    Unreachable {
        /// Source datacenter.
        from: String,
        /// Destination datacenter.
        to: String,
    },
    /// A window of measured flows without a flow.
    #[error(
        "`measure`: no flow starts {window}, the last one starts at {last} (hint: move `from` or `to`, or \
         lengthen the traffic)"
    )]
    NothingMeasured {
        /// The window in words.
        window: String,
        /// Scheduled start of the last flow.
        last: Nanos,
    },
    /// A file the scenario names was not handed over.
    #[error("`{path}`: the text of `{file}` is missing")]
    MissingFile {
        /// YAML path in the scenario.
        path: String,
        /// The file as written there.
        file: String,
    },
    /// A file the scenario names is wrong in itself.
    #[error("`{path}`: {source}")]
    File {
        /// YAML path in the scenario.
        path: String,
        /// Problems by line of the file.
        source: ScenarioErrors,
    },
    /// A row of a flow file names a host that the topology does not have.
    #[error(
        "`{file}`, line {line}: host {host} is host {number} of datacenter {dc}, but {lack} \
         (hint: these files number 16 hosts per datacenter, from 0)"
    )]
    FlowFileHost {
        /// The file as written in the scenario.
        file: String,
        /// Line of the file, from 1.
        line: usize,
        /// The host's id in the file.
        host: u32,
        /// Datacenter of the host, from 1.
        dc: u32,
        /// Number of the host in the datacenter, from 1.
        number: u32,
        /// Description of the topology's hosts.
        lack: String,
    },
    /// A datacenter that should send or receive has no hosts.
    #[error("`{path}`: `{dc}` has no hosts (hint: set `topology.dcs[].hosts`)")]
    NoHosts {
        /// YAML path in the scenario.
        path: String,
        /// The datacenter.
        dc: String,
    },
    /// A workload has nobody to talk to.
    #[error("`{path}`: fewer than two datacenters have hosts")]
    NoPairs {
        /// YAML path in the scenario.
        path: String,
    },
    /// More flows than a plan holds, or arrivals than a workload samples.
    #[error(
        "`{path}`: more than {max} flows, or arrivals of which `max_flows` keeps some (hint: lower \
         `duration`, `load` or `repetitions`)"
    )]
    TooManyFlows {
        /// YAML path in the scenario.
        path: String,
        /// The bound.
        max: usize,
    },
    /// A flow to its own source.
    #[error("`{path}`: host `{host}` sends to itself")]
    SelfFlow {
        /// YAML path in the scenario.
        path: String,
        /// The host.
        host: String,
    },
    /// A quantity that vanishes when scaled.
    #[error("`{path}` is {paper}, which is nothing at a scale of {scale} (hint: {hint})")]
    Vanishes {
        /// YAML path in the scenario.
        path: String,
        /// The paper value.
        paper: String,
        /// The factor.
        scale: Ratio,
        /// Hint.
        hint: &'static str,
    },
    /// A quantity that rounding would change too much.
    #[error(
        "`{path}` is {paper}, which at a scale of {scale} is rounded to {emulated} and changed by \
         more than 1/{tolerance} (hint: {hint})"
    )]
    Inexact {
        /// YAML path in the scenario.
        path: String,
        /// The paper value.
        paper: String,
        /// The factor.
        scale: Ratio,
        /// The nearest emulated value.
        emulated: String,
        /// One over the tolerated change.
        tolerance: u64,
        /// Hint.
        hint: &'static str,
    },
    /// More next hops than a switch chooses among.
    #[error(
        "`{from}` has {found} next hops on shortest paths to `{to}`, a switch chooses among at most {max} \
         (hint: remove some of its links, or one of theirs to `{to}`)"
    )]
    TooManyNextHops {
        /// Name of the datacenter that has them.
        from: String,
        /// Name of the destination.
        to: String,
        /// Number of next hops.
        found: usize,
        /// Largest number.
        max: usize,
    },
    /// A quantity that leaves 64 bits when scaled.
    #[error("`{path}` is {paper}, which is too much at a scale of {scale} (hint: {hint})")]
    Overflows {
        /// YAML path in the scenario.
        path: String,
        /// The paper value.
        paper: String,
        /// The factor.
        scale: Ratio,
        /// Hint.
        hint: &'static str,
    },
    /// A scale that is zero or whose product leaves 64 bits.
    #[error(
        "`scale`: sizes would be scaled by {rate} · {time}, which is not a fraction above zero (hint: use rounder factors)"
    )]
    Scale {
        /// Factor of rates.
        rate: Ratio,
        /// Factor of times.
        time: Ratio,
    },
    /// A scenario that no automatic scale fits.
    #[error(
        "`scale: auto` finds none that fits {place}: {why} (hint: lower the load, or pin `scale: {{ rate, time }}`)"
    )]
    NoScale {
        /// The place.
        place: Place,
        /// The bound that cannot be kept.
        why: &'static str,
    },
    /// A policy parameter outside what the switch program computes with.
    #[error("`{path}`: {why}")]
    Parameter {
        /// YAML path in the scenario.
        path: String,
        /// Description with value, bound and hint.
        why: String,
    },
    /// No policy is left to run.
    #[error("`policies` has nothing to run")]
    NoPolicies,
    /// A round trip longer than any QP time-out.
    #[error(
        "the longest round trip with full queues is {round_trip}, a QP waits at most {max} \
         (hint: lower `scale.time` or the buffers)"
    )]
    QpTimeout {
        /// The round trip.
        round_trip: Nanos,
        /// The longest time-out.
        max: Nanos,
    },
    /// QPs cannot wait as long as is asked for.
    #[error(
        "`transport.retransmit_timeout` is {requested} emulated, a QP waits at most {max} (hint: lower \
         it or `scale.time`)"
    )]
    RequestedTimeout {
        /// Requested time-out.
        requested: Nanos,
        /// The longest time-out.
        max: Nanos,
    },
}
