//! Parameters of queueing disciplines in the kernel's units: bytes per second, packets, and ticks of
//! 64 ns (`PSCHED_SHIFT`).
//!
//! <https://github.com/torvalds/linux/blob/v6.1/include/net/pkt_sched.h>

use std::fmt;

use lab_units::{BitsPerSec, Bytes, Nanos, Ratio};
use netlink_bindings::{
    builtin::BuiltinBitfield32,
    tc::{
        IterableNetemAttrs, OptionsMsg, PushAttrs, TcNetemQopt, TcNetemRate, TcRatespec, TcRedQopt,
        TcTbfQopt,
    },
};

use crate::step::Qdisc;

/// Kind and parameters in the kernel's units.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Parameters {
    Tbf {
        bytes_per_sec: u64,
        burst_ticks: u32,
        limit: u32,
    },
    Red {
        limit: u32,
        min: u32,
        max: u32,
        weight_log: u8,
        probability: u32,
        flags: u32,
    },
    Netem {
        delay: i64,
        bytes_per_sec: u64,
        limit: u32,
        loss: u32,
        /// True with jitter, duplicates, reordering or corruption, which no lab has.
        disturbs: bool,
    },
    Fq {
        limit: u32,
        flow_limit: u32,
        orphan_mask: u32,
        timer_slack: u32,
        horizon_micros: u32,
        /// True if packets beyond the horizon are dropped.
        drops: bool,
    },
    Clsact,
    /// A kind that no lab has.
    Other(String),
}

impl Parameters {
    pub fn of(qdisc: &Qdisc) -> Self {
        match qdisc {
            Qdisc::Tbf(tbf) => Self::Tbf {
                bytes_per_sec: bytes_per_sec(tbf.rate),
                burst_ticks: ticks(bytes_per_sec(tbf.rate), tbf.burst),
                limit: clamp(tbf.limit),
            },
            Qdisc::Red(red) => Self::Red {
                limit: clamp(red.limit),
                min: clamp(red.min),
                max: clamp(red.max),
                weight_log: WEIGHT_LOG,
                probability: of_all_ones(red.probability),
                flags: RED_FLAGS,
            },
            Qdisc::Netem(netem) => Self::Netem {
                delay: signed(netem.delay),
                bytes_per_sec: bytes_per_sec(netem.rate),
                limit: netem.limit,
                loss: of_all_ones(netem.loss),
                disturbs: false,
            },
            Qdisc::Fq(fq) => Self::Fq {
                limit: fq.limit,
                flow_limit: fq.flow_limit,
                orphan_mask: fq.orphan_mask,
                timer_slack: 0,
                horizon_micros: micros(fq.horizon),
                drops: false,
            },
            Qdisc::Clsact => Self::Clsact,
        }
    }

