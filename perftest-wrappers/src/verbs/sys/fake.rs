//! Fake libibverbs with one device and no hardware. Like a driver, it follows the pointers that it is given. It
//! records per thread which objects were closed and which work requests were posted, and fails the calls that a test
//! selects.

use std::{
    cell::RefCell,
    ffi::{c_char, c_int, c_uint, c_void},
    ptr,
};

use super::{
    CompChannel, Context, ContextOps, Cq, Device, Gid, Mr, Pd, Qp, QpAttr, QpInitAttr, RecvWr,
    SendWr, Verbs, Wc,
};

/// Name of the fake device.
pub(crate) const NAME: &str = "fake0";

/// Posted work request, as the driver reads it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Posted {
    pub(crate) wr_id: u64,
    pub(crate) opcode: c_int,
    pub(crate) flags: c_uint,
    pub(crate) imm: u32,
    /// Remote address and remote key of the write.
    pub(crate) to: (u64, u32),
    /// Local address, length and local key of the data.
    pub(crate) from: (u64, u32, u32),
}

#[derive(Default)]
struct Calls {
    closed: Vec<&'static str>,
    posted: Vec<Posted>,
    refused: Vec<&'static str>,
}

thread_local! {
    static CALLS: RefCell<Calls> = RefCell::default();
}

/// Returns the functions of the fake library.
pub(crate) fn verbs() -> &'static Verbs {
    &VERBS
}

/// Makes the function `call`, named without `ibv_`, fail on this thread.
pub(crate) fn refuse(call: &'static str) {
    CALLS.with_borrow_mut(|calls| calls.refused.push(call));
}

/// Returns the names of the calls that closed an object on this thread, in order.
pub(crate) fn closed() -> Vec<&'static str> {
    CALLS.with_borrow(|calls| calls.closed.clone())
}

/// Returns the work requests posted on this thread, in order.
pub(crate) fn posted() -> Vec<Posted> {
    CALLS.with_borrow(|calls| calls.posted.clone())
}

fn refuses(call: &str) -> bool {
    CALLS.with_borrow(|calls| calls.refused.contains(&call))
}

/// Returns a new object, or null if `call` must fail. Closing an object does not free it, so a use after close is
/// harmless; tests check the order of closing through [`closed`].
fn made<T>(call: &str, object: T) -> *mut T {
    if refuses(call) {
        return ptr::null_mut();
    }
    Box::into_raw(Box::new(object))
}

fn close(call: &'static str) -> c_int {
    if refuses(call) {
        return libc::EBUSY;
    }
    CALLS.with_borrow_mut(|calls| calls.closed.push(call));
    0
}

macro_rules! fake {
    ($($function:ident),+) => {
        Verbs { $($function),+ }
    };
}

static VERBS: Verbs = with_functions!(fake);

unsafe extern "C" fn get_device_list(count: *mut c_int) -> *mut *mut Device {
    let device = made("get_device", Device { _private: [] });
    // SAFETY: the caller passes a writable number.
    unsafe { *count = 1 };
    made("get_device_list", device)
}

unsafe extern "C" fn free_device_list(list: *mut *mut Device) {
    // SAFETY: the list was returned by `get_device_list`.
    drop(unsafe { Box::from_raw(list) });
}

unsafe extern "C" fn get_device_name(_: *mut Device) -> *const c_char {
    c"fake0".as_ptr()
}

unsafe extern "C" fn open_device(device: *mut Device) -> *mut Context {
    let ops = ContextOps {
        before_poll_cq: [ptr::null_mut(); 11],
        poll_cq,
        req_notify_cq,
        between: [ptr::null_mut(); 12],
        post_send,
        post_recv,
    };
    made("open_device", Context { device, ops })
}

unsafe extern "C" fn close_device(_: *mut Context) -> c_int {
    close("close_device")
}

unsafe extern "C" fn alloc_pd(_: *mut Context) -> *mut Pd {
    made("alloc_pd", Pd { _private: [] })
}

unsafe extern "C" fn dealloc_pd(_: *mut Pd) -> c_int {
    close("dealloc_pd")
}

