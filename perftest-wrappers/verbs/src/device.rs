//! RDMA device of a host: protection domain, one buffer, completion queues.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{CStr, c_int},
    fmt, io,
    os::fd::BorrowedFd,
    ptr::{self, NonNull},
    sync::Arc,
};

use lab_units::Bytes;

use crate::{
    error::VerbsError,
    sys::{self, Verbs, Wc},
};

/// Open RDMA device. Closed with its last queue pair.
pub(crate) struct Device {
    verbs: &'static Verbs,
    name: String,
    context: NonNull<sys::Context>,
    pub(crate) pd: NonNull<sys::Pd>,
    mr: NonNull<sys::Mr>,
    channel: NonNull<sys::CompChannel>,
    /// Completions of sent messages; they raise events.
    pub(crate) send_cq: NonNull<sys::Cq>,
    /// Completions of received messages, which nobody waits for.
    pub(crate) recv_cq: NonNull<sys::Cq>,
    /// GIDs that the device's queue pairs send from, by index.
    gids: BTreeMap<u8, sys::Gid>,
    buffer: Arc<Buffer>,
}

// SAFETY: libibverbs' objects may be used from any thread; calls on one object are serialised by the
// library and the driver, which is what its documentation promises (ibv_create_qp(3), thread safety).
unsafe impl Send for Device {}
// SAFETY: as above; `Device` gives out no reference to what the objects point to.
unsafe impl Sync for Device {}

/// Memory that all messages are read from and written to. Its bytes mean nothing.
///
/// Devices write into it while others read: it is never read by this program, so the race is without
/// consequence.
pub(crate) struct Buffer {
    memory: NonNull<libc::c_void>,
    len: usize,
}

// SAFETY: the memory is owned until drop, and this program never reads or writes it.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Maps memory for messages of at most `max_message`.
    pub(crate) fn new(max_message: Bytes) -> io::Result<Self> {
        let len = usize::try_from(max_message.get()).map_err(io::Error::other)?;
        // SAFETY: a new private mapping, at an address of the kernel's choice.
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
        // SAFETY: mapped by `new` with this length, and every device that had it registered is closed:
        // each holds an `Arc` of it.
        unsafe { libc::munmap(self.memory.as_ptr(), self.len) };
    }
}

/// Completion of a work request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Completion {
    /// Identity given to the work request.
    pub(crate) id: u64,
    /// `enum ibv_wc_status`; zero is success.
    pub(crate) status: c_int,
}

impl Device {
    /// Opens the device called `name`, to send from its GIDs of `gid_indices`, with room for `completions`
    /// unread completions of each kind.
    ///
    /// # Errors
    /// There is no such device, or it refuses an object.
    pub(crate) fn open(
        name: &str,
        gid_indices: &BTreeSet<u8>,
        completions: usize,
        buffer: Arc<Buffer>,
    ) -> Result<Self, VerbsError> {
        let verbs = Verbs::get()?;
        let failed = |call| VerbsError::Call {
            call,
            device: name.to_owned(),
            source: io::Error::last_os_error(),
        };
        let context = open_context(verbs, name)?;
        // From here on a failure closes what was opened, in reverse order.
        let mut opened = Opened::new(verbs, context);
        // SAFETY: `context` is open, here and below, and every argument is an object of it.
        let pd = unsafe { (verbs.alloc_pd)(context.as_ptr()) };
        let pd = *opened
            .pd
            .insert(NonNull::new(pd).ok_or_else(|| failed("ibv_alloc_pd"))?);
        let access = sys::ACCESS_LOCAL_WRITE | sys::ACCESS_REMOTE_WRITE;
        // SAFETY: the memory stays mapped for as long as this device holds `buffer`.
        let mr = unsafe { (verbs.reg_mr)(pd.as_ptr(), buffer.memory.as_ptr(), buffer.len, access) };
        let mr = *opened
            .mr
            .insert(NonNull::new(mr).ok_or_else(|| failed("ibv_reg_mr"))?);
        // SAFETY: see above.
        let channel = unsafe { (verbs.create_comp_channel)(context.as_ptr()) };
        let channel = NonNull::new(channel).ok_or_else(|| failed("ibv_create_comp_channel"))?;
        opened.channel = Some(channel);
        let entries = c_int::try_from(completions)
            .unwrap_or(c_int::MAX)
            .min(MAX_CQ_ENTRIES);
        let create_cq = |channel: *mut sys::CompChannel| {
            // SAFETY: see above; the channel is of this context or none.
            let cq = unsafe {
                (verbs.create_cq)(context.as_ptr(), entries, ptr::null_mut(), channel, 0)
            };
            NonNull::new(cq).ok_or_else(|| failed("ibv_create_cq"))
        };
        let send_cq = *opened.send_cq.insert(create_cq(channel.as_ptr())?);
        let recv_cq = *opened.recv_cq.insert(create_cq(ptr::null_mut())?);
        let query_gid = |&index: &u8| {
            let mut gid = sys::Gid::default();
            // SAFETY: `gid` is writable.
            match unsafe { (verbs.query_gid)(context.as_ptr(), PORT, index.into(), &raw mut gid) } {
                0 => Ok((index, gid)),
                _ => Err(failed("ibv_query_gid")),
            }
        };
        let gids = gid_indices
            .iter()
            .map(query_gid)
            .collect::<Result<_, _>>()?;
        std::mem::forget(opened);
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

    /// Returns a GID that the device was opened with.
    pub(crate) fn gid(&self, index: u8) -> sys::Gid {
        self.gids[&index]
    }

    /// Returns the error of a call on this device that failed with `errno`.
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

    /// Address, local key and remote key of the buffer.
    pub(crate) fn buffer(&self) -> (u64, u32, u32) {
        // SAFETY: registered for as long as this device is open.
        let mr = unsafe { self.mr.as_ref() };
        (self.buffer.memory.as_ptr().addr() as u64, mr.lkey, mr.rkey)
    }

    pub(crate) const fn ops(&self) -> &sys::ContextOps {
        // SAFETY: the context is open for as long as `self`, and its table never changes.
        unsafe { &self.context.as_ref().ops }
    }

    /// Descriptor that is readable when a sent message has completed.
    pub(crate) fn events(&self) -> BorrowedFd<'_> {
        // SAFETY: the channel is open for as long as `self`.
        unsafe { BorrowedFd::borrow_raw(self.channel.as_ref().fd) }
    }