    pub fn read(kind: &str, options: Option<OptionsMsg<'_>>) -> Option<Self> {
        match options {
            Some(OptionsMsg::Tbf(tbf)) => {
                let parms = tbf.get_parms().ok()?;
                let wide = tbf.get_rate64().ok();
                Some(Self::Tbf {
                    bytes_per_sec: wide.unwrap_or(u64::from(parms.rate.rate)),
                    burst_ticks: parms.buffer,
                    limit: parms.limit,
                })
            }
            Some(OptionsMsg::Red(red)) => {
                let parms = red.get_parms().ok()?;
                Some(Self::Red {
                    limit: parms.limit,
                    min: parms.qth_min,
                    max: parms.qth_max,
                    weight_log: parms.Wlog,
                    probability: red.get_max_p().ok()?,
                    flags: red.get_flags().ok()?.value,
                })
            }
            Some(OptionsMsg::Netem(head, netem)) => {
                let rate = netem.get_rate().map_or(0, |rate| u64::from(rate.rate));
                Some(Self::Netem {
                    delay: netem.get_latency64().ok()?,
                    bytes_per_sec: netem.get_rate64().unwrap_or(rate),
                    limit: head.limit,
                    loss: head.loss,
                    disturbs: disturbs(&head, &netem),
                })
            }
            Some(OptionsMsg::Fq(fq)) => Some(Self::Fq {
                limit: fq.get_plimit().ok()?,
                flow_limit: fq.get_flow_plimit().ok()?,
                orphan_mask: fq.get_orphan_mask().ok()?,
                timer_slack: fq.get_timer_slack().ok()?,
                horizon_micros: fq.get_horizon().ok()?,
                drops: fq.get_horizon_drop().ok()? != 0,
            }),
            _ if kind == "clsact" => Some(Self::Clsact),
            _ => Some(Self::Other(kind.to_owned())),
        }
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tbf {
                bytes_per_sec,
                burst_ticks,
                limit,
            } => write!(
                f,
                "tbf rate {bytes_per_sec} B/s, burst {burst_ticks} ticks, limit {limit} B"
            ),
            Self::Red {
                limit,
                min,
                max,
                weight_log,
                probability,
                flags,
            } => write!(
                f,
                "red limit {limit} B, min {min} B, max {max} B, weight 2^-{weight_log}, \
                 probability {probability}/2^32, flags {flags:#x}"
            ),
            Self::Netem {
                delay,
                bytes_per_sec,
                limit,
                loss,
                disturbs,
            } => {
                write!(
                    f,
                    "netem delay {delay} ns, rate {bytes_per_sec} B/s, limit {limit} packets, \
                     loss {loss}/2^32"
                )?;
                f.write_str(match disturbs {
                    true => ", and jitter, duplicates, reordering or corruption",
                    false => "",
                })
            }
            Self::Fq {
                limit,
                flow_limit,
                orphan_mask,
                timer_slack,
                horizon_micros,
                drops,
            } => write!(
                f,
                "fq limit {limit} packets, {flow_limit} of a flow, orphan mask {orphan_mask}, timer \
                 slack {timer_slack} ns, horizon {horizon_micros} µs{}",
                if *drops {
                    ", beyond which it drops"
                } else {
                    ""
                }
            ),
            Self::Clsact => f.write_str("clsact"),
            Self::Other(kind) => f.write_str(kind),
        }
    }
}

/// True if netem does more to packets than delay and lose them.
fn disturbs(head: &TcNetemQopt, netem: &IterableNetemAttrs<'_>) -> bool {
    let jitter = head.jitter > 0 || netem.get_jitter64().is_ok_and(|jitter| jitter > 0);
    let reorders = netem.get_reorder().is_ok_and(|it| it.probability > 0);
    let corrupts = netem.get_corrupt().is_ok_and(|it| it.probability > 0);
    jitter || reorders || corrupts || head.duplicate > 0 || head.gap > 0
}

/// Appends a discipline's kind and parameters to a message.
pub(super) fn options(attributes: PushAttrs<&mut Vec<u8>>, qdisc: &Qdisc) {
    match qdisc {
        Qdisc::Tbf(tbf) => {
            let rate = bytes_per_sec(tbf.rate);
            let mut parms = TcTbfQopt::new();
            parms.rate = ratespec(rate);
            parms.limit = clamp(tbf.limit);
            let options = attributes.nested_options_tbf().push_parms(parms);
            options.push_rate64(rate).push_burst(clamp(tbf.burst));
        }
        Qdisc::Red(red) => {
            let mut parms = TcRedQopt::new();
            parms.limit = clamp(red.limit);
            parms.qth_min = clamp(red.min);
            parms.qth_max = clamp(red.max);
            parms.Wlog = WEIGHT_LOG;
            let flags = BuiltinBitfield32 {
                value: RED_FLAGS,
                selector: RED_FLAGS,
            };
            let options = attributes.nested_options_red().push_parms(parms);
            let options = options.push_stab(&FORGET_WHEN_IDLE);
            options
                .push_max_p(of_all_ones(red.probability))
                .push_flags(flags);
        }
        Qdisc::Netem(netem) => {
            let bytes_per_sec = bytes_per_sec(netem.rate);
            let mut head = TcNetemQopt::new();
            head.limit = netem.limit;
            head.loss = of_all_ones(netem.loss);
            let mut rate = TcNetemRate::new();
            rate.rate = u32::try_from(bytes_per_sec).unwrap_or(u32::MAX);
            let options = attributes.nested_options_netem(&head).push_rate(rate);
            options
                .push_rate64(bytes_per_sec)
                .push_latency64(signed(netem.delay));
        }
        Qdisc::Fq(fq) => {
            let options = attributes.nested_options_fq().push_plimit(fq.limit);
            let options = options.push_flow_plimit(fq.flow_limit).push_timer_slack(0);
            options
                .push_orphan_mask(fq.orphan_mask)
                .push_horizon(micros(fq.horizon))
                .push_horizon_drop(0);
        }
        Qdisc::Clsact => drop(attributes.push_kind(c"clsact")),
    }
}

