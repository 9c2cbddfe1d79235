//! Attacks, drawn from a seed: an attack is the same whenever it is drawn again.

use std::{fmt, str::FromStr};

use nix::sys::signal::Signal;

/// Place of the lab that is attacked.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Place {
    /// `up` in a guest.
    Guest,
    /// `bench lab` on this kernel.
    Kernel,
}

/// Process that gets the signal.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Victim {
    /// The process that owns the lab.
    Owner,
    /// The guest's QEMU.
    Machine,
    /// `down` of a lab whose owner was killed.
    Down,
}

/// Attack on a run.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Attack {
    pub place: Place,
    pub number: u64,
    pub victim: Victim,
    pub signal: Signal,
    /// Moment, in thousandths of the time that the run takes alone, or of its flows.
    pub moment: u64,
    /// True if the moment is counted in flows that are shown as ended: most of a run's time has none.
    pub is_in_flows: bool,
}

impl Attack {
    /// Draws attack `number` at a place.
    pub fn draw(place: Place, number: u64, seed: u64) -> Self {
        let salt = match place {
            Place::Guest => 0,
            Place::Kernel => 1 << 40,
        };
        let mut random = seed.wrapping_mul(1_000_003) ^ (number + salt);
        let kinds: &[(Victim, Signal)] = match place {
            Place::Guest => &GUEST_KINDS,
            Place::Kernel => &KERNEL_KINDS,
        };
        let kind = usize::try_from(number).unwrap() % kinds.len();
        let (victim, signal) = kinds[kind];
        Self {
            place,
            number,
            victim,
            signal,
            moment: next(&mut random) % 1_000,
            is_in_flows: place == Place::Guest && next(&mut random).is_multiple_of(2),
        }
    }

    /// Returns the attack's kind, as the table names it.
    pub fn kind(&self) -> String {
        let signal = self.signal.as_str().trim_start_matches("SIG");
        let victim = match self.victim {
            Victim::Owner => "owner",
            Victim::Machine => "QEMU",
            Victim::Down => "down",
        };
        format!("{signal} to {victim}")
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Guest => "guest",
            Self::Kernel => "kernel",
        })
    }
}

impl FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "guest" => Ok(Self::Guest),
            "kernel" => Ok(Self::Kernel),
            _ => Err(()),
        }
    }
}

/// Kinds of attacks in turn; the first ones are those that leave no time to clean up.
const GUEST_KINDS: [(Victim, Signal); 7] = [
    (Victim::Machine, Signal::SIGKILL),
    (Victim::Owner, Signal::SIGKILL),
    (Victim::Machine, Signal::SIGKILL),
    (Victim::Owner, Signal::SIGKILL),
    (Victim::Owner, Signal::SIGINT),
    (Victim::Owner, Signal::SIGTERM),
    (Victim::Owner, Signal::SIGHUP),
];
const KERNEL_KINDS: [(Victim, Signal); 5] = [
    (Victim::Owner, Signal::SIGKILL),
    (Victim::Down, Signal::SIGKILL),
    (Victim::Owner, Signal::SIGINT),
    (Victim::Owner, Signal::SIGTERM),
    (Victim::Owner, Signal::SIGHUP),
];

/// SplitMix64 (<https://prng.di.unimi.it/splitmix64.c>).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
