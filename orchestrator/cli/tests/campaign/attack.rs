//! Attacks on runs. They are generated from a seed, so that each one can be repeated.

use std::{fmt, process::Command, str::FromStr};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// Subcommand that is attacked, and the kernel on which the attacked lab runs.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum AttackedLab {
    /// `up` in a guest.
    Guest,
    /// `bench lab` on this kernel.
    Kernel,
    /// `up` on the kernel of a guest that the campaign boots; this kernel has all modules that a lab needs.
    Native,
}

/// Fault that is injected into a process.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum ProcessFault {
    Signal(Signal),
    /// The process cannot allocate more memory.
    Memory,
    /// The process cannot open more files.
    Descriptors,
}

/// Process into which the fault is injected.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Victim {
    /// Process that owns the lab.
    Owner,
    /// QEMU of the lab's guest.
    Machine,
    /// `down` for a lab whose owner was killed before.
    Down,
    /// Process that owns the lab. After this process is dead, a foreign namespace takes the name of one of the lab's
    /// namespaces, so that `down` is incomplete; then foreign namespaces take the inode numbers that `down` frees.
    Names,
}

/// Attack on a run.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Attack {
    pub place: AttackedLab,
    pub number: u64,
    pub victim: Victim,
    pub fault: ProcessFault,
    /// Time of the attack, in thousandths of the undisturbed run's duration or, if `is_in_flows`, the run's flow count.
    pub moment: u64,
    /// True to measure the time of the attack in flows that the progress display shows as ended, because no flow ends
    /// during most of a run.
    pub is_in_flows: bool,
}

impl Attack {
    /// Generates attack number `number` on the kind of lab `place`.
    pub fn draw(place: AttackedLab, number: u64, seed: u64) -> Self {
        let salt = match place {
            AttackedLab::Guest => 0,
            AttackedLab::Kernel => 1 << 40,
            AttackedLab::Native => 2 << 40,
        };
        let mut random = seed.wrapping_mul(1_000_003) ^ (number + salt);
        let kinds: &[(Victim, ProcessFault)] = match place {
            AttackedLab::Guest => &GUEST_KINDS,
            AttackedLab::Kernel | AttackedLab::Native => &KERNEL_KINDS,
        };
        let kind = usize::try_from(number).unwrap() % kinds.len();
        let (victim, fault) = kinds[kind];
        Self {
            place,
            number,
            victim,
            fault,
            moment: next(&mut random) % 1_000,
            is_in_flows: place != AttackedLab::Kernel && next(&mut random).is_multiple_of(2),
        }
    }

    /// Returns the name of the attack's kind in the table of results.
    pub fn kind(&self) -> String {
        let fault = match self.fault {
            ProcessFault::Signal(signal) => signal.as_str().trim_start_matches("SIG"),
            ProcessFault::Memory => "no memory",
            ProcessFault::Descriptors => "no files",
        };
        let victim = match self.victim {
            Victim::Owner => "owner",
            Victim::Machine => "QEMU",
            Victim::Down => "down",
            Victim::Names => "names",
        };
        format!("{fault} to {victim}")
    }
}

impl ProcessFault {
    /// Injects the fault into a process; no effect if the process has already ended.
    pub fn inject(self, process: Pid) {
        let limit = match self {
            Self::Signal(signal) => {
                let _ = kill(process, signal);
                return;
            }
            Self::Memory => "--as=0",
            Self::Descriptors => "--nofile=0",
        };
        let pid = process.to_string();
        let mut prlimit = Command::new("prlimit");
        prlimit
            .args(["--pid", &pid, limit])
            .output()
            .expect("util-linux has prlimit");
    }

    /// Returns true if the attack leaves the process no time to clean up.
    pub fn is_sudden(self) -> bool {
        !matches!(self, Self::Signal(signal) if signal != Signal::SIGKILL)
    }
}

impl fmt::Display for AttackedLab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Guest => "guest",
            Self::Kernel => "kernel",
            Self::Native => "native",
        })
    }
}

impl FromStr for AttackedLab {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "guest" => Ok(Self::Guest),
            "kernel" => Ok(Self::Kernel),
            "native" => Ok(Self::Native),
            _ => Err(()),
        }
    }
}

/// Kinds of attacks on guests, used in turn. Attacks that leave the process no time to clean up come first.
const GUEST_KINDS: [(Victim, ProcessFault); 10] = [
    (Victim::Machine, ProcessFault::Signal(Signal::SIGKILL)),
    (Victim::Owner, ProcessFault::Signal(Signal::SIGKILL)),
    (Victim::Machine, ProcessFault::Signal(Signal::SIGKILL)),
    (Victim::Owner, ProcessFault::Signal(Signal::SIGKILL)),
    (Victim::Owner, ProcessFault::Signal(Signal::SIGINT)),
    (Victim::Owner, ProcessFault::Signal(Signal::SIGTERM)),
    (Victim::Owner, ProcessFault::Signal(Signal::SIGHUP)),
    (Victim::Owner, ProcessFault::Memory),
    (Victim::Owner, ProcessFault::Descriptors),
    (Victim::Machine, ProcessFault::Memory),
];
const KERNEL_KINDS: [(Victim, ProcessFault); 8] = [
    (Victim::Owner, ProcessFault::Signal(Signal::SIGKILL)),
    (Victim::Down, ProcessFault::Signal(Signal::SIGKILL)),
    (Victim::Names, ProcessFault::Signal(Signal::SIGKILL)),
    (Victim::Owner, ProcessFault::Signal(Signal::SIGINT)),
    (Victim::Owner, ProcessFault::Signal(Signal::SIGTERM)),
    (Victim::Owner, ProcessFault::Signal(Signal::SIGHUP)),
    (Victim::Owner, ProcessFault::Memory),
    (Victim::Owner, ProcessFault::Descriptors),
];

/// Returns the next number of SplitMix64 (<https://prng.di.unimi.it/splitmix64.c>).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
