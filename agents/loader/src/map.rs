//! Rows of maps.

use std::io::ErrorKind;

use aya::maps::{HashMap, MapData, MapError, RingBuf};
use bytemuck::Pod;

/// Row of a map, in the form that aya accepts.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Row<T>(pub T);

// SAFETY: a transparent wrapper of a type without padding, uninitialised bytes or invalid values,
// which is what `bytemuck::Pod` guarantees and `aya::Pod` asks for.
#[expect(unsafe_code, reason = "the loader's trait for plain values is unsafe")]
unsafe impl<T: Pod> aya::Pod for Row<T> {}

/// Takes all records out of a ring buffer, oldest first.
pub fn drain<T: Pod>(ring: &mut RingBuf<MapData>) -> Vec<T> {
    let mut records = Vec::new();
    while let Some(item) = ring.next() {
        // A record of another length would mean that this program was built with another `abi.h` than the eBPF
        // object, which the test of `abi.h` excludes.
        if let Ok(record) = bytemuck::try_pod_read_unaligned(&item) {
            records.push(record);
        }
    }
    records
}

/// Removes a row from a hash table, if it is present.
///
/// # Errors
/// The kernel refuses access to the map.
pub fn remove<K: aya::Pod, V: aya::Pod>(
    map: &mut HashMap<MapData, K, V>,
    key: &K,
) -> Result<(), MapError> {
    match map.remove(key) {
        Err(error) if !is_missing(&error) => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// True if the error means a missing row: aya returns the error of the system call that removes a row.
fn is_missing(error: &MapError) -> bool {
    matches!(error, MapError::SyscallError(call) if call.io_error.kind() == ErrorKind::NotFound)
}
