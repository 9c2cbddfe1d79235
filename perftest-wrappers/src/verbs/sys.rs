//! Foreign interface to libibverbs (`infiniband/verbs.h` of rdma-core): the functions, structures and constants that
//! a reliable connection needs, in the stable ABI `IBVERBS_1.1`.
//!
//! The library is opened only when flows start, so that neither building this program nor running its simulator
//! requires RDMA libraries.
//! <https://github.com/linux-rdma/rdma-core/blob/v44.0/libibverbs/verbs.h>

use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    sync::OnceLock,
};

use libloading::{Library, Symbol};

use super::error::VerbsError;

/// Calls the macro `$build` with the names of the functions in [`Verbs`].
macro_rules! with_functions {
    ($build:ident) => {
        $build!(
            get_device_list,
            free_device_list,
            get_device_name,
            open_device,
            close_device,
            alloc_pd,
            dealloc_pd,
            reg_mr,
            dereg_mr,
            query_gid,
            create_comp_channel,
            destroy_comp_channel,
            create_cq,
            destroy_cq,
            get_cq_event,
            ack_cq_events,
            create_qp,
            modify_qp,
            destroy_qp,
            wc_status_str
        )
    };
}

#[cfg(test)]
pub(crate) mod fake;

/// Functions of libibverbs. The fields are named after the functions, without the prefix `ibv_`.
#[derive(Debug)]
pub(crate) struct Verbs {
    pub(crate) get_device_list: unsafe extern "C" fn(*mut c_int) -> *mut *mut Device,
    pub(crate) free_device_list: unsafe extern "C" fn(*mut *mut Device),
    pub(crate) get_device_name: unsafe extern "C" fn(*mut Device) -> *const c_char,
    pub(crate) open_device: unsafe extern "C" fn(*mut Device) -> *mut Context,
    pub(crate) close_device: unsafe extern "C" fn(*mut Context) -> c_int,
    pub(crate) alloc_pd: unsafe extern "C" fn(*mut Context) -> *mut Pd,
    pub(crate) dealloc_pd: unsafe extern "C" fn(*mut Pd) -> c_int,
    pub(crate) reg_mr: unsafe extern "C" fn(*mut Pd, *mut c_void, usize, c_int) -> *mut Mr,
    pub(crate) dereg_mr: unsafe extern "C" fn(*mut Mr) -> c_int,
    pub(crate) query_gid: unsafe extern "C" fn(*mut Context, u8, c_int, *mut Gid) -> c_int,
    pub(crate) create_comp_channel: unsafe extern "C" fn(*mut Context) -> *mut CompChannel,
    pub(crate) destroy_comp_channel: unsafe extern "C" fn(*mut CompChannel) -> c_int,
    pub(crate) create_cq:
        unsafe extern "C" fn(*mut Context, c_int, *mut c_void, *mut CompChannel, c_int) -> *mut Cq,
    pub(crate) destroy_cq: unsafe extern "C" fn(*mut Cq) -> c_int,
    pub(crate) get_cq_event:
        unsafe extern "C" fn(*mut CompChannel, *mut *mut Cq, *mut *mut c_void) -> c_int,
    pub(crate) ack_cq_events: unsafe extern "C" fn(*mut Cq, c_uint),
    pub(crate) create_qp: unsafe extern "C" fn(*mut Pd, *mut QpInitAttr) -> *mut Qp,
    pub(crate) modify_qp: unsafe extern "C" fn(*mut Qp, *mut QpAttr, c_int) -> c_int,
    pub(crate) destroy_qp: unsafe extern "C" fn(*mut Qp) -> c_int,
    wc_status_str: unsafe extern "C" fn(c_int) -> *const c_char,
}

