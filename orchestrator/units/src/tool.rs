//! Programs that generate flows, and the two sides of a flow.

use crate::kinds::kind;

kind! {
    /// Program that transfers a flow from its source to its destination. A perftest program is written as the name of
    /// its executable.
    #[derive(Default)]
    Tool: "a program that generates flows" {
        /// Two-sided sends; the client sleeps until completion events arrive.
        #[default]
        SendBw = "ib_send_bw",
        /// RDMA writes. The program has no event mode: the client polls its completion queue and keeps one CPU busy
        /// while the flow lasts.
        WriteBw = "ib_write_bw",
        /// RDMA reads. The *destination* of the flow requests the data, so the client runs there, and the FCT begins
        /// when the request is posted.
        ReadBw = "ib_read_bw",
        /// One process for the flows of all hosts, which uses libibverbs; each flow is an RDMA write with immediate
        /// data. It supports thousands of flows, perftest only tens.
        Verbs = "verbs",
    }
}

kind! {
    /// One of the two sides of a flow; with perftest, each side is a process.
    Side: "a side" {
        /// Side that posts the work requests and measures the FCT.
        Client = "client",
        /// Side that the client connects to.
        Server = "server",
    }
}

impl Tool {
    /// Programs of perftest, which run two processes per flow.
    pub const PERFTEST: [Self; 3] = [Self::SendBw, Self::WriteBw, Self::ReadBw];

    /// Returns true if the client sleeps until completion events arrive (`-e`) instead of polling. `ib_write_bw` does
    /// not support it: "Events feature not available on WRITE verb".
    #[must_use]
    pub const fn waits_by_events(self) -> bool {
        match self {
            Self::SendBw | Self::ReadBw | Self::Verbs => true,
            Self::WriteBw => false,
        }
    }

    /// Returns the side that runs at the source of the flow's data.
    #[must_use]
    pub const fn source_side(self) -> Side {
        match self {
            Self::SendBw | Self::WriteBw | Self::Verbs => Side::Client,
            Self::ReadBw => Side::Server,
        }
    }

    /// Returns the side whose QP the data packets are addressed to. Switch records are matched to flows by the
    /// destination QP in the BTH.
    #[must_use]
    pub const fn data_destination(self) -> Side {
        self.source_side().other()
    }

    /// Returns true if the server has work of its own while data flows. This is the case only for `ib_send_bw`, whose
    /// receiver processes completions and then calibrates its clock for 0.22 s of CPU time.
    #[must_use]
    pub const fn server_measures(self) -> bool {
        matches!(self, Self::SendBw)
    }
}

impl Side {
    /// Returns the other side of the flow.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}
