//! Programs that make flows, and the two sides of a flow.

use crate::kinds::kind;

kind! {
    /// Program that moves one flow from its source to its destination. The word of a perftest program
    /// is its name in `PATH`.
    #[derive(Default)]
    Tool: "a program that makes flows" {
        /// Two-sided sends; the client waits for completions by events.
        #[default]
        SendBw = "ib_send_bw",
        /// RDMA writes; without an event mode, the client polls its completion queue and keeps one
        /// CPU busy for as long as the flow lasts.
        WriteBw = "ib_write_bw",
        /// RDMA reads. The *destination* of the flow asks for the data, so the client runs there and
        /// the FCT begins when the request is posted.
        ReadBw = "ib_read_bw",
        /// One process for the flows of all hosts, by libibverbs: each flow is one RDMA write with
        /// immediate data. It takes thousands of flows, where perftest takes tens.
        Verbs = "verbs",
    }
}

kind! {
    /// One of a flow's two sides, each a perftest process.
    Side: "a side" {
        /// Posts the work requests and measures.
        Client = "client",
        /// Answers.
        Server = "server",
    }
}

impl Tool {
    /// Programs of perftest: two processes for each flow.
    pub const PERFTEST: [Self; 3] = [Self::SendBw, Self::WriteBw, Self::ReadBw];

    /// True if the client sleeps until its completions come (`-e`) instead of polling for them;
    /// `ib_write_bw` refuses: "Events feature not available on WRITE verb".
    #[must_use]
    pub const fn waits_by_events(self) -> bool {
        match self {
            Self::SendBw | Self::ReadBw | Self::Verbs => true,
            Self::WriteBw => false,
        }
    }

    /// Process that runs at the flow's source.
    #[must_use]
    pub const fn source_side(self) -> Side {
        match self {
            Self::SendBw | Self::WriteBw | Self::Verbs => Side::Client,
            Self::ReadBw => Side::Server,
        }
    }

    /// Process whose QP the data packets are addressed to; a switch's record of the data (its BTH
    /// destination QP) is joined by that QP.
    #[must_use]
    pub const fn data_destination(self) -> Side {
        self.source_side().other()
    }

    /// True if the server has work of its own while data flows: only `ib_send_bw` has a receiver
    /// that reaps completions and then calibrates its clock for 0.22 s of CPU.
    #[must_use]
    pub const fn server_measures(self) -> bool {
        matches!(self, Self::SendBw)
    }
}

impl Side {
    /// The process this one talks to.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}
