//! Loss of the hosts' datagrams: the place of the loss, and its likely cause.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fmt, io,
};

use lab_abi::rows::ROCE_PORT;
use lab_units::PortId;
use nix::errno::Errno;

use super::datagram::Delivery;
use crate::{
    connections::Connections,
    filter::{self, Direction, Dropper},
    lab::{Lab, LabErrorKind, TakingRule},
    lower::HostPlacement,
};

/// Loss of the datagrams from one host to another.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Loss {
    /// Port of the host to which the loss is attributed.
    pub port: PortId,
    /// True if that host sent the datagrams; false if it should have received them.
    pub is_sent: bool,
    what: String,
    cause: Cause,
}

/// First point on the path that the datagrams did not reach.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum LossPoint {
    /// The sender's route lookup or packet filter; the kernel refused to send, with this error.
    Sender(Errno),
    /// The sender's switch: datagrams were lost on the way to it.
    Switch,
    /// The receiver's NIC: datagrams were lost between the sender's switch and the NIC.
    Nic,
    /// The receiver's sockets: datagrams were lost between the NIC and the sockets.
    Receiver,
}

/// Likely cause of a loss, and a command that ends the loss.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Cause {
    text: String,
    fix: Option<String>,
}

/// State of the root namespace that may explain losses.
#[derive(Clone, Debug, Default)]
struct RootNetns {
    /// Rule that diverts packets of the lab's hosts; `None` if no rule does.
    rule: Option<TakingRule>,
    /// Number of tracked connections, and the limit on it; `None` if none are tracked.
    connections: Option<Connections>,
    /// Chains that may drop the packets.
    droppers: Vec<Dropper>,
    /// Reasons why some chains could not be read.
    unknown: Vec<String>,
}

/// Returns the datagram losses that the plan does not specify.
///
/// # Errors
/// If the machine's rules cannot be listed.
pub(crate) fn losses(lab: &Lab, deliveries: &[Delivery]) -> Result<Vec<Loss>, LabErrorKind> {
    let mut losses = Vec::new();
    // The state is read once per direction, because reading runs programs and lists all rules.
    let mut machines = BTreeMap::new();
    for delivery in deliveries {
        if let Some((place, lost)) = first_loss(delivery) {
            let machine = match machines.entry(place.direction()) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(free) => free.insert(RootNetns::read(lab, place.direction())?),
            };
            losses.push(Loss::of(delivery, (place, lost), machine));
        }
    }
    Ok(losses)
}

/// Returns the first point that some datagrams did not reach, and the number of these datagrams; `None` without losses.
/// On a path that loses packets according to the plan, a loss before the receiver's NIC counts only if all datagrams
/// were lost.
fn first_loss(delivery: &Delivery) -> Option<(LossPoint, usize)> {
    let (refused, errno) = delivery.refused.unwrap_or((0, Errno::UnknownErrno));
    let sent = delivery.offered - refused;
    let is_lost = |before: usize, after: usize| {
        if delivery.is_lossy {
            before > 0 && after == 0
        } else {
            after < before
        }
    };
    if refused > 0 {
        Some((LossPoint::Sender(errno), refused))
    } else if is_lost(sent, delivery.left) {
        Some((LossPoint::Switch, sent - delivery.left))
    } else if is_lost(delivery.left, delivery.came) {
        Some((LossPoint::Nic, delivery.left - delivery.came))
    } else if delivery.delivered < delivery.came {
        Some((LossPoint::Receiver, delivery.came - delivery.delivered))
    } else {
        None
    }
}

impl LossPoint {
    /// Returns the direction in which this machine may have dropped the datagrams; `None` if the lab's network dropped
    /// them.
    const fn direction(self) -> Option<Direction> {
        match self {
            Self::Sender(_) | Self::Switch => Some(Direction::Out),
            Self::Receiver => Some(Direction::In),
            Self::Nic => None,
        }
    }
}

