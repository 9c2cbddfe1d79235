//! What is to be run: one flow, its two ends, its schedule.

use std::path::PathBuf;

use lab_units::{Bytes, FlowId, Nanos};
use serde::{Deserialize, Serialize};

use crate::{
    error::JobError,
    qp::MAX_QP_TIMEOUT,
    tool::{Side, Tool},
};

/// One end of a flow.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// The host's name, for messages.
    pub host: String,
    /// The RDMA device's name.
    pub rdma_device: String,
    /// The GID of that device to send from: 1 is the IPv4 address of an rxe device.
    pub gid_index: u8,
    /// The network namespace the process runs in, as a path that can be opened; `None` is the
    /// caller's own. Its loopback interface must be up: the handshake uses it.
    pub netns: Option<PathBuf>,
}

/// One flow: a perftest client and its server.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FlowJob {
    /// Its place in the plan's schedule.
    pub flow: FlowId,
    /// What makes it.
    pub tool: Tool,
    /// Where the data comes from.
    pub src: Endpoint,
    /// Where the data goes to.
    pub dst: Endpoint,
    /// Size of one message; the flow is `messages` of them.
    pub message_bytes: Bytes,
    /// How many messages, at least [`MIN_MESSAGES`].
    pub messages: u32,
    /// When it starts, counted from the instant given to [`crate::Session::run`].
    pub start: Nanos,
    /// The QP's retransmission timer, 4.096 µs · 2^n; see [`crate::required_qp_timeout`].
    pub qp_timeout: u8,
    /// The path MTU in bytes: 256, 512, 1024, 2048 or 4096.
    pub path_mtu: u32,
    /// The octet of the IPv4 header with DSCP and ECN.
    pub traffic_class: u8,
    /// The longest the flow may take from its release; then it is ended and recorded as timed out.
    pub deadline: Nanos,
}

impl FlowJob {
    /// The flow's size.
    #[must_use]
    pub const fn total_bytes(&self) -> Bytes {
        Bytes::new(
            self.message_bytes
                .get()
                .saturating_mul(self.messages as u64),
        )
    }

    /// Where the process of `side` runs.
    #[must_use]
    pub fn endpoint(&self, side: Side) -> &Endpoint {
        if self.tool.source_side() == side {
            &self.src
        } else {
            &self.dst
        }
    }

    /// Checks everything that can be known without running it.
    ///
    /// # Errors
    /// The first value perftest would refuse.
    pub fn check(&self) -> Result<(), JobError> {
        let flow = self.flow;
        if self.messages < MIN_MESSAGES {
            let messages = self.messages;
            return Err(JobError::TooFewMessages { flow, messages });
        }
        if self.message_bytes == Bytes::ZERO || self.message_bytes > MAX_MESSAGE {
            let size = self.message_bytes;
            return Err(JobError::MessageSize { flow, size });
        }
        if !PATH_MTUS.contains(&self.path_mtu) {
            let mtu = self.path_mtu;
            return Err(JobError::PathMtu { flow, mtu });
        }
        if self.qp_timeout > MAX_QP_TIMEOUT {
            let timeout = self.qp_timeout;
            return Err(JobError::QpTimeout { flow, timeout });
        }
        for end in [&self.src, &self.dst] {
            // A device called `-a` would be read as an option.
            if end.rdma_device.is_empty() || end.rdma_device.starts_with('-') {
                let device = end.rdma_device.clone();
                return Err(JobError::DeviceName { flow, device });
            }
        }
        Ok(())
    }
}

/// perftest refuses `-n` below five in every version.
pub const MIN_MESSAGES: u32 = 5;

/// The largest message an rxe port takes (its `max_msg_sz` is 0x800000).
pub const MAX_MESSAGE: Bytes = Bytes::new(8 << 20);

/// The path MTUs InfiniBand knows, in bytes.
pub const PATH_MTUS: [u32; 5] = [256, 512, 1024, 2048, 4096];
