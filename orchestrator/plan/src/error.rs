//! Why a scenario cannot be planned.

use lab_scenario::ScenarioErrors;
use lab_units::Ratio;

/// Why a scenario cannot be planned.
///
/// A scenario that was read is consistent in itself; what is left is what only shows once names,
/// numbers and files meet.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The machine has no such slot.
    #[error("slot is {slot}, it must be 0 to {most}")]
    Slot {
        /// What was asked for.
        slot: u8,
        /// The last slot.
        most: u8,
    },
    /// More of something than there are addresses for.
    #[error("{object} has {count} {what}, the address plan holds at most {most}")]
    TooMany {
        /// The object that has too many.
        object: String,
        /// Of what.
        what: &'static str,
        /// How many.
        count: u64,
        /// The bound.
        most: u64,
    },
    /// A name that nothing has.
    #[error("`{path}`: there is no {what} `{name}`{hint}")]
    Unknown {
        /// Where in the scenario.
        path: String,
        /// What should have the name.
        what: &'static str,
        /// The name.
        name: String,
        /// ` (hint: …)` or nothing.
        hint: String,
    },
    /// There is no way between two datacenters.
    #[error(
        "no inter-DC links lead from `{from}` to `{to}` (hint: connect them in `topology.links`)"
    )]
    Unreachable {
        /// Where from.
        from: String,
        /// Where to.
        to: String,
    },
    /// A file the scenario names was not handed over.
    #[error("`{path}`: the text of `{file}` is missing")]
    MissingFile {
        /// Where in the scenario.
        path: String,
        /// The file as written there.
        file: String,
    },
    /// A file the scenario names is wrong in itself.
    #[error("`{path}`: {source}")]
    File {
        /// Where in the scenario.
        path: String,
        /// What is wrong, by line of the file.
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
        /// Its line.
        line: usize,
        /// The host's id in the file.
        host: u32,
        /// Its datacenter, from 1.
        dc: u32,
        /// Its number there, from 1.
        number: u32,
        /// What the topology has instead.
        lack: String,
    },
    /// A datacenter that should send or receive has no hosts.
    #[error("`{path}`: `{dc}` has no hosts (hint: set `topology.dcs[].hosts`)")]
    NoHosts {
        /// Where in the scenario.
        path: String,
        /// The datacenter.
        dc: String,
    },
    /// A workload has nobody to talk to.
    #[error("`{path}`: fewer than two datacenters have hosts")]
    NoPairs {
        /// Where in the scenario.
        path: String,
    },
    /// More flows than a plan holds.
    #[error(
        "`{path}`: the plan has more than {most} flows (hint: lower `duration`, `load` or \
         `repetitions`, or set `max_flows`)"
    )]
    TooManyFlows {
        /// Where in the scenario.
        path: String,
        /// The bound.
        most: usize,
    },
    /// A flow to its own source.
    #[error("`{path}`: host `{host}` sends to itself")]
    SelfFlow {
        /// Where in the scenario.
        path: String,
        /// The host.
        host: String,
    },
    /// A quantity that vanishes when scaled.
    #[error("`{path}` is {paper}, which is nothing at a scale of {scale} (hint: {hint})")]
    Vanishes {
        /// Where in the scenario.
        path: String,
        /// The paper value.
        paper: String,
        /// The factor.
        scale: Ratio,
        /// What to do.
        hint: &'static str,
    },
    /// A quantity that rounding would change too much.
    #[error(
        "`{path}` is {paper}, which at a scale of {scale} is rounded to {emulated} and changed by \
         more than 1/{tolerance} (hint: {hint})"
    )]
    Inexact {
        /// Where in the scenario.
        path: String,
        /// The paper value.
        paper: String,
        /// The factor.
        scale: Ratio,
        /// The nearest emulated value.
        emulated: String,
        /// One over the tolerated change.
        tolerance: u64,
        /// What to do.
        hint: &'static str,
    },
    /// A quantity that leaves 64 bits when scaled.
    #[error("`{path}` is {paper}, which is too much at a scale of {scale} (hint: {hint})")]
    Overflows {
        /// Where in the scenario.
        path: String,
        /// The paper value.
        paper: String,
        /// The factor.
        scale: Ratio,
        /// What to do.
        hint: &'static str,
    },
    /// A scale that is zero or whose product leaves 64 bits.
    #[error(
        "`scale`: sizes would be scaled by {rate} · {time}, which is not a fraction above zero (hint: use rounder factors)"
    )]
    Scale {
        /// Of rates.
        rate: Ratio,
        /// Of times.
        time: Ratio,
    },
    /// `auto` found no scale.
    #[error(
        "`scale: auto` finds none that fits this machine: {why} (hint: pin `scale: {{ rate, time }}`)"
    )]
    NoScale {
        /// The bound that cannot be kept.
        why: String,
    },
    /// A policy parameter outside what the switch program computes with.
    #[error("`{path}`: {why}")]
    Parameter {
        /// Where in the scenario.
        path: String,
        /// What is wrong, with value, bound and hint.
        why: String,
    },
    /// No policy is left to run.
    #[error("`policies` has nothing to run")]
    NoPolicies,
    /// A round trip longer than any QP time-out.
    #[error(
        "the longest round trip with full queues is {round_trip}, a QP waits at most {most} \
         (hint: lower `scale.time` or the buffers)"
    )]
    QpTimeout {
        /// The round trip.
        round_trip: lab_units::Nanos,
        /// The longest time-out.
        most: lab_units::Nanos,
    },
    /// QPs cannot wait as long as is asked for.
    #[error(
        "`transport.retransmit_timeout` is {said} emulated, a QP waits at most {most} (hint: lower \
         it or `scale.time`)"
    )]
    SaidTimeout {
        /// Asked for.
        said: lab_units::Nanos,
        /// The longest time-out.
        most: lab_units::Nanos,
    },
}
