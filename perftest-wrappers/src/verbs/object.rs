//! Owned libibverbs object that keeps its parents alive.

use std::{ffi::c_int, fmt, io, mem::ManuallyDrop, ptr::NonNull};

/// libibverbs object, closed on drop. It owns its parents: the objects and memory that it was created from and that
/// must outlive it.
///
/// If the library cannot close the object, the device may still use it, so the parents stay open until the process
/// ends.
pub(crate) struct Object<T, P> {
    pointer: NonNull<T>,
    parents: ManuallyDrop<P>,
    close: unsafe extern "C" fn(*mut T) -> c_int,
    /// Name of the libibverbs function in `close`, such as `ibv_destroy_qp`.
    call: &'static str,
}

// SAFETY: objects of libibverbs may be used from any thread. The library and the driver serialise calls on one object,
// as the documentation guarantees (ibv_create_qp(3), thread safety).
unsafe impl<T, P: Send> Send for Object<T, P> {}
// SAFETY: the library serialises calls on one object, and `Object` hands out no reference to the object behind its
// pointer.
unsafe impl<T, P: Sync> Sync for Object<T, P> {}

impl<T, P> Object<T, P> {
    /// Takes ownership of the object at `pointer`, which the function `close` closes; `call` is the name of that
    /// function in libibverbs.
    ///
    /// # Safety
    /// The object is open, nothing else closes it, `close` is the library's function for it, and `parents` holds
    /// everything that must outlive it.
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

    /// Returns the pointer to the object, which is open as long as `self` lives.
    pub(crate) const fn as_ptr(&self) -> *mut T {
        self.pointer.as_ptr()
    }

    /// Returns the parents of the object.
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
        // SAFETY: the object is open, because nothing else closes it. Nothing uses it after this call, because every
        // object created from it held it as a parent and is already closed.
        let errno = unsafe { (self.close)(self.pointer.as_ptr()) };
        if errno != 0 {
            let call = self.call;
            let error = io::Error::from_raw_os_error(errno.abs());
            tracing::warn!(call, %error, "cannot close an RDMA object, which stays open until the process ends");
            return;
        }
        // SAFETY: the parents are dropped only here, and are not used afterwards.
        unsafe { ManuallyDrop::drop(&mut self.parents) };
    }
}
