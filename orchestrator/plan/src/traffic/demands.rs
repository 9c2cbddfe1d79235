//! Mean traffic demands of workloads and demand matrices: sending hosts, destination datacenters and rates.
//!
//! A workload's load applies to each sending host, whose flows are spread over all destinations of its datacenter.
//! A demand matrix gives the rate of each pair, which the hosts of the sending datacenter share equally. Listed flows
//! have no mean rate and are left out.
//!
//! The load bases `busiest-link` and `min-cut` are utilisations of inter-DC links by the demands of one workload alone.
//! Both are proportional to the demands, so they are computed with every NIC full, and one factor then reduces or raises
//! the rates of all hosts to a utilisation of 1.

use std::collections::BTreeMap;

use lab_scenario::{DemandMatrix, LoadBase, Pairs, Scenario, Traffic, Workload};
use lab_units::{DcId, NodeId, Ratio};

use crate::{
    demand::Demand,
    error::PlanError,
    model::{Arrivals, NetworkLoad, Role, Scale, Switch},
    network::Network,
    paths::{self, Paths},
    scope::{routing::Routing, spread, tightest_cut, utilisation::Utilisation},
    topology,
};

/// Demands of one workload or demand matrix.
pub(crate) struct WorkloadDemands {
    /// Demand of every sending host, in order of datacenter.
    pub hosts: Vec<Demand>,
    /// Links whose utilisation is the workload's load; `None` if the load is a share of the senders' capacity.
    pub network: Option<NetworkLoad>,
}

/// Demands of all workloads and demand matrices, by their positions in the scenario's `traffic`.
pub(crate) type Demands = BTreeMap<usize, WorkloadDemands>;

/// Mean demand of one workload or matrix from one datacenter to another, in paper units.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MeanDemand {
    /// Position of the workload or matrix in the scenario's `traffic`.
    pub traffic: usize,
    pub from: DcId,
    pub to: DcId,
    /// Mean rate in bits per second, rounded down.
    pub bps: u64,
}

