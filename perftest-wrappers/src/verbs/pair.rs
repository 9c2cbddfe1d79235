//! The two connected queue pairs of a flow.

use std::{ffi::c_int, marker::PhantomData, ptr, sync::Arc};

use super::{
    device::{Device, PORT},
    error::VerbsError,
    object::Object,
    sys::{self, AhAttr, GlobalRoute, QpAttr, QpCap, RecvWr, SendWr, Sge},
};
use crate::contract::{FlowJob, QpAddress, QpNumber, limits::MAX_MESSAGE};

/// Connected queue pairs of a flow's source and destination. The destination's queue pair has a posted receive request
/// for the flow's last message.
#[derive(Debug)]
pub(crate) struct ConnectedPair {
    src: QueuePair,
    dst: QueuePair,
}

/// Queue pair of a reliable connection, destroyed on drop.
#[derive(Debug)]
struct QueuePair {
    qp: Object<sys::Qp, Arc<Device>>,
    /// Index of the device's GID that the queue pair sends from.
    gid_index: u8,
}

/// Linked list of work requests in the form that `ibv_post_send` expects. The borrow prevents the requests from being
/// moved or changed while their pointers may be used.
struct Chain<'a> {
    first: *mut SendWr,
    requests: PhantomData<(&'a mut [SendWr], &'a mut Sge)>,
}

impl ConnectedPair {
    /// Creates and connects the queue pairs of `job`, whose work requests get the identifier `id`. The source's queue
    /// pair is created first, so that each device numbers its queue pairs in the order of its flows.
    ///
    /// # Errors
    /// A device refuses to create a queue pair, or the peer's address cannot be resolved.
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

    /// Returns the addresses of the source's and the destination's queue pair.
    pub(crate) fn addresses(&self) -> (QpAddress, QpAddress) {
        (self.src.address(), self.dst.address())
    }

    /// Returns the destination's device, whose receive completion queue reports the flow's delivery.
    pub(crate) fn receiver(&self) -> &Arc<Device> {
        self.dst.device()
    }

    /// Posts all messages of `job` as chained writes. Only the last write has immediate data, and only the last one
    /// generates a completion.
    ///
    /// # Errors
    /// The device refuses a work request.
    pub(crate) fn post(&self, job: &FlowJob, id: u64) -> Result<(), VerbsError> {
        let (addr, lkey, _) = self.src.device().buffer();
        let (remote_addr, _, rkey) = self.dst.device().buffer();
        let length = u32::try_from(job.message_bytes.get().min(MAX_MESSAGE.get()))
            .expect("8 MiB fit in 32 bits");
        let mut sge = Sge { addr, length, lkey };
        let mut requests = write_requests(job, id, (remote_addr, rkey));
        let chain = Chain::link(&mut requests, &mut sge);
        let mut refused = ptr::null_mut();
        let device = self.src.device();
        // SAFETY: the queue pair is open, and the chain outlives the call. The driver reads the buffer until the
        // queue pair is destroyed; until then the queue pair keeps the device, and thereby the buffer, alive.
        let errno = unsafe {
            (device.ops().post_send)(self.src.qp.as_ptr(), chain.first, &raw mut refused)
        };
        self.src.check("ibv_post_send", errno)
    }

    /// Makes all outstanding work requests of the source end with an error.
    pub(crate) fn abort(&self) {
        let mut attributes = QpAttr {
            qp_state: sys::QPS_ERR,
            ..QpAttr::default()
        };
        if let Err(error) = self.src.modify(&mut attributes, sys::QP_STATE) {
            tracing::debug!(%error, "cannot stop a queue pair before it is destroyed");
        }
    }
}

impl<'a> Chain<'a> {
    /// Links `requests` in order; each sends the bytes that `sge` describes.
    fn link(requests: &'a mut [SendWr], sge: &'a mut Sge) -> Self {
        let sge = ptr::from_mut(sge);
        let mut first = ptr::null_mut();
        for request in requests.iter_mut().rev() {
            request.sg_list = sge;
            request.num_sge = 1;
            request.next = first;
            first = ptr::from_mut(request);
        }
        Self {
            first,
            requests: PhantomData,
        }
    }
}

