//! Offloads of an interface, read and changed through the ethtool ioctl.

use std::os::fd::{AsFd, AsRawFd};

use nix::errno::Errno;

/// Disables transmit checksums, scatter/gather and receive offload. All segmentation offloads are then disabled too,
/// because they depend on the first two.
pub(crate) fn offloads_off(socket: &impl AsFd, dev: &str) -> Result<(), Errno> {
    for command in [ETHTOOL_STXCSUM, ETHTOOL_SSG, ETHTOOL_SGRO] {
        value(socket, dev, command, 0)?;
    }
    Ok(())
}

/// Returns the enabled offloads, by their names in `ethtool -k`.
pub(crate) fn offloads_on(socket: &impl AsFd, dev: &str) -> Result<Vec<&'static str>, Errno> {
    let mut on = Vec::new();
    for (name, command) in QUERIES {
        if value(socket, dev, command, 0)? != 0 {
            on.push(name);
        }
    }
    Ok(on)
}

/// Enables the receive offload of an interface.
#[cfg(test)]
pub(crate) fn receive_offload_on(socket: &impl AsFd, dev: &str) -> Result<(), Errno> {
    value(socket, dev, ETHTOOL_SGRO, 1).map(drop)
}

#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

#[expect(unsafe_code, reason = "there is no safe interface to this ioctl")]
fn value(socket: &impl AsFd, dev: &str, command: u32, data: u32) -> Result<u32, Errno> {
    let mut value = EthtoolValue { command, data };
    // SAFETY: all bytes zero is a valid `ifreq`: an empty name and a null pointer.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let room = request.ifr_name.len() - 1;
    if dev.len() > room {
        return Err(Errno::ENODEV);
    }
    for (to, from) in request.ifr_name.iter_mut().zip(dev.bytes()) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the request's name ends with a zero byte, and its pointer is to an `ethtool_value`, as these commands
    // require; both outlive the call.
    Errno::result(unsafe { libc::ioctl(socket, SIOCETHTOOL, &raw mut request) })?;
    Ok(value.data)
}

const SIOCETHTOOL: libc::Ioctl = 0x8946;
const ETHTOOL_GTXCSUM: u32 = 0x16;
const ETHTOOL_STXCSUM: u32 = 0x17;
const ETHTOOL_GSG: u32 = 0x18;
const ETHTOOL_SSG: u32 = 0x19;
const ETHTOOL_GTSO: u32 = 0x1e;
const ETHTOOL_GGSO: u32 = 0x23;
const ETHTOOL_GGRO: u32 = 0x2b;
const ETHTOOL_SGRO: u32 = 0x2c;

const QUERIES: [(&str, u32); 5] = [
    ("tx-checksumming", ETHTOOL_GTXCSUM),
    ("scatter-gather", ETHTOOL_GSG),
    ("tcp-segmentation-offload", ETHTOOL_GTSO),
    ("generic-segmentation-offload", ETHTOOL_GGSO),
    ("generic-receive-offload", ETHTOOL_GGRO),
];
