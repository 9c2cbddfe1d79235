//! Counts of lost packets: in the lab's emulated queues, elsewhere, and as seen by SoftRoCE.

use std::{collections::BTreeMap, fs, io, iter::Sum, path::Path};

use lab_records::Retransmissions;
use lab_units::{LinkId, PortId};
use serde::{Deserialize, Serialize};

use super::{Lab, LabErrorKind};
use crate::{
    lower::{Layout, rdma_device},
    netlink::{dump, tc},
    step::Namespace,
};

/// Numbers of packets lost since the lab was brought up.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Losses {
    /// Packets that queueing disciplines dropped because a queue was full, or as random loss that the plan specifies.
    pub emulated: u64,
    /// Packets dropped by the netem delay lines of links for which the plan has no loss.
    pub unasked: u64,
    /// Packets dropped elsewhere: in CPU backlogs, in veths, and on receive.
    pub outside: u64,
    /// SoftRoCE's counts of loss recovery; `None` if SoftRoCE does not report them.
    pub recovery: Option<RecoveryCounts>,
}

/// SoftRoCE's counts of loss recovery, summed over all devices.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct RecoveryCounts {
    /// Number of times that a sender resumed at an earlier packet (go-back-N).
    pub go_backs: u64,
    /// Number of NAKs that receivers sent, one for each gap in the packet sequence.
    pub naks: u64,
}

/// Interface of a lab, with the flags that determine how its losses are counted.
struct Dev {
    /// True if a fault causes the interface to lose packets.
    is_faulty: bool,
    /// True if the interface is the netem delay line of a link for which the plan has no loss.
    is_lossless_line: bool,
}

impl Losses {
    /// Returns the retransmissions since the earlier reading `before`; `None` if SoftRoCE does not count them.
    pub(crate) fn retransmissions_since(&self, before: &Self) -> Option<Retransmissions> {
        let before = before.recovery?;
        let after = self.recovery?;
        let go_backs = after.go_backs.saturating_sub(before.go_backs);
        let naks = after.naks.saturating_sub(before.naks);
        Some(Retransmissions {
            go_backs,
            timeouts: go_backs.saturating_sub(naks),
        })
    }
}

impl Lab {
    /// Returns the losses so far. Interfaces of the links in `faulty` are not counted, because a cut link drops packets
    /// by design.
    pub(crate) fn losses(&mut self, faulty: &[LinkId]) -> Result<Losses, LabErrorKind> {
        let plan = self.plan.clone();
        let options = self.options.clone();
        let layout = Layout::new(&plan, &options);
        let mut namespaces: Vec<Namespace> =
            layout.nodes().map(|node| layout.netns(node)).collect();
        if layout.fiber_ports().next().is_some() {
            namespaces.push(layout.fiber());
        }
        namespaces.sort();
        namespaces.dedup();
        let ports = (0..).map(PortId).take(plan.ports.len());
        // Each port has two interfaces: one at the node, and one in the fiber's namespace.
        let devs: BTreeMap<String, Dev> = ports
            .flat_map(|port| {
                let is_faulty = faulty.contains(&port.link());
                let is_lossless = plan
                    .wires()
                    .of(port.link())
                    .all(|it| it.loss.numerator() == 0);
                let node = Dev {
                    is_faulty,
                    is_lossless_line: false,
                };
                let line = Dev {
                    is_faulty,
                    is_lossless_line: is_lossless && !is_faulty,
                };
                [
                    (layout.port(port).interface.clone(), node),
                    (layout.fiber_dev(port), line),
                ]
            })
            .collect();
        let mut losses = Losses {
            outside: backlog_drops(&fs::read_to_string(SOFTNET)?),
            ..Losses::default()
        };
        for netns in namespaces {
            let gone = || io::Error::other(format!("{netns} does not belong to the lab"));
            let handle = self.executor()?.handle(&netns).ok_or_else(gone)?;
            let drops = tc::drops(&mut handle.socket)?;
            for link in dump::links(&mut handle.socket)? {
                let Some(dev) = devs.get(&link.name) else {
                    continue;
                };
                let own = drops.iter().filter(|(index, _)| *index == link.index);
                let dropped = own.map(|(_, drops)| drops).sum::<u64>();
                if dev.is_lossless_line {
                    losses.unasked += dropped;
                } else {
                    losses.emulated += dropped;
                }
                if !dev.is_faulty {
                    let stats = link.stats;
                    losses.outside += stats.rx_dropped + stats.tx_dropped;
                    losses.outside += stats.rx_errors + stats.tx_errors;
                }
            }
        }
        let hosts = plan.dcs.iter().flat_map(|dc| &dc.hosts);
        let devices = hosts.filter_map(|host| rdma_device(&layout, *host));
        losses.recovery = devices.map(|device| RecoveryCounts::of(&device)).sum();
        Ok(losses)
    }
}

/// Returns how many packets the backlogs of all CPUs dropped: the sum of the second column in `softnet_stat`.
fn backlog_drops(softnet: &str) -> u64 {
    let drops = |line: &str| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok();
    softnet.lines().filter_map(drops).sum()
}

impl RecoveryCounts {
    /// Returns the counts of an RDMA device; `None` if the device does not report them.
    fn of(device: &str) -> Option<Self> {
        let counters = Path::new("/sys/class/infiniband")
            .join(device)
            .join("ports/1/hw_counters");
        let count = |name: &str| -> Option<u64> {
            let text = fs::read_to_string(counters.join(name)).ok()?;
            text.trim().parse().ok()
        };
        Some(Self {
            go_backs: count("completer_retry_err")?,
            naks: count("out_of_seq_request")?,
        })
    }
}

impl Sum for RecoveryCounts {
    fn sum<I: Iterator<Item = Self>>(devices: I) -> Self {
        devices.fold(Self::default(), |sum, device| Self {
            go_backs: sum.go_backs + device.go_backs,
            naks: sum.naks + device.naks,
        })
    }
}

const SOFTNET: &str = "/proc/net/softnet_stat";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_backs_that_no_nak_asked_for_are_timeouts() {
        let losses = |counts: Option<(u64, u64)>| Losses {
            recovery: counts.map(|(go_backs, naks)| RecoveryCounts { go_backs, naks }),
            ..Losses::default()
        };
        let between = |before, after| {
            let found = losses(after).retransmissions_since(&losses(before))?;
            Some((found.go_backs, found.timeouts))
        };
        assert_eq!(between(Some((5, 4)), Some((15, 11))), Some((10, 3)));
        // A NAK may arrive when there is no packet left to retransmit.
        assert_eq!(between(Some((0, 0)), Some((2, 3))), Some((2, 0)));
        assert_eq!(between(None, Some((2, 3))), None);
    }

    #[test]
    fn drops_of_all_cpus_are_added() {
        let text = "0000a1b2 00000394 00000000 0\n00000001 0000000a 00000000 0\n";
        assert_eq!(backlog_drops(text), 0x394 + 10);
    }
}