fn ratespec(bytes_per_sec: u64) -> TcRatespec {
    let mut spec = TcRatespec::new();
    spec.linklayer = TC_LINKLAYER_ETHERNET;
    spec.rate = u32::try_from(bytes_per_sec).unwrap_or(u32::MAX);
    spec
}

/// Converts a rate, rounded down; never to zero, which would mean unlimited.
fn bytes_per_sec(rate: BitsPerSec) -> u64 {
    (rate.get() / 8).max(1)
}

/// Converts a probability `p` to `p · 2^32`, saturating.
fn of_all_ones(probability: Ratio) -> u32 {
    u32::try_from(probability.scale_nearest(u64::from(u32::MAX))).unwrap_or(u32::MAX)
}

fn clamp(bytes: Bytes) -> u32 {
    u32::try_from(bytes.get()).unwrap_or(u32::MAX)
}

fn micros(time: Nanos) -> u32 {
    u32::try_from(time.get() / 1_000).unwrap_or(u32::MAX)
}

fn signed(time: Nanos) -> i64 {
    i64::try_from(time.get()).unwrap_or(i64::MAX)
}

/// Returns the time in which a bucket fills, in ticks, as `psched_l2t_ns` computes it.
///
/// <https://github.com/torvalds/linux/blob/v6.1/net/sched/sch_generic.c>, `psched_ratecfg_precompute`.
fn ticks(bytes_per_sec: u64, burst: Bytes) -> u32 {
    let (mut factor, mut shift) = (1_000_000_000u64, 0);
    let multiplier = loop {
        let multiplier = factor / bytes_per_sec;
        if multiplier & (1 << 31) != 0 || factor & (1 << 63) != 0 {
            break multiplier;
        }
        factor <<= 1;
        shift += 1;
    };
    let multiplier = u128::from(multiplier & u64::from(u32::MAX));
    let nanos = (u128::from(burst.get()) * multiplier) >> shift;
    u32::try_from(nanos >> 6).unwrap_or(u32::MAX)
}

const TC_LINKLAYER_ETHERNET: u8 = 1;
/// `TC_RED_ECN | TC_RED_NODROP`.
const RED_FLAGS: u32 = 1 | 8;
/// RED averages over one packet: the average is the queue length itself.
const WEIGHT_LOG: u8 = 0;

/// RED's table of the average's decay while a queue is idle: to zero at once, since the average is
/// the queue length itself.
const FORGET_WHEN_IDLE: [u8; 256] = [31; 256];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burst_ticks_are_the_kernels() {
        // `tc -s qdisc` shows a burst of 4190 B at 100 Mbit/s as buffer 5237 ticks: 335.2 µs / 64 ns.
        assert_eq!(ticks(12_500_000, Bytes::new(4190)), 5237);
    }

    #[test]
    fn probabilities_fill_the_range() {
        assert_eq!(of_all_ones(Ratio::ONE), u32::MAX);
        assert_eq!(of_all_ones(Ratio::new(1, 2).unwrap()), 1 << 31);
        assert_eq!(of_all_ones(Ratio::new(0, 1).unwrap()), 0);
    }
}