/// Returns one unlinked write request per message of `job`. Only the last request has immediate data and is signaled.
fn write_requests(job: &FlowJob, id: u64, (remote_addr, rkey): (u64, u32)) -> Vec<SendWr> {
    let last = job.messages.saturating_sub(1);
    let request = |message| {
        let is_last = message == last;
        SendWr {
            wr_id: id,
            next: ptr::null_mut(),
            sg_list: ptr::null_mut(),
            num_sge: 0,
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
        }
    };
    (0..=last).map(request).collect()
}

impl QueuePair {
    fn create(
        device: &Arc<Device>,
        gid_index: u8,
        sends: u32,
        receives: u32,
    ) -> Result<Self, VerbsError> {
        let qp = device.create_qp(QpCap {
            max_send_wr: sends,
            max_recv_wr: receives,
            max_send_sge: 1,
            max_recv_sge: 1,
            max_inline_data: 0,
        })?;
        Ok(Self { qp, gid_index })
    }

    /// Returns the device of the queue pair.
    fn device(&self) -> &Arc<Device> {
        self.qp.parents()
    }

    fn number(&self) -> u32 {
        // SAFETY: the queue pair is open, and its number never changes.
        unsafe { (*self.qp.as_ptr()).qp_num }
    }

    fn gid(&self) -> sys::Gid {
        self.device().gid(self.gid_index)
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

    /// Posts the receive request that the flow's immediate data consumes.
    fn post_receive(&self, id: u64) -> Result<(), VerbsError> {
        let mut request = RecvWr {
            wr_id: id,
            next: ptr::null_mut(),
            sg_list: ptr::null_mut(),
            num_sge: 0,
        };
        let mut refused = ptr::null_mut();
        // SAFETY: the queue pair is open, and the request outlives the call.
        let errno = unsafe {
            (self.device().ops().post_recv)(self.qp.as_ptr(), &raw mut request, &raw mut refused)
        };
        self.check("ibv_post_recv", errno)
    }

    fn modify(&self, attributes: &mut QpAttr, mask: c_int) -> Result<(), VerbsError> {
        // SAFETY: the queue pair is open, and `mask` names only fields set in `attributes`.
        let errno =
            unsafe { (self.device().verbs().modify_qp)(self.qp.as_ptr(), attributes, mask) };
        self.check("ibv_modify_qp", errno)
    }

    fn check(&self, call: &'static str, errno: c_int) -> Result<(), VerbsError> {
        match errno {
            0 => Ok(()),
            errno => Err(self.device().error(call, errno)),
        }
    }
}

/// Returns the code of a path MTU in `enum ibv_mtu`: 1 is 256 B, 5 is 4,096 B.
const fn mtu_code(bytes: u32) -> c_int {
    match bytes {
        256 => 1,
        512 => 2,
        1024 => 3,
        2048 => 4,
        _ => 5,
    }
}

/// Maximum of the three-bit retry fields, which rxe interprets as infinite; a flow is aborted at its deadline
/// instead.
const RETRIES: u8 = 7;

/// Code for the delay of 0.64 ms before a message is sent again to a receiver without a posted receive request
/// (InfiniBand 9.7.5.2.8).
const MIN_RNR_TIMER: u8 = 12;

/// Hop limit of packets, the same as in perftest.
const HOP_LIMIT: u8 = 64;

/// Returns the work request identifier of the flow at `index`.
pub(crate) fn identity(index: usize) -> u64 {
    u64::try_from(index).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, net::Ipv6Addr, sync::Weak};

    use lab_units::{Bytes, FlowId, Nanos};

    use super::*;
    use crate::{
        contract::{Endpoint, Tool, job::PATH_MTUS},
        verbs::{device::Buffer, sys::fake},
    };

    fn job(messages: u32) -> FlowJob {
        let end = |host: &str| Endpoint {
            host: host.to_owned(),
            rdma_device: fake::NAME.to_owned(),
            gid_index: 1,
            netns: None,
        };
        FlowJob {
            flow: FlowId(7),
            tool: Tool::WriteBw,
            src: end("dc1/h1"),
            dst: end("dc2/h1"),
            message_bytes: MAX_MESSAGE,
            messages,
            start: Nanos::ZERO,
            qp_timeout: 14,
            path_mtu: 1_024,
            traffic_class: 0,
            flow_label: 0,
            deadline: Nanos::from_millis(1),
        }
    }

