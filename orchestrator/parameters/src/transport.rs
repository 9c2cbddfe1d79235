//! Parameters of the hosts' transport and the switches' shared buffers.

use lab_units::{Bytes, Nanos};

use crate::{
    limits::{MAX_BUFFER, MIN_BUFFER},
    link::LinkConfig,
    set::parameters,
    value::{Domain, Field, TIMERS, Value, numbers},
};

parameters! {
    /// Parameters of the hosts' transport and the switches' shared buffers.
    ///
    /// `paper`: the transport of the kernel engine, so that the two engines can be compared, with the paper's
    /// buffers. `artifact`: `PACKET_PAYLOAD_SIZE`, `BUFFER_SIZE` and `DCI_BUFFER_SIZE` from its configuration, where
    /// buffers are in MiB, and `NACK Generation Interval` from its `RdmaHw`.
    #[derive(Copy)]
    pub struct TransportConfig = "Transport" {
        /// Payload of a full packet in bytes.
        payload_bytes: u32 = 4_096, 1_000 => {
            domain: numbers(MIN_PAYLOAD, 9_000),
            derived: Some("`generator.mtu`"),
        };
        /// Number of unacknowledged bytes from which a QP sends no further packet, so that its last packet may exceed it:
        /// `none` for no limit; `bdp` for the maximum bandwidth-delay product, in proportion to the QP's rate; or a size.
        window: Window = Window::Bdp => {
            derived: Some(
                "`bdp`; in `up` and `sim --scaled` with `cc: none` or `cc: dcqcn`, SoftRoCE's 128 packets",
            ),
        };
        /// If true, switches send ACKs before data, in the strict-priority class.
        ack_priority: bool = false;
        /// Time after which a receiver repeats its NACK for a packet that is still missing; `none` for a single NACK
        /// per gap.
        #[serde(default)]
        nack_interval_ns: Timer = Timer::NONE, Timer(Some(Nanos::new(500_000)));
        /// Time without an acknowledgement after which a QP retransmits; `none` for no such timeout. `up` and
        /// `sim --scaled` scale this time and then round it up to 4.096 us times a power of two.
        retransmit_timeout_ns: Timer = Timer::NONE => {
            derived: Some("twice the longest round trip with full queues"),
        };
        /// If true, switches pause their upstream neighbours instead of dropping packets. In the lab, only DCI switches
        /// send pauses, only to their hosts, and only with `cc: dcqcn`.
        pfc: bool = false, true;
        /// Shared buffer of a leaf or spine switch with PFC.
        fabric_buffer_bytes: Bytes = LinkConfig::PAPER.buffer_bytes, Bytes::new(32 << 20) => { domain: BUFFERS };
        /// Shared buffer of a DCI switch with PFC.
        dci_buffer_bytes: Bytes = Bytes::new(6_000_000_000), Bytes::new(128 << 20) => { domain: BUFFERS };
    }
    conflicts []
}

/// Minimum payload of a full packet, and minimum size of a window, in bytes.
const MIN_PAYLOAD: u64 = 64;

const BUFFERS: Domain = Domain::Size {
    min: MIN_BUFFER,
    max: MAX_BUFFER,
};

/// Maximum number of unacknowledged bytes of a QP.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Window {
    /// No limit.
    None,
    /// Maximum bandwidth-delay product over all paths of the plan, including those after faults, in proportion to the
    /// QP's rate.
    Bdp,
    /// Fixed number of bytes.
    Bytes(Bytes),
}

impl Field for Window {
    const DOMAIN: Domain = Domain::WordOr {
        words: &["none", "bdp"],
        quantity: &Domain::Size {
            min: Bytes::new(MIN_PAYLOAD),
            max: MAX_BUFFER,
        },
    };

    fn value(self) -> Option<Value> {
        Some(self.into())
    }

    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Word("none") => Some(Self::None),
            Value::Word("bdp") => Some(Self::Bdp),
            Value::Size(bytes) => Some(Self::Bytes(bytes)),
            _ => None,
        }
    }
}

/// Timeout of a timer; `None`, which is `none` in scenarios, means that the timer never fires.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Timer(pub Option<Nanos>);

impl Timer {
    /// Timer that never fires.
    pub const NONE: Self = Self(None);
}

impl From<Window> for Value {
    fn from(window: Window) -> Self {
        match window {
            Window::None => Self::Word("none"),
            Window::Bdp => Self::Word("bdp"),
            Window::Bytes(bytes) => Self::Size(bytes),
        }
    }
}

impl From<Timer> for Value {
    fn from(timer: Timer) -> Self {
        timer.0.map_or(Self::Word("none"), Self::Time)
    }
}

impl Field for Timer {
    const DOMAIN: Domain = Domain::WordOr {
        words: &["none"],
        quantity: &TIMERS,
    };

    fn value(self) -> Option<Value> {
        Some(self.into())
    }

    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Word("none") => Some(Self::NONE),
            Value::Time(time) => Some(Self(Some(time))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ParameterError, ParameterSet};

    #[test]
    fn windows_and_timers_are_words_or_quantities() {
        let size = Value::Size(Bytes::new(5));
        let time = Value::Time(Nanos::new(100));
        for value in [Value::Word("none"), Value::Word("bdp"), size] {
            assert_eq!(
                Window::from_value(value).and_then(Window::value),
                Some(value)
            );
        }
        for value in [Value::Word("none"), time] {
            assert_eq!(Timer::from_value(value).and_then(Timer::value), Some(value));
        }
        assert_eq!(Window::from_value(time), None);
        assert_eq!(Timer::from_value(size), None);
        assert_eq!(Timer::from_value(Value::Word("bdp")), None);
    }

    /// At the paper's scale, a window is 64 B to 1 TB and a timer 100 ns to one hour.
    #[test]
    fn a_quantity_that_a_word_may_replace_has_bounds() {
        let declared = |name| {
            let mut all = TransportConfig::PARAMETERS.iter();
            all.find(|parameter| parameter.name == name)
                .expect("a declared parameter")
        };
        let check = |name, value| declared(name).check(value);
        for (bytes, is_allowed) in [(63, false), (64, true), (1 << 40, false)] {
            let checked = check("window", Value::Size(Bytes::new(bytes)));
            assert_eq!(checked.is_ok(), is_allowed, "{bytes}");
        }
        for (time, is_allowed) in [(99, false), (100, true), (3_600_000_000_001, false)] {
            let checked = check("nack_interval", Value::Time(Nanos::new(time)));
            assert_eq!(checked.is_ok(), is_allowed, "{time}");
        }
        assert_eq!(check("window", Value::Word("bdp")), Ok(()));
        assert!(matches!(
            check("nack_interval", Value::Word("bdp")),
            Err(ParameterError::OutOfRange { .. })
        ));
    }

    #[test]
    fn both_presets_are_within_their_own_bounds() {
        assert_eq!(TransportConfig::PAPER.check(), Ok(()));
        assert_eq!(TransportConfig::ARTIFACT.check(), Ok(()));
    }
}
