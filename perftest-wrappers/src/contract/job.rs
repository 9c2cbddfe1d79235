//! Job: one flow with its two ends and its schedule.

use std::path::PathBuf;

use lab_units::{Bytes, FlowId, Nanos, Side, Tool};
use serde::{Deserialize, Serialize};

use super::{
    error::JobError,
    limits::{MAX_MESSAGE, MIN_MESSAGES},
    qp::MAX_QP_TIMEOUT,
};

/// One end of a flow: a host and its RDMA device.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// Name of the host, used in messages.
    pub host: String,
    /// Name of the RDMA device.
    pub rdma_device: String,
    /// Index of the GID that the device sends from; on an rxe device, index 1 is the IPv4 address.
    pub gid_index: u8,
    /// Path of the process's network namespace; `None` is the caller's own namespace. The namespace's loopback
    /// interface, which the handshake uses, must be up.
    pub netns: Option<PathBuf>,
}

/// Flow of a perftest client and its server.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FlowJob {
    /// Id of the flow: its position in the plan's schedule.
    pub flow: FlowId,
    /// Program that generates the flow.
    pub tool: Tool,
    /// End that sends the data.
    pub src: Endpoint,
    /// End that receives the data.
    pub dst: Endpoint,
    /// Size of one message; the flow consists of `messages` messages.
    pub message_bytes: Bytes,
    /// Number of messages, at least [`MIN_MESSAGES`].
    pub messages: u32,
    /// Time from the instant given to `Session::run` to the flow's start.
    pub start: Nanos,
    /// Exponent n of the QP's retransmission time-out, 4.096 µs · 2^n, which must exceed twice the longest round
    /// trip.
    pub qp_timeout: u8,
    /// Path MTU in bytes, one of [`PATH_MTUS`].
    pub path_mtu: u32,
    /// Value of the byte in the IPv4 header that holds DSCP and ECN.
    pub traffic_class: u8,
    /// Flow label of both QPs (20 bits), from which the kernel derives the UDP source port. With 0, as in perftest,
    /// the kernel derives the port from the QP numbers.
    pub flow_label: u32,
    /// Time from the start after which the flow is aborted and recorded as timed out.
    pub deadline: Nanos,
}

impl FlowJob {
    /// Returns the size of the flow: message size times number of messages.
    #[must_use]
    pub fn total_bytes(&self) -> Bytes {
        let messages = u64::from(self.messages);
        Bytes::new(self.message_bytes.get().saturating_mul(messages))
    }

    /// Returns the flow's endpoint at which the process of `side` runs.
    #[must_use]
    pub fn endpoint(&self, side: Side) -> &Endpoint {
        if self.tool.source_side() == side {
            &self.src
        } else {
            &self.dst
        }
    }

    /// Checks the job's values without running perftest.
    ///
    /// # Errors
    /// Returns the first value that perftest would reject.
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
            // perftest would read a device name such as `-a` as an option.
            if end.rdma_device.is_empty() || end.rdma_device.starts_with('-') {
                let device = end.rdma_device.clone();
                return Err(JobError::DeviceName { flow, device });
            }
        }
        Ok(())
    }
}

/// Path MTUs that InfiniBand defines, in bytes.
pub const PATH_MTUS: [u32; 5] = [256, 512, 1024, 2048, 4096];

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns a job with five messages of 20 kB from `rxe_a` to `rxe_b`.
    pub(crate) fn job(tool: Tool) -> FlowJob {
        let end = |host: &str| Endpoint {
            host: host.to_owned(),
            rdma_device: format!("rxe_{host}"),
            gid_index: 1,
            netns: None,
        };
        FlowJob {
            flow: FlowId(7),
            tool,
            src: end("a"),
            dst: end("b"),
            message_bytes: Bytes::new(20_000),
            messages: 5,
            start: Nanos::ZERO,
            qp_timeout: 18,
            path_mtu: 4096,
            traffic_class: 106,
            flow_label: 0,
            deadline: Nanos::from_millis(10_000),
        }
    }

    #[test]
    fn the_client_of_a_read_runs_at_its_destination() {
        for (tool, client) in [
            (Tool::SendBw, "a"),
            (Tool::WriteBw, "a"),
            (Tool::ReadBw, "b"),
        ] {
            assert_eq!(job(tool).endpoint(Side::Client).host, client, "{tool}");
            assert_ne!(job(tool).endpoint(Side::Server).host, client, "{tool}");
        }
    }

    #[test]
    fn what_perftest_would_refuse_is_refused_before() {
        let job = job(Tool::SendBw);
        assert_eq!(job.check(), Ok(()));
        let refused = |change: &dyn Fn(&mut FlowJob)| {
            let mut job = job.clone();
            change(&mut job);
            job.check().unwrap_err().to_string()
        };
        let errors = [
            refused(&|job| job.messages = 4),
            refused(&|job| job.message_bytes = Bytes::ZERO),
            refused(&|job| job.message_bytes = Bytes::new(8_388_609)),
            refused(&|job| job.path_mtu = 1500),
            refused(&|job| job.qp_timeout = 32),
            refused(&|job| "-h".clone_into(&mut job.dst.rdma_device)),
        ];
        insta::assert_snapshot!(errors.join("\n"));
    }
}
