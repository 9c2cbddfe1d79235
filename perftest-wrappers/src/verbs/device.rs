//! RDMA device of a host: protection domain, buffer, completion queues.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{CStr, c_int},
    fmt, io,
    os::fd::BorrowedFd,
    ptr::{self, NonNull},
    sync::Arc,
};

use lab_units::Bytes;

use super::{
    error::VerbsError,
    object::Object,
    sys::{self, Verbs, Wc},
};

/// Open RDMA device, closed when its last queue pair is destroyed.
pub(crate) struct Device {
    verbs: &'static Verbs,
    name: String,
    context: Arc<Context>,
    pd: Arc<Pd>,
    mr: Object<sys::Mr, (Arc<Pd>, Arc<Buffer>)>,
    channel: Arc<Channel>,
    /// Completion queue for sent messages; it raises events.
    send_cq: Cq,
    /// Completion queue for received messages; it is only polled.
    recv_cq: Cq,
    /// GIDs that the device's queue pairs send from, keyed by GID index.
    gids: BTreeMap<u8, sys::Gid>,
    buffer: Arc<Buffer>,
}

type Context = Object<sys::Context, ()>;
type Pd = Object<sys::Pd, Arc<Context>>;
type Channel = Object<sys::CompChannel, Arc<Context>>;
type Cq = Object<sys::Cq, (Arc<Context>, Arc<Channel>)>;

/// Memory that all messages are read from and written to; its contents do not matter.
///
/// Devices write to the memory while other devices read from it. This program never reads it, so the race has no
/// effect.
pub(crate) struct Buffer {
    memory: NonNull<libc::c_void>,
    len: usize,
}

// SAFETY: the memory is owned until drop, and this program never reads or writes it.
unsafe impl Send for Buffer {}
// SAFETY: this program never reads or writes the memory, so shared references cannot race.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Maps memory that is large enough for messages of up to `max_message`.
    pub(crate) fn new(max_message: Bytes) -> io::Result<Self> {
        let len = usize::try_from(max_message.get()).map_err(io::Error::other)?;
        // SAFETY: this creates a new private mapping at an address that the kernel chooses.
        let memory = unsafe {
            libc::mmap(
                ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE,
                -1,
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(memory).ok_or_else(|| io::Error::other("mapped at zero"))?;
        Ok(Self { memory, len })
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: `new` mapped the memory with this length, and it is no longer registered: a memory region holds an
        // `Arc` of the buffer until it is deregistered, and never drops that `Arc` if deregistration fails.
        unsafe { libc::munmap(self.memory.as_ptr(), self.len) };
    }
}

/// Completion of a work request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Completion {
    /// Identifier given to the work request.
    pub(crate) id: u64,
    /// Value of `enum ibv_wc_status`; zero means success.
    pub(crate) status: c_int,
}

