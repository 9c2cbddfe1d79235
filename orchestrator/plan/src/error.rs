//! Errors found while a scenario is resolved into a plan.

use lab_redte::WeightsError;
use lab_scenario::ScenarioErrors;
use lab_units::{Nanos, Place, Ratio, Trainer, show::about_time};

/// Reason why a scenario cannot be resolved into a plan.
///
/// The parser has checked each value and name by itself; these errors appear only when names, numbers and files are
/// combined.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// More objects of one kind than the address plan has numbers for.
    #[error("{object} has {count} {what}, but the address plan holds at most {max}")]
    TooMany {
        /// Object that exceeds a maximum, such as a datacenter.
        object: String,
        /// Kind of the counted things, in the plural, such as `link ends`.
        what: &'static str,
        /// Number of things of this kind that the scenario needs.
        count: u64,
        /// Maximum number of things of this kind in the address plan.
        max: u64,
    },
    /// Reference to a name that no object of the scenario has.
    #[error("`{path}`: there is no {what} `{name}`{hint}")]
    Unknown {
        /// YAML path of the value that causes the error, such as `traffic[0].workload`.
        path: String,
        /// Kind of object that the name should denote, such as `host`.
        what: &'static str,
        name: String,
        /// Hint in parentheses, after a space; an empty string if there is none.
        hint: String,
    },
    /// More faults, with the random ones, than a scenario may have.
    #[error(
        "`{path}`: the scenario has more than {max} link changes, including the random ones up to {until}, when the last \
         flows start (hint: raise `mtbf`, name fewer links in `groups`, or shorten the traffic)"
    )]
    TooManyFaults {
        /// YAML path of the entry that draws one fault too many, such as `faults[0].random`.
        path: String,
        /// Maximum number of faults, counted by links.
        max: usize,
        /// End of the time in which flows start, in paper time.
        until: Nanos,
    },
    /// Two datacenters without a path between them.
    #[error(
        "no inter-DC links lead from `{from}` to `{to}` (hint: connect them in `topology.links`)"
    )]
    Unreachable { from: String, to: String },
    /// Window of measured flows in which no flow starts.
    #[error(
        "`measure`: no flow starts {window}; the last flow starts at {} (hint: move `from` or `to`, or lengthen the \
         traffic)",
        about_time(*last)
    )]
    NothingMeasured {
        /// Description of the window with its bounds, in paper time (before scaling).
        window: String,
        /// Scheduled start of the last flow, in paper time (before scaling).
        last: Nanos,
    },
    /// File that the scenario names but whose text is not among [`Files`](lab_scenario::Files).
    #[error("`{path}`: the text of `{file}` is missing")]
    MissingFile {
        /// YAML path of the value that causes the error, such as `traffic[0].workload`.
        path: String,
        /// Path of the file as written in the scenario.
        file: String,
    },
    /// Policy with trained weights for which the program has no weights on the scenario's inter-DC network.
    #[error(
        "`{path}`: the program has no weights for this inter-DC network (hint: write `train: auto`; or make some with \
         `lcmp-lab train SCENARIO --trainer {trainer} -o FILE`, and name them with `weights: FILE`)"
    )]
    NoWeights {
        /// YAML path of the policy.
        path: String,
        trainer: Trainer,
    },
    /// Weight file that cannot be used.
    #[error("`{path}`: {}: {source}", file.as_ref().map_or("the program's weights".to_owned(), |file| format!("`{file}`")))]
    Weights {
        /// YAML path of the policy.
        path: String,
        /// Path of the file as written in the scenario; `None` for the program's own weights.
        file: Option<String>,
        source: WeightsError,
    },
    /// Weight file from a trainer other than the policy's name states.
    #[error("`{path}`: these weights were trained by {found} (hint: call the policy `{policy}`)")]
    OtherTrainer {
        /// YAML path of the policy.
        path: String,
        found: Trainer,
        /// Name of the policy with such weights.
        policy: &'static str,
    },
    /// Errors in a file that the scenario names.
    #[error("`{path}`: {source}")]
    File {
        /// YAML path of the value that causes the error, such as `traffic[0].workload`.
        path: String,
        /// Errors in the file, each with its line.
        source: ScenarioErrors,
    },
    /// Row of a flow file with a host that the topology lacks.
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
        /// Number of the host's datacenter, from 1.
        dc: u32,
        /// Number of the host in the datacenter, from 1.
        number: u32,
        /// Description of the hosts that the topology has, for the message.
        lack: String,
    },
    /// Datacenter that should send or receive flows but has no hosts.
    #[error("`{path}`: `{dc}` has no hosts (hint: set `topology.dcs[].hosts`)")]
    NoHosts {
        /// YAML path of the value that causes the error, such as `traffic[0].workload`.
        path: String,
        /// Name of the datacenter without hosts.
        dc: String,
    },
    /// Workload between all datacenters, of which fewer than two have hosts.
    #[error("`{path}`: fewer than two datacenters have hosts")]
    NoPairs {
        /// YAML path of the value that causes the error, such as `traffic[0].workload`.
        path: String,
    },
    /// Load of links that get no traffic.
    #[error(
        "`{path}`: with every NIC full, no inter-DC link gets as much as 1 bit/s from this workload (hint: faster NICs, \
         or `load_base: host-nic`)"
    )]
    NoLoadBase {
        /// YAML path of the load base.
        path: String,
    },
    /// More flows than a plan may hold, or more arrivals than a workload may sample.
    #[error(
        "`{path}`: more than {max} flows, or more than {max} arrivals before `max_flows` is applied (hint: lower \
         `duration`, `load` or `repetitions`)"
    )]
    TooManyFlows {
        /// YAML path of the value that causes the error, such as `traffic[0].workload`.
        path: String,
        /// Maximum number of flows, and of arrivals.
        max: usize,
    },
    /// Flow from a host to itself.
    #[error("`{path}`: host `{host}` sends to itself")]
    SelfFlow {
        /// YAML path of the value that causes the error, such as `traffic[0].workload`.
        path: String,
        /// Name of the host that is both source and destination.
        host: String,
    },
    /// Quantity that becomes 0 when scaled for emulation.
    #[error("`{path}` is {paper}, which becomes 0 at a scale of {scale} (hint: {hint})")]
    Vanishes {
        /// YAML path of the value that causes the error, such as `traffic[0].workload`.
        path: String,
        /// Value before scaling, with its unit.
        paper: String,
        /// Scale factor that applies to the value.
        scale: Ratio,
        hint: &'static str,
    },
    /// Quantity that would change too much when scaled for emulation and rounded to a whole number.
    #[error(
        "`{path}` is {paper}, which at a scale of {scale} is rounded to {emulated} and changed by \
         more than 1/{tolerance} (hint: {hint})"
    )]
    Inexact {
        /// YAML path of the value that causes the error, such as `traffic[0].workload`.
        path: String,
        /// Value before scaling, with its unit.
        paper: String,
        /// Scale factor that applies to the value.
        scale: Ratio,
        /// Value after scaling and rounding, with its unit.
        emulated: String,
        /// Inverse of the tolerated relative change: 100 means 1 %.
        tolerance: u64,
        hint: &'static str,
    },
    /// More next hops on shortest paths than a switch can choose among.
    #[error(
        "`{from}` has {found} next hops on shortest paths to `{to}`, but a switch chooses among at most {max} \
         (hint: remove links of `{from}`, or links from its next hops to `{to}`, or write `routing: {{ candidates: \
         downhill-delay }}`, which keeps the next hops of least path delay)"
    )]
    TooManyNextHops {
        /// Name of the datacenter whose switch has the next hops.
        from: String,
        /// Name of the destination datacenter.
        to: String,
        /// Number of next hops on shortest paths.
        found: usize,
        /// Maximum number of next hops among which a switch can choose.
        max: usize,
    },
    /// Part of the scenario that cannot choose among tunnels, or follow them.
    #[error("`routing.candidates: tunnels`: {why}")]
    NoTunnels {
        /// Description of the part, with a hint.
        why: String,
    },
    /// Part of the scenario that chooses among candidates and cannot follow new ones.
    #[error("`routing.reconverge`: {why}")]
    NoReconvergence {
        /// Description of the part, with a hint.
        why: String,
    },
    /// Quantity that exceeds 64 bits when scaled for emulation.
    #[error("`{path}` is {paper}, which overflows at a scale of {scale} (hint: {hint})")]
    Overflows {
        /// YAML path of the value that causes the error, such as `traffic[0].workload`.
        path: String,
        /// Value before scaling, with its unit.
        paper: String,
        /// Scale factor that applies to the value.
        scale: Ratio,
        hint: &'static str,
    },
    /// Scale factors whose product, the factor of sizes, is zero or a fraction that does not fit in 64 bits.
    #[error(
        "`scale`: sizes would be scaled by {rate} · {time}, which is 0 or needs more than 64 bits (hint: use rounder \
         factors)"
    )]
    Scale {
        /// Scale factor of rates.
        rate: Ratio,
        /// Scale factor of times.
        time: Ratio,
    },
    /// Scenario that no automatic scale fits.
    #[error(
        "`scale: auto` finds no scale that fits {place}: {why} (hint: lower the load or the rate of `host_link`, or pin \
         `scale: {{ rate, time }}`)"
    )]
    NoScale {
        /// Machine on which the scenario should run, such as a guest.
        place: Place,
        /// Description of the bound that every scale exceeds.
        why: &'static str,
    },
    /// Parameter of a policy outside the range that the switch program supports.
    #[error("`{path}`: {why}")]
    Parameter {
        /// YAML path of the value that causes the error, such as `traffic[0].workload`.
        path: String,
        /// Description with the value, its bounds and a hint.
        why: String,
    },
    /// Scenario without any policy to run.
    #[error("`policies` has no policy to run")]
    NoPolicies,
    /// Round trip for which even the longest transport time-out of a QP is too short.
    #[error(
        "twice the longest round trip with empty queues, {round_trip} after scaling, is not less than {max}, the longest \
         time that a QP waits for an ACK (hint: lower `scale.time`)"
    )]
    QpTimeout {
        /// Longest round trip with empty queues, after scaling.
        round_trip: Nanos,
        /// Longest transport time-out of a QP.
        max: Nanos,
    },
    /// Requested retransmission time-out that exceeds the longest transport time-out of a QP.
    #[error(
        "`transport.retransmit_timeout` is {requested} after scaling, but a QP waits at most {max} for an ACK (hint: lower \
         it or `scale.time`)"
    )]
    RequestedTimeout {
        /// Requested time-out, after scaling.
        requested: Nanos,
        /// Longest transport time-out of a QP.
        max: Nanos,
    },
}

