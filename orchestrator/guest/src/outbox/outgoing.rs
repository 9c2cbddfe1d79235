//! The guest's end of an outbox.

use std::{
    fs::{self, OpenOptions},
    io,
    path::Path,
    thread,
    time::Duration,
};

use super::{DEVICE_BYTES, shared::Shared};

/// Guest's end of the outbox, a ring buffer in memory shared with the host; a guest has at most one.
#[derive(Debug)]
pub struct Outbox {
    shared: Shared,
    written: u64,
    /// Bytes that wait in this process because the ring has no space for them yet.
    backlog: Vec<u8>,
}

impl Outbox {
    /// Opens the outbox of the guest in which this process runs.
    ///
    /// # Errors
    /// If the guest has no outbox device, or the device cannot be mapped.
    pub fn open() -> io::Result<Self> {
        let device = find_device(Path::new(PCI_DEVICES))?;
        // The device's memory must be enabled, because no driver has done so.
        fs::write(device.join("enable"), "1")?;
        let memory = OpenOptions::new()
            .read(true)
            .write(true)
            .open(device.join(SHARED_MEMORY))?;
        Ok(Self::over(Shared::map(&memory, DEVICE_BYTES)?))
    }

    pub(super) fn over(shared: Shared) -> Self {
        let written = shared.written();
        Self {
            shared,
            written,
            backlog: Vec::new(),
        }
    }

    /// Sends bytes to the host, in order. Never waits: bytes for which the ring has no space stay in this process until
    /// a later call, so that a slow host does not disturb a measurement.
    pub fn send(&mut self, bytes: &[u8]) {
        if self.backlog.is_empty() && bytes.len() <= self.free() {
            self.store(bytes);
            return;
        }
        self.backlog.extend_from_slice(bytes);
        self.send_backlog();
    }

    /// Waits until the host has taken all bytes.
    pub fn drain(&mut self) {
        while !self.backlog.is_empty() || self.shared.taken() < self.written {
            self.send_backlog();
            thread::sleep(PAUSE);
        }
    }

    fn send_backlog(&mut self) {
        let count = self.free().min(self.backlog.len());
        let first: Vec<u8> = self.backlog.drain(..count).collect();
        self.store(&first);
    }

    fn store(&mut self, bytes: &[u8]) {
        self.shared.store(self.written, bytes);
        self.written += bytes.len() as u64;
        self.shared.set_written(self.written);
    }

    fn free(&self) -> usize {
        let waiting = self.written.saturating_sub(self.shared.taken());
        let waiting = usize::try_from(waiting).unwrap_or(usize::MAX);
        self.shared.capacity().saturating_sub(waiting)
    }
}

/// Returns the directory of the shared-memory PCI device.
fn find_device(devices: &Path) -> io::Result<std::path::PathBuf> {
    for device in fs::read_dir(devices)? {
        let device = device?.path();
        let id = |name| fs::read_to_string(device.join(name)).unwrap_or_default();
        if (id("vendor").trim(), id("device").trim()) == IVSHMEM {
            return Ok(device);
        }
    }
    Err(io::Error::new(
        io::ErrorKind::NotFound,
        "this guest has no shared-memory device",
    ))
}

const PCI_DEVICES: &str = "/sys/bus/pci/devices";

/// Vendor and device ids of QEMU's shared-memory device
/// (<https://github.com/qemu/qemu/blob/v7.2.0/docs/specs/ivshmem-spec.txt>).
const IVSHMEM: (&str, &str) = ("0x1af4", "0x1110");

/// File of the device's memory, its base address register 2.
const SHARED_MEMORY: &str = "resource2";

/// Interval between two checks whether the host has taken all bytes; the host reads the outbox every tenth of a second.
const PAUSE: Duration = Duration::from_millis(5);
