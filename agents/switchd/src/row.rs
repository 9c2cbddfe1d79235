//! Rows as the loader wants them.

use bytemuck::Pod;

/// A row of a map.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Row<T>(pub(crate) T);

// SAFETY: a transparent wrapper of a type without padding, uninitialised bytes or invalid values,
// which is what `bytemuck::Pod` guarantees and `aya::Pod` asks for.
#[expect(unsafe_code, reason = "the loader's trait for plain values is unsafe")]
unsafe impl<T: Pod> aya::Pod for Row<T> {}
