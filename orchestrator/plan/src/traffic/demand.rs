//! Mean traffic demands of workloads: sending host, destination datacenters and rate.
//!
//! A workload's load applies to each sending host, whose flows are spread over all destinations of its datacenter.
//! Listed flows have no mean rate and are left out.

use std::collections::BTreeMap;

use lab_scenario::{LoadBase, Pairs, Scenario, Traffic, Workload};
use lab_units::{DcId, NodeId, Ratio};

use crate::{
    error::PlanError,
    model::{Role, Scale},
    network::Network,
    topology,
};

/// Mean demand of one workload from one datacenter to another, in paper units.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MeanDemand {
    /// Position of the workload in the scenario's `traffic`.
    pub traffic: usize,
    pub from: DcId,
    pub to: DcId,
    /// Mean rate in bits per second, rounded down.
    pub bps: u64,
}

/// Returns the mean demands of every workload in `scenario`; listed flows have none.
///
/// # Errors
/// If the scenario's names or numbers are inconsistent: see [`PlanError`].
pub fn mean_demands(scenario: &Scenario) -> Result<Vec<MeanDemand>, PlanError> {
    let network = topology::build(&scenario.topology, &Scale::PAPER)?;
    let mut means = BTreeMap::new();
    for (traffic, entry) in scenario.traffic.iter().enumerate() {
        let Traffic::Workload(workload) = entry else {
            continue;
        };
        for demand in of_workload(&network, workload, &format!("traffic[{traffic}]"))? {
            let from = network.node(demand.host).dc;
            let count = u64::try_from(demand.to.len()).unwrap_or(u64::MAX);
            for &to in &demand.to {
                *means.entry((traffic, from, to)).or_insert(0) += demand.mean_bps() / count;
            }
        }
    }
    let mean = |((traffic, from, to), bps)| MeanDemand {
        traffic,
        from,
        to,
        bps,
    };
    Ok(means.into_iter().map(mean).collect())
}

/// Traffic demand of one workload at one sending host, at the paper's scale (before scaling for emulation).
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Demand {
    pub host: NodeId,
    /// Destination datacenters, each of which gets the same share of the host's flows.
    pub to: Vec<DcId>,
    /// Rate that counts as a load of 1, in bits per second.
    pub full_bps: u64,
    /// Number of hosts that share `full_bps` equally.
    pub sharers: u64,
    pub load: Ratio,
}

impl Demand {
    /// Returns the host's mean rate in bits per second, rounded down.
    pub fn mean_bps(&self) -> u64 {
        let all = u128::from(self.full_bps) * u128::from(self.load.numerator());
        let share = all / (u128::from(self.load.denominator()) * u128::from(self.sharers));
        u64::try_from(share).unwrap_or(u64::MAX)
    }

    /// Returns the mean rate that the host sends to each destination, in bits per second, rounded down.
    pub fn shares(&self) -> impl Iterator<Item = (DcId, u64)> {
        let shares = u64::try_from(self.to.len()).unwrap_or(u64::MAX);
        let each = self.mean_bps() / shares.max(1);
        self.to.iter().map(move |&to| (to, each))
    }
}

/// Returns the demands of all workloads in `scenario`.
pub(crate) fn of_scenario(
    scenario: &Scenario,
    network: &Network,
) -> Result<Vec<Demand>, PlanError> {
    let mut demands = Vec::new();
    for (index, traffic) in scenario.traffic.iter().enumerate() {
        match traffic {
            Traffic::Workload(workload) => {
                let path = format!("traffic[{index}]");
                demands.extend(of_workload(network, workload, &path)?);
            }
            Traffic::Flows(_) | Traffic::FlowFile { .. } => {}
        }
    }
    Ok(demands)
}

/// Returns the demands of `workload`, whose YAML path is `path`, for every sending host, in order of datacenter.
pub(crate) fn of_workload(
    network: &Network,
    workload: &Workload,
    path: &str,
) -> Result<Vec<Demand>, PlanError> {
    let mut demands = Vec::new();
    let destinations = destinations(network, &workload.pairs, path)?;
    for (dc, to) in network.dcs.iter().zip(destinations) {
        for &host in dc.hosts.iter().filter(|_| !to.is_empty()) {
            let (full_bps, sharers) = full_rate(network, workload.load_base, host);
            demands.push(Demand {
                host,
                to: to.clone(),
                full_bps,
                sharers,
                load: workload.load,
            });
        }
    }
    Ok(demands)
}

