//! Clock of the guest: its alignment, and the measures that show if virtual time can be trusted.

use std::{fs, io};

use lab_units::Nanos;
use nix::{
    sys::time::TimeSpec,
    time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep},
    unistd::sync,
};

use crate::Clock;

/// Sleeps until a multiple of 100 s after boot, so that flows start at the same phase of the kernel's
/// periodic work in every run on the virtual clock.
///
/// Before, the virtual clock has jumped during waits for the host, by amounts that differ between
/// runs. Much of the kernel's periodic work is due at whole seconds. Timers that count from their
/// last expiry remain: 2,000 sleeps of 1 ms ended within 15 ns of each other in most boots, and some
/// tens of microseconds apart in a few. The sleep costs 0.25 s of host time.
///
/// Call this function once everything is created and preloaded, right before flows start. It calls
/// `announce` with the time of its end, as nanoseconds after boot, before it sleeps: what works periodically
/// can rest until then, which saves the host's time. On the real clock it returns at once.
pub fn align_clock(announce: impl FnOnce(Nanos)) -> io::Result<()> {
    sync();
    if super::clock() == Clock::Virtual {
        let now = clock_gettime(ClockId::CLOCK_MONOTONIC)?.tv_sec();
        let seconds = alignment_after(now);
        announce(Nanos::from_millis(seconds.unsigned_abs() * 1_000));
        let aligned = TimeSpec::new(seconds, 0);
        let absolute = ClockNanosleepFlags::TIMER_ABSTIME;
        clock_nanosleep(ClockId::CLOCK_MONOTONIC, absolute, &aligned)?;
    }
    Ok(())
}

/// Returns the first multiple of the period that leaves the margin for work already begun, s.
fn alignment_after(now_seconds: i64) -> i64 {
    ((now_seconds + MARGIN_SECONDS) / PERIOD_SECONDS + 1) * PERIOD_SECONDS
}

/// CPU time of the guest by the guest's clock.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CpuUse {
    /// Busy time, summed over CPUs.
    pub busy_ns: Nanos,
    /// Idle time, summed over CPUs.
    pub idle_ns: Nanos,
}

/// Returns the CPU time since boot, summed over CPUs.
///
/// In virtual time the guest's CPU has a fixed speed. A busy share near 1 during a run means overload:
/// rates and delays are then those of the CPU, not of the plan.
pub fn cpu_usage() -> io::Result<CpuUse> {
    let stat = fs::read_to_string("/proc/stat")?;
    parse_stat(&stat).ok_or_else(|| io::Error::other("`/proc/stat` has no `cpu` line"))
}

fn parse_stat(stat: &str) -> Option<CpuUse> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let fields = line.split_whitespace();
    let ticks: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
    // Guest time, which follows, is part of user time.
    let [user, nice, system, idle, iowait, irq, softirq, steal] = *ticks.first_chunk()?;
    let busy = user + nice + system + irq + softirq + steal;
    Some(CpuUse {
        busy_ns: Nanos::new(busy * NANOS_PER_TICK),
        idle_ns: Nanos::new((idle + iowait) * NANOS_PER_TICK),
    })
}

/// Returns the number of replies of the host's file systems to this guest since boot.
///
/// The virtual clock may have jumped at each of them: equal numbers before and after a measurement
/// show that it did not depend on the host.
pub fn host_waits() -> io::Result<u64> {
    let interrupts = fs::read_to_string("/proc/interrupts")?;
    Ok(virtio_interrupts(&interrupts))
}

/// Sums the interrupts of all virtio devices; a guest has no others than file systems.
fn virtio_interrupts(interrupts: &str) -> u64 {
    let lines = interrupts.lines().filter(|line| line.contains(" virtio"));
    let counts = lines.flat_map(|line| {
        let counts = line.split_whitespace().skip(1);
        counts.map_while(|count| count.parse::<u64>().ok())
    });
    counts.sum()
}

/// Period of alignment; longer than the kernel's periods, of which 5 s for writeback is the longest.
const PERIOD_SECONDS: i64 = 100;

const MARGIN_SECONDS: i64 = 20;

/// Tick of `/proc/stat`: 0.01 s on x86-64 (`USER_HZ`).
const NANOS_PER_TICK: u64 = 10_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alignment_is_at_least_the_margin_away() {
        for (now, expected) in [(0, 100), (79, 100), (80, 200), (100, 200)] {
            assert_eq!(alignment_after(now), expected, "{now}");
        }
    }

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