/// Returns the mean demands of every workload and demand matrix in `scenario`; listed flows have none.
///
/// # Errors
/// If the scenario's names or numbers are inconsistent: see [`PlanError`].
pub fn mean_demands(scenario: &Scenario) -> Result<Vec<MeanDemand>, PlanError> {
    let network = topology::build(&scenario.topology, &Scale::PAPER)?;
    let mut means = BTreeMap::new();
    let paths = Paths::find(&network, scenario.candidate_set);
    let switches = paths::switches(&network, &paths)?;
    for (traffic, demands) in of_scenario(scenario, &network, &switches)? {
        for demand in demands.hosts {
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

/// Returns the demands of all workloads and demand matrices in `scenario`; `switches` hold the candidates at the start.
///
/// # Errors
/// If the names of pairs are inconsistent, or a load base refers to links, none of which has traffic.
pub(crate) fn of_scenario(
    scenario: &Scenario,
    network: &Network,
    switches: &[Switch],
) -> Result<Demands, PlanError> {
    let mut all = Demands::new();
    for (index, entry) in scenario.traffic.iter().enumerate() {
        let demands = match entry {
            Traffic::Workload(workload) => of_workload(network, switches, workload, index)?,
            Traffic::Demands(matrix) => of_matrix(network, matrix, index)?,
            Traffic::Flows(_) | Traffic::FlowFile { .. } => continue,
        };
        all.insert(index, demands);
    }
    Ok(all)
}

/// Returns the demands of `matrix`, which is at position `traffic` of the scenario's `traffic`.
///
/// # Errors
/// If a datacenter of the matrix is unknown or has no hosts.
fn of_matrix(
    network: &Network,
    matrix: &DemandMatrix,
    traffic: usize,
) -> Result<WorkloadDemands, PlanError> {
    let path = format!("traffic[{traffic}].demands");
    let mut hosts = Vec::new();
    for pair in &matrix.rates {
        let from = with_hosts(network, &path, "file", &pair.from)?;
        let to = with_hosts(network, &path, "file", &pair.to)?;
        let senders = &network.dcs[from.index()].hosts;
        hosts.extend(senders.iter().map(|&host| Demand {
            host,
            to: vec![to],
            full_bps: pair.rate.get(),
            sharers: u64::try_from(senders.len()).unwrap_or(u64::MAX),
            load: matrix.scale,
            is_of_pair: true,
        }));
    }
    Ok(WorkloadDemands {
        hosts,
        network: None,
    })
}

/// Returns the demands of all hosts, one workload after the other. Those in `thinned` lose the share of arrivals that
/// `max_flows` leaves out.
pub(crate) fn of_hosts(demands: &Demands, thinned: &[Arrivals]) -> Vec<Demand> {
    let of_workload = |(traffic, demands): (&usize, &WorkloadDemands)| {
        let arrivals = thinned.iter().find(|it| it.traffic == *traffic);
        let mut hosts = demands.hosts.clone();
        for demand in &mut hosts {
            if let Some(&Arrivals { all, kept, .. }) = arrivals {
                let left = u128::from(demand.full_bps) * u128::from(kept) / u128::from(all.max(1));
                demand.full_bps = u64::try_from(left).unwrap_or(u64::MAX);
            }
        }
        hosts
    };
    demands.iter().flat_map(of_workload).collect()
}

/// Returns the demands of `workload`, which is at position `traffic` of the scenario's `traffic`. `switches` are used
/// only by loads of the network.
fn of_workload(
    network: &Network,
    switches: &[Switch],
    workload: &Workload,
    traffic: usize,
) -> Result<WorkloadDemands, PlanError> {
    let path = format!("traffic[{traffic}]");
    let mut hosts = Vec::new();
    let destinations = destinations(network, &workload.pairs, &path)?;
    for (dc, to) in network.dcs.iter().zip(destinations) {
        for &host in dc.hosts.iter().filter(|_| !to.is_empty()) {
            let (full_bps, sharers) = full_rate(network, workload.load_base, host);
            hosts.push(Demand {
                host,
                to: to.clone(),
                full_bps,
                sharers,
                load: workload.load,
                is_of_pair: false,
            });
        }
    }
    if !workload.load_base.is_of_network() {
        let network = None;
        return Ok(WorkloadDemands { hosts, network });
    }
    let full: Vec<Demand> = hosts
        .iter()
        .map(|demand| Demand {
            load: Ratio::ONE,
            ..demand.clone()
        })
        .collect();
    let routing = Routing { network, switches };
    let (load, utilisation) =
        limit(routing, &full, workload.load_base, traffic).ok_or_else(|| {
            PlanError::NoLoadBase {
                path: format!("{path}.workload.load_base"),
            }
        })?;
    for demand in &mut hosts {
        demand.full_bps = scaled(demand.full_bps, utilisation);
    }
    Ok(WorkloadDemands {
        hosts,
        network: Some(load),
    })
}

/// Returns the links that `base` is about, with their utilisation if the demands of a workload are `full`; `None` if no
/// link gets as much as 1 bit/s, or `base` is the senders' capacity.
fn limit(
    routing: Routing<'_>,
    full: &[Demand],
    base: LoadBase,
    traffic: usize,
) -> Option<(NetworkLoad, Utilisation)> {
    let (links, from, utilisation) = match base {
        LoadBase::HostNic | LoadBase::DciEgress => return None,
        LoadBase::BusiestLink => {
            let busiest = spread::busiest(routing, full, &[])?;
            (vec![busiest.link], Some(busiest.from), busiest.load)
        }
        LoadBase::MinCut => {
            let cut = tightest_cut::tightest(routing, full, &[])?;
            (cut.links, None, cut.load)
        }
    };
    let load = NetworkLoad {
        traffic,
        base,
        links,
        from,
        capacity_bps: utilisation.capacity_bps,
    };
    (utilisation.offered_bps > 0).then_some((load, utilisation))
}

/// Returns the rate of a host at a utilisation of 1, given its rate `bps` at `utilisation`, in bits per second: rounded
/// down, but at least 1, because gaps between flows are inversely proportional to it.
fn scaled(bps: u64, utilisation: Utilisation) -> u64 {
    let rate = u128::from(bps) * u128::from(utilisation.capacity_bps);
    let scaled = rate / u128::from(utilisation.offered_bps.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX).max(1)
}

/// Returns the rate that counts as a load of 1 for `host`, in bits per second, and the number of hosts that share this
/// rate. Loads of the network begin with the NIC's rate, so that hosts send in proportion to their NICs.
fn full_rate(network: &Network, base: LoadBase, host: NodeId) -> (u64, u64) {
    match base {
        LoadBase::HostNic | LoadBase::BusiestLink | LoadBase::MinCut => {
            (network.rate_of(network.node(host).ports.iter().copied()), 1)
        }
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

    /// Returns the mean demands of the only workload in `text`, each as source, destination and bit/s.
    fn demands(text: &str) -> Vec<(u32, u32, u64)> {
        let scenario = lab_scenario::parse("test.yaml", text.as_bytes()).unwrap();
        let means = mean_demands(&scenario).unwrap();
        let mean = |it: MeanDemand| (it.from.0, it.to.0, it.bps);
        means.into_iter().map(mean).collect()
    }

    /// Returns a scenario in which `pairs` send at half of a load with `base`.
    fn half(base: &str, dcs: &str, links: &str, pairs: &str) -> String {
        format!(
            "name: half
topology:
  defaults: {{ host_link: {{ rate: 10 Gbit }} }}
  dcs: [{dcs}]
  links: [{links}]
traffic:
  - workload: {{ sizes: s.csv, pairs: {pairs}, load: 0.5, load_base: {base}, duration: 1 s }}
policies: [ecmp]
scale: {{ rate: 1/2000, time: 10 }}
"
        )
    }

    /// The four NICs carry 40 Gbit/s, the link 10: half of the load is 5 Gbit/s over the link. The link is the only cut,
    /// too. With listed pairs both ways, each direction of the link has its own load.
    #[test]
    fn half_of_a_links_load_is_half_of_its_rate_however_many_hosts_send() {
        let dcs = "{ name: a, hosts: 4 }, { name: b, hosts: 4 }";
        let links = "{ between: [a, b], rate: 10 Gbit, delay: 1 ms }";
        for base in ["busiest-link", "min-cut"] {
            let one_way = demands(&half(base, dcs, links, "[{ from: a, to: b }]"));
            assert_eq!(one_way, [(0, 1, 5_000_000_000)], "{base}");
            let both = demands(&half(base, dcs, links, "all-to-all"));
            assert_eq!(
                both,
                [(0, 1, 5_000_000_000), (1, 0, 5_000_000_000)],
                "{base}"
            );
        }
    }

    /// Traffic is split evenly over `b` and `c`, so the link of 4 Gbit/s from `b` is full at 8 Gbit/s. The cut
    /// of 4 Gbit/s (`b` to `d`) and 6 Gbit/s (`a` to `c`) is full at 10 Gbit/s, before the links out of `a` (16 Gbit/s)
    /// and those to `d` (12 Gbit/s). Half a load is 4 and 5 Gbit/s.
    #[test]
    fn a_cut_across_two_paths_is_full_later_than_the_busiest_link() {
        let dcs = "{ name: a, hosts: 2 }, { name: b }, { name: c }, { name: d, hosts: 1 }";
        let links = "
    { between: [a, b], rate: 10 Gbit, delay: 1 ms },
    { between: [a, c], rate: 6 Gbit, delay: 1 ms },
    { between: [b, d], rate: 4 Gbit, delay: 1 ms },
    { between: [c, d], rate: 8 Gbit, delay: 1 ms }";
        let pairs = "[{ from: a, to: d }]";
        let busiest = demands(&half("busiest-link", dcs, links, pairs));
        assert_eq!(busiest, [(0, 3, 4_000_000_000)]);
        let cut = half("min-cut", dcs, links, pairs);
        assert_eq!(demands(&cut), [(0, 3, 5_000_000_000)]);
        let scenario = lab_scenario::parse("cut.yaml", cut.as_bytes()).unwrap();
        let network = topology::build(&scenario.topology, &Scale::PAPER).unwrap();
        let paths = Paths::find(&network, scenario.candidate_set);
        let switches = paths::switches(&network, &paths).unwrap();
        let found = of_scenario(&scenario, &network, &switches)
            .unwrap()
            .remove(&0)
            .unwrap();
        assert_eq!(
            found.network.unwrap().to_string(),
            "a load of 1 in `traffic[0]` fills, by its flows alone, the tightest cut that they must cross: 10 Gbit/s over \
             `a-c`, `b-d`"
        );
    }

    /// Hosts send in proportion to their NICs, and each workload's load is its own: the link of 10 Gbit/s gets 5 Gbit/s
    /// from `a` and 2 Gbit/s from the second workload.
    #[test]
    fn every_workload_has_a_load_of_its_own() {
        let dcs = "{ name: a, hosts: 2 }, { name: b, hosts: 3 }";
        let links = "{ between: [a, b], rate: 10 Gbit, delay: 1 ms }";
        let second = "\n  - workload: { sizes: s.csv, pairs: [{ from: a, to: b }], load: 0.2, load_base: min-cut, \
                      duration: 1 s }\npolicies";
        let text = half("busiest-link", dcs, links, "[{ from: a, to: b }]");
        let both = demands(&text.replace("\npolicies", second));
        assert_eq!(both, [(0, 1, 5_000_000_000), (0, 1, 2_000_000_000)]);
    }

    #[test]
    fn without_traffic_on_a_link_there_is_no_load_base() {
        let dcs = "{ name: a, hosts: 1 }, { name: b, hosts: 1 }";
        let links = "{ between: [a, b], rate: 10 Gbit, delay: 1 ms }";
        let text = half("min-cut", dcs, links, "all-to-all");
        let scenario = lab_scenario::parse("test.yaml", text.as_bytes()).unwrap();
        let network = topology::build(&scenario.topology, &Scale::PAPER).unwrap();
        let paths = Paths::find(&network, scenario.candidate_set);
        let switches = paths::switches(&network, &paths).unwrap();
        let routing = Routing {
            network: &network,
            switches: &switches,
        };
        let silent = Demand {
            host: network.dcs[0].hosts[0],
            to: vec![DcId(1)],
            full_bps: 0,
            sharers: 1,
            load: Ratio::ONE,
            is_of_pair: false,
        };
        for base in [LoadBase::BusiestLink, LoadBase::MinCut] {
            assert!(limit(routing, &[], base, 0).is_none(), "{base:?}");
            assert!(
                limit(routing, std::slice::from_ref(&silent), base, 0).is_none(),
                "{base:?}"
            );
        }
    }
}