impl Verbs {
    /// Returns the functions of the library, which is opened once per process and never closed, because its drivers
    /// keep internal state.
    ///
    /// # Errors
    /// The library or one of its functions is missing.
    pub(crate) fn get() -> Result<&'static Self, VerbsError> {
        static VERBS: OnceLock<Verbs> = OnceLock::new();
        if let Some(verbs) = VERBS.get() {
            return Ok(verbs);
        }
        let verbs = Self::open().map_err(|source| VerbsError::Library { source })?;
        Ok(VERBS.get_or_init(|| verbs))
    }

    fn open() -> Result<Self, libloading::Error> {
        // SAFETY: rdma-core's library has no initialiser that depends on the state of this process.
        let library = unsafe { Library::new(LIBRARY) }?;
        let library: &'static Library = Box::leak(Box::new(library));
        macro_rules! functions {
            ($($field:ident),+) => {
                Self {
                    $($field: {
                        // SAFETY: the field's type matches the declaration of the function in verbs.h.
                        let symbol: Symbol<'_, _> = unsafe {
                            library.get(concat!("ibv_", stringify!($field)).as_bytes())
                        }?;
                        *symbol
                    },)+
                }
            };
        }
        Ok(with_functions!(functions))
    }

    /// Returns the description that libibverbs has for the status of a work completion.
    pub(crate) fn status_words(&self, status: c_int) -> String {
        // SAFETY: the function returns a static string for every number.
        let words = unsafe { CStr::from_ptr((self.wc_status_str)(status)) };
        words.to_string_lossy().into_owned()
    }
}

/// Name of the library file, as installed by Debian's package `libibverbs1` and by other distributions.
const LIBRARY: &str = "libibverbs.so.1";

/// Declares a structure that is used only through pointers.
macro_rules! opaque {
    ($($name:ident),+) => {
        $(
            #[derive(Debug)]
            #[repr(C)]
            pub(crate) struct $name {
                _private: [u8; 0],
            }
        )+
    };
}

opaque!(Device, Pd);

/// `struct ibv_context`, whose fields after the function table are left out.
#[repr(C)]
pub(crate) struct Context {
    device: *mut Device,
    pub(crate) ops: ContextOps,
}

/// `struct ibv_context_ops`: the driver's data-path functions, which inline functions in verbs.h call, and unused
/// slots for functions that the library now exports as symbols.
#[repr(C)]
pub(crate) struct ContextOps {
    before_poll_cq: [*mut c_void; 11],
    pub(crate) poll_cq: unsafe extern "C" fn(*mut Cq, c_int, *mut Wc) -> c_int,
    pub(crate) req_notify_cq: unsafe extern "C" fn(*mut Cq, c_int) -> c_int,
    between: [*mut c_void; 12],
    pub(crate) post_send: unsafe extern "C" fn(*mut Qp, *mut SendWr, *mut *mut SendWr) -> c_int,
    pub(crate) post_recv: unsafe extern "C" fn(*mut Qp, *mut RecvWr, *mut *mut RecvWr) -> c_int,
}

/// `struct ibv_mr`.
#[repr(C)]
pub(crate) struct Mr {
    context: *mut Context,
    pd: *mut Pd,
    addr: *mut c_void,
    length: usize,
    handle: u32,
    pub(crate) lkey: u32,
    pub(crate) rkey: u32,
}

/// `struct ibv_comp_channel`.
#[repr(C)]
pub(crate) struct CompChannel {
    context: *mut Context,
    pub(crate) fd: c_int,
    refcnt: c_int,
}

/// `struct ibv_cq`, up to its field `context`.
#[repr(C)]
pub(crate) struct Cq {
    pub(crate) context: *mut Context,
}

/// `struct ibv_qp`, up to its field `qp_num`.
#[repr(C)]
pub(crate) struct Qp {
    pub(crate) context: *mut Context,
    qp_context: *mut c_void,
    pd: *mut Pd,
    send_cq: *mut Cq,
    recv_cq: *mut Cq,
    srq: *mut c_void,
    handle: u32,
    pub(crate) qp_num: u32,
}

/// `union ibv_gid`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(8))]
pub(crate) struct Gid {
    pub(crate) raw: [u8; 16],
}

