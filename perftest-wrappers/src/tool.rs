//! The perftest programs a flow can be made with.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One perftest bandwidth test, which moves one flow from its source to its destination.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tool {
    /// `ib_send_bw`: two-sided sends. Waits by events, so it is the default.
    SendBw,
    /// `ib_write_bw`: RDMA writes. It has no event mode and polls its completion queue, which keeps
    /// one CPU busy for as long as the flow lasts.
    WriteBw,
    /// `ib_read_bw`: RDMA reads. The *destination* of the flow asks for the data, so the client
    /// runs there and the FCT begins when the request is posted.
    ReadBw,
}

/// One of the two processes of a flow.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Posts the work requests and measures.
    Client,
    /// Answers.
    Server,
}

impl Tool {
    /// Every tool.
    pub const ALL: [Self; 3] = [Self::SendBw, Self::WriteBw, Self::ReadBw];

    /// The program's name, looked up in `PATH`.
    #[must_use]
    pub const fn program(self) -> &'static str {
        match self {
            Self::SendBw => "ib_send_bw",
            Self::WriteBw => "ib_write_bw",
            Self::ReadBw => "ib_read_bw",
        }
    }

    /// Whether the client sleeps until its completions come (`-e`) instead of polling for them.
    #[must_use]
    pub const fn waits_by_events(self) -> bool {
        match self {
            Self::SendBw | Self::ReadBw => true,
            // The tool refuses: "Events feature not available on WRITE verb".
            Self::WriteBw => false,
        }
    }

    /// The process that runs at the flow's source.
    #[must_use]
    pub const fn source_side(self) -> Side {
        match self {
            Self::SendBw | Self::WriteBw => Side::Client,
            Self::ReadBw => Side::Server,
        }
    }

    /// The process whose QP the data packets are addressed to, and with which a switch's record of
    /// the data (its BTH destination QP) is joined.
    #[must_use]
    pub const fn data_destination(self) -> Side {
        match self {
            Self::SendBw | Self::WriteBw => Side::Server,
            Self::ReadBw => Side::Client,
        }
    }

    /// Whether the server has work of its own while data flows. Only `ib_send_bw` has a receiver
    /// that reaps completions and then calibrates its clock for 0.22 s of CPU to print a number
    /// that nobody reads.
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

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.program())
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Client => "client",
            Self::Server => "server",
        })
    }
}