impl RootNetns {
    /// Reads the state that may explain losses in a direction.
    fn read(lab: &Lab, direction: Option<Direction>) -> Result<Self, LabErrorKind> {
        // If a host has its own namespace, that contains only the lab's rules and no filters.
        let is_own = lab.options().hosts == HostPlacement::OwnNamespace;
        let Some(direction) = direction.filter(|_| !is_own) else {
            return Ok(Self::default());
        };
        let (droppers, unknown) = filter::droppers(direction);
        Ok(Self {
            rule: lab.taking_rule()?,
            connections: Connections::read(),
            droppers,
            unknown,
        })
    }

    fn cause(&self, place: LossPoint) -> Cause {
        let without_fix = |text: String| Cause { text, fix: None };
        let is_filtered = !matches!(place, LossPoint::Sender(errno) if errno != Errno::EPERM);
        if let Some(rule) = &self.rule {
            return Cause {
                text: format!("rule `{rule}` of this machine, which precedes the lab's rules"),
                fix: Some(rule.remedy()),
            };
        }
        if let Some(connections) = self.connections.filter(|it| it.free_flows() == 0) {
            let Connections { count, max } = connections;
            return Cause {
                text: format!("the limit of {max} tracked connections, with {count} in use"),
                fix: Some(connections.fix(MANY_FLOWS)),
            };
        }
        if let Some(dropper) = self.droppers.first().filter(|_| is_filtered) {
            return Cause {
                text: dropper.to_string(),
                fix: Some(dropper.fix.clone()),
            };
        }
        if let Some(reason) = self.unknown.first().filter(|_| is_filtered) {
            return without_fix(format!("unknown, possibly a packet filter: {reason}"));
        }
        without_fix(match place {
            LossPoint::Receiver => {
                "unknown: no rule or chain was found that drops the datagrams".to_owned()
            }
            LossPoint::Nic => "a link on the path, or a switch's route".to_owned(),
            LossPoint::Sender(_) | LossPoint::Switch => {
                "a route of this machine (`ip route get` shows it)".to_owned()
            }
        })
    }
}

impl Loss {
    fn of(delivery: &Delivery, (place, lost): (LossPoint, usize), machine: &RootNetns) -> Self {
        let [from, to] = &delivery.names;
        let offered = delivery.offered;
        let place_text = match place {
            LossPoint::Sender(errno) => format!("were refused: {}", io::Error::from(errno)),
            LossPoint::Switch => "did not reach the sender's switch".to_owned(),
            LossPoint::Nic => "did not reach its NIC".to_owned(),
            LossPoint::Receiver => "reached its NIC but not its sockets".to_owned(),
        };
        let is_sent = matches!(place, LossPoint::Sender(_) | LossPoint::Switch);
        Self {
            port: delivery.ports[usize::from(!is_sent)],
            is_sent,
            what: format!(
                "{lost} of {offered} datagrams of `{from}` to UDP port {ROCE_PORT} of `{to}` {place_text}"
            ),
            cause: machine.cause(place),
        }
    }

    /// Returns a description of the loss with its likely cause.
    pub fn text(&self) -> String {
        format!("{} (likely cause: {})", self.what, self.cause.text)
    }

    /// Returns the command that ends the loss; `None` if no command is known.
    pub fn fix(&self) -> Option<&str> {
        self.cause.fix.as_deref()
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())?;
        match self.fix() {
            Some(fix) => write!(f, " (hint: {fix})"),
            None => Ok(()),
        }
    }
}