/// `struct ibv_qp_cap`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct QpCap {
    pub(crate) max_send_wr: u32,
    pub(crate) max_recv_wr: u32,
    pub(crate) max_send_sge: u32,
    pub(crate) max_recv_sge: u32,
    pub(crate) max_inline_data: u32,
}

/// `struct ibv_qp_init_attr`.
#[repr(C)]
pub(crate) struct QpInitAttr {
    pub(crate) qp_context: *mut c_void,
    pub(crate) send_cq: *mut Cq,
    pub(crate) recv_cq: *mut Cq,
    pub(crate) srq: *mut c_void,
    pub(crate) cap: QpCap,
    pub(crate) qp_type: c_int,
    pub(crate) sq_sig_all: c_int,
}

/// `struct ibv_global_route`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct GlobalRoute {
    pub(crate) dgid: Gid,
    pub(crate) flow_label: u32,
    pub(crate) sgid_index: u8,
    pub(crate) hop_limit: u8,
    pub(crate) traffic_class: u8,
}

/// `struct ibv_ah_attr`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct AhAttr {
    pub(crate) grh: GlobalRoute,
    pub(crate) dlid: u16,
    pub(crate) sl: u8,
    pub(crate) src_path_bits: u8,
    pub(crate) static_rate: u8,
    pub(crate) is_global: u8,
    pub(crate) port_num: u8,
}

/// `struct ibv_qp_attr`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct QpAttr {
    pub(crate) qp_state: c_int,
    pub(crate) cur_qp_state: c_int,
    pub(crate) path_mtu: c_int,
    pub(crate) path_mig_state: c_int,
    pub(crate) qkey: u32,
    pub(crate) rq_psn: u32,
    pub(crate) sq_psn: u32,
    pub(crate) dest_qp_num: u32,
    pub(crate) qp_access_flags: c_uint,
    pub(crate) cap: QpCap,
    pub(crate) ah_attr: AhAttr,
    pub(crate) alt_ah_attr: AhAttr,
    pub(crate) pkey_index: u16,
    pub(crate) alt_pkey_index: u16,
    pub(crate) en_sqd_async_notify: u8,
    pub(crate) sq_draining: u8,
    pub(crate) max_rd_atomic: u8,
    pub(crate) max_dest_rd_atomic: u8,
    pub(crate) min_rnr_timer: u8,
    pub(crate) port_num: u8,
    pub(crate) timeout: u8,
    pub(crate) retry_cnt: u8,
    pub(crate) rnr_retry: u8,
    pub(crate) alt_port_num: u8,
    pub(crate) alt_timeout: u8,
    pub(crate) rate_limit: u32,
}

/// `struct ibv_sge`.
#[repr(C)]
pub(crate) struct Sge {
    pub(crate) addr: u64,
    pub(crate) length: u32,
    pub(crate) lkey: u32,
}

/// `struct ibv_send_wr`, with the member `wr.rdma` of its union.
#[repr(C)]
pub(crate) struct SendWr {
    pub(crate) wr_id: u64,
    pub(crate) next: *mut SendWr,
    pub(crate) sg_list: *mut Sge,
    pub(crate) num_sge: c_int,
    pub(crate) opcode: c_int,
    pub(crate) send_flags: c_uint,
    pub(crate) imm_data: u32,
    pub(crate) remote_addr: u64,
    pub(crate) rkey: u32,
    /// Remaining bytes of the unions, which RDMA writes do not use.
    pub(crate) unused: [u64; 9],
}

/// `struct ibv_recv_wr`.
#[repr(C)]
pub(crate) struct RecvWr {
    pub(crate) wr_id: u64,
    pub(crate) next: *mut RecvWr,
    pub(crate) sg_list: *mut Sge,
    pub(crate) num_sge: c_int,
}