unsafe extern "C" fn reg_mr(pd: *mut Pd, addr: *mut c_void, length: usize, _: c_int) -> *mut Mr {
    let mr = Mr {
        context: ptr::null_mut(),
        pd,
        addr,
        length,
        handle: 0,
        lkey: 0x11,
        rkey: 0x22,
    };
    made("reg_mr", mr)
}

unsafe extern "C" fn dereg_mr(_: *mut Mr) -> c_int {
    close("dereg_mr")
}

unsafe extern "C" fn query_gid(_: *mut Context, _: u8, _: c_int, gid: *mut Gid) -> c_int {
    // SAFETY: the caller passes a writable GID.
    unsafe { *gid = Gid::default() };
    0
}

unsafe extern "C" fn create_comp_channel(context: *mut Context) -> *mut CompChannel {
    let channel = CompChannel {
        context,
        fd: 0,
        refcnt: 0,
    };
    made("create_comp_channel", channel)
}

unsafe extern "C" fn destroy_comp_channel(_: *mut CompChannel) -> c_int {
    close("destroy_comp_channel")
}

unsafe extern "C" fn create_cq(
    context: *mut Context,
    _: c_int,
    _: *mut c_void,
    _: *mut CompChannel,
    _: c_int,
) -> *mut Cq {
    made("create_cq", Cq { context })
}

unsafe extern "C" fn destroy_cq(_: *mut Cq) -> c_int {
    close("destroy_cq")
}

unsafe extern "C" fn get_cq_event(
    _: *mut CompChannel,
    _: *mut *mut Cq,
    _: *mut *mut c_void,
) -> c_int {
    -1
}

unsafe extern "C" fn ack_cq_events(_: *mut Cq, _: c_uint) {}

unsafe extern "C" fn create_qp(pd: *mut Pd, attributes: *mut QpInitAttr) -> *mut Qp {
    // SAFETY: the caller passes readable attributes.
    let (send_cq, recv_cq) = unsafe { ((*attributes).send_cq, (*attributes).recv_cq) };
    let qp = Qp {
        context: ptr::null_mut(),
        qp_context: ptr::null_mut(),
        pd,
        send_cq,
        recv_cq,
        srq: ptr::null_mut(),
        handle: 0,
        qp_num: 17,
    };
    made("create_qp", qp)
}

unsafe extern "C" fn modify_qp(_: *mut Qp, _: *mut QpAttr, _: c_int) -> c_int {
    0
}

unsafe extern "C" fn destroy_qp(_: *mut Qp) -> c_int {
    close("destroy_qp")
}

unsafe extern "C" fn wc_status_str(_: c_int) -> *const c_char {
    c"success".as_ptr()
}

unsafe extern "C" fn poll_cq(_: *mut Cq, _: c_int, _: *mut Wc) -> c_int {
    0
}

unsafe extern "C" fn req_notify_cq(_: *mut Cq, _: c_int) -> c_int {
    0
}

unsafe extern "C" fn post_send(_: *mut Qp, first: *mut SendWr, _: *mut *mut SendWr) -> c_int {
    let mut next = first;
    while !next.is_null() {
        // SAFETY: the caller passes a chain of requests that ends with a null pointer and that a driver may write to.
        let request = unsafe { &mut *next };
        // SAFETY: each request points to one scatter-gather entry.
        let entry = unsafe { &mut *request.sg_list };
        assert_eq!(request.num_sge, 1, "entries of a request");
        let posted = Posted {
            wr_id: request.wr_id,
            opcode: request.opcode,
            flags: request.send_flags,
            imm: request.imm_data,
            to: (request.remote_addr, request.rkey),
            from: (entry.addr, entry.length, entry.lkey),
        };
        CALLS.with_borrow_mut(|calls| calls.posted.push(posted));
        next = request.next;
    }
    0
}

unsafe extern "C" fn post_recv(_: *mut Qp, _: *mut RecvWr, _: *mut *mut RecvWr) -> c_int {
    0
}