    fn buffer() -> Arc<Buffer> {
        Arc::new(Buffer::new(Bytes::new(4_096)).unwrap())
    }

    /// Returns an open device, and a weak reference to its memory that can be upgraded as long as the memory is mapped.
    fn device() -> (Arc<Device>, Weak<Buffer>) {
        let buffer = buffer();
        let memory = Arc::downgrade(&buffer);
        let device = Device::open(fake::verbs(), fake::NAME, &BTreeSet::from([1]), 8, buffer);
        (Arc::new(device.unwrap()), memory)
    }

    #[test]
    fn mtu_codes_are_those_of_ibv_mtu() {
        assert_eq!(PATH_MTUS.map(mtu_code), [1, 2, 3, 4, 5]);
    }

    /// A flow with three messages of 8 MiB consists of three writes; only the last has immediate data and is
    /// signaled. The driver follows the pointers and may write through them.
    #[test]
    fn a_driver_reads_a_write_for_each_message_in_order() {
        let (device, _) = device();
        let pair = ConnectedPair::connect(&job(3), 9, &device, &device).unwrap();
        pair.post(&job(3), 9).unwrap();
        let (addr, lkey, rkey) = device.buffer();
        let write = |opcode, flags| fake::Posted {
            wr_id: 9,
            opcode,
            flags,
            imm: 7_u32.to_be(),
            to: (addr, rkey),
            from: (addr, 8 << 20, lkey),
        };
        let expected = [
            write(sys::WR_RDMA_WRITE, 0),
            write(sys::WR_RDMA_WRITE, 0),
            write(sys::WR_RDMA_WRITE_WITH_IMM, sys::SEND_SIGNALED),
        ];
        assert_eq!(fake::posted(), expected);
        assert_eq!(pair.addresses().0.gid, Ipv6Addr::UNSPECIFIED);
    }

    #[test]
    fn a_pair_and_its_device_are_closed_once_what_depends_on_them_is() {
        let (device, memory) = device();
        let pair = ConnectedPair::connect(&job(1), 1, &device, &device).unwrap();
        drop(device);
        assert_eq!(fake::closed(), Vec::<&str>::new());
        drop(pair);
        assert!(memory.upgrade().is_none(), "its memory stays mapped");
        let closed = fake::closed();
        assert_eq!(closed[..2], ["destroy_qp", "destroy_qp"]);
        let at = |call| closed.iter().position(|it| *it == call).unwrap();
        for (child, parent) in [
            ("destroy_cq", "destroy_comp_channel"),
            ("destroy_comp_channel", "close_device"),
            ("dereg_mr", "dealloc_pd"),
            ("dealloc_pd", "close_device"),
        ] {
            assert!(at(child) < at(parent), "{closed:?}");
        }
        assert_eq!(closed.len(), 2 + 6, "two queues: {closed:?}");
    }

    /// A live queue pair needs its device, its completion queues, and the memory that it may write to.
    #[test]
    fn the_device_of_a_queue_pair_that_cannot_be_destroyed_stays_open() {
        let (device, memory) = device();
        let pair = ConnectedPair::connect(&job(1), 1, &device, &device).unwrap();
        drop(device);
        fake::refuse("destroy_qp");
        drop(pair);
        assert_eq!(fake::closed(), Vec::<&str>::new());
        assert!(memory.upgrade().is_some(), "its memory is unmapped");
    }

    #[test]
    fn memory_that_cannot_be_deregistered_stays_mapped() {
        let (device, memory) = device();
        fake::refuse("dereg_mr");
        drop(device);
        let expected = ["destroy_cq", "destroy_cq", "destroy_comp_channel"];
        assert_eq!(fake::closed(), expected);
        assert!(memory.upgrade().is_some(), "its memory is unmapped");
    }

    #[test]
    fn a_device_that_refuses_an_object_is_closed() {
        fake::refuse("create_cq");
        let device = Device::open(fake::verbs(), fake::NAME, &BTreeSet::new(), 8, buffer());
        let error = device.unwrap_err().to_string();
        assert!(error.contains("ibv_create_cq"), "{error}");
        let closed = fake::closed();
        assert_eq!(closed.last(), Some(&"close_device"), "{closed:?}");
        assert_eq!(closed.len(), 4, "{closed:?}");
    }
}
