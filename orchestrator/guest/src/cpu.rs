//! Reservation of a CPU of this machine for one emulated guest.

use std::{
    io,
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixListener},
    },
};

use nix::{
    sched::{CpuSet, sched_getaffinity},
    unistd::Pid,
};

/// Claim of a CPU that no other guest of this machine uses. The claim ends with the process that made it.
///
/// QEMU on the virtual clock passes every timer of the guest between two of its threads. On two CPUs, each hand-over
/// wakes an idle CPU; on one CPU, it is only a context switch. A run of 1,775 flows took 15 to 21 s of host time on one
/// CPU, and 24 to 33 s on two. The scheduler moves other processes away from a busy CPU, but two pinned guests would
/// share it.
#[derive(Debug)]
pub(crate) struct CpuClaim {
    cpu: CpuSet,
    /// Abstract socket, whose name the kernel frees even when this process is killed.
    _name: UnixListener,
}

impl CpuClaim {
    /// Claims one of this process's CPUs that no other guest has claimed; `None` if all are claimed.
    pub(crate) fn new() -> io::Result<Option<Self>> {
        Self::among("lcmp-lab", &sched_getaffinity(THIS_THREAD)?)
    }

    /// Claims one of the CPUs in `allowed` by binding a socket whose name begins with `owner`.
    fn among(owner: &str, allowed: &CpuSet) -> io::Result<Option<Self>> {
        for index in 0..CpuSet::count() {
            if !allowed.is_set(index)? {
                continue;
            }
            let name = SocketAddr::from_abstract_name(format!("{owner}-guest-cpu-{index}"))?;
            match UnixListener::bind_addr(&name) {
                Ok(name) => {
                    let mut cpu = CpuSet::new();
                    cpu.set(index)?;
                    return Ok(Some(Self { cpu, _name: name }));
                }
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Returns the claimed CPU as a set with one member.
    pub(crate) fn cpu(&self) -> CpuSet {
        self.cpu
    }
}

const THIS_THREAD: Pid = Pid::from_raw(0);

#[cfg(test)]
mod tests {
    use super::*;

    fn set(cpus: &[usize]) -> CpuSet {
        let mut set = CpuSet::new();
        for cpu in cpus {
            set.set(*cpu).expect("its index is small");
        }
        set
    }

    #[test]
    fn guests_have_different_cpus_and_the_last_comers_none() {
        let claim = |allowed: &[usize]| {
            CpuClaim::among("test-last-comers", &set(allowed)).expect("sockets can be bound")
        };
        let first = claim(&[3, 5]).expect("both are free");
        let second = claim(&[3, 5]).expect("one is free");
        assert_eq!((first.cpu(), second.cpu()), (set(&[3]), set(&[5])));
        assert!(claim(&[3, 5]).is_none());
        drop(first);
        assert_eq!(claim(&[3, 5]).expect("one is free again").cpu(), set(&[3]));
        assert!(claim(&[]).is_none());
    }
}
