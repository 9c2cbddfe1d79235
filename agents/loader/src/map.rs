//! Rows of maps.

use std::io::ErrorKind;

use aya::maps::{HashMap, MapData, MapError, RingBuf};
use bytemuck::Pod;

/// Row of a map: a wrapper that implements the trait `Pod` of aya.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct MapRow<T>(pub T);

// SAFETY: `aya::Pod` requires a type without padding, uninitialised bytes or invalid values. `bytemuck::Pod`
// guarantees this for `T`, and `MapRow` is a transparent wrapper around it.
#[expect(unsafe_code, reason = "`aya::Pod` is an unsafe trait")]
unsafe impl<T: Pod> aya::Pod for MapRow<T> {}

/// Takes all records out of a ring buffer, oldest first.
pub fn drain<T: Pod>(ring: &mut RingBuf<MapData>) -> Vec<T> {
    let mut records = Vec::new();
    while let Some(item) = ring.next() {
        // A record of another length would mean that this program and the eBPF object were built with different
        // versions of `abi.h`; the test of `abi.h` excludes that.
        if let Ok(record) = bytemuck::try_pod_read_unaligned(&item) {
            records.push(record);
        }
    }
    records
}

/// Removes a row from a hash table if it is present.
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

/// Returns true if the error means that the row does not exist: aya returns the errno of the deletion.
fn is_missing(error: &MapError) -> bool {
    matches!(error, MapError::SyscallError(call) if call.io_error.kind() == ErrorKind::NotFound)
}