/// Number of flows for which the suggested command enlarges a full connection table.
const MANY_FLOWS: u64 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the delivery of 20 datagrams, given the number that was refused, and the numbers that reached the
    /// switch, the NIC and the sockets.
    fn delivery([refused, left, came, delivered]: [usize; 4], is_lossy: bool) -> Delivery {
        Delivery {
            names: ["dc1/h1".into(), "dc2/h1".into()],
            ports: [PortId(2), PortId(4)],
            offered: 20,
            refused: (refused > 0).then_some((refused, Errno::EPERM)),
            left,
            came,
            delivered,
            is_lossy,
        }
    }

    #[test]
    fn a_loss_is_where_datagrams_are_missing_first() {
        let sender = LossPoint::Sender(Errno::EPERM);
        for (counts, is_lossy, expected) in [
            ([0, 20, 20, 20], false, None),
            ([20, 0, 0, 0], false, Some((sender, 20))),
            ([0, 0, 0, 0], false, Some((LossPoint::Switch, 20))),
            ([0, 20, 19, 19], false, Some((LossPoint::Nic, 1))),
            ([0, 20, 20, 7], false, Some((LossPoint::Receiver, 13))),
            // The plan's loss of 20 % affects 4 of 20 datagrams.
            ([0, 20, 16, 16], true, None),
            ([0, 20, 0, 0], true, Some((LossPoint::Nic, 20))),
            ([0, 20, 16, 0], true, Some((LossPoint::Receiver, 16))),
        ] {
            let found = first_loss(&delivery(counts, is_lossy));
            assert_eq!(found, expected, "{counts:?}");
        }
    }

    #[test]
    fn causes_are_named_from_the_surest_on() {
        let rule = || {
            Some(TakingRule {
                priority: 9,
                shown: "9: not from all fwmark 0xca6c lookup 7".to_owned(),
            })
        };
        let full = Connections { count: 50, max: 50 };
        let unknown = || vec!["`nft` cannot list its rules: no such file".to_owned()];
        let none = RootNetns::default;
        let refused = LossPoint::Sender(Errno::EPERM);
        let blackhole = LossPoint::Sender(Errno::EINVAL);
        for (place, machine, text, fix) in [
            (
                LossPoint::Switch,
                RootNetns {
                    rule: rule(),
                    unknown: unknown(),
                    ..none()
                },
                "rule `9: not from all fwmark 0xca6c lookup 7`",
                // The rules of 16 labs have the priorities 32 to 79.
                Some("`ip rule del pref 9`, and add the rule again with a priority above 79"),
            ),
            (
                LossPoint::Receiver,
                RootNetns {
                    connections: Some(full),
                    ..none()
                },
                "the limit of 50 tracked connections",
                // 50 connections exist, and each of 100,000 flows takes two.
                Some("sysctl -w net.netfilter.nf_conntrack_max=200050"),
            ),
            (
                refused,
                RootNetns {
                    unknown: unknown(),
                    ..none()
                },
                "unknown, possibly a packet filter: `nft` cannot list",
                None,
            ),
            // A packet filter can refuse a packet only with EPERM.
            (
                blackhole,
                RootNetns {
                    unknown: unknown(),
                    ..none()
                },
                "a route of this machine",
                None,
            ),
            (LossPoint::Nic, none(), "a link on the path", None),
            (LossPoint::Receiver, none(), "unknown: no rule", None),
        ] {
            let cause = machine.cause(place);
            assert!(cause.text.starts_with(text), "{place:?}: {cause:?}");
            assert_eq!(cause.fix.as_deref(), fix, "{place:?}");
        }
    }

    #[test]
    fn a_loss_is_the_problem_of_the_host_where_it_happened() {
        let loss = |counts| {
            let delivery = delivery(counts, false);
            let first = first_loss(&delivery).unwrap();
            Loss::of(&delivery, first, &RootNetns::default())
        };
        let sent = loss([20, 0, 0, 0]);
        assert_eq!((sent.port, sent.is_sent), (PortId(2), true));
        let received = loss([0, 20, 20, 0]);
        assert_eq!((received.port, received.is_sent), (PortId(4), false));
        assert_eq!(
            received.to_string(),
            "20 of 20 datagrams of `dc1/h1` to UDP port 4791 of `dc2/h1` reached its NIC but not its \
             sockets (likely cause: unknown: no rule or chain was found that drops the datagrams)"
        );
    }
}