/// `struct ibv_wc`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Wc {
    pub(crate) wr_id: u64,
    pub(crate) status: c_int,
    pub(crate) opcode: c_int,
    pub(crate) vendor_err: u32,
    pub(crate) byte_len: u32,
    pub(crate) imm_data: u32,
    pub(crate) qp_num: u32,
    pub(crate) src_qp: u32,
    pub(crate) wc_flags: c_uint,
    pub(crate) pkey_index: u16,
    pub(crate) slid: u16,
    pub(crate) sl: u8,
    pub(crate) dlid_path_bits: u8,
}

pub(crate) const ACCESS_LOCAL_WRITE: c_int = 1;
pub(crate) const ACCESS_REMOTE_WRITE: c_int = 1 << 1;

pub(crate) const QPT_RC: c_int = 2;

pub(crate) const QPS_INIT: c_int = 1;
pub(crate) const QPS_RTR: c_int = 2;
pub(crate) const QPS_RTS: c_int = 3;
pub(crate) const QPS_ERR: c_int = 6;

pub(crate) const QP_STATE: c_int = 1;
pub(crate) const QP_ACCESS_FLAGS: c_int = 1 << 3;
pub(crate) const QP_PKEY_INDEX: c_int = 1 << 4;
pub(crate) const QP_PORT: c_int = 1 << 5;
pub(crate) const QP_AV: c_int = 1 << 7;
pub(crate) const QP_PATH_MTU: c_int = 1 << 8;
pub(crate) const QP_TIMEOUT: c_int = 1 << 9;
pub(crate) const QP_RETRY_CNT: c_int = 1 << 10;
pub(crate) const QP_RNR_RETRY: c_int = 1 << 11;
pub(crate) const QP_RQ_PSN: c_int = 1 << 12;
pub(crate) const QP_MAX_QP_RD_ATOMIC: c_int = 1 << 13;
pub(crate) const QP_MIN_RNR_TIMER: c_int = 1 << 15;
pub(crate) const QP_SQ_PSN: c_int = 1 << 16;
pub(crate) const QP_MAX_DEST_RD_ATOMIC: c_int = 1 << 17;
pub(crate) const QP_DEST_QPN: c_int = 1 << 20;

pub(crate) const WR_RDMA_WRITE: c_int = 0;
pub(crate) const WR_RDMA_WRITE_WITH_IMM: c_int = 1;
pub(crate) const SEND_SIGNALED: c_uint = 1 << 1;

pub(crate) const WC_SUCCESS: c_int = 0;

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    /// Sizes and offsets that a C compiler computes for verbs.h on 64-bit Linux.
    #[test]
    fn structures_have_the_layout_of_verbs_h() {
        assert_eq!(size_of::<ContextOps>(), 8 * 27);
        assert_eq!(offset_of!(Context, ops), 8);
        assert_eq!(offset_of!(ContextOps, poll_cq), 88);
        assert_eq!(offset_of!(ContextOps, req_notify_cq), 96);
        assert_eq!(offset_of!(ContextOps, post_send), 200);
        assert_eq!(offset_of!(ContextOps, post_recv), 208);
        assert_eq!(offset_of!(Mr, lkey), 36);
        assert_eq!(offset_of!(CompChannel, fd), 8);
        assert_eq!(offset_of!(Qp, qp_num), 52);
        assert_eq!(size_of::<QpInitAttr>(), 64);
        assert_eq!(size_of::<GlobalRoute>(), 24);
        assert_eq!(size_of::<AhAttr>(), 32);
        assert_eq!(offset_of!(QpAttr, cap), 36);
        assert_eq!(offset_of!(QpAttr, ah_attr), 56);
        assert_eq!(offset_of!(QpAttr, pkey_index), 120);
        assert_eq!(offset_of!(QpAttr, rate_limit), 136);
        assert_eq!(size_of::<QpAttr>(), 144);
        assert_eq!(size_of::<SendWr>(), 128);
        assert_eq!(offset_of!(SendWr, imm_data), 36);
        assert_eq!(offset_of!(SendWr, remote_addr), 40);
        assert_eq!(size_of::<RecvWr>(), 32);
        assert_eq!(size_of::<Wc>(), 48);
    }
}
