//! The two connected queue pairs of a flow.

use std::{
    ffi::c_int,
    ptr::{self, NonNull},
    sync::Arc,
};

use lab_perftest::{FlowJob, QpAddress, QpNumber, job::MAX_MESSAGE};

use crate::{
    device::{Device, PORT},
    error::VerbsError,
    sys::{self, AhAttr, GlobalRoute, QpAttr, QpCap, QpInitAttr, RecvWr, SendWr, Sge},
};

/// Queue pairs of a flow's source and destination, connected to each other, with a receive posted for
/// the flow's last message.
#[derive(Debug)]
pub(crate) struct ConnectedPair {
    src: QueuePair,
    dst: QueuePair,
}

/// Reliable connection's queue pair; destroyed on drop.
#[derive(Debug)]
struct QueuePair {
    qp: NonNull<sys::Qp>,
    device: Arc<Device>,
    /// Index of the device's GID that the queue pair sends from.
    gid_index: u8,
}

// SAFETY: libibverbs' objects may be used from any thread; see `Device`.
unsafe impl Send for QueuePair {}

impl ConnectedPair {
    /// Makes and connects the queue pairs of `job`, whose work requests get the identity `id`: the
    /// source's first, so that a device numbers its queue pairs in the order of its flows.
    ///
    /// # Errors
    /// A device refuses a queue pair, or the peer's address cannot be resolved.
    pub(crate) fn connect(
        job: &FlowJob,
        id: u64,
        src: &Arc<Device>,
        dst: &Arc<Device>,
    ) -> Result<Self, VerbsError> {
        let src = QueuePair::create(src, job.src.gid_index, job.messages, 1)?;
        let dst = QueuePair::create(dst, job.dst.gid_index, 1, 1)?;
        for (local, remote) in [(&dst, &src), (&src, &dst)] {
            local.initialise()?;
            local.make_ready_to_receive(job, remote)?;
            local.make_ready_to_send(job)?;
        }
        dst.post_receive(id)?;
        Ok(Self { src, dst })
    }

    /// Addresses of the source's and the destination's queue pair.
    pub(crate) fn addresses(&self) -> (QpAddress, QpAddress) {
        (self.src.address(), self.dst.address())
    }

    /// Device whose receive queue tells of the flow's delivery.
    pub(crate) fn receiver(&self) -> &Arc<Device> {
        &self.dst.device
    }

    /// Posts all messages of `job`: chained writes, the last with immediate data, which alone completes.
    ///
    /// # Errors
    /// The device refuses a work request.
    pub(crate) fn post(&self, job: &FlowJob, id: u64) -> Result<(), VerbsError> {
        let (addr, lkey, _) = self.src.device.buffer();
        let (remote_addr, _, rkey) = self.dst.device.buffer();
        let length = u32::try_from(job.message_bytes.get().min(MAX_MESSAGE.get()))
            .expect("8 MiB fit in 32 bits");
        let mut sge = Sge { addr, length, lkey };
        let last = job.messages.saturating_sub(1);
        let mut next: *mut SendWr = ptr::null_mut();
        let mut chain: Vec<Box<SendWr>> = Vec::new();
        for message in (0..=last).rev() {
            let is_last = message == last;
            let mut request = Box::new(SendWr {
                wr_id: id,
                next,
                sg_list: &raw mut sge,
                num_sge: 1,
                opcode: if is_last {
                    sys::WR_RDMA_WRITE_WITH_IMM
                } else {
                    sys::WR_RDMA_WRITE
                },
                send_flags: if is_last { sys::SEND_SIGNALED } else { 0 },
                imm_data: job.flow.0.to_be(),
                remote_addr,
                rkey,
                unused: [0; 9],
            });
            next = &raw mut *request;
            chain.push(request);
        }
        let mut refused = ptr::null_mut();
        let device = &self.src.device;
        // SAFETY: the queue pair is open; the chain, and the buffer that it names, live until the call
        // returns, which is as long as the driver reads them.
        let errno =
            unsafe { (device.ops().post_send)(self.src.qp.as_ptr(), next, &raw mut refused) };
        drop(chain);
        self.src.check("ibv_post_send", errno)
    }

    /// Ends all outstanding work requests of the source with an error.
    pub(crate) fn abort(&self) {
        let mut attributes = QpAttr {
            qp_state: sys::QPS_ERR,
            ..QpAttr::default()
        };
        if let Err(error) = self.src.modify(&mut attributes, sys::QP_STATE) {
            tracing::debug!(%error, "a queue pair is destroyed without being stopped first");
        }
    }
}

impl QueuePair {
    fn create(
        device: &Arc<Device>,
        gid_index: u8,
        sends: u32,
        receives: u32,
    ) -> Result<Self, VerbsError> {
        let mut attributes = QpInitAttr {
            qp_context: ptr::null_mut(),
            send_cq: device.send_cq.as_ptr(),
            recv_cq: device.recv_cq.as_ptr(),
            srq: ptr::null_mut(),
            cap: QpCap {
                max_send_wr: sends,
                max_recv_wr: receives,
                max_send_sge: 1,
                max_recv_sge: 1,
                max_inline_data: 0,
            },
            qp_type: sys::QPT_RC,
            sq_sig_all: 0,
        };
        // SAFETY: the domain and both queues are of `device`, which the queue pair keeps open.
        let qp = unsafe { (device.verbs().create_qp)(device.pd.as_ptr(), &raw mut attributes) };
        let qp = NonNull::new(qp)
            .ok_or_else(|| device.error("ibv_create_qp", crate::device::last_errno()))?;
        Ok(Self {
            qp,
            device: Arc::clone(device),
            gid_index,
        })
    }