impl PlanError {
    /// Returns the YAML path of the value that causes the error; `None` if no single value does.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Unknown { path, .. }
            | Self::TooManyFaults { path, .. }
            | Self::MissingFile { path, .. }
            | Self::NoWeights { path, .. }
            | Self::Weights { path, .. }
            | Self::OtherTrainer { path, .. }
            | Self::File { path, .. }
            | Self::NoHosts { path, .. }
            | Self::NoPairs { path }
            | Self::NoLoadBase { path }
            | Self::TooManyFlows { path, .. }
            | Self::SelfFlow { path, .. }
            | Self::Vanishes { path, .. }
            | Self::Inexact { path, .. }
            | Self::Overflows { path, .. }
            | Self::Parameter { path, .. } => Some(path),
            Self::NothingMeasured { .. } => Some("measure"),
            Self::NoTunnels { .. } => Some("routing.candidates"),
            Self::NoReconvergence { .. } => Some("routing.reconverge"),
            Self::Scale { .. } | Self::NoScale { .. } => Some("scale"),
            Self::QpTimeout { .. } => Some("scale.time"),
            Self::RequestedTimeout { .. } => Some("transport.retransmit_timeout"),
            Self::NoPolicies => Some("policies"),
            Self::TooMany { .. }
            | Self::Unreachable { .. }
            | Self::FlowFileHost { .. }
            | Self::TooManyNextHops { .. } => None,
        }
    }
}
