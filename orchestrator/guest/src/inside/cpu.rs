//! How busy the guest is, in its own time.

use std::fs;

use lab_units::Nanos;

use crate::CpuUse;

/// CPU time since boot, summed over CPUs.
///
/// In virtual time the guest's CPU has a fixed speed, so the busy share over a stretch of a run is
/// the honest sign of overload: near 1, rates and delays are the CPU's and no longer the plan's.
///
/// # Errors
///
/// Fails when `/proc/stat` cannot be read or understood.
pub fn cpu_usage() -> std::io::Result<CpuUse> {
    let stat = fs::read_to_string("/proc/stat")?;
    parse(&stat).ok_or_else(|| std::io::Error::other("`/proc/stat` has no `cpu` line"))
}

/// Time since boot.
pub(crate) fn uptime() -> std::io::Result<Nanos> {
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_BOOTTIME)?;
    let time = std::time::Duration::from(time);
    u64::try_from(time.as_nanos())
        .map(Nanos::new)
        .map_err(std::io::Error::other)
}

fn parse(stat: &str) -> Option<CpuUse> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line
        .split_whitespace()
        .map_while(|field| field.parse().ok())
        .collect();
    // User, nice, system, idle, waiting for I/O, interrupts, soft interrupts, stolen; guest time
    // that follows is part of user time.
    let [user, nice, system, idle, waiting, hard, soft, stolen] = *ticks.first_chunk()?;
    let busy = user + nice + system + hard + soft + stolen;
    Some(CpuUse {
        busy_ns: Nanos::new(busy * NANOS_PER_TICK),
        idle_ns: Nanos::new((idle + waiting) * NANOS_PER_TICK),
    })
}

/// The kernel reports hundredths of a second on every machine there is a guest for.
const NANOS_PER_TICK: u64 = 10_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_io_is_idle_and_guest_time_is_not_counted_twice() {
        let stat = "cpu  10 1 5 100 20 2 3 4 7 0\ncpu0 10 1 5 100 20 2 3 4 7 0\n";
        let cpu = parse(stat).unwrap();
        assert_eq!(cpu.busy_ns, Nanos::from_millis(250));
        assert_eq!(cpu.idle_ns, Nanos::from_millis(1200));
        assert_eq!(cpu.busy_permille(), Some(172));
    }

    #[test]
    fn no_time_has_no_share() {
        assert_eq!(CpuUse::default().busy_permille(), None);
    }
}
