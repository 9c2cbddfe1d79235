//! Codes of the reasons not to trust a run.

use serde::{Deserialize, Serialize};

/// Declares an enum of reason codes, each with its name in `run.json`.
macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident = $name:literal,)*) => {
        /// Kind of a reason not to trust a run.
        #[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
        pub enum ReasonCode {
            $($(#[$doc])* #[serde(rename = $name)] $code,)*
        }

        impl ReasonCode {
            /// All codes, in the order of declaration.
            pub const ALL: &[Self] = &[$(Self::$code),*];

            /// Returns the name of the code, as in `run.json`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$code => $name,)*
                }
            }
        }
    };
}

codes! {
    /// The run has not ended.
    DidNotEnd = "did-not-end",
    /// No measured flow, so that the run has no results to compare.
    NoFlows = "no-flows",
    /// Number of flows that did not finish.
    UnfinishedFlows = "unfinished-flows",
    /// Scheduled flows without a row in `flows.csv`; the figure is the number of flows that have a row.
    UnrecordedFlows = "unrecorded-flows",
    /// Number of flows that were impossibly fast; see [`crate::FlowFields::is_too_fast`].
    ImpossibleSlowdowns = "impossible-slowdowns",
    /// Problem that the engine reports; in records of [`OLDEST_FORMAT`], also a deviation of a switch or host, as a
    /// sentence.
    ///
    /// [`OLDEST_FORMAT`]: crate::directory::OLDEST_FORMAT
    #[serde(alias = "switch-counts")]
    EngineProblem = "engine-problem",
    /// Number of link directions whose measured rate, delay or buffer is outside its bounds.
    UncertifiedLinks = "uncertified-links",
    /// Number of flows that started late.
    LateFlows = "late-flows",
    /// Number of queue samples that were taken late.
    LateSamples = "late-samples",
    /// Share of the guest's CPU time that was in use while flows ran.
    BusyGuest = "busy-guest",
    /// Number of times that the guest waited for its host.
    HostWaits = "host-waits",
    /// Number of late wake-ups of the watchdog, which monitors CPUs and clocks.
    LateWakeups = "late-wakeups",
    /// Sum of the wall clock's jumps, in nanoseconds.
    ClockJump = "clock-jump",
    /// Share of all CPU time in use, in the busiest second.
    BusyCpus = "busy-cpus",
    /// Share of CPU time that the hypervisor gave to other machines, in the worst second.
    StolenCpus = "stolen-cpus",
    /// Share of one CPU's time in softirqs, in its busiest second.
    Softirqs = "softirqs",
    /// Mean number of tasks per CPU that waited for a CPU.
    WaitingTasks = "waiting-tasks",
    /// Number of packets dropped outside the emulated queues.
    DroppedOutside = "dropped-outside",
    /// Number of packets dropped on links without emulated loss.
    DroppedUnasked = "dropped-unasked",
    /// Number of retransmissions that no emulated loss explains.
    UnexplainedRetries = "unexplained-retries",
    /// Interface or queue that was changed while flows ran; after the first five, the number of further changed ones.
    AlteredLab = "altered-lab",
    /// Number of decisions whose flow could not be pinned because the flow table was full; such a flow gets a decision
    /// for every packet.
    UnpinnedDecisions = "unpinned-decisions",
    /// Number of decisions by hash over all live next hops, because tables or queue samples were stale.
    StaleDecisions = "stale-decisions",
    /// Number of decision records that were lost because a switch's ring buffer was full.
    LostDecisionRecords = "lost-decision-records",
    /// Number of an agent's messages that were lost.
    LostMessages = "lost-messages",
    /// Number of agents that ended before they had sent all reports.
    IncompleteReports = "incomplete-reports",
    /// Number of packets from senders that PFC cannot pause.
    UnpausableSenders = "unpausable-senders",
    /// Number of packets dropped despite PFC.
    DroppedDespitePfc = "dropped-despite-pfc",
    /// Number of packets that queues dropped in a simulation by trains. Other packets are lost than in one by packets, so
    /// that QPs recover differently.
    DroppedFromTrains = "dropped-from-trains",
    /// Number of packets that a host sent without pacing them.
    UnpacedPackets = "unpaced-packets",
    /// Number of packets that a host's pacer dropped.
    DroppedByPacer = "dropped-by-pacer",
    /// Number of packets that left a host's pacer out of order.
    ReorderedByPacer = "reordered-by-pacer",
    /// Number of CNPs that a host could not send.
    UnsentCnps = "unsent-cnps",
    /// Number of PFC pauses of hosts that were not recorded.
    UnrecordedPauses = "unrecorded-pauses",
    /// Number of finished flows for which the switch of their source datacenter recorded no decision.
    UndecidedFlows = "undecided-flows",
    /// Number of counted decisions that have no row in `decisions.csv`.
    UnrecordedDecisions = "unrecorded-decisions",
    /// Number of commands that `exec` ran while flows ran.
    ExecCommands = "exec-commands",
    /// Number of times that `tune` changed parameters while flows ran.
    TunedParameters = "tuned-parameters",
    /// Number of restarts of killed agents while flows ran.
    AgentRestarts = "agent-restarts",
    /// Number of tables whose last row is cut off.
    TruncatedTables = "truncated-tables",
}