    /// Takes the event that made [`Device::events`] readable, asks for the next one, and appends all
    /// completions of sent messages to `to`.
    ///
    /// # Errors
    /// The device has failed.
    pub(crate) fn take_sent(&self, to: &mut Vec<Completion>) -> Result<(), VerbsError> {
        let (mut cq, mut context) = (ptr::null_mut(), ptr::null_mut());
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
        // SAFETY: `cq` is the queue of the event that was taken.
        unsafe { (self.verbs.ack_cq_events)(cq, 1) };
        // Armed before the queue is read: a completion in between raises a new event.
        self.arm()?;
        self.poll(self.send_cq, to)
    }

    /// Appends all completions of received messages to `to`.
    ///
    /// # Errors
    /// The device has failed.
    pub(crate) fn take_received(&self, to: &mut Vec<Completion>) -> Result<(), VerbsError> {
        self.poll(self.recv_cq, to)
    }

    fn arm(&self) -> Result<(), VerbsError> {
        // SAFETY: the queue is open.
        match unsafe { (self.ops().req_notify_cq)(self.send_cq.as_ptr(), 0) } {
            0 => Ok(()),
            errno => Err(self.error("ibv_req_notify_cq", errno)),
        }
    }

    fn poll(&self, cq: NonNull<sys::Cq>, to: &mut Vec<Completion>) -> Result<(), VerbsError> {
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

impl Drop for Device {
    fn drop(&mut self) {
        drop(Opened {
            verbs: self.verbs,
            context: self.context,
            pd: Some(self.pd),
            mr: Some(self.mr),
            channel: Some(self.channel),
            send_cq: Some(self.send_cq),
            recv_cq: Some(self.recv_cq),
        });
    }
}

/// Objects of a device, closed on drop in reverse order.
struct Opened {
    verbs: &'static Verbs,
    context: NonNull<sys::Context>,
    pd: Option<NonNull<sys::Pd>>,
    mr: Option<NonNull<sys::Mr>>,
    channel: Option<NonNull<sys::CompChannel>>,
    send_cq: Option<NonNull<sys::Cq>>,
    recv_cq: Option<NonNull<sys::Cq>>,
}

impl Opened {
    const fn new(verbs: &'static Verbs, context: NonNull<sys::Context>) -> Self {
        Self {
            verbs,
            context,
            pd: None,
            mr: None,
            channel: None,
            send_cq: None,
            recv_cq: None,
        }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let verbs = self.verbs;
        // SAFETY: each object is open and closed once, after what depends on it. A queue pair holds an
        // `Arc` of its device, so none is left.
        unsafe {
            for cq in [self.send_cq, self.recv_cq].into_iter().flatten() {
                (verbs.destroy_cq)(cq.as_ptr());
            }
            if let Some(channel) = self.channel {
                (verbs.destroy_comp_channel)(channel.as_ptr());
            }
            if let Some(mr) = self.mr {
                (verbs.dereg_mr)(mr.as_ptr());
            }
            if let Some(pd) = self.pd {
                (verbs.dealloc_pd)(pd.as_ptr());
            }
            (verbs.close_device)(self.context.as_ptr());
        }
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
    // SAFETY: the device is in the list. An open context outlives the list (ibv_free_device_list(3)).
    let context = named.map(|device| unsafe { (verbs.open_device)(*device) });
    let context = match context {
        None => Err(VerbsError::NoDevice {
            device: name.to_owned(),
        }),
        Some(context) => NonNull::new(context).ok_or_else(|| failed("ibv_open_device")),
    };
    // SAFETY: the list came from `get_device_list`.
    unsafe { (verbs.free_device_list)(list.as_ptr()) };
    context
}

/// Returns `errno` of the last failed call of this thread.
pub(crate) fn last_errno() -> c_int {
    io::Error::last_os_error()
        .raw_os_error()
        .unwrap_or(libc::EIO)
}

/// RoCE devices of one port number it 1.
pub(crate) const PORT: u8 = 1;

/// Maximum entries of an rxe completion queue, 2^15 less one:
/// `RXE_MAX_LOG_CQE`, <https://elixir.bootlin.com/linux/v6.1/source/drivers/infiniband/sw/rxe/rxe_param.h>
const MAX_CQ_ENTRIES: c_int = 32_767;

/// Completions read by one call.
const BATCH: usize = 32;
