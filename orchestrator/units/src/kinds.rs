//! Closed sets of words that several crates use: engine, clock, place, semantics, link change.

use alloc::string::{String, ToString};
use core::{fmt, str::FromStr};

/// Error for a text that is not one of an enum's words.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{text}` is not {expected} (hint: allowed values are {words})")]
pub struct ParseKindError {
    text: String,
    expected: &'static str,
    words: String,
}

impl ParseKindError {
    pub(crate) fn new<T>(text: &str, expected: &'static str, words: &[(&str, T)]) -> Self {
        let words: alloc::vec::Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        Self {
            text: text.to_string(),
            expected,
            words: words.join(", "),
        }
    }
}

/// Declares an enum whose variants are words, used in messages, on the command line, in YAML and in records.
macro_rules! kind {
    ($(#[$meta:meta])* $name:ident: $expected:literal {
        $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub enum $name {
            $($(#[$variant_meta])* #[cfg_attr(feature = "serde", serde(rename = $word))] $variant,)+
        }

        impl $name {
            /// Words and their variants, in the order of declaration.
            pub const WORDS: &'static [(&'static str, Self)] = &[$(($word, Self::$variant)),+];

            /// Returns the word by which messages and files name the variant.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.name())
            }
        }

        impl core::str::FromStr for $name {
            type Err = $crate::kinds::ParseKindError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let found = Self::WORDS.iter().find(|(word, _)| *word == text);
                found.map(|(_, kind)| *kind).ok_or_else(|| {
                    $crate::kinds::ParseKindError::new(text, $expected, Self::WORDS)
                })
            }
        }
    };
}
pub(crate) use kind;

kind! {
    /// Engine that executes a plan.
    #[derive(Default)]
    Engine: "an engine" {
        /// Linux kernel: namespaces, tc, SoftRoCE, eBPF; perftest generates the flows.
        #[default]
        Kernel = "kernel",
        /// Simulator: each flow is a single message of exactly its size.
        Sim = "sim",
    }
}

kind! {
    /// Clock that a run's times refer to.
    Clock: "a clock" {
        /// Time advances with the work done. In a guest, which has one CPU, each instruction takes one nanosecond, and
        /// idle time is skipped; in the simulator, time advances with the events. Timers are never late.
        Virtual = "virtual",
        /// The machine's own time: timers are sometimes late, and CPUs run concurrently.
        Real = "real",
    }
}

kind! {
    /// Kernel that carries a lab's packets, with the kernel's clock; kernel and clock determine the lab's capacity.
    #[derive(Default)]
    Place: "a place where labs run" {
        /// A guest under software emulation, on the virtual clock.
        #[default]
        GuestVirtual = "guest-virtual",
        /// A guest under software emulation, on the real clock.
        GuestTcg = "guest-tcg",
        /// A guest under KVM, on the real clock.
        GuestKvm = "guest-kvm",
        /// This machine's own kernel, on bare metal or in a virtual machine, with the real clock.
        Here = "here",
    }
}

impl Place {
    /// Returns the clock of labs that run on this kernel.
    #[must_use]
    pub const fn clock(self) -> Clock {
        match self {
            Self::GuestVirtual => Clock::Virtual,
            Self::GuestTcg | Self::GuestKvm | Self::Here => Clock::Real,
        }
    }
}

kind! {
    /// Method by which the weights of a learned policy were trained.
    Trainer: "a trainer" {
        /// Multi-agent deep deterministic policy gradient, as RedTE's authors published it.
        Maddpg = "maddpg",
        /// Gradient through a fluid model of the network.
        Direct = "direct",
        /// Best split that does not depend on the state.
        Static = "static",
    }
}

kind! {
    /// Rules that the simulated network follows; they also determine the defaults of parameters that are not set.
    #[derive(Default)]
    Semantics: "a set of semantics" {
        /// 64-bit arithmetic, unique flow keys, the plan's buffers, RoCEv2 headers, and parameters as published.
        #[default]
        Paper = "paper",
        /// Behaviour of the authors' NS-3 code, including its integer overflows, flow keys that collide, header sizes and
        /// parameters.
        Artifact = "artifact",
    }
}

kind! {
    /// Kind of change that a fault makes to a link.
    LinkChange: "a link change" {
        /// The link is cut.
        #[cfg_attr(feature = "serde", serde(alias = "cut"))]
        Down = "down",
        /// The link is restored.
        #[cfg_attr(feature = "serde", serde(alias = "restored"))]
        Up = "up",
        /// The link's rate, delay or loss changes.
        Changed = "changed",
    }
}

/// MAC address, written as `02:4c:00:00:00:01`.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Mac(pub [u8; 6]);

/// Error for a text that is not a MAC address.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{text}` is not a MAC address (hint: write it like `02:00:00:00:00:01`)")]
pub struct ParseMacError {
    text: String,
}

impl FromStr for Mac {
    type Err = ParseMacError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        mac_bytes(text).map(Self).ok_or_else(|| ParseMacError {
            text: text.to_string(),
        })
    }
}

fn mac_bytes(text: &str) -> Option<[u8; 6]> {
    let mut parts = text.split(':');
    let mut bytes = [0; 6];
    for byte in &mut bytes {
        let part = parts.next().filter(|part| part.len() == 2)?;
        let digits = part.bytes().all(|digit| digit.is_ascii_hexdigit());
        *byte = digits.then(|| u8::from_str_radix(part, 16).ok())??;
    }
    parts.next().is_none().then_some(bytes)
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_read_as_it_is_printed_and_other_words_are_listed() {
        for (word, kind) in Clock::WORDS {
            assert_eq!(word.parse(), Ok(*kind));
            assert_eq!(kind.to_string(), *word);
        }
        let error = "cpu".parse::<Clock>().unwrap_err().to_string();
        assert_eq!(
            error,
            "`cpu` is not a clock (hint: allowed values are virtual, real)"
        );
    }

    #[test]
    fn a_mac_is_read_as_it_is_printed() {
        let mac = Mac([2, 0, 0xab, 0xcd, 0xef, 0xff]);
        assert_eq!(mac.to_string(), "02:00:ab:cd:ef:ff");
        assert_eq!(mac.to_string().parse(), Ok(mac));
    }

    #[test]
    fn signs_gaps_and_wrong_lengths_are_no_mac() {
        for text in [
            "",
            "02:00:00:00:00",
            "02:00:00:00:00:01:02",
            "2:0:0:0:0:1",
            "02:00:00:00:00:+1",
            "02-00-00-00-00-01",
        ] {
            assert!(text.parse::<Mac>().is_err(), "{text}");
        }
    }
}
