//! Codes of reasons not to trust a run.

use serde::{Deserialize, Serialize};

/// Declares codes with their names.
macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident = $name:literal,)*) => {
        /// Kind of a reason not to trust a run.
        #[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
        pub enum ReasonCode {
            $($(#[$doc])* #[serde(rename = $name)] $code,)*
        }

        impl ReasonCode {
            /// All codes.
            pub const ALL: &[Self] = &[$(Self::$code),*];

            /// Returns the name of the code.
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
    /// The run did not end.
    DidNotEnd = "did-not-end",
    /// Flows that did not finish.
    UnfinishedFlows = "unfinished-flows",
    /// Flows that have a row, out of the scheduled flows.
    UnrecordedFlows = "unrecorded-flows",
    /// Flows that were faster than their ideal FCT.
    ImpossibleSlowdowns = "impossible-slowdowns",
    /// Problem that the engine reports; in [`OLDEST_FORMAT`], also a sentence with a count of a switch or host.
    ///
    /// [`OLDEST_FORMAT`]: crate::directory::OLDEST_FORMAT
    #[serde(alias = "switch-counts")]
    EngineProblem = "engine-problem",
    /// Link directions outside the bounds of their certificate.
    UncertifiedLinks = "uncertified-links",
    /// Flows that started late.
    LateFlows = "late-flows",
    /// Queue samples that began late.
    LateSamples = "late-samples",
    /// Share of the CPU time that the guest used while flows ran.
    BusyGuest = "busy-guest",
    /// Times that the guest waited for its host.
    HostWaits = "host-waits",
    /// Late wake-ups of the watchdog.
    LateWakeups = "late-wakeups",
    /// Sum of the wall clock's jumps, in nanoseconds.
    ClockJump = "clock-jump",
    /// Share of all CPU time in use, in the busiest second.
    BusyCpus = "busy-cpus",
    /// Share of CPU time that the hypervisor gave to other machines, in the worst second.
    StolenCpus = "stolen-cpus",
    /// Share of one CPU's time in softirqs, in its busiest second.
    Softirqs = "softirqs",
    /// Average number of waiting tasks per CPU.
    WaitingTasks = "waiting-tasks",
    /// Packets dropped outside the emulated queues.
    DroppedOutside = "dropped-outside",
    /// Packets dropped on links without emulated loss.
    DroppedUnasked = "dropped-unasked",
    /// Retransmissions that no emulated loss explains.
    UnexplainedRetries = "unexplained-retries",
    /// Interfaces and queues that were changed while flows ran.
    AlteredLab = "altered-lab",
    /// Decisions whose flow could not be pinned, because the flow table was full; the switch decides for every packet
    /// of such a flow.
    UnpinnedDecisions = "unpinned-decisions",
    /// Decisions by hash over all live next hops, because tables or signals were stale.
    StaleDecisions = "stale-decisions",
    /// Decision records that were lost, because their switch's ring buffer was full.
    LostDecisionRecords = "lost-decision-records",
    /// Lost messages of an agent.
    LostMessages = "lost-messages",
    /// Agents that ended before they had sent all their reports.
    IncompleteReports = "incomplete-reports",
    /// Packets of senders that PFC cannot pause.
    UnpausableSenders = "unpausable-senders",
    /// Packets dropped despite PFC.
    DroppedDespitePfc = "dropped-despite-pfc",
    /// Packets that a host did not pace.
    UnpacedPackets = "unpaced-packets",
    /// Packets that a host's pacer dropped.
    DroppedByPacer = "dropped-by-pacer",
    /// Packets that left a host's pacer out of order.
    ReorderedByPacer = "reordered-by-pacer",
    /// CNPs that a host could not send.
    UnsentCnps = "unsent-cnps",
    /// Pauses of hosts that were not recorded.
    UnrecordedPauses = "unrecorded-pauses",
    /// Finished flows for which their source's switch recorded no decision.
    UndecidedFlows = "undecided-flows",
    /// Counted decisions without a row in `decisions.csv`.
    UnrecordedDecisions = "unrecorded-decisions",
    /// Commands that `exec` ran while flows ran.
    ExecCommands = "exec-commands",
    /// Parameter changes by `tune` while flows ran.
    TunedParameters = "tuned-parameters",
    /// Restarts of killed agents while flows ran.
    AgentRestarts = "agent-restarts",
    /// Tables whose last row is cut off.
    TruncatedTables = "truncated-tables",
}