/// Returns the rate that counts as a load of 1 for `host`, in bits per second, and the number of hosts that share this
/// rate.
fn full_rate(network: &Network, base: LoadBase, host: NodeId) -> (u64, u64) {
    match base {
        LoadBase::HostNic => (network.rate_of(network.node(host).ports.iter().copied()), 1),
        LoadBase::DciEgress => {
            let dc = &network.dcs[network.node(host).dc.index()];
            let hosts = u64::try_from(dc.hosts.len()).unwrap_or(u64::MAX);
            let uplinks = network.ports_to(dc.dci, Role::DciSwitch);
            (network.rate_of(uplinks), hosts)
        }
    }
}

/// Returns the destination datacenters of each datacenter.
fn destinations(network: &Network, pairs: &Pairs, path: &str) -> Result<Vec<Vec<DcId>>, PlanError> {
    match pairs {
        Pairs::AllToAll => all_to_all(network, path),
        Pairs::Listed(pairs) => {
            let mut destinations = vec![Vec::new(); network.dcs.len()];
            for (index, pair) in pairs.iter().enumerate() {
                let path = format!("{path}.workload.pairs[{index}]");
                let from = with_hosts(network, &path, "from", &pair.from)?;
                let to = with_hosts(network, &path, "to", &pair.to)?;
                destinations[from.index()].push(to);
                if pair.both_ways {
                    destinations[to.index()].push(from);
                }
            }
            Ok(destinations)
        }
    }
}

fn all_to_all(network: &Network, path: &str) -> Result<Vec<Vec<DcId>>, PlanError> {
    let dcs = (0u32..).map(DcId).zip(&network.dcs);
    let talking: Vec<DcId> = dcs
        .filter(|(_, dc)| !dc.hosts.is_empty())
        .map(|(id, _)| id)
        .collect();
    if talking.len() < 2 {
        return Err(PlanError::NoPairs {
            path: format!("{path}.workload.pairs"),
        });
    }
    let mut destinations = vec![Vec::new(); network.dcs.len()];
    for &from in &talking {
        let others = talking.iter().copied().filter(|to| *to != from);
        destinations[from.index()] = others.collect();
    }
    Ok(destinations)
}

fn with_hosts(network: &Network, path: &str, key: &str, name: &str) -> Result<DcId, PlanError> {
    let path = format!("{path}.{key}");
    let Some(dc) = network.dc_named(name) else {
        return Err(PlanError::Unknown {
            path,
            what: "datacenter",
            name: name.to_owned(),
            hint: String::new(),
        });
    };
    if network.dcs[dc.index()].hosts.is_empty() {
        let dc = name.to_owned();
        return Err(PlanError::NoHosts { path, dc });
    }
    Ok(dc)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two hosts of 100 Gbit/s at 30 % load to two datacenters: 2 · 100 · 0.3 ÷ 2 to each.
    #[test]
    fn the_hosts_of_a_datacenter_share_their_demand_among_its_destinations() {
        let text = "
name: triangle
topology:
  dcs: [{ name: dc1, hosts: 2 }, { name: dc2, hosts: 1 }, { name: dc3, hosts: 1 }]
  links:
    - { between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms }
    - { between: [dc1, dc3], rate: 100 Gbit, delay: 5 ms }
traffic:
  - flows: [{ from: dc1/h1, to: dc2/h1, size: 20 MB }]
  - workload:
      sizes: sizes.csv
      pairs: [{ from: dc1, to: dc2 }, { from: dc1, to: dc3 }]
      load: 0.3
      duration: 1 s
policies: [ecmp]
scale: { rate: 1/2000, time: 10 }
";
        let scenario = lab_scenario::parse("triangle.yaml", text.as_bytes()).unwrap();
        let mean = |to| MeanDemand {
            traffic: 1,
            from: DcId(0),
            to: DcId(to),
            bps: 30_000_000_000,
        };
        assert_eq!(mean_demands(&scenario).unwrap(), [mean(1), mean(2)]);
    }
}