impl Device {
    /// Opens the device `name`, whose queue pairs send from the GIDs at `gid_indices`. Each completion queue has room
    /// for `completions` unread completions.
    ///
    /// # Errors
    /// No such device exists, or the device refuses to create an object.
    pub(crate) fn open(
        verbs: &'static Verbs,
        name: &str,
        gid_indices: &BTreeSet<u8>,
        completions: usize,
        buffer: Arc<Buffer>,
    ) -> Result<Self, VerbsError> {
        let failed = |call| VerbsError::Call {
            call,
            device: name.to_owned(),
            source: io::Error::last_os_error(),
        };
        let context = open_context(verbs, name)?;
        // SAFETY: the context was opened above and is closed by this object alone.
        let context = unsafe { Context::new(context, (), verbs.close_device, "ibv_close_device") };
        let context = Arc::new(context);
        let at = context.as_ptr();
        // SAFETY: the context is open.
        let pd =
            NonNull::new(unsafe { (verbs.alloc_pd)(at) }).ok_or_else(|| failed("ibv_alloc_pd"))?;
        let parent = Arc::clone(&context);
        // SAFETY: the domain was created above from the context, and holds it as its parent.
        let pd = unsafe { Pd::new(pd, parent, verbs.dealloc_pd, "ibv_dealloc_pd") };
        let pd = Arc::new(pd);
        let access = sys::ACCESS_LOCAL_WRITE | sys::ACCESS_REMOTE_WRITE;
        let memory = buffer.memory.as_ptr();
        let len = buffer.len;
        // SAFETY: the domain is open, and `memory` has `len` mapped bytes.
        let mr = NonNull::new(unsafe { (verbs.reg_mr)(pd.as_ptr(), memory, len, access) })
            .ok_or_else(|| failed("ibv_reg_mr"))?;
        let parents = (Arc::clone(&pd), Arc::clone(&buffer));
        // SAFETY: the region was created above from the domain and the memory, and holds both as its parents.
        let mr = unsafe { Object::new(mr, parents, verbs.dereg_mr, "ibv_dereg_mr") };
        // SAFETY: the context is open.
        let channel = NonNull::new(unsafe { (verbs.create_comp_channel)(at) })
            .ok_or_else(|| failed("ibv_create_comp_channel"))?;
        let close = verbs.destroy_comp_channel;
        let parent = Arc::clone(&context);
        // SAFETY: the channel was created above from the context, and holds it as its parent.
        let channel = unsafe { Channel::new(channel, parent, close, "ibv_destroy_comp_channel") };
        let channel = Arc::new(channel);
        let entries = c_int::try_from(completions)
            .unwrap_or(c_int::MAX)
            .min(MAX_CQ_ENTRIES);
        let create_cq = |events: *mut sys::CompChannel| {
            // SAFETY: the context is open, and `events` is the channel above or null.
            let cq = unsafe { (verbs.create_cq)(at, entries, ptr::null_mut(), events, 0) };
            let cq = NonNull::new(cq).ok_or_else(|| failed("ibv_create_cq"));
            let parents = (Arc::clone(&context), Arc::clone(&channel));
            // SAFETY: the queue was created above from the context and the channel, and holds both as its parents.
            cq.map(|cq| unsafe { Cq::new(cq, parents, verbs.destroy_cq, "ibv_destroy_cq") })
        };
        let send_cq = create_cq(channel.as_ptr())?;
        let recv_cq = create_cq(ptr::null_mut())?;
        let query_gid = |&index: &u8| {
            let mut gid = sys::Gid::default();
            // SAFETY: the context is open, and `gid` is writable.
            match unsafe { (verbs.query_gid)(at, PORT, index.into(), &raw mut gid) } {
                0 => Ok((index, gid)),
                _ => Err(failed("ibv_query_gid")),
            }
        };
        let gids = gid_indices
            .iter()
            .map(query_gid)
            .collect::<Result<_, _>>()?;
        let device = Self {
            verbs,
            name: name.to_owned(),
            context,
            pd,
            mr,
            channel,
            send_cq,
            recv_cq,
            gids,
            buffer,
        };
        device.arm()?;
        Ok(device)
    }

    /// Creates a queue pair, which keeps the device open.
    ///
    /// # Errors
    /// The device refuses to create the queue pair.
    pub(crate) fn create_qp(
        self: &Arc<Self>,
        cap: sys::QpCap,
    ) -> Result<Object<sys::Qp, Arc<Self>>, VerbsError> {
        let mut attributes = sys::QpInitAttr {
            qp_context: ptr::null_mut(),
            send_cq: self.send_cq.as_ptr(),
            recv_cq: self.recv_cq.as_ptr(),
            srq: ptr::null_mut(),
            cap,
            qp_type: sys::QPT_RC,
            sq_sig_all: 0,
        };
        // SAFETY: the domain and both queues are open.
        let qp = unsafe { (self.verbs.create_qp)(self.pd.as_ptr(), &raw mut attributes) };
        let qp = NonNull::new(qp).ok_or_else(|| self.error("ibv_create_qp", last_errno()))?;
        let close = self.verbs.destroy_qp;
        // SAFETY: the queue pair was created above from objects of the device, which it holds as its parent.
        Ok(unsafe { Object::new(qp, Arc::clone(self), close, "ibv_destroy_qp") })
    }

    /// Returns the GID at `index`, which must be one of the indices that the device was opened with.
    pub(crate) fn gid(&self, index: u8) -> sys::Gid {
        self.gids[&index]
    }

    /// Returns the error for a call on this device that failed with `errno`.
    pub(crate) fn error(&self, call: &'static str, errno: c_int) -> VerbsError {
        VerbsError::Call {
            call,
            device: self.name.clone(),
            source: io::Error::from_raw_os_error(errno),
        }
    }

