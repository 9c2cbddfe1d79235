//! How often the guest has waited for the host.

use std::{fs, io};

/// Answers of the host's file systems to this guest so far.
///
/// In virtual time each of them is a moment the clock may have leapt at. Taken before and after a
/// measurement, two equal numbers show that nothing in between depended on the host.
///
/// # Errors
///
/// Fails when `/proc/interrupts` cannot be read.
pub fn host_waits() -> io::Result<u64> {
    let interrupts = fs::read_to_string("/proc/interrupts")?;
    Ok(count(&interrupts))
}

/// Sums the interrupts of all virtio devices, of which a guest has only file systems.
fn count(interrupts: &str) -> u64 {
    interrupts
        .lines()
        .filter(|line| line.contains(" virtio"))
        .flat_map(|line| {
            let counts = line.split_whitespace().skip(1);
            counts.map_while(|count| count.parse::<u64>().ok())
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_virtio_devices_count_on_all_cpus() {
        let interrupts = "\
            CPU0 CPU1\n\
            0:  5000  10   IO-APIC   2-edge  timer\n\
            24:  0    1    PCI-MSI 49152-edge  virtio0-config\n\
            25:  100  20   PCI-MSI 49153-edge  virtio0-requests\n\
            NMI: 7 7  Non-maskable interrupts\n";
        assert_eq!(count(interrupts), 121);
    }
}
