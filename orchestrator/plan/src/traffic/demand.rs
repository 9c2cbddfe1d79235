//! Mean traffic demands of workloads: sending host, destination datacenters and rate.
//!
//! A workload's load applies to each sending host, whose flows are spread over all destinations of its datacenter.
//! Listed flows have no mean rate and are left out.

use lab_scenario::{LoadBase, Pairs, Scenario, Traffic, Workload};
use lab_units::{DcId, NodeId, Ratio};

use crate::{error::PlanError, model::Role, network::Network};

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