    pub(crate) const fn verbs(&self) -> &'static Verbs {
        self.verbs
    }

    /// Returns the address, local key and remote key of the buffer.
    pub(crate) fn buffer(&self) -> (u64, u32, u32) {
        let mr = self.mr.as_ptr();
        // SAFETY: the region is open, and its keys never change.
        let (lkey, rkey) = unsafe { ((*mr).lkey, (*mr).rkey) };
        (self.buffer.memory.as_ptr().addr() as u64, lkey, rkey)
    }

    pub(crate) fn ops(&self) -> &sys::ContextOps {
        // SAFETY: the context is open as long as `self` lives, and its function table never changes.
        unsafe { &(*self.context.as_ptr()).ops }
    }

    /// Returns the file descriptor that becomes readable when a sent message has completed.
    pub(crate) fn events(&self) -> BorrowedFd<'_> {
        // SAFETY: the channel is open for as long as `self` lives, and its descriptor never changes.
        unsafe { BorrowedFd::borrow_raw((*self.channel.as_ptr()).fd) }
    }

    /// Consumes the event that made [`Device::events`] readable, requests the next event, and appends all completions
    /// of sent messages to `to`.
    ///
    /// # Errors
    /// The device has failed.
    pub(crate) fn take_sent(&self, to: &mut Vec<Completion>) -> Result<(), VerbsError> {
        let mut cq = ptr::null_mut();
        let mut context = ptr::null_mut();
        loop {
            // SAFETY: the channel is open, and its descriptor is readable, so the call does not block.
            let taken = unsafe {
                (self.verbs.get_cq_event)(self.channel.as_ptr(), &raw mut cq, &raw mut context)
            };
            match (taken, last_errno()) {
                (0, _) => break,
                (_, libc::EINTR) => {}
                (_, errno) => return Err(self.error("ibv_get_cq_event", errno)),
            }
        }
        // SAFETY: `cq` is the queue whose event was consumed.
        unsafe { (self.verbs.ack_cq_events)(cq, 1) };
        // The event is armed before the queue is read, so that a completion in between raises a new event.
        self.arm()?;
        self.poll(&self.send_cq, to)
    }

    /// Appends all completions of received messages to `to`.
    ///
    /// # Errors
    /// The device has failed.
    pub(crate) fn take_received(&self, to: &mut Vec<Completion>) -> Result<(), VerbsError> {
        self.poll(&self.recv_cq, to)
    }

    fn arm(&self) -> Result<(), VerbsError> {
        // SAFETY: the queue is open.
        match unsafe { (self.ops().req_notify_cq)(self.send_cq.as_ptr(), 0) } {
            0 => Ok(()),
            errno => Err(self.error("ibv_req_notify_cq", errno)),
        }
    }

    fn poll(&self, cq: &Cq, to: &mut Vec<Completion>) -> Result<(), VerbsError> {
        let mut entries = [Wc::default(); BATCH];
        let room = c_int::try_from(BATCH).expect("a small constant");
        loop {
            // SAFETY: `entries` has `room` entries, and the queue is open.
            let count = unsafe { (self.ops().poll_cq)(cq.as_ptr(), room, entries.as_mut_ptr()) };
            let Ok(count) = usize::try_from(count) else {
                return Err(self.error("ibv_poll_cq", -count));
            };
            to.extend(entries[..count].iter().map(|entry| Completion {
                id: entry.wr_id,
                status: entry.status,
            }));
            if count < BATCH {
                return Ok(());
            }
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

fn open_context(verbs: &Verbs, name: &str) -> Result<NonNull<sys::Context>, VerbsError> {
    let failed = |call| VerbsError::Call {
        call,
        device: name.to_owned(),
        source: io::Error::last_os_error(),
    };
    let mut count = 0;
    // SAFETY: `count` is writable; the list is freed below, after its last use.
    let list = unsafe { (verbs.get_device_list)(&raw mut count) };
    let list = NonNull::new(list).ok_or_else(|| failed("ibv_get_device_list"))?;
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: the list has `count` entries, each valid until the list is freed.
    let devices = unsafe { std::slice::from_raw_parts(list.as_ptr(), count) };
    let named = devices.iter().find(|device| {
        // SAFETY: the name is a string that lives as long as the list.
        let found = unsafe { CStr::from_ptr((verbs.get_device_name)(**device)) };
        found.to_bytes() == name.as_bytes()
    });
    // SAFETY: the device is in the list. An open context remains valid after the list is freed
    // (ibv_free_device_list(3)).
    let context = named.map(|device| unsafe { (verbs.open_device)(*device) });
    let context = match context {
        None => Err(VerbsError::NoDevice {
            device: name.to_owned(),
        }),
        Some(context) => NonNull::new(context).ok_or_else(|| failed("ibv_open_device")),
    };
    // SAFETY: the list was returned by `get_device_list`.
    unsafe { (verbs.free_device_list)(list.as_ptr()) };
    context
}

/// Returns the `errno` that this thread's last failed call set.
pub(crate) fn last_errno() -> c_int {
    io::Error::last_os_error()
        .raw_os_error()
        .unwrap_or(libc::EIO)
}

/// Port number that is used on every device; RoCE devices have a single port.
pub(crate) const PORT: u8 = 1;

/// Maximum number of entries in an rxe completion queue, 2^15 minus one:
/// `RXE_MAX_LOG_CQE`, <https://elixir.bootlin.com/linux/v6.1/source/drivers/infiniband/sw/rxe/rxe_param.h>
const MAX_CQ_ENTRIES: c_int = 32_767;

/// Maximum number of completions that one poll reads.
const BATCH: usize = 32;
