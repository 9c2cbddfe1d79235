//! Connections that the kernel tracks for the root namespace's packet filters (conntrack).

use std::fs;

use lab_plan::model::Plan;

use crate::lab::LabErrorKind;

/// Number of tracked connections, and the limit on it; at the limit, the kernel drops packets of further connections.
///
/// <https://github.com/torvalds/linux/blob/v6.1/net/netfilter/nf_conntrack_core.c>, `__nf_conntrack_alloc`
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Connections {
    pub count: u64,
    pub max: u64,
}

impl Connections {
    /// Reads the number of connections in the calling thread's namespace. Must be called after a host's datagram has
    /// passed through the namespace: if no connection is tracked then, no rule requires tracking, and the result is
    /// `None`.
    pub fn read() -> Option<Self> {
        let number = |name: &str| -> Option<u64> {
            let text = fs::read_to_string(format!("/proc/sys/net/netfilter/{name}")).ok()?;
            text.trim().parse().ok()
        };
        let count = number("nf_conntrack_count")?;
        let max = number("nf_conntrack_max")?;
        // A limit of 0 means unlimited.
        (count > 0 && max > 0).then_some(Self { count, max })
    }

    /// Returns the number of further flows that can be tracked below the limit.
    pub const fn free_flows(&self) -> u64 {
        self.max.saturating_sub(self.count) / PER_FLOW
    }

    /// Fails if `flows` further flows do not fit under the limit.
    pub fn check(&self, flows: u64) -> Result<(), LabErrorKind> {
        let room = self.free_flows();
        if room >= flows {
            return Ok(());
        }
        let fix = self.fix(flows);
        Err(LabErrorKind::Connections { flows, room, fix })
    }

    /// Returns the command that raises the limit so that `flows` further flows fit.
    pub fn fix(&self, flows: u64) -> String {
        let max = self.count.saturating_add(flows.saturating_mul(PER_FLOW));
        format!("sysctl -w net.netfilter.nf_conntrack_max={max}")
    }
}

/// Returns the maximum number of flows whose connections are tracked at the same time. These are all flows of one
/// repetition, because an entry outlives its last packet by half a minute; other policies and repetitions use the same
/// ports and add no entries.
pub(crate) fn flows(plan: &Plan) -> u64 {
    let flows = u64::try_from(plan.flows.len()).unwrap_or(u64::MAX);
    flows.div_ceil(u64::from(plan.repetitions.max(1)))
}

/// Number of tracked connections per flow: one for the data and one for the acknowledgements, which do not count as
/// replies because they too are sent to RoCE's port. The packets of both hosts are tracked in one namespace.
const PER_FLOW: u64 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_takes_two_connections() {
        let connections = Connections {
            count: 100,
            max: 1_101,
        };
        // (1101 − 100) ÷ 2, rounded down, and 100 + 2 · 501.
        assert_eq!(connections.free_flows(), 500);
        assert!(connections.check(500).is_ok());
        assert_eq!(
            connections.check(501).unwrap_err().to_string(),
            "a packet filter of this machine tracks connections and has room for 500 flows, but the plan has \
             501 (hint: `sysctl -w net.netfilter.nf_conntrack_max=1102`)"
        );
    }
}