    fn number(&self) -> u32 {
        // SAFETY: the queue pair is open.
        unsafe { self.qp.as_ref().qp_num }
    }

    fn gid(&self) -> sys::Gid {
        self.device.gid(self.gid_index)
    }

    fn address(&self) -> QpAddress {
        QpAddress {
            qp: QpNumber(self.number()),
            gid: self.gid().raw.into(),
        }
    }

    fn initialise(&self) -> Result<(), VerbsError> {
        let mut attributes = QpAttr {
            qp_state: sys::QPS_INIT,
            port_num: PORT,
            qp_access_flags: sys::ACCESS_REMOTE_WRITE.unsigned_abs(),
            ..QpAttr::default()
        };
        let mask = sys::QP_STATE | sys::QP_PKEY_INDEX | sys::QP_PORT | sys::QP_ACCESS_FLAGS;
        self.modify(&mut attributes, mask)
    }

    fn make_ready_to_receive(&self, job: &FlowJob, remote: &Self) -> Result<(), VerbsError> {
        let mut attributes = QpAttr {
            qp_state: sys::QPS_RTR,
            path_mtu: mtu_code(job.path_mtu),
            dest_qp_num: remote.number(),
            rq_psn: 0,
            max_dest_rd_atomic: 1,
            min_rnr_timer: MIN_RNR_TIMER,
            ah_attr: AhAttr {
                is_global: 1,
                port_num: PORT,
                grh: GlobalRoute {
                    dgid: remote.gid(),
                    flow_label: job.flow_label,
                    sgid_index: self.gid_index,
                    hop_limit: HOP_LIMIT,
                    traffic_class: job.traffic_class,
                },
                ..AhAttr::default()
            },
            ..QpAttr::default()
        };
        let mask = sys::QP_STATE
            | sys::QP_AV
            | sys::QP_PATH_MTU
            | sys::QP_DEST_QPN
            | sys::QP_RQ_PSN
            | sys::QP_MAX_DEST_RD_ATOMIC
            | sys::QP_MIN_RNR_TIMER;
        self.modify(&mut attributes, mask)
    }

    fn make_ready_to_send(&self, job: &FlowJob) -> Result<(), VerbsError> {
        let mut attributes = QpAttr {
            qp_state: sys::QPS_RTS,
            timeout: job.qp_timeout,
            retry_cnt: RETRIES,
            rnr_retry: RETRIES,
            sq_psn: 0,
            max_rd_atomic: 1,
            ..QpAttr::default()
        };
        let mask = sys::QP_STATE
            | sys::QP_TIMEOUT
            | sys::QP_RETRY_CNT
            | sys::QP_RNR_RETRY
            | sys::QP_SQ_PSN
            | sys::QP_MAX_QP_RD_ATOMIC;
        self.modify(&mut attributes, mask)
    }

    /// Posts the receive that immediate data consumes.
    fn post_receive(&self, id: u64) -> Result<(), VerbsError> {
        let mut request = RecvWr {
            wr_id: id,
            next: ptr::null_mut(),
            sg_list: ptr::null_mut(),
            num_sge: 0,
        };
        let mut refused = ptr::null_mut();
        // SAFETY: the queue pair is open, and the request lives until the call returns.
        let errno = unsafe {
            (self.device.ops().post_recv)(self.qp.as_ptr(), &raw mut request, &raw mut refused)
        };
        self.check("ibv_post_recv", errno)
    }

    fn modify(&self, attributes: &mut QpAttr, mask: c_int) -> Result<(), VerbsError> {
        // SAFETY: the queue pair is open, and `mask` names fields of `attributes`.
        let errno = unsafe { (self.device.verbs().modify_qp)(self.qp.as_ptr(), attributes, mask) };
        self.check("ibv_modify_qp", errno)
    }

    fn check(&self, call: &'static str, errno: c_int) -> Result<(), VerbsError> {
        match errno {
            0 => Ok(()),
            errno => Err(self.device.error(call, errno)),
        }
    }
}

impl Drop for QueuePair {
    fn drop(&mut self) {
        // SAFETY: the queue pair is open, and nothing uses it after this.
        let errno = unsafe { (self.device.verbs().destroy_qp)(self.qp.as_ptr()) };
        if errno != 0 {
            let error = self.device.error("ibv_destroy_qp", errno);
            tracing::warn!(%error, "a queue pair is left to the end of the process");
        }
    }
}

/// Returns the code of a path MTU, `enum ibv_mtu`: 1 is 256 B, 5 is 4,096 B.
const fn mtu_code(bytes: u32) -> c_int {
    match bytes {
        256 => 1,
        512 => 2,
        1024 => 3,
        2048 => 4,
        _ => 5,
    }
}

/// Maximum of the three-bit fields: rxe takes it for "for ever"; a flow is given up at its deadline.
const RETRIES: u8 = 7;

/// Code of the wait before a receiver without a receive is tried again, 0.64 ms (InfiniBand 9.7.5.2.8).
const MIN_RNR_TIMER: u8 = 12;

/// perftest's hop limit.
const HOP_LIMIT: u8 = 64;

#[cfg(test)]
mod tests {
    use lab_perftest::job::PATH_MTUS;

    use super::*;

    #[test]
    fn mtu_codes_are_those_of_ibv_mtu() {
        assert_eq!(PATH_MTUS.map(mtu_code), [1, 2, 3, 4, 5]);
    }
}
