//! Errors of planning a scenario.

use lab_scenario::ScenarioErrors;
use lab_units::{Nanos, Place, Ratio};

/// Error of planning a scenario.
///
/// A parsed scenario is consistent in itself; these errors need its names, numbers and files together.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// Number of objects exceeds the address plan.
    #[error("{object} has {count} {what}, but the address plan holds at most {max}")]
    TooMany {
        /// Object that has too many parts.
        object: String,
        /// Kind of part that is counted, in the plural.
        what: &'static str,
        /// Number of parts in the scenario.
        count: u64,
        /// Maximum that the address plan holds.
        max: u64,
    },
    /// Name that no object of the scenario has.
    #[error("`{path}`: there is no {what} `{name}`{hint}")]
    Unknown {
        /// YAML path in the scenario.
        path: String,
        /// Kind of object that the name should denote.
        what: &'static str,
        name: String,
        /// Hint in parentheses after a blank, or an empty string.
        hint: String,
    },
    /// Two datacenters without a path between them.
    #[error(
        "no inter-DC links lead from `{from}` to `{to}` (hint: connect them in `topology.links`)"
    )]
    Unreachable { from: String, to: String },
    /// Window of measured flows in which no flow starts.
    #[error(
        "`measure`: no flow starts {window}; the last flow starts at {last} (hint: move `from` or `to`, or \
         lengthen the traffic)"
    )]
    NothingMeasured {
        /// Description of the window.
        window: String,
        /// Scheduled start of the last flow.
        last: Nanos,
    },
    /// File named in the scenario whose text the caller did not pass.
    #[error("`{path}`: the text of `{file}` is missing")]
    MissingFile {
        /// YAML path in the scenario.
        path: String,
        /// Path of the file as written in the scenario.
        file: String,
    },
    /// File named in the scenario that has errors.
    #[error("`{path}`: {source}")]
    File {
        /// YAML path in the scenario.
        path: String,
        /// Errors by line of the file.
        source: ScenarioErrors,
    },
    /// Row of a flow file that names a host which the topology does not have.
    #[error(
        "`{file}`, line {line}: host {host} is host {number} of datacenter {dc}, but {lack} \
         (hint: these files number 16 hosts per datacenter, from 0)"
    )]
    FlowFileHost {
        /// Path of the file as written in the scenario.
        file: String,
        /// Line of the file, from 1.
        line: usize,
        /// Host id in the file.
        host: u32,
        /// Datacenter of the host, from 1.
        dc: u32,
        /// Number of the host in the datacenter, from 1.
        number: u32,
        /// Description of the hosts that the topology has.
        lack: String,
    },
    /// Datacenter without hosts that should send or receive.
    #[error("`{path}`: `{dc}` has no hosts (hint: set `topology.dcs[].hosts`)")]
    NoHosts {
        /// YAML path in the scenario.
        path: String,
        /// Name of the datacenter.
        dc: String,
    },
    /// Workload without pairs of datacenters: fewer than two have hosts.
    #[error("`{path}`: fewer than two datacenters have hosts")]
    NoPairs {
        /// YAML path in the scenario.
        path: String,
    },
    /// More flows than a plan may hold, or more arrivals than a workload may sample.
    #[error(
        "`{path}`: more than {max} flows, or more than {max} arrivals before `max_flows` is applied (hint: lower \
         `duration`, `load` or `repetitions`)"
    )]
    TooManyFlows {
        /// YAML path in the scenario.
        path: String,
        /// Maximum of flows and of arrivals.
        max: usize,
    },
    /// Flow whose source is its destination.
    #[error("`{path}`: host `{host}` sends to itself")]
    SelfFlow {
        /// YAML path in the scenario.
        path: String,
        /// Name of the host.
        host: String,
    },
    /// Quantity that scales to zero.
    #[error("`{path}` is {paper}, which becomes 0 at a scale of {scale} (hint: {hint})")]
    Vanishes {
        /// YAML path in the scenario.
        path: String,
        /// Value in paper units.
        paper: String,
        /// Scale factor.
        scale: Ratio,
        hint: &'static str,
    },
    /// Quantity that rounding to the emulated unit would change too much.
    #[error(
        "`{path}` is {paper}, which at a scale of {scale} is rounded to {emulated} and changed by \
         more than 1/{tolerance} (hint: {hint})"
    )]
    Inexact {
        /// YAML path in the scenario.
        path: String,
        /// Value in paper units.
        paper: String,
        /// Scale factor.
        scale: Ratio,
        /// The nearest emulated value.
        emulated: String,
        /// Inverse of the tolerated relative change.
        tolerance: u64,
        hint: &'static str,
    },
    /// More next hops than a switch can choose among.
    #[error(
        "`{from}` has {found} next hops on shortest paths to `{to}`, but a switch chooses among at most {max} \
         (hint: remove some of its links, or one of theirs to `{to}`)"
    )]
    TooManyNextHops {
        /// Name of the datacenter whose switch has the next hops.
        from: String,
        /// Name of the destination datacenter.
        to: String,
        /// Number of next hops on shortest paths.
        found: usize,
        /// Maximum number of next hops.
        max: usize,
    },
    /// Quantity that exceeds 64 bits when scaled.
    #[error("`{path}` is {paper}, which overflows at a scale of {scale} (hint: {hint})")]
    Overflows {
        /// YAML path in the scenario.
        path: String,
        /// Value in paper units.
        paper: String,
        /// Scale factor.
        scale: Ratio,
        hint: &'static str,
    },
    /// Scale factors whose product is zero or exceeds 64 bits.
    #[error(
        "`scale`: sizes would be scaled by {rate} · {time}, which is 0 or too fine a fraction (hint: use rounder \
         factors)"
    )]
    Scale {
        /// Factor of rates.
        rate: Ratio,
        /// Factor of times.
        time: Ratio,
    },
    /// Scenario that no automatic scale fits.
    #[error(
        "`scale: auto` finds no scale that fits {place}: {why} (hint: lower the load, or pin `scale: {{ rate, \
         time }}`)"
    )]
    NoScale {
        /// Place where the scenario should run.
        place: Place,
        /// Description of the bound that no scale keeps.
        why: &'static str,
    },
    /// Policy parameter out of the range that the switch program supports.
    #[error("`{path}`: {why}")]
    Parameter {
        /// YAML path in the scenario.
        path: String,
        /// Description with the value, its bound and a hint.
        why: String,
    },
    /// Empty list of policies.
    #[error("`policies` has no policy to run")]
    NoPolicies,
    /// Round trip longer than the longest QP time-out.
    #[error(
        "the longest round trip with full queues is {round_trip}, but a QP waits at most {max} \
         (hint: lower `scale.time` or the buffers)"
    )]
    QpTimeout {
        /// Longest round trip with full queues.
        round_trip: Nanos,
        /// Longest QP time-out.
        max: Nanos,
    },
    /// Requested retransmission time-out longer than the longest QP time-out.
    #[error(
        "`transport.retransmit_timeout` is {requested} emulated, but a QP waits at most {max} (hint: lower \
         it or `scale.time`)"
    )]
    RequestedTimeout {
        /// Requested time-out.
        requested: Nanos,
        /// Longest QP time-out.
        max: Nanos,
    },
}
