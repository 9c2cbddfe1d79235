//! Figures that show whether the guest's virtual clock can be trusted.

use std::{fs, io};

use lab_units::Nanos;

/// CPU time that the guest has used since boot, measured by the guest's clock.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CpuUse {
    /// Busy time, summed over all CPUs.
    pub busy_ns: Nanos,
    /// Idle time, summed over all CPUs.
    pub idle_ns: Nanos,
}

/// Returns the CPU time since boot, summed over CPUs.
///
/// In virtual time, the guest's CPU has a fixed speed. A busy share near 1 during a run means overload: rates and
/// delays are then determined by the CPU instead of the plan.
pub fn cpu_usage() -> io::Result<CpuUse> {
    let stat = fs::read_to_string("/proc/stat")?;
    parse_stat(&stat).ok_or_else(|| io::Error::other("`/proc/stat` has no `cpu` line"))
}

fn parse_stat(stat: &str) -> Option<CpuUse> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let fields = line.split_whitespace();
    let ticks: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
    // The next number in the line, guest time, is already part of user time.
    let [user, nice, system, idle, iowait, irq, softirq, steal] = *ticks.first_chunk()?;
    let busy = user + nice + system + irq + softirq + steal;
    Some(CpuUse {
        busy_ns: Nanos::new(busy * NANOS_PER_TICK),
        idle_ns: Nanos::new((idle + iowait) * NANOS_PER_TICK),
    })
}

/// Returns the number of replies that the host's file systems have sent to this guest since boot.
///
/// The virtual clock may have jumped at each reply. Equal numbers before and after a measurement show that the
/// measurement did not depend on the host.
pub fn host_waits() -> io::Result<u64> {
    let interrupts = fs::read_to_string("/proc/interrupts")?;
    Ok(virtio_interrupts(&interrupts))
}

/// Sums the interrupts of all virtio devices; the only virtio devices of a guest are file systems.
fn virtio_interrupts(interrupts: &str) -> u64 {
    let lines = interrupts.lines().filter(|line| line.contains(" virtio"));
    lines
        .flat_map(|line| {
            let counts = line.split_whitespace().skip(1);
            counts.map_while(|count| count.parse::<u64>().ok())
        })
        .sum()
}

/// Length of a tick in `/proc/stat`: 0.01 s on x86-64 (`USER_HZ`).
const NANOS_PER_TICK: u64 = 10_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_io_is_idle_and_guest_time_is_not_counted_twice() {
        let stat = "cpu  10 1 5 100 20 2 3 4 7 0\ncpu0 10 1 5 100 20 2 3 4 7 0\n";
        let cpu = parse_stat(stat).unwrap();
        assert_eq!(cpu.busy_ns, Nanos::from_millis(250));
        assert_eq!(cpu.idle_ns, Nanos::from_millis(1200));
    }

    #[test]
    fn only_virtio_devices_count_on_all_cpus() {
        let interrupts = "\
            CPU0 CPU1\n\
            0:  5000  10   IO-APIC   2-edge  timer\n\
            24:  0    1    PCI-MSI 49152-edge  virtio0-config\n\
            25:  100  20   PCI-MSI 49153-edge  virtio0-requests\n\
            NMI: 7 7  Non-maskable interrupts\n";
        assert_eq!(virtio_interrupts(interrupts), 121);
    }
}
