//! Object of libibverbs that owns what it was made of.

use std::{ffi::c_int, fmt, io, mem::ManuallyDrop, ptr::NonNull};

/// Object of libibverbs, closed on drop, and its parents: the objects and the memory that it was made of, which
/// must outlive it.
///
/// If the library cannot close the object, the device may go on using it: its parents are then left as they
/// are, to the end of the process.
pub(crate) struct Object<T, P> {
    pointer: NonNull<T>,
    parents: ManuallyDrop<P>,
    close: unsafe extern "C" fn(*mut T) -> c_int,
    /// Name of `close` in libibverbs.
    call: &'static str,
}

// SAFETY: libibverbs' objects may be used from any thread; calls on one object are serialised by the
// library and the driver, which is what its documentation promises (ibv_create_qp(3), thread safety).
unsafe impl<T, P: Send> Send for Object<T, P> {}
// SAFETY: as above; `Object` gives out no reference to what its pointer leads to.
unsafe impl<T, P: Sync> Sync for Object<T, P> {}

impl<T, P> Object<T, P> {
    /// Takes ownership of the object at `pointer`, which `close` closes and `call` names.
    ///
    /// # Safety
    /// The object is open, nothing else closes it, `close` is the library's function for it, and `parents` has
    /// all that the library requires to outlive it.
    pub(crate) const unsafe fn new(
        pointer: NonNull<T>,
        parents: P,
        close: unsafe extern "C" fn(*mut T) -> c_int,
        call: &'static str,
    ) -> Self {
        Self {
            pointer,
            parents: ManuallyDrop::new(parents),
            close,
            call,
        }
    }

    /// Returns the pointer to the object, which is open for as long as `self`.
    pub(crate) const fn as_ptr(&self) -> *mut T {
        self.pointer.as_ptr()
    }

    /// Returns what the object was made of.
    pub(crate) fn parents(&self) -> &P {
        &self.parents
    }
}

impl<T, P> fmt::Debug for Object<T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Object").field(&self.pointer).finish()
    }
}

impl<T, P> Drop for Object<T, P> {
    fn drop(&mut self) {
        // SAFETY: the object is open, as nothing else closes it, and nothing uses it after this: what was made of
        // it held it as a parent.
        let errno = unsafe { (self.close)(self.pointer.as_ptr()) };
        if errno != 0 {
            let (call, error) = (self.call, io::Error::from_raw_os_error(errno.abs()));
            tracing::warn!(call, %error, "an RDMA object stays open to the end of the process");
            return;
        }
        // SAFETY: dropped once, here, and not used after this.
        unsafe { ManuallyDrop::drop(&mut self.parents) };
    }
}
